"""How good the tiers are: floors on a committed set, and on the full sets where they are."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

from corpusmill.stages.extract import extract
from corpusmill.stages.extract.libraries import Format
from corpusmill.stages.extract.policy import Tier
from corpusmill.stages.extract.scoring import macro, shingles, word_bag, words
from corpusmill.stages.extract.tiers import STAGE

GOLD = Path(__file__).parents[2] / "data" / "html" / "gold_pages.jsonl"
PROBES = ("structure", "scripts", "formulas")
LICENCES = {"Apache-2.0", "PostgreSQL"}


def floors(rows: list[dict[str, Any]], gold: str, tier: Tier) -> tuple[float, float]:
    """Word-bag F1 and shingle F1 over the rows whose gold text has words."""
    bags, runs = [], []
    for row in rows:
        if not words(row[gold]):
            continue
        text = extract(row["html"], tier=tier).text
        bags.append(word_bag(text, row[gold]))
        runs.append(shingles(text, row[gold]))
    return macro(bags).f1, macro(runs).f1


def gold_pages() -> list[dict[str, Any]]:
    return [json.loads(line) for line in GOLD.read_text(encoding="utf-8").splitlines()]


def test_the_committed_pages_are_licensed() -> None:
    rows = gold_pages()
    assert len(rows) == 24
    assert {r["licence"] for r in rows} == LICENCES
    assert GOLD.stat().st_size <= 300_000


@pytest.mark.parametrize(
    ("tier", "bag", "run"),
    [
        ("fast", 0.930, 0.905),
        ("default", 0.937, 0.905),
        ("quality", 0.932, 0.885),
        ("trafilatura", 0.915, 0.868),
        ("resiliparse", 0.930, 0.905),
        ("own", 0.960, 0.940),
    ],
)
def test_committed_pages(tier: Tier, bag: float, run: float) -> None:
    got_bag, got_run = floors(gold_pages(), "text", tier)
    assert got_bag >= bag
    assert got_run >= run


SCRIPTS = {
    "ru": "Cyrillic", "el": "Greek", "ar": "Arabic", "fa": "Arabic", "hi": "Devanagari",
    "ja": "Japanese", "ko": "Hangul", "zh": "Han", "zh-Hant": "Han",
}  # fmt: skip


@pytest.mark.parametrize(
    ("script", "pages", "bag", "run"),
    [
        ("Latin", 19, 0.96, 0.94),
        ("Japanese", 2, 0.94, 0.91),
        ("Hangul", 2, 0.94, 0.85),
        ("Han", 1, 0.98, 0.98),
    ],
)
def test_committed_pages_by_script(script: str, pages: int, bag: float, run: float) -> None:
    rows = [r for r in gold_pages() if SCRIPTS.get(r["lang"], "Latin") == script]
    assert len(rows) == pages
    got_bag, got_run = floors(rows, "text", "own")
    assert got_bag >= bag
    assert got_run >= run


def manuals(script: str, count: int) -> list[dict[str, Any]]:
    """Every so many of the crawl's manual pages in a script, with their main text."""
    root = Path(os.environ["CORPUSMILL_DATA"])
    with gzip.open(root / "html_gold" / "doc_containers.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [r for r in rows if SCRIPTS.get(r["lang"], "Latin") == script]
    rows = rows[:: max(1, len(rows) // count)][:count]
    for row in rows:
        with (root / "crawl" / row["crawl_file"]).open("rb") as file:
            file.seek(row["offset"])
            record = zlib.decompress(file.read(row["length"]), 31)
        _, _, http = record.partition(b"\r\n\r\n")
        _, _, body = http.partition(b"\r\n\r\n")
        row["html"] = body.removesuffix(b"\r\n\r\n")
    return rows


@pytest.mark.slow
@pytest.mark.fulldata
@pytest.mark.parametrize(
    ("script", "bag", "run"),
    [
        ("Cyrillic", 0.97, 0.96),
        ("Greek", 0.98, 0.97),
        ("Arabic", 0.96, 0.95),
        ("Devanagari", 0.97, 0.94),
        ("Japanese", 0.96, 0.95),
        ("Hangul", 0.97, 0.96),
        ("Han", 0.96, 0.95),
        ("Latin", 0.90, 0.89),
    ],
)
def test_manuals_by_script(script: str, bag: float, run: float) -> None:
    if not os.environ.get("CORPUSMILL_DATA"):
        pytest.skip("CORPUSMILL_DATA is not set")
    rows = manuals(script, 20)
    assert len(rows) >= 14
    got_bag, got_run = floors(rows, "text", "own")
    assert got_bag >= bag
    assert got_run >= run


def full(name: str, every: int) -> list[dict[str, Any]]:
    folder = os.environ.get("CORPUSMILL_DATA")
    if not folder:
        pytest.skip("CORPUSMILL_DATA is not set")
    with lzma.open(Path(folder) / name / "pages.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines][::every]


@pytest.mark.slow
@pytest.mark.fulldata
@pytest.mark.parametrize(
    ("tier", "wcxb", "aeb"),
    [
        ("fast", 0.838, 0.878),
        ("default", 0.847, 0.887),
        ("quality", 0.851, 0.931),
        ("trafilatura", 0.812, 0.927),
        ("resiliparse", 0.814, 0.878),
    ],
)
def test_full_sets(tier: Tier, wcxb: float, aeb: float) -> None:
    """Every sixth page of WCXB (word bag; 153 pages) and every second of the article benchmark
    (shingles; 51 pages)."""
    pages = full("wcxb_dev", 6)
    assert len(pages) == 153
    assert floors(pages, "gold_text", tier)[0] >= wcxb
    articles = full("aeb_half", 2)
    assert len(articles) == 51
    assert floors(articles, "gold_text", tier)[1] >= aeb


GOLDEN = {
    (10, "text"): "29fa2100caf441e5cc0c7d77a712ae8c",
    (10, "markdown"): "0a12c67d696d72d0b99178b54139cf2e",
}
"""Digests of all texts of the committed pages, by stage version and format: the same on every
Python. Output that changes needs a new version of the stage."""


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_output_changes_only_with_the_version(form: Format) -> None:
    pages = [r["html"] for r in gold_pages()]
    pages += [(GOLD.parent / f"{n}.html").read_text("utf-8") for n in PROBES]
    digest = hashlib.sha256()
    for tier in ("fast", "default", "quality", "own"):
        for html in pages:
            found = extract(html, tier=tier, format=form)
            row = [found.text, found.path, found.words, found.all_words, found.title]
            digest.update(json.dumps(row).encode())
    assert digest.hexdigest()[:32] == GOLDEN[STAGE.version, form]
