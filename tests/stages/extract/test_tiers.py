"""The stage: outcomes, signals, budgets, sameness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.document import Document, Drop, Failure, Outcome, Page
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.stages.extract.limits import Limits
from corpusmill.stages.extract.policy import TIERS, Tier
from corpusmill.stages.extract.tiers import STAGE, TiersParams
from corpusmill.stages.extract.worker import Worker, WorkerLimits

HTML = Path(__file__).parents[2] / "data" / "html"
STRUCTURE = (HTML / "structure.html").read_bytes()
SCRIPTS = (HTML / "scripts.html").read_bytes()


def page(body: bytes, **meta: str) -> Page:
    return Page("0" * 32, "web", body, {"content-type": "text/html; charset=utf-8"}, {**meta})


def run(batch: list[Page], **params: Any) -> list[Outcome]:
    stage = STAGE(TiersParams(**params))
    stage.setup()
    try:
        return stage.apply(batch)
    finally:
        stage.close()


def text_of(outcome: Outcome) -> str:
    assert isinstance(outcome, Document)
    return outcome.text


@pytest.fixture(scope="module")
def documents() -> dict[Tier, list[Outcome]]:
    return {t: run([page(STRUCTURE), page(SCRIPTS)], tier=t, isolate=False) for t in TIERS}


@pytest.mark.parametrize("tier", TIERS)
def test_structure_survives(documents: dict[Tier, list[Outcome]], tier: Tier) -> None:
    text = text_of(documents[tier][0])
    lines = [line.strip() for line in text.splitlines()]
    assert "Knots for a small boat" in lines
    assert any(line.endswith("Clove hitch, for fenders along the rail") for line in lines)
    assert any("Bowline" in line and "65 percent" in line for line in lines)
    assert 'def remind(knots):\n    for knot in knots:\n\n        print("tie a", knot)' in text
    assert any(line.endswith("Tie the knot behind your back") for line in lines)
    for boilerplate in ("Home menu", "Shop menu", "Imprint"):
        assert boilerplate not in text


@pytest.mark.parametrize("tier", TIERS)
def test_scripts_survive(documents: dict[Tier, list[Outcome]], tier: Tier) -> None:
    text = text_of(documents[tier][1])
    for expected in (
        "这座灯塔建于一八七四年",
        "灯台は一八七四年に",
        "کتاب\u200cها را می\u200cخواهم",
        "👩\u200d👩\u200d👧",
        "🩷",
        "นักศึกษาที่ศึกษาภูมิอากาศ",
    ):
        assert expected in text


def test_signals_and_meta() -> None:
    source = page(STRUCTURE, url="https://knots.example/", date="2026-03-08T12:00:00Z")
    source.signals["kept_from_before"] = 1
    (document,) = run([source], isolate=False)
    assert isinstance(document, Document)
    assert (document.id, document.source) == ("0" * 32, "web")
    assert document.meta == {
        "url": "https://knots.example/",
        "date": "2026-03-08T12:00:00Z",
        "charset": "utf-8",
        "charset_declared": "utf-8",
        "charset_rule": "utf8",
        "title": "Knots & hitches",
    }
    signals = document.signals
    assert signals["kept_from_before"] == 1
    assert signals["extract_path"] == "resiliparse"
    assert signals["html_bytes"] == len(STRUCTURE)
    assert signals["extract_fffd"] == 0
    words, everything = signals["extract_words"], signals["extract_all_words"]
    assert isinstance(words, int)
    assert isinstance(everything, int)
    assert 200 <= words < everything  # the menu and the imprint are in one only
    assert everything - words == len("Home menu Shop menu Imprint of the sailing club".split())


def test_bytes_in_other_encodings() -> None:
    text = "<html><body><p>Größe der Straße: überall gleich, sagte der Wärter.</p></body></html>"
    source = page(text.encode("cp1252"))
    source.headers["content-type"] = "text/html; charset=iso-8859-1"
    (document,) = run([source], tier="fast", isolate=False)
    assert text_of(document) == "Größe der Straße: überall gleich, sagte der Wärter."
    assert isinstance(document, Document)
    assert document.meta["charset"] == "windows-1252"


def test_budgets_empty_pages_and_order() -> None:
    batch = [
        page(b"<div>" * 50_000 + b"x"),
        page(STRUCTURE),
        page(b"".join(b"<p><b id=%d>x</p>" % i for i in range(3000))),
        page(b"<html><body></body></html>"),
        page(b"<p>x</p>" * 30_000),
        page(b""),
        page(b"\0\xff\xfe<p>"),
        page(SCRIPTS),
    ]
    outcomes = run(batch, limits=Limits(max_bytes=200_000 + 100_000))
    reasons = [o.reason if isinstance(o, Drop) else type(o).__name__ for o in outcomes]
    assert reasons == [
        "over_budget_depth",
        "Document",
        "over_budget_nodes",
        "empty_text",
        "Document",
        "empty_text",
        "Document" if isinstance(outcomes[6], Document) else "empty_text",
        "Document",
    ]
    assert outcomes[0] == Drop("over_budget_depth", 2001)
    assert "Knots" in text_of(outcomes[1])
    assert "灯塔" in text_of(outcomes[7])
    assert set(r for r in reasons if r != "Document") <= set(STAGE(TiersParams()).reasons)


def test_the_byte_budget_counts_the_decoded_page() -> None:
    body = "<p>ß</p>".encode("cp1252") * 100  # 8 bytes each, 9 as UTF-8
    source = page(body)
    source.headers["content-type"] = "text/html; charset=windows-1252"
    (kept,) = run([source], limits=Limits(max_bytes=900), isolate=False)
    assert isinstance(kept, Document)
    source = page(body)
    source.headers["content-type"] = "text/html; charset=windows-1252"
    (drop,) = run([source], limits=Limits(max_bytes=899), isolate=False)
    assert drop == Drop("over_budget_bytes", 900)


def test_min_chars() -> None:
    (drop,) = run([page(b"<p>four</p>")], min_chars=5, isolate=False)
    assert drop == Drop("empty_text", 4)


@pytest.mark.parametrize("tier", ["default", "trafilatura"])
def test_a_page_does_not_depend_on_the_pages_before_it(tier: Tier) -> None:
    bodies = [STRUCTURE, SCRIPTS, b"<p>short page</p>", STRUCTURE.replace(b"knot", b"rope")]
    once = {b: run([page(b)], tier=tier, isolate=False)[0] for b in bodies}
    order = [0, 1, 2, 3, 3, 2, 1, 0, 0, 0, 0, 0, 1, 3, 0, 0, 2, 0, 0, 0]
    outcomes = run([page(bodies[i]) for i in order], tier=tier)
    assert outcomes == [once[bodies[i]] for i in order]


def test_markdown() -> None:
    for tier in ("default", "trafilatura"):
        (document,) = run([page(STRUCTURE)], tier=tier, format="markdown", isolate=False)
        text = text_of(document)
        assert "# Knots for a small boat" in text.splitlines()
        assert "## What to learn first" in text.splitlines()
        assert "- Clove hitch, for fenders along the rail" in text.splitlines()
        assert "```\ndef remind(knots):\n    for knot in knots:\n\n        print(" in text


def test_metadata_is_measured_only_if_asked_for() -> None:
    body = STRUCTURE.replace(b"<title>", b'<meta name="author" content="Ada Byron"><title>')
    (without,) = run([page(body)], isolate=False)
    (asked,) = run([page(body)], metadata=True, isolate=False)
    assert isinstance(without, Document)
    assert isinstance(asked, Document)
    assert "page_author" not in without.signals
    assert asked.signals["page_author"] == "Ada Byron"
    assert "page_author" in STAGE(TiersParams(metadata=True)).writes
    assert "page_author" not in STAGE(TiersParams()).writes


def test_a_crash_is_a_failure_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    stage = STAGE(TiersParams())
    stage._worker = Worker({}, WorkerLimits(), function="bad_pages:make")
    try:
        outcomes = stage.apply([page(b"kill"), page(b"exit")])
    finally:
        stage.close()
    assert outcomes == [
        Failure("extractor_crash", "killed by SIGSEGV"),
        Failure("extractor_crash", "exit code 5"),
    ]
    assert {"extractor_crash"} <= set(stage.errors)


def test_use_before_setup_and_bad_parameters() -> None:
    with pytest.raises(StageError, match="not set up"):
        STAGE(TiersParams()).apply([page(b"x")])
    with pytest.raises(ConfigError, match="min_chars is -1"):
        TiersParams(min_chars=-1)
    with pytest.raises(ConfigError, match="max_depth is 0"):
        Limits(max_depth=0)
    with pytest.raises(ConfigError, match="tier 'best' is unknown"):
        run([], tier="best", isolate=False)
    with pytest.raises(StageError, match="tier 'best' is unknown"):
        run([], tier="best")
