"""libdeflate by its own functions: a gzip member inflated in one call that says where it ends.

Python's module `deflate` holds the library and wraps the functions that tell the least: neither
where a member ends nor, therefore, whether anything lies behind it. Its shared object exports the
others, and they are called by their C signatures (libdeflate 1.x, ``libdeflate.h``).
"""

from __future__ import annotations

import ctypes
import weakref
from functools import cache
from typing import Any

_HEADER_CHECKSUM = 2  # flag of a header with a checksum of its own, which libdeflate passes over


@cache
def _library() -> Any:
    """The shared object of `deflate`; None where there is none, or it exports no such functions."""
    try:
        from deflate import _deflate

        # PyDLL: a member takes some microseconds, for which giving up the GIL costs more
        found = ctypes.PyDLL(_deflate.__file__)
        found.libdeflate_alloc_decompressor.restype = ctypes.c_void_p
        found.libdeflate_free_decompressor.argtypes = [ctypes.c_void_p]
        found.libdeflate_free_decompressor.restype = None
        _ = found.libdeflate_gzip_decompress_ex
    except (ImportError, AttributeError, OSError):
        return None
    return found


def installed() -> bool:
    """Whether `Inflater` can be used."""
    return _library() is not None


class Inflater:
    """Inflates members of `window` into `whole`, which holds one at a time."""

    def __init__(self, most: int) -> None:
        """`most`: bytes of the longest member. Raises MemoryError."""
        library = _library()
        self.window = b""
        self.whole = bytearray(most)
        decompressor = library.libdeflate_alloc_decompressor()
        if not decompressor:
            raise MemoryError("no memory for a decompressor")
        weakref.finalize(self, library.libdeflate_free_decompressor, decompressor)
        self._call = library.libdeflate_gzip_decompress_ex
        self._taken, self._made = ctypes.c_size_t(), ctypes.c_size_t()
        self._source, self._left = ctypes.c_void_p(), ctypes.c_size_t()
        self._target = (ctypes.c_char * most).from_buffer(self.whole)
        # Arguments that are C objects already need no conversion at each call.
        self._arguments = (
            ctypes.c_void_p(decompressor), self._source, self._left,
            ctypes.c_void_p(ctypes.addressof(self._target)), ctypes.c_size_t(most),
            ctypes.pointer(self._taken), ctypes.pointer(self._made),
        )  # fmt: skip
        self._address = 0

    def look_at(self, window: bytes) -> None:
        """Makes `window` the bytes that members are looked for in."""
        self.window = window
        self._address = ctypes.cast(ctypes.c_char_p(window), ctypes.c_void_p).value or 0

    def inflate(self, at: int) -> tuple[int, int]:
        """(bytes of the member at `at`, bytes of `whole` that it fills); 0, 0 where it is broken,
        does not end in the window, is longer than `whole`, or has a header with a checksum."""
        if len(self.window) < at + 4 or self.window[at + 3] & _HEADER_CHECKSUM:
            return 0, 0
        self._source.value = self._address + at
        self._left.value = len(self.window) - at
        if self._call(*self._arguments):
            return 0, 0
        return self._taken.value, self._made.value
