"""Which commit of corpusmill's own repository runs here, where it runs from a checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from .registry import rooms_root


def checkout(root: Path | None = None) -> dict[str, Any]:
    """``{"commit": …, "dirty": …}`` of the checkout that this package is in (or `root`); empty for
    an installed package, and where git cannot tell."""
    root = rooms_root() if root is None else root
    if not (root / ".git").exists():
        return {}
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return {}  # no git, or a checkout of somebody else: circumstance, not identity
    return {"commit": commit.strip(), "dirty": bool(changed.strip())}


def _git(root: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=30
    ).stdout
