"""A page through the three compiled passes: `analyse` gives its blocks and their features."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.stages.extract.rewrite import rewrite_tree
from corpusmill.stages.extract.sanitise import clean_markup
from corpusmill.stages.extract.streamed import settle

from . import columns
from .vocabulary import TAG, TAGS

if TYPE_CHECKING:
    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]

_IS_CELL = np.isin(np.arange(len(TAGS)), (TAG["td"], TAG["th"]))
_BAR_BYTES, _LANGUAGE_BYTES = 64, 32
"""What the label of a bar of languages has at most, and each of its languages."""
_ALT = re.compile(rb' alt="([^"]{1,60})"')


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a page, in document order. Column numbers are in `columns`."""

    text: bytes
    """The clean text of all blocks, a line break after each (UTF-8, code marks included)."""
    elements: Integers
    """One row for each block-level element, the root first."""
    blocks: Integers
    measures: Integers
    rows: npt.NDArray[np.int32]
    """Features: one row a block, one column for each of `features.NAMES`."""
    outside_words: int
    """Words (by white space) in what was left out as navigation."""
    icons: dict[int, str] = field(default_factory=dict)
    """What a picture says (``alt``) that stands alone in a table's cell, by the cell's element."""
    tables: dict[str, dict[int, tuple[int, int]]] = field(default_factory=dict, compare=False)
    """What `render.data_tables` found, once it was asked."""

    def __len__(self) -> int:
        return len(self.blocks)


@dataclass(frozen=True, slots=True)
class _Kit:
    """The kernels and their tables, loaded once a process."""

    scan: Any
    measure: Any
    features: Any
    arrays: dict[str, Any]


@cache
def _kit() -> _Kit:
    from corpusmill.stages.compiled import load
    from corpusmill.stages.unicode_data import tables

    from . import features, intake, measure, scan
    from .vocabulary import TAG_KINDS, class_table, tag_table, text_table

    for module in (features, intake, measure, scan):
        load(module.__name__)
    tag_keys, tag_values = tag_table()
    class_keys, class_values = class_table()
    text_keys, text_values = text_table()
    return _Kit(
        scan,
        measure,
        features,
        {
            "tag_keys": tag_keys,
            "tag_values": tag_values,
            "tag_kinds": np.array(TAG_KINDS, np.int64),
            "class_keys": class_keys,
            "class_values": class_values,
            "text_keys": text_keys,
            "text_values": text_values,
            "flags": tables().flags,
        },
    )


def warm() -> None:
    """Loads the kernels; compiles them where that was not done yet."""
    _kit()


def tree_markup(page: str | bytes, *, to_rewrite: bool = False) -> bytes:
    """The page's tree by Lexbor, written out again as well-formed UTF-8; if `to_rewrite`, its
    formulas and code first rewritten as by `corpusmill.stages.extract.rewrite`."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(page)
    if to_rewrite:
        rewrite_tree(tree)
    return (tree.html or "").encode("utf-8", "replace")


def page_markup(html: str) -> bytes:
    """A page as it came, made ready for `analyse` in one parse, as the tier ``own`` does it."""
    return tree_markup(settle(clean_markup(html)), to_rewrite=True)


def analyse(markup: bytes, *, prune: bool = True) -> Blocks:
    """The blocks of a page. `markup` is well formed (see `tree_markup`); with `prune` false
    ``nav``, ``footer`` and the like are kept."""
    kit = _kit()
    a = kit.arrays
    data = np.frombuffer(markup, np.uint8)
    size = int(np.count_nonzero(data == ord("<"))) + 2
    text = np.empty(len(data) + size, np.uint8)
    elements = np.empty((size, columns.ELEMENT_COLUMNS), np.int64)
    blocks = np.empty((size, columns.BLOCK_COLUMNS), np.int64)
    stack = np.empty((size, 4), np.int64)
    info = np.zeros(columns.INFO_SIZE, np.int64)
    kit.scan.scan(
        data, a["tag_keys"], a["tag_values"], a["tag_kinds"], a["class_keys"], a["class_values"],
        int(prune), text, elements, blocks, stack, info,
    )  # fmt: skip
    n_elements, n_blocks = int(info[columns.N_ELEMENTS]), int(info[columns.N_BLOCKS])
    elements, blocks = elements[:n_elements].copy(), blocks[:n_blocks].copy()
    if prune and (bars := language_bars(blocks)).any():
        elements, blocks = without(bars, elements, blocks)
        n_blocks = len(blocks)
    measures = np.zeros((n_blocks, columns.MEASURE_COLUMNS), np.int64)
    rows = np.zeros((n_blocks, columns.N_FEATURES), np.int32)
    if n_blocks:
        kit.measure.measure(
            data, int(info[columns.TITLE0]), int(info[columns.TITLE1]), text, n_blocks, blocks,
            a["flags"], a["text_keys"], a["text_values"], measures,
        )  # fmt: skip
        kit.features.features(
            n_elements, elements, n_blocks, blocks, measures, int(info[columns.N_FORMS]),
            columns.TAG_SLOT, rows,
        )  # fmt: skip
    used = int(info[columns.N_BYTES])
    return Blocks(
        text[:used].tobytes(), elements, blocks, measures, rows, int(info[columns.OUTSIDE_WORDS]),
        _icons(markup, elements),
    )  # fmt: skip


def language_bars(blocks: Integers) -> npt.NDArray[np.bool_]:
    """Of each block, whether it only leads to the page in other languages: *Available in: de | en*.
    All of its links but one (the page's own language) are ``rel="alternate"`` with ``hreflang``,
    and there is little text for so many."""
    links, translations = blocks[:, columns.LINKS], blocks[:, columns.TRANSLATIONS]
    size = blocks[:, columns.END] - blocks[:, columns.START]
    found: npt.NDArray[np.bool_] = (
        (translations > 0)
        & (links <= translations + 1)
        & (size <= _BAR_BYTES + _LANGUAGE_BYTES * links)
    )
    return found


def without(
    left_out: npt.NDArray[np.bool_], elements: Integers, blocks: Integers
) -> tuple[Integers, Integers]:
    """Elements and blocks without some of the blocks."""
    number = np.concatenate(([0], np.cumsum(~left_out)))
    elements[:, columns.BLOCK0] = number[elements[:, columns.BLOCK0]]
    elements[:, columns.BLOCK1] = number[elements[:, columns.BLOCK1]]
    return elements, blocks[~left_out]


def _icons(markup: bytes, elements: Integers) -> dict[int, str]:
    pictured = np.flatnonzero(elements[:, columns.IMAGE_END])
    around = np.maximum(elements[pictured, columns.PARENT], 0)
    holders = np.where(_IS_CELL[elements[pictured, columns.TAG_ID]], pictured, around)
    empty = elements[holders, columns.BLOCK0] == elements[holders, columns.BLOCK1]
    alone = empty & _IS_CELL[elements[holders, columns.TAG_ID]]
    found = {}
    for element, cell in zip(pictured[alone].tolist(), holders[alone].tolist(), strict=True):
        end = int(elements[element, columns.IMAGE_END])
        alt = _ALT.search(markup, max(markup.rfind(b"<img", 0, end), 0), end)
        if alt:
            found[cell] = " ".join(html.unescape(alt[1].decode("utf-8", "replace")).split())
    return found
