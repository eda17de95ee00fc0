"""UTF-8 that was encoded twice: what is restored, and what is changed that should not be.

    python -m bench.twice [--quick] [--json] [--pages N] [--changed]

Pages in UTF-8 of the sample crawl (``CORPUSMILL_DATA``), in many languages. ``kept``: whole pages
that are right as they are, and are left so. The other columns: the same pages, read as the encoding
named there and written as UTF-8 again (windows-1252 with control characters where it has holes, as
browsers do), of which the text comes out equal. ``paragraphs``: of texts that people wrote or
corrected, the paragraphs that stay as they are; ``--changed`` prints those that do not. Beside ours
stands ftfy 6 (``make peers``), its ``fix_encoding`` alone and all of ``fix_text``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.stages.extract import charset

from . import texts
from .charset import interval_of
from .charset_pages import crawled
from .crawl import keyed
from .detectors import REPAIRS, installed
from .harness import Report, finish, parser

PAGES, QUICK_PAGES, PARAGRAPHS = 400, 20, 5000
MIDDLES = {
    "windows-1252": "cp1252", "windows-1251": "cp1251", "macintosh": "mac_roman", "ibm437": "cp437"
}  # fmt: skip
LEAST = 4
"""Pages with fewer characters beyond ASCII are left out: there is little to see."""

Repair = Callable[[bytes], tuple[str, float]]


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--pages", type=int, help=f"so many pages (default {PAGES})")
    options.add_argument("--changed", action="store_true", help="print paragraphs that are changed")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def twice(text: str, codec: str) -> bytes | None:
    """`text` in UTF-8, read as `codec`, in UTF-8 again; None where the codec has no such text."""
    try:
        return text.encode().decode(codec, "corpusmill-c1").encode()
    except UnicodeDecodeError:
        return None


def ours(body: bytes) -> tuple[str, float]:
    began = time.process_time()
    text = charset.decode(body).text
    return text, time.process_time() - began


def pages(quick: bool, most: int) -> list[str]:
    """Pages whose text is known, in the order of a keyed hash."""
    folder = texts.data(quick)
    if folder is None:
        found = crawled(texts.SAMPLE / "crawl", texts.GOLD / "manifest.jsonl.gz")
    else:
        found = crawled(folder / "crawl", folder / "crawl" / "manifest.jsonl.gz")
    some = sorted(
        (s for s in found if len(s.text) - len(s.text.encode("ascii", "ignore")) >= LEAST),
        key=lambda s: keyed(s.url),
    )
    return [source.text for source in some[:most]]


def paragraphs(quick: bool) -> list[str]:
    """Paragraphs with characters beyond ASCII of texts that are known to be right."""
    found: list[str] = []
    for name, rows in texts.clean(texts.data(quick), 5).items():
        if name != "crawl":
            for text in rows.values():
                found += [
                    line.removeprefix("\ufeff") for line in text.split("\n") if not line.isascii()
                ]
    return sorted(set(found), key=keyed)[:PARAGRAPHS]


def measure(args: Any) -> Report:
    others, missing = installed()
    repairs: dict[str, Repair] = {"corpusmill": ours}
    for name in REPAIRS:
        if name in others:
            repairs[name] = lambda body, of=others[name]: of.ask(body)[1:]  # type: ignore[misc]
    given = pages(args.quick, args.pages or (QUICK_PAGES if args.quick else PAGES))
    say(f"{len(given)} pages")
    lines = paragraphs(args.quick)
    rows = []
    for name, repair in repairs.items():
        row: dict[str, Any] = {"row": name}
        spent = size = 0.0
        kept = 0
        for text in given:
            body = text.encode()
            found, took = repair(body)
            kept += found == text
            spent, size = spent + took, size + len(body)
        row["kept"], row["kept 95 %"] = f"{kept}/{len(given)}", interval_of((kept, len(given)))
        row["MB a CPU s"] = size / 1e6 / max(spent, 1e-9)
        for middle, codec in MIDDLES.items():
            bodies = [(text, made) for text in given if (made := twice(text, codec)) is not None]
            right = sum(repair(made)[0] == text for text, made in bodies)
            row[middle] = f"{right}/{len(bodies)}"
        same = 0
        for line in lines:
            found = repair(line.encode())[0]
            same += found == line
            if args.changed and found != line:
                say(f"{name}: {line[:200]!r}\n    {found[:200]!r}")
        row["paragraphs"] = f"{same}/{len(lines)}"
        rows.append(row)
        say(f"{name}: done")
    for other in others.values():
        other.end()
    return Report(
        bench="twice",
        versions={name: others[name].version for name in REPAIRS if name in others},
        rows=rows,
        bars={},
        columns=("row", "kept", "kept 95 %", *MIDDLES, "paragraphs", "MB a CPU s"),
        notes=[f"not installed: {name}" for name in REPAIRS if name in missing],
    )


if __name__ == "__main__":
    sys.exit(main())
