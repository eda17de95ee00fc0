"""Assets: files and folders that stages need, resolved to size and sha256 before any task."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Any

from .errors import AssetError
from .identity import fingerprint, sha256_file, sha256_tree
from .params import list_assets, map_assets
from .places import resolve_path
from .stage import Asset


@dataclass
class Places:
    """Where assets lie here (not part of any identity) and their digests (part of it)."""

    paths: dict[str, str] = field(default_factory=dict)
    digests: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    """What `asset_token` said when they were hashed."""


def asset_token(path: Path) -> str:
    """A digest of names, sizes and modification times: as long as it stays, so does the asset."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    rows = []
    for file in files:
        stat = file.stat()
        if S_ISREG(stat.st_mode) and "__pycache__" not in file.parts:
            rows.append([file.relative_to(path).as_posix(), stat.st_size, stat.st_mtime_ns])
    return fingerprint(rows)


def asset_digest(path: Path, value: str) -> dict[str, Any]:
    """sha256 and size of an asset. Raises AssetError where it cannot be read."""
    try:
        if path.is_dir():
            digest, size = sha256_tree(path)
        elif path.is_file():
            digest, size = sha256_file(path), path.stat().st_size
        else:
            raise AssetError(
                f"the asset {value!r} does not exist",
                hint="paths are relative to the recipe; package: names the package's own files",
            )
    except OSError as error:
        raise AssetError(f"the asset {value!r} cannot be read: {error}") from None
    return {"sha256": digest, "bytes": size}


def check_asset(path: Path, value: str, digest: Mapping[str, Any], token: str) -> None:
    """Raises AssetError unless the asset is still what was planned. It is read again only if its
    token has changed."""
    try:
        if asset_token(path) == token:
            return
    except OSError:
        pass  # gone, or going: `asset_digest` says so
    if asset_digest(path, value) != digest:
        raise AssetError(
            f"the asset {value!r} is not the one that was planned",
            hint="it changed after planning; run again to plan again",
        )


def placed(made: Any, paths: Mapping[str, str]) -> Any:
    """A stage like `made` whose assets are the files that `paths` has for them."""
    kind = type(made.params)
    return type(made)(map_assets(kind, made.params, lambda asset: Asset(paths[str(asset)])))


def resolve_assets(params: Any, base: Path, places: Places) -> dict[str, dict[str, Any]]:
    """Adds every asset that `params` names to `places`; returns all digests known so far."""
    for asset in list_assets(params):
        value = str(asset)
        if value in places.digests:
            continue
        path = resolve_path(value, base)
        try:
            token = (
                asset_token(path) if os.path.exists(path) else ""
            )  # before hashing: a change shows
        except OSError as error:  # a link to nowhere in the folder
            raise AssetError(f"the asset {value!r} cannot be read: {error}") from None
        places.digests[value] = asset_digest(path, value)
        places.paths[value], places.tokens[value] = str(path), token
    return places.digests


def ready_assets(made: Any, what: str, base: Path, places: Places) -> dict[str, dict[str, Any]]:
    """As `resolve_assets` of the parameters of a stage, which then looks at them. Raises AssetError
    that names `what`, the step, for one that is missing or of the wrong kind."""
    try:
        digests = resolve_assets(made.params, base, places)
        if list_assets(made.params):
            placed(made, places.paths).check_assets()
    except AssetError as error:
        raise AssetError(f"{what}: {error.message}", hint=error.hint) from error
    return digests
