"""Tests of what needs the extras ``embed``, ``sklearn`` and ``hf``: collected only where those are
installed. `tests/classifiers/test_with_extras.py` runs them where .ci/readers has installed them.
"""

from __future__ import annotations

from importlib.util import find_spec

MODULES = ("sentencepiece", "skops", "torch", "transformers", "wordllama")
collect_ignore_glob = [] if all(map(find_spec, MODULES)) else ["test_*.py"]
