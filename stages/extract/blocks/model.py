"""The block model: from a page to the text of the blocks that are its main content.

One parse, three compiled passes, trees in integers, the expected-F1 decision, one renderer. The
result is a function of the page and of the weights in ``data/blocks.bin`` alone: no clock, no
state, no float comparison. The model card is ``data/blocks.md``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.pipeline.errors import AssetError
from corpusmill.stages.extract.wordcount import count_words

from .columns import IS_PRE, LINKS, NAMES, WORDS
from .complete import completed, is_heading, opened, without_comments, without_end_headings
from .copies import once
from .decision import ANYWHERE, ARTICLE, Decision, best_blocks, main_run
from .passes import Blocks, analyse, tree_markup, warm
from .render import Format, data_tables, render

if TYPE_CHECKING:
    from .forest import Weights

WEIGHTS = Path(__file__).resolve().parent.parent / "data" / "blocks.bin"
WEIGHTS_SHA256 = "38c085ab6c1a3ae602047f431093f23108f47edb619be670225563ffb0c3de7e"
"""Digest of the weights file that this code was made for."""

RUN_TYPES = frozenset({"article"})
"""A page whose main run (`decision.main_run`) is of one of these types has no more than that run:
teasers of other stories, comments and offers follow articles. The type is that of the run, since
what follows an article can make the page look like a list. Of other pages only what is much
weaker than the main group goes. (Figures in the model card.)"""
FEW_WORDS = 50
_NEAR_LI = NAMES.index("near_li")
_ITEM_LEVELS = 3
"""A block is in a list item that is its element or one of the two around it."""
UNPRUNED_BELOW = 5
"""Where fewer than `FEW_WORDS` words are kept, and fewer than one in `UNPRUNED_BELOW` of the words
left out as navigation, the page is read again with nothing left out."""


@dataclass(frozen=True, slots=True)
class Found:
    """The main content of a page."""

    text: str
    """In the form that was asked for."""
    plain: str
    """The same as plain text."""
    all_words: int
    """Words of all the page's text, menus and footers included."""
    confidence: float
    """The expected F1 of the choice, 0 to 1, six decimals; 0 for a page without text."""
    page_type: str
    """One of the types of the weights' header (article, forum, …); empty without text."""


@cache
def weights() -> Weights:
    """The weights, loaded once a process. Raises AssetError if the file is not the one that this
    code was made for."""
    from .forest import decode

    try:
        data = WEIGHTS.read_bytes()
    except OSError as exc:
        raise AssetError(f"{WEIGHTS}: {exc.strerror}", hint="reinstall corpusmill") from exc
    digest = hashlib.sha256(data).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise AssetError(
            f"{WEIGHTS}: sha256 is {digest}, want {WEIGHTS_SHA256}", hint="reinstall corpusmill"
        )
    return decode(data, str(WEIGHTS))


def setup() -> None:
    """Loads the weights and the kernels."""
    weights()
    warm()


def pool(page: Blocks, scores: list[int]) -> list[int]:
    """`scores` after two rules of structure: a table of data has one score, the mean by words, so
    that it is kept whole or not at all; code has at least the score of the better of the blocks
    before and after it, since it reads like no prose. (Cross-validated: code lines kept rose from
    .80 to .90 of those in the markup, F1 stayed.)"""
    words = page.measures[:, WORDS].tolist()
    for first, last in data_tables(page).values():
        total = sum(words[first:last])
        if total:
            mean = sum(scores[b] * words[b] for b in range(first, last)) // total
            scores[first:last] = [mean] * (last - first)
    is_code = page.blocks[:, IS_PRE].tolist()
    if any(is_code):
        for order in (range(len(scores)), range(len(scores) - 1, -1, -1)):
            beside = 0
            for b in order:
                if is_code[b]:
                    scores[b] = max(scores[b], beside)
                else:
                    beside = scores[b]
    return scores


def decide(page: Blocks, using: Weights) -> tuple[Decision, str]:
    """Which blocks of the page are kept, and the page's type."""
    from .forest import scores

    found = pool(page, scores(page.rows, using, "main").tolist())
    words = page.measures[:, WORDS].tolist()
    decision = best_blocks(found, words)
    listed, headings = _listed(page), is_heading(page).tolist()
    run = main_run(decision, found, words, ARTICLE, listed=listed, headings=headings)
    kind = page_type(page, run, using) if run is not decision else ""
    if kind in RUN_TYPES:
        decision = run
    else:
        decision = main_run(decision, found, words, ANYWHERE, listed=listed, headings=headings)
        kind = page_type(page, decision, using)
    kept = once(page, completed(page, opened(page, decision.kept)), found)
    return Decision(without_end_headings(page, kept), decision.confidence), kind


def _listed(page: Blocks) -> list[int]:
    """The words of each block in a list item, 0 of others, -1 where it has a link."""
    in_item = page.rows[:, _NEAR_LI] < _ITEM_LEVELS
    words = np.where(in_item, page.measures[:, WORDS], 0)
    found: list[int] = np.where(page.blocks[:, LINKS] > 0, -1, words).tolist()
    return found


def main_content(
    html: str | bytes,
    form: Format = "text",
    using: Weights | None = None,
    *,
    comments: bool = True,
    to_rewrite: bool = False,
) -> Found:
    """The main content of `html` (as bytes: UTF-8); `using`: other weights than those in the
    package; without `comments` what the page calls comments or replies is left out; `to_rewrite`:
    the page may have formulas or code that nobody has rewritten yet. Raises AssetError if the
    weights are missing."""
    using = using or weights()
    markup = tree_markup(html, to_rewrite=to_rewrite)
    page = analyse(markup)
    decision, kind = decide(page, using)
    kept_words = int(page.measures[list(decision.kept), WORDS].sum())
    if kept_words < FEW_WORDS and kept_words * UNPRUNED_BELOW < page.outside_words:
        whole = analyse(markup, prune=False)
        again, kind_again = decide(whole, using)
        if again.confidence > decision.confidence or not decision.kept:
            page, decision, kind = whole, again, kind_again
    kept = decision.kept if comments else without_comments(page, decision.kept)
    plain = render(page, kept)
    return Found(
        text=plain if form == "text" else render(page, kept, form),
        plain=plain,
        all_words=count_words(page.text.decode("utf-8", "replace")) + page.outside_words,
        confidence=decision.confidence,
        page_type=kind,
    )


def page_type(page: Blocks, decision: Decision, using: Weights) -> str:
    """The most likely type of the page; the first in the header's order of equals."""
    from .forest import raw_each
    from .pagetype import page_row

    if not decision.kept:
        return ""
    row = page_row(page, decision.kept)
    names: list[str] = using.header["page_types"]
    found = raw_each(row, [using.forests[f"type_{name}"] for name in names])
    return names[max(range(len(names)), key=lambda i: (found[i], -i))]
