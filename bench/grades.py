"""Pages of the crawl with grades from 0 to 5, given by reading them, and what agrees with them.

The grades are in ``tests/data/quality/grades.jsonl``: 400 English pages, 150 of them in the
sample's crawl, each graded twice, blind to the other grade and to every score, from its beginning,
a piece of its middle and its end. 0: no content, or spam; 1: hardly any; 2: fragments; 3: useful
though dry or partial; 4: a good explanation; 5: as of a textbook. Both readers were language models
of one make, so that their agreement says less than that of two people would.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from corpusmill.pipeline.document import Page
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.extract import extract
from corpusmill.stages.sources.warc import Warc, WarcParams

from .harness import ROOT, BenchError

GRADES = ROOT / "tests" / "data" / "quality" / "grades.jsonl"
SAMPLE = ROOT / "configs" / "sample" / "crawl"


@dataclass(frozen=True, slots=True)
class Graded:
    """A page's text (tier ``fast``), the grades of both readers, and whether it is natural."""

    url: str
    text: str
    grades: tuple[int, int]
    natural: bool


def graded(data: Path | None) -> list[Graded]:
    """The graded pages: all of them from the crawl in the data folder, without it those of the
    sample. Raises BenchError where one is missing."""
    rows = [json.loads(line) for line in GRADES.read_text("utf-8").splitlines()]
    crawl = SAMPLE if data is None else data / "crawl"
    wanted: dict[object, Any] = {}
    for row in rows:
        if data is not None:
            wanted[row["file"], row["offset"]] = row
        elif row["sample"]:
            wanted[row["url"]] = row
    found = []
    for path in sorted(crawl.rglob("*.warc.gz")):
        file = InputFile("crawl", str(path), path.name, path.stat().st_size)
        for record in Warc(WarcParams()).read(file):
            page = record.outcome
            if not isinstance(page, Page):
                continue
            key: object = page.url if data is None else (path.name, page.meta["offset"])
            row = wanted.pop(key, None)
            if row is not None:
                text = extract(page.body, url=page.url, tier="fast").text
                natural = row["kind"].startswith("natural")
                found.append(Graded(page.url, text, tuple(row["grades"]), natural))
    if wanted:
        raise BenchError(f"{len(wanted)} graded pages are not in {crawl}, {min(map(str, wanted))}")
    return found


def write_labels(path: Path, pages: Sequence[Graded]) -> None:
    """The pages as a label file of ``corpusmill train grade``: the mean grade of each, its host as
    the group."""
    rows = [
        {
            "text": page.text, "label": f"{sum(page.grades) / 2:g}",
            "group": urlsplit(page.url).hostname, "licence": "NOASSERTION",
            "source": "natural" if page.natural else "made",
        }
        for page in pages
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """``python -m bench.grades OUT.jsonl`` writes all graded pages as labels."""
    (out,) = sys.argv[1:] if argv is None else argv
    named = os.environ.get("CORPUSMILL_DATA")
    write_labels(Path(out), graded(Path(named) if named else None))
    return 0


if __name__ == "__main__":
    sys.exit(main())
