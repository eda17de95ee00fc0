"""Which characters end a sentence, close a quotation or begin a list item.

`TERMINAL` is the property Sentence_Terminal of the Unicode Character Database (PropList.txt) and
the Khmer and Arabic marks used alike; Thai and Lao have none. Nothing here depends on the tables
of the Python that runs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from corpusmill.stages.unicode_data import CATEGORIES, tables

TERMINAL, WIDE, CLOSER, QUOTE, DOTS, BULLET, DASH_BULLET = (1 << bit for bit in range(7))
"""Bits of a mark: ends a sentence; does so without white space after it (East Asian and Brahmic
forms); closes a bracket; closes or opens a quotation; is an ellipsis; begins a list item; does
so where white space follows."""
APART, PARTS = 1, 2
"""Bits of `token_marks`: a mark that is a word where it begins or ends a piece between white space;
one that is a word between a letter or digit and a letter, and parts the piece there."""

_TERMINAL = (
    "0021 002E 003F 0589 061D-061F 06D4 0700-0702 07F9 0837 0839 083D-083E 0964-0965 104A-104B "
    "1362 1367-1368 166E 1735-1736 17D4-17D5 1803 1809 1944-1945 1AA8-1AAB 1B5A-1B5B 1B5E-1B5F "
    "1B7D-1B7E 1C3B-1C3C 1C7E-1C7F 203C-203D 2047-2049 2E2E 2E3C 2E53-2E54 3002 A4FF A60E-A60F "
    "A6F3 A6F7 A876-A877 A8CE-A8CF A92F A9C8-A9C9 AA5D-AA5F AAF0-AAF1 ABEB FE52 FE56-FE57 FF01 "
    "FF0E FF1F FF61 10A56-10A57 10F55-10F59 10F86-10F89 11047-11048 110BE-110C1 11141-11143 "
    "111C5-111C6 111CD 111DE-111DF 11238-11239 1123B-1123C 112A9 1144B-1144C 115C2-115C3 "
    "115C9-115D7 11641-11642 1173C-1173E 11944 11946 11A42-11A43 11A9B-11A9C 11C41-11C42 "
    "11EF7-11EF8 11F43-11F44 16A6E-16A6F 16AF5 16B37-16B38 16B44 16E98 1BC9F 1DA88"
)
_WIDE = "0964-0965 104A-104B 17D4-17D5 3002 FE52 FE56-FE57 FF01 FF0E FF1F FF61"
_CLOSER = "0029 005D 007D 2019 201A 203A 2039 3009 300B 3011 3015 FF09 FF3D FF5D"
_QUOTE = "0022 0027 00AB 00BB 2018-201F 2039-203A 300C-300F 301D-301F FE41-FE44 FF02 FF07 FF62-FF63"
_DOTS = "2026 22EF"
_BULLET = (
    "00B7 2022-2023 2043 204C-204D 2219 25A0-25A1 25AA-25AB 25B6 25B8-25BA 25C6-25C7 25CB 25CF "
    "25D8 25E6 2605-2606 2713-2714 2756 2794 27A2-27A4 2B1B-2B1C 2B25 30FB FF65"
)
_DASH_BULLET = "002A-002B 002D 2010-2011"
_APART = ("Pc", "Pe", "Pf", "Pi", "Po", "Ps")
_PARTS = ",-/:<=>~\u2013\u2014"


def _fill(table: npt.NDArray[np.uint8], points: str, bit: int) -> None:
    for part in points.split():
        first, _, last = part.partition("-")
        table[int(first, 16) : int(last or first, 16) + 1] |= np.uint8(bit)


@lru_cache(maxsize=1)
def mark_table() -> npt.NDArray[np.uint8]:
    """The bits of each code point, a read-only array."""
    table = np.zeros(0x110000, np.uint8)
    for points, bit in (
        (_TERMINAL, TERMINAL),
        (_WIDE, WIDE),
        (_CLOSER, CLOSER),
        (_QUOTE, QUOTE),
        (_DOTS, DOTS),
        (_BULLET, BULLET),
        (_DASH_BULLET, DASH_BULLET),
    ):
        _fill(table, points, bit)
    table.flags.writeable = False
    return table


@lru_cache(maxsize=1)
def token_marks() -> npt.NDArray[np.uint8]:
    """`APART` and `PARTS` of each code point, a read-only array. Apart are ``< >`` and punctuation
    but dashes and what stands in names of files and addresses: ``/ \\ @``."""
    apart = np.isin(tables().category, [CATEGORIES.index(name) for name in _APART])
    apart[[ord(c) for c in "/\\@"]] = False
    apart[[ord(c) for c in "<>"]] = True
    table = apart.astype(np.uint8) * np.uint8(APART)
    table[[ord(c) for c in _PARTS]] |= np.uint8(PARTS)
    table.flags.writeable = False
    return table
