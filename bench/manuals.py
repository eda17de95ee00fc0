"""Manual pages of each language of the crawl beside their text, by the tier ``own``.

    python -m bench.manuals [--quick] [--json] [--pages N] [--show LANGUAGE]

Pages (``CORPUSMILL_DATA``) are those of `bench.extract_pages.manuals`: twenty a language, or all
where there are fewer, hosts taking turns. ``F1`` and ``shingles`` are means
(`corpusmill.stages.extract.scoring`); ``begins`` and ``ends`` count pages whose first, or last,
line is not in their text, ``lost`` those of which a tenth or more of the words is missing.
``--show`` prints each of these pages of a language: the lines that are missing (-) and those that
are too many (+). ``--quick``: four pages a language.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from corpusmill.stages.extract import extract
from corpusmill.stages.extract.scoring import Score, macro, shingles, word_bag

from . import texts
from .extract_pages import MANUALS, Page, manuals
from .harness import Bar, BenchError, Report, finish, parser

PAGES = 20
LEAST_F1, LEAST_RECALL = 0.9, 0.9
_MARKS = re.compile(r"(?m)^[ \-]*\d+\.(?=\s)|[\s|\-]+")


@dataclass(frozen=True, slots=True)
class Read:
    """A page and what came out."""

    page: Page
    text: str
    bag: Score
    runs: Score

    @property
    def begins_wrong(self) -> bool:
        return _line(self.text, 0) not in squeezed(self.page.gold)

    @property
    def ends_wrong(self) -> bool:
        return _line(self.text, -1) not in squeezed(self.page.gold)

    @property
    def lost(self) -> bool:
        return self.bag.recall < LEAST_RECALL


def squeezed(text: str) -> str:
    """`text` without white space and the marks of lists (numbers too) and tables."""
    return _MARKS.sub("", text)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _line(text: str, which: int) -> str:
    found = lines(text)
    return squeezed(found[which]) if found else ""


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--pages", type=int, default=PAGES, help=f"a language (default {PAGES})")
    options.add_argument("--show", metavar="LANGUAGE", help="print what is wrong with its pages")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def measure(args: Any) -> Report:
    folder = texts.data(False)
    if folder is None:
        raise BenchError("no pages", hint="set CORPUSMILL_DATA")
    by_language: dict[str, list[Read]] = {}
    for page in manuals(folder, MANUALS if args.quick else args.pages):
        if args.show in (None, page.kind):
            by_language.setdefault(page.kind, []).append(read(page))
    if args.show:
        for line in chain.from_iterable(map(differences, by_language.get(args.show, []))):
            print(line)
    rows = [row(language, found) for language, found in by_language.items()]
    rows.append(row("all", [one for found in by_language.values() for one in found]))
    return Report(
        bench="manuals",
        versions={},
        rows=rows,
        bars={"F1 of the worst language": Bar(min(made["F1"] for made in rows), LEAST_F1)},
        columns=("language", "pages", "hosts", "F1", "shingles", "begins", "ends", "lost"),
    )


def read(page: Page) -> Read:
    text = extract(page.html, tier="own").text
    return Read(page, text, word_bag(text, page.gold), shingles(text, page.gold))


def row(language: str, found: Sequence[Read]) -> dict[str, Any]:
    """The figures of the pages of a language."""
    return {
        "language": language,
        "pages": len(found),
        "hosts": len({one.page.site for one in found}),
        "F1": round(macro([one.bag for one in found]).f1, 3),
        "shingles": round(macro([one.runs for one in found]).f1, 3),
        "begins": sum(one.begins_wrong for one in found),
        "ends": sum(one.ends_wrong for one in found),
        "lost": sum(one.lost for one in found),
    }


def differences(found: Read) -> list[str]:
    """The page's address and the lines in which it differs; empty where nothing is wrong."""
    if not (found.begins_wrong or found.ends_wrong or found.lost):
        return []
    known, got = squeezed(found.page.gold), squeezed(found.text)
    return [
        f"{found.page.url} {found.bag.f1:.3f}",
        *(f"  - {line}" for line in lines(found.page.gold) if squeezed(line) not in got),
        *(f"  + {line}" for line in lines(found.text) if squeezed(line) not in known),
    ]


if __name__ == "__main__":
    sys.exit(main())
