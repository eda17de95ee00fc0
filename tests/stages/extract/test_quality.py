"""How good the tiers are: floors on a committed set, and on the full sets where they are."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
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
    (7, "text"): "8dc06392d2fdb630c085cd77cf92de92",
    (7, "markdown"): "8c1c024c1b72243ed29f3045016071ff",
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
