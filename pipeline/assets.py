"""Assets: files and folders that stages need, resolved to size and sha256 before any task."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import AssetError
from .identity import sha256_file, sha256_tree
from .params import list_assets
from .recipe import resolve_path


@dataclass
class Places:
    """Where assets lie here (not part of any identity) and their digests (part of it)."""

    paths: dict[str, str] = field(default_factory=dict)
    digests: dict[str, dict[str, Any]] = field(default_factory=dict)


def resolve_assets(params: Any, base: Path, places: Places) -> dict[str, dict[str, Any]]:
    """Adds every asset that `params` names to `places`; returns all digests known so far."""
    for asset in list_assets(params):
        value = str(asset)
        if value in places.digests:
            continue
        path = resolve_path(value, base)
        if path.is_dir():
            digest, size = sha256_tree(path)
        elif path.is_file():
            digest, size = sha256_file(path), path.stat().st_size
        else:
            raise AssetError(
                f"the asset {value!r} does not exist",
                hint="paths are relative to the recipe; package: names the package's own files",
            )
        places.paths[value] = str(path)
        places.digests[value] = {"sha256": digest, "bytes": size}
    return places.digests
