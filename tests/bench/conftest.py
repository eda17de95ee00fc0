"""Makes `bench` importable: it is no part of the package, and the root is not on the path (there
``tokenizers/`` and the other rooms would be importable by their bare names)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if "bench" not in sys.modules:
    spec = importlib.util.spec_from_file_location("bench", ROOT / "bench" / "__init__.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no package bench in {ROOT}")
    package = importlib.util.module_from_spec(spec)
    sys.modules["bench"] = package
    spec.loader.exec_module(package)
