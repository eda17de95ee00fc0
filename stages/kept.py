"""What is made once for a machine and kept: machine code, and arrays in the form that loops read.

Whatever is kept has in its name a digest of all that it was made from, so nothing in it is ever
stale, and a checksum inside, so nothing damaged is used. It changes no result: where there is no
folder to keep things in, they are made again in each process.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[np.generic]]

_SUMS = "sums"


def kept_folder() -> Path:
    """Where things are kept: where numba is told to keep its own, else beside the modules, else in
    the user's cache. Raises OSError."""
    places = [Path(__file__).resolve().parent / "__pycache__", Path.home() / ".cache/corpusmill"]
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        places.insert(0, Path(named))
    for place in places:
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place, os.W_OK):
            return place
    raise OSError("no folder to keep compiled kernels in")


def kept_arrays(name: str, sources: Iterable[Path], make: Callable[[], Arrays]) -> Arrays:
    """The arrays that `make` returns, which depend on the bytes of `sources` only.

    Made once, then mapped from a folder ``name-DIGEST``: processes of one machine share the
    memory. They cannot be written to.
    """
    h = hashlib.sha256(f"{np.__version__}\n".encode())
    for path in sources:
        h.update(path.read_bytes())
    try:
        folder = kept_folder() / f"{name}-{h.hexdigest()[:24]}"
    except OSError:
        return make()
    if (found := _mapped(folder)) is not None:
        return found
    made = make()
    try:
        _keep(folder, made)
    except OSError:  # no room, perhaps
        return made
    return _mapped(folder) or made


def _keep(folder: Path, arrays: Arrays) -> None:
    part = folder.with_name(f"{folder.name}.{os.getpid()}")
    part.mkdir(exist_ok=True)
    sums = []
    for name, values in sorted(arrays.items()):
        np.save(part / f"{name}.npy", np.ascontiguousarray(values), allow_pickle=False)
        sums.append(f"{name} {_checksum(values)}\n")
    (part / _SUMS).write_text("".join(sums))
    if folder.exists():  # damaged: `_mapped` did not take it
        shutil.rmtree(folder, ignore_errors=True)
    try:
        part.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(part, ignore_errors=True)


def _mapped(folder: Path) -> Arrays | None:
    """The arrays in a folder; None if it is not there, or not as it was written."""
    arrays: dict[str, NDArray[np.generic]] = {}
    try:
        for line in (folder / _SUMS).read_text().splitlines():
            name, checksum = line.split(" ")
            mapped = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            arrays[name] = np.asarray(mapped)
            if _checksum(arrays[name]) != checksum:
                return None
    except (OSError, ValueError):
        return None
    return arrays or None


def _checksum(values: NDArray[np.generic]) -> str:
    data = np.ascontiguousarray(values)
    return xxhash.xxh3_128_hexdigest(data.reshape(-1).view(np.uint8).data) + f"-{data.dtype.str}"
