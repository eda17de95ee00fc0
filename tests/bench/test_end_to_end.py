"""`bench.end_to_end` without its peer: inputs, our side, and how the figures are put together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bench import crawl, end_to_end, ours, peer_datatrove
from bench.harness import ROOT, BenchError
from corpusmill.pipeline.recipe import Recipe

HTML = (
    "<html><body><div><div><div><article><h1>Mill</h1><p>{0} The water wheel turns the stones, and "
    "the stones grind the wheat into flour for the whole valley, day after day.</p><p>In winter "
    "the stream freezes and the miller mends the sacks and sharpens the grooves.</p></article>"
    "</div></div></div></body></html>"
)


def rows(*families: str) -> list[dict[str, Any]]:
    return [
        {"near_cluster": f, "url": f"https://{n}.example/", "file": "a", "offset": 100 - n}
        for n, f in enumerate(families)
    ]


def test_families_are_chosen_whole_and_in_crawl_order() -> None:
    given = rows("x", "y", "x", "z", "y", "x")
    for pages in range(1, 7):
        chosen = crawl.choose(given, pages)
        assert len(chosen) >= pages
        assert [r["offset"] for r in chosen] == sorted(r["offset"] for r in chosen)
        names = {r["near_cluster"] for r in chosen}
        assert len(chosen) == sum(r["near_cluster"] in names for r in given)
    assert crawl.choose(given[::-1], 2) == crawl.choose(given, 2)
    assert len(crawl.choose(given, 6)) == 6


def test_pages_without_a_family_stand_alone() -> None:
    assert len(crawl.choose(rows("", "", ""), 1)) == 1


def test_select_copies_records_of_one_language(tmp_path: Path) -> None:
    sample = ROOT / "configs/sample/crawl"
    found = crawl.select(
        sample, crawl.TESTS / "crawl_gold/manifest.jsonl.gz", 30, tmp_path / "crawl"
    )
    assert 30 <= len(found.pages) < 80
    manifest = {
        (r["url"], r["near_cluster"] or r["url"]): crawl.language(r)
        for r in crawl.read_jsonl(crawl.TESTS / "crawl_gold/manifest.jsonl.gz")
    }
    known = [manifest[page["url"], page["family"]] for page in found.pages.values()]
    assert set(known) == {"en"}
    copied = b"".join(p.read_bytes() for p in sorted(found.folder.iterdir()))
    assert copied.count(b"\x1f\x8b\x08") >= len(found.pages)


def test_record_that_is_no_response_is_refused() -> None:
    import gzip

    raw = gzip.compress(
        b"WARC/1.0\r\nWARC-Type: request\r\nWARC-Record-ID: <urn:x>\r\n\r\n", mtime=0
    )
    with pytest.raises(BenchError, match="a response was expected"):
        crawl.record_id(raw)


def test_our_text_of_labelled_pages_is_found_by_record(tmp_path: Path) -> None:
    pages = crawl.of_html(
        "probe",
        [(f"https://{n}.example/", HTML.format(n), f"{n} The water wheel") for n in ("one", "two")],
        tmp_path / "probe",
    )
    found = ours.texts("fast", pages)
    assert found.keys() == pages.gold.keys()
    for key, gold in pages.gold.items():
        assert gold in found[key]


def test_sample_labels_are_complete(tmp_path: Path) -> None:
    own, docs = crawl.sample_labels(ROOT / "configs/sample/crawl", tmp_path)
    assert (len(own.gold), len(docs.gold)) == (24, 14)
    assert all(len(text) > 100 for text in own.gold.values())


@pytest.mark.parametrize("tier", ours.tiers())
def test_recipe_is_valid(tier: str, tmp_path: Path) -> None:
    text = ours.recipe(tier, tmp_path, tmp_path, [tmp_path / "domains", tmp_path / "urls"])
    recipe = Recipe.parse(text, tmp_path)
    assert [step.stage for step in recipe.steps][:2] == ["filters.url", "extract.tiers"]
    assert len(recipe.steps[0].params.block) == 2
    assert [product.stage for product in recipe.products] == [
        "tokenizers.given", "tokenizers.shards",
    ]  # fmt: skip


def row(name: str, speed: float, mib: int, **scores: float | None) -> dict[str, Any]:
    return {"row": name, "pages_per_cpu_second": speed, "peak_mib": mib, **scores}


def test_headline_is_the_fastest_row_that_is_as_good() -> None:
    scores = ["f1_a", "f1_b"]
    peer = row("datatrove", 10.0, 800, f1_a=0.8, f1_b=0.9)
    fast = row("corpusmill fast", 90.0, 200, f1_a=0.95, f1_b=0.885)  # far below on one set
    near = row("corpusmill near", 60.0, 200, f1_a=0.803, f1_b=0.895)  # below in the mean
    best = row("corpusmill best", 40.0, 400, f1_a=0.82, f1_b=0.895)
    slow = row("corpusmill slow", 20.0, 400, f1_a=0.9, f1_b=0.95)
    given = [peer, fast, near, best, slow]
    found = end_to_end.headline(given, "datatrove", scores)
    assert found is not None
    assert found["row"] == "corpusmill best"
    bars = end_to_end.bars_of(given, scores)
    assert bars["speed_of_corpusmill_best_over_datatrove"].value == 4.0
    assert bars["memory_of_datatrove_over_corpusmill_best"].value == 2.0
    # A set that a row is not scored on does not count for it, but one must be.
    unscored = row("corpusmill own", 95.0, 100, f1_a=0.8, f1_b=None)
    found = end_to_end.headline([*given, unscored], "datatrove", scores)
    assert found is not None
    assert found["row"] == "corpusmill own"
    nothing = row("corpusmill own", 95.0, 100, f1_a=None, f1_b=None)
    assert end_to_end.headline([peer, nothing], "datatrove", scores) is None


def test_no_row_as_good_is_a_bar_that_does_not_hold() -> None:
    peer = row("datatrove", 10.0, 800, f1_a=0.8)
    bars = end_to_end.bars_of([peer, row("corpusmill fast", 90.0, 200, f1_a=0.7)], ["f1_a"])
    assert [bar.plain()["holds"] for bar in bars.values()] == [False, False]


def test_agreement_by_record_url_and_family() -> None:
    pages = {
        "r1": {"url": "u1", "family": "f1"},
        "r2": {"url": "u2", "family": "f1"},
        "r3": {"url": "u3", "family": "f3"},
        "r4": {"url": "u3", "family": "f3"},
    }
    given: list[dict[str, Any]] = [
        {"row": "corpusmill fast", "filtered": {"r1", "r2", "r4"}, "kept": {"r2", "r4"}},
        {"row": "datatrove", "filtered": {"r1", "r2", "r3"}, "kept": {"r1", "r3"}},
    ]
    end_to_end.agreement(given, pages)
    ours_row, peer = given
    assert ours_row["same_filtered"] == 0.5
    assert ours_row["same_kept_urls"] == round(1 / 3, 3)
    assert ours_row["same_kept_families"] == 1.0
    assert (ours_row["filtered"], ours_row["kept"]) == (3, 2)
    assert [peer[k] for k in ("same_filtered", "same_kept_urls", "same_kept_families")] == [1.0] * 3


def test_peers_figures_are_read(tmp_path: Path) -> None:
    import gzip
    import json

    for name, ids in (("filtered", ["<urn:a>", "<urn:b>"]), ("kept", ["<urn:b>"])):
        (tmp_path / name).mkdir()
        with gzip.open(tmp_path / name / "00000.jsonl.gz", "wt") as out:
            out.writelines(json.dumps({"id": i, "text": "t"}) + "\n" for i in ids)
    figures = [
        {"executor": "start", "cpu_seconds": 0.1, "blocks": []},
        {"executor": "filter", "cpu_seconds": 5.0, "blocks": [
            {"name": "🔻 - FILTER: 🥇 Gopher Quality", "time_stats": {"total": 1.25}},
        ]},
    ]  # fmt: skip
    (tmp_path / "figures.json").write_text(json.dumps(figures))
    assert peer_datatrove.outcome(tmp_path) == {
        "filtered": {"urn:a", "urn:b"},
        "kept": {"urn:b"},
        "stages": {"filter: Gopher Quality": 1.25},
        "executors": {"start": 0.1, "filter": 5.0},
    }


def test_peer_is_pinned_and_whole() -> None:
    lines = (peer_datatrove.SCRIPTS / "requirements.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert pins["datatrove"] == "0.10.1"
    assert {"lxml_html_clean", "spacy", "warcio"} <= pins.keys()
    assert int(pins["xxhash"].split(".")[0]) < 4  # its MinHash hands text to xxhash
    assert pins.keys() >= set(peer_datatrove.DISTRIBUTIONS)
    base = (ROOT / "requirements/base.txt").read_text()
    ours_version = re.search(r"^trafilatura==([0-9.]+)", base, flags=re.MULTILINE)
    assert ours_version is not None
    assert pins["trafilatura"] == ours_version[1]
