"""Loading fastText: the right distribution, and the right kind of file.

Six distributions on the package index install a module named ``fasttext``; several cannot predict
with NumPy 2, some train to NaN, and their models differ. Whichever was installed last wins without
a word, so `fasttext_module` looks.
"""

from __future__ import annotations

import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from corpusmill.pipeline.errors import AssetError

from .fasttext_format import check_file

DISTRIBUTION = "fasttext-community"


def fasttext_module() -> Any:
    """The module ``fasttext`` of `DISTRIBUTION`. Raises AssetError if it is missing or another's.

    A distribution shadows another by overwriting its files: the files on disk must be those that
    `DISTRIBUTION` recorded.
    """
    hint = f"pip uninstall every package that brings a module fasttext, then install {DISTRIBUTION}"
    try:
        dist = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise AssetError(f"the distribution {DISTRIBUTION} is not installed", hint=hint) from None
    providers = sorted(set(metadata.packages_distributions().get("fasttext", ())))
    if providers != [DISTRIBUTION]:
        raise AssetError(f"the module fasttext is provided by {providers}", hint=hint)
    module = import_module("fasttext")
    recorded = Path(str(dist.locate_file("fasttext"))).resolve()
    found = Path(str(module.__file__)).resolve().parent
    if found != recorded:
        raise AssetError(
            f"the module fasttext comes from {found.name} outside {DISTRIBUTION} "
            f"(on sys.path before it; {len(sys.path)} entries)",
            hint=hint,
        )
    return module


def check_label(path: str | Path, label: str) -> None:
    """Raises AssetError if the file is missing, no fastText classifier, not whole, or has no such
    label."""
    name = Path(path).name
    info = check_file(path)
    wanted = f"__label__{label}"
    if not info.supervised or wanted not in info.labels:
        raise AssetError(
            f"model {name} has no label {label!r}; its labels: {sorted(info.labels)[:8]}",
            hint="set `label` to the name of the good class, as the model writes it",
        )


def load_model(path: str | Path, label: str) -> Any:
    """The fastText classifier in `path`, which must know `label`: see `check_label`."""
    check_label(path, label)
    module = fasttext_module()
    try:
        return module.FastText.load_model(str(path))
    except (ValueError, RuntimeError, MemoryError) as error:
        raise AssetError(f"model {Path(path).name} cannot be loaded: {error}") from error
