"""Real pages in 31 encodings, with no label, a right one and wrong ones, beside other detectors.

    python -m bench.charset [--quick] [--json] [--half looked|reported] [--more FOLDER] [--peers]
                            [--misses] [--only NAME …] [--pages N]

The pages are those of the sample crawl (``CORPUSMILL_DATA``), written anew in each encoding that
their language has (`bench.charset_pages`). Hosts are split by a keyed hash: the rules were written
with one half (``looked``), the other is reported. A page is right if the decoded text is equal,
character by character. Conditions: no label; the right one in the HTTP header, in the page;
``utf-8``, ``iso-8859-1`` and one more plausible wrong label, each in the header and in the page.
Intervals are Wilson's, of 95 %. The other detectors see the page only, so no header;
their answer is decoded as ours is, and their CPU seconds are of the detection alone, ours of the
decoding too. ``--quick`` takes ten pages an encoding, of the embedded sample.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.stages.extract.charset import decode, encoding_name
from corpusmill.stages.extract.charset_labels import PYTHON_CODECS

from . import texts
from .charset_pages import ENCODINGS, Encoding, Source, chosen, crawled, declared, more, reported
from .charset_pages import written as write
from .detectors import REPAIRS, installed
from .harness import Bar, Report, finish, parser, wilson

PAGES, QUICK_PAGES = 100, 10
DEFAULTS = ("utf-8", "iso-8859-1")
CONDITIONS = ("none", "right header", "right meta", "wrong header", "wrong meta")
NO_LABEL, WRONG = 0.99, 0.985


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--half", choices=("looked", "reported"), default="looked")
    options.add_argument("--more", type=Path, help="more pages: FOLDER/LANGUAGE/….html, in UTF-8")
    options.add_argument("--misses", action="store_true", help="name every page that went wrong")
    options.add_argument("--peers", action="store_true", help="the other detectors too")
    options.add_argument("--only", nargs="+", help="these encodings", metavar="NAME")
    options.add_argument("--pages", type=int, help=f"pages an encoding (default {PAGES})")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def interval_of(found: tuple[int, int]) -> str:
    """Wilson's interval of (right, of), as text."""
    low, high = wilson(*found)
    return f"{100 * low:.2f} to {100 * high:.2f} % of {found[1]}"


def cases(page: Source, encoding: Encoding) -> list[tuple[str, str, bytes, str, str | None]]:
    """(condition, label, bytes, text, header) of every way to label a page."""
    found: list[tuple[str, str, bytes, str, str | None]] = []

    def add(condition: str, label: str) -> None:
        inside = condition.endswith("meta")
        made = write(declared(page.text, label) if inside else page.text, encoding.codec)
        if made is not None:
            header = label if condition.endswith("header") else None
            found.append((condition, label, *made, header))

    add("none", "")
    for place in ("header", "meta"):
        add(f"right {place}", encoding.name)
        for label in (*DEFAULTS, encoding.wrong):
            if encoding_name(label) != encoding.name:
                add(f"wrong {place}", label)
    return found


def _ours(body: bytes, header: str | None) -> str:
    return decode(body, header).text


def _decoded(body: bytes, name: str) -> str:
    known = encoding_name(name.replace("_", "-")) or encoding_name(name)
    codec = PYTHON_CODECS.get(known, (known or name,))[0]
    try:
        return body.decode(codec, "replace").removeprefix("\ufeff")
    except LookupError:
        return ""


SLOW = frozenset({"charset-normalizer", "chardet", "trafilatura"})
"""Detectors that see ten pages an encoding."""


