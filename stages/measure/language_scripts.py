"""Groups of scripts as `measure.language` sees them, and the languages that own a script.

Ranges are blocks of The Unicode Standard; only letters and marks in them count. A text in a script
that one language alone writes needs no judge.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.stages import unicode_data
from corpusmill.stages.kept import kept_arrays
from corpusmill.stages.unicode_data import ALPHA, CODE_POINTS, IGNORABLE, MARK, tables

if TYPE_CHECKING:
    import numpy.typing as npt

SKIP = 0x200000
"""The entry of a character that is as if it were not there."""

_BLOCKS: tuple[tuple[str, str, str], ...] = (
    ("latin", "", "0041-024f 1e00-1eff 2c60-2c7f a720-a7ff ff21-ff5a"),
    ("cyrillic", "", "0400-052f 1c80-1c8f 2de0-2dff a640-a69f"),
    ("arabic", "", "0600-06ff 0750-077f 08a0-08ff fb50-fdff fe70-feff"),
    ("hebrew", "", "0590-05ff fb1d-fb4f"),
    ("devanagari", "", "0900-097f a8e0-a8ff"),
    ("bengali", "", "0980-09ff"),
    ("ethiopic", "", "1200-139f 2d80-2ddf ab00-ab2f"),
    ("tibetan", "", "0f00-0fff"),
    ("canadian", "", "1400-167f 18b0-18ff"),
    ("han", "", "2e80-2fdf 3005-3007 3021-303b 3040-30ff 3100-312f 31f0-31ff 3400-4dbf 4e00-9fff"
     " f900-faff ff66-ff9f 20000-323af"),
    ("greek", "el", "0370-03ff 1f00-1fff"),
    ("armenian", "hy", "0530-058f fb13-fb17"),
    ("georgian", "ka", "10a0-10ff 1c90-1cbf 2d00-2d2f"),
    ("hangul", "ko", "1100-11ff 3130-318f a960-a97f ac00-d7ff"),
    ("thai", "th", "0e00-0e7f"),
    ("lao", "lo", "0e80-0eff"),
    ("khmer", "km", "1780-17ff"),
    ("myanmar", "my", "1000-109f a9e0-a9ff aa60-aa7f"),
    ("gurmukhi", "pa", "0a00-0a7f"),
    ("gujarati", "gu", "0a80-0aff"),
    ("odia", "or", "0b00-0b7f"),
    ("tamil", "ta", "0b80-0bff"),
    ("telugu", "te", "0c00-0c7f"),
    ("kannada", "kn", "0c80-0cff"),
    ("malayalam", "ml", "0d00-0d7f"),
    ("sinhala", "si", "0d80-0dff"),
    ("thaana", "dv", "0780-07bf"),
    ("syriac", "syr", "0700-074f 0860-086f"),
    ("cherokee", "chr", "13a0-13ff ab70-abbf"),
    ("limbu", "lif", "1900-194f"),
    ("yi", "ii", "a000-a4cf"),
)  # fmt: skip

GROUP_NAMES: tuple[str, ...] = ("none", *(name for name, _, _ in _BLOCKS), "other")
"""Names of the numbers in the table of groups; 0 takes the group of the letter before."""
GROUP_LANGUAGE: dict[str, str] = {name: code for name, code, _ in _BLOCKS if code}
"""The language of a group that has but one."""


@lru_cache(maxsize=1)
def letter_table() -> npt.NDArray[np.uint32]:
    """By code point: the letter that it counts as (0: none, `SKIP`: as if it were not there), plus
    its group of scripts times 2 ** 24.

    Capitals of the alphabets of Europe count as small letters. Their mapping has not changed since
    Unicode 4, so that every Python gives the same.
    """
    sources = (unicode_data.PATH, Path(unicode_data.__file__), Path(__file__))
    return kept_arrays("letters", sources, lambda: {"fold": _folded()})["fold"].view(np.uint32)


def _folded() -> npt.NDArray[np.uint32]:
    flags = tables().flags
    letter = (flags & (ALPHA | MARK)) != 0
    fold = np.where(letter, np.arange(CODE_POINTS), 0).astype(np.uint32)
    for first, last in ((0x41, 0x5A), (0xC0, 0x217), (0x386, 0x556), (0x1E00, 0x1EF9)):
        for code in range(first, last + 1):
            small = chr(code).lower()
            if letter[code] and len(small) == 1:
                fold[code] = ord(small)
    group = np.where(letter, GROUP_NAMES.index("other"), 0).astype(np.uint8)
    group[(flags & MARK) != 0] = 0
    for number, (_, _, ranges) in enumerate(_BLOCKS, start=1):
        for pair in ranges.split():
            first, last = (int(edge, 16) for edge in pair.split("-"))
            inside = group[first : last + 1]
            inside[letter[first : last + 1]] = number
    fold |= group.astype(np.uint32) << 24
    fold[[0x27, 0x2019, 0x2BC]] = 0x27
    fold[(flags & IGNORABLE) != 0] = SKIP
    return fold