def measure(args: Any) -> Report:
    sources = pages(args)
    most = args.pages or (QUICK_PAGES if args.quick else PAGES)
    encodings = [e for e in ENCODINGS if not args.only or e.name in args.only]
    others, missing = installed() if args.peers else ({}, [])
    others = {name: other for name, other in others.items() if name not in REPAIRS}
    contestants = ["corpusmill", *others]
    right: Counter[tuple[str, str, str]] = Counter()
    of: Counter[tuple[str, str, str]] = Counter()
    seconds: Counter[str] = Counter()
    size: Counter[str] = Counter()
    taken: dict[str, list[Source]] = {e.name: chosen(sources, e, most) for e in encodings}
    for encoding in encodings:
        say(f"{encoding.name}: {len(taken[encoding.name])} pages")
        for number, page in enumerate(taken[encoding.name]):
            for condition, label, body, text, header in cases(page, encoding):
                for name in contestants:
                    if name != "corpusmill" and condition.endswith("header"):
                        continue
                    if name in SLOW and number >= 10:
                        continue
                    if name == "corpusmill":
                        began = time.process_time()
                        found = _ours(body, header)
                        took = time.process_time() - began
                    else:
                        said, found, took = others[name].ask(body)
                        found = found or _decoded(body, said)
                    seconds[name] += took  # type: ignore[assignment]
                    size[name] += len(body)
                    key = (name, encoding.name, condition)
                    of[key] += 1
                    right[key] += found == text
                    if args.misses and name == "corpusmill" and found != text:
                        _tell(encoding, page, condition, label, body, text, header)
    for other in others.values():
        other.end()
    rows = [_row(e.name, len(taken[e.name]), right, of) for e in encodings]
    totals = [_total(name, right, of, seconds[name], size[name]) for name in contestants]
    none = _sum("corpusmill", ("none",), right, of)
    wrong = _sum("corpusmill", ("wrong header", "wrong meta"), right, of)
    few = [e.name for e in encodings if len(taken[e.name]) < most]
    return Report(
        bench="charset",
        versions={name: other.version for name, other in others.items()},
        rows=[*rows, *totals],
        bars={
            "right without a label": Bar(none[0] / max(1, none[1]), NO_LABEL),
            "right with a wrong label": Bar(wrong[0] / max(1, wrong[1]), WRONG),
        },
        columns=("what", "pages", *CONDITIONS, "MB a CPU s"),
        notes=[
            f"{len({p.host for t in taken.values() for p in t})} hosts"
            + ("" if texts.data(args.quick) is None else f" of the {args.half} half"),
            f"Wilson 95 %, no label: {interval_of(none)}",
            f"Wilson 95 %, wrong label: {interval_of(wrong)}",
            f"fewer than {most} pages: {', '.join(few) or 'none'}",
            *(f"not installed: {name}" for name in missing),
        ],
    )


def pages(args: Any) -> list[Source]:
    """The pages of one half; with ``--quick``, or without the data, all of the embedded sample."""
    folder = texts.data(args.quick)
    if folder is None:
        return list(crawled(texts.SAMPLE / "crawl", texts.GOLD / "manifest.jsonl.gz"))
    report = args.half == "reported"
    crawl = folder / "crawl"
    found = [s for s in crawled(crawl, crawl / "manifest.jsonl.gz") if reported(s.host) == report]
    if args.more is not None and report:
        found += more(args.more)
    return found


def _row(
    name: str, pages: int, right: Counter[tuple[str, str, str]], of: Counter[tuple[str, str, str]]
) -> dict[str, Any]:
    row: dict[str, Any] = {"what": name, "pages": pages}
    for condition in CONDITIONS:
        key = ("corpusmill", name, condition)
        row[condition] = f"{right[key]}/{of[key]}" if of[key] else None
    return row


def _sum(
    name: str, conditions: Sequence[str], right: Counter[tuple[str, str, str]],
    of: Counter[tuple[str, str, str]],
) -> tuple[int, int]:  # fmt: skip
    mine = [k for k in of if k[0] == name and k[2] in conditions]
    return sum(right[k] for k in mine), sum(of[k] for k in mine)


def _total(
    name: str, right: Counter[tuple[str, str, str]], of: Counter[tuple[str, str, str]],
    seconds: float, size: int,
) -> dict[str, Any]:  # fmt: skip
    row: dict[str, Any] = {"what": name, "MB a CPU s": size / 1e6 / max(seconds, 1e-9)}
    row["pages"] = _sum(name, ("none",), right, of)[1]
    for condition in CONDITIONS:
        good, all_ = _sum(name, (condition,), right, of)
        row[condition] = f"{100 * good / all_:.2f}%" if all_ else None
    return row


def _tell(
    encoding: Encoding, page: Source, condition: str, label: str, body: bytes, text: str,
    header: str | None,
) -> None:  # fmt: skip
    found = decode(body, header)
    differ = (
        sum(a != b for a, b in zip(found.text, text, strict=True))
        if len(found.text) == len(text) else -1
    )  # fmt: skip
    say(
        f"MISS {encoding.name} {condition} {label or '-'} -> {found.codec} by {found.rule}, "
        f"{differ} of {len(text) - len(text.encode('ascii', 'ignore'))}: {page.language} {page.url}"
    )


if __name__ == "__main__":
    sys.exit(main())
