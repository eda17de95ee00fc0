"""Nasty pages and texts from the first stage of the default chain to its last.

Bounds on CPU time are generous (a shared, slow core): what they catch is work that grows with the
square of the input.
"""

from __future__ import annotations

import gzip
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Recipe, plan
from corpusmill.pipeline.context import MemoryContext, hash_of_ids
from corpusmill.pipeline.document import (
    Document,
    Drop,
    Failure,
    Outcome,
    Page,
    Scalar,
    document_id,
)
from corpusmill.pipeline.places import configs_root
from corpusmill.pipeline.recipe import Step
from corpusmill.pipeline.registry import build
from corpusmill.pipeline.stage import InputFile
from corpusmill.pipeline.tables import document_table, documents

HTML = "text/html; charset=utf-8"


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fails where the block takes more CPU time."""
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < seconds, f"{spent:.1f} s of CPU, allowed are {seconds}"


def code(outcome: Outcome) -> str:
    if isinstance(outcome, Drop):
        return outcome.reason
    return outcome.type if isinstance(outcome, Failure) else "kept"


# -- through the chain ------------------------------------------------------------------------

CHAIN = """
schema: corpusmill/recipe/1
name: chain
version: "1"
sources:
  - {name: t, stage: sources.warc, paths: [test_nasty.py], licence: CC0-1.0}
steps:
  - filters.url
  - extract.tiers: {tier: default}
  - dedup.exact: {as: same_url, by: url, keep: newest}
  - dedup.exact: {as: same_text, by: content}
  - measure.language
  - filters.language: {as: languages, keep: [en, ar, zh], min_score: 0.5}
  - measure.gopher
  - measure.repetition
  - measure.c4
  - measure.fineweb
  - filters.gopher_quality
  - filters.gopher_repetition
  - filters.fineweb: {as: fineweb_rules}
  - filters.c4: {as: c4_rules, min_sentences: 3}
  - classifiers.fasttext_quality: {model: "package:sample/models/quality.ftz", languages: [en]}
  - dedup.minhash
  - decontaminate.ngram: {benchmarks: "package:sample/benchmarks"}
  - clean.pii
  - measure.split: {heldout: "0.02"}
"""
Ends = dict[str, tuple[str, Outcome]]


@pytest.fixture(scope="module")
def steps() -> Iterator[list[Step]]:
    """The stages of the default chain, set up."""
    recipe = Recipe.parse(CHAIN, Path(__file__).parent)
    made = plan(recipe).load_steps([s.id for s in recipe.steps])
    for step in made:
        step.made.setup()
    yield made
    for step in made:
        getattr(step.made, "close", lambda: None)()


def barrier(step: Step, docs: list[Document], scratch: Path) -> list[Outcome]:
    """The outcomes of a barrier whose phases run in memory."""
    ctx = MemoryContext(scratch)
    docs.sort(key=lambda d: d.id)
    for name, (table, hashes) in step.made.emit(docs).items():
        ctx.write(name, table, hashes)
    bare = [Document(d.id, d.text, d.source, d.meta) for d in docs]
    ctx.write("docs", document_table(bare, {})[0], hash_of_ids([d.id for d in docs]))
    ctx.run_phases(step.made)
    verdicts = {row["id"]: row for row in ctx.read("verdicts").to_pylist()}
    outcomes: list[Outcome] = step.made.decide(docs, verdicts)
    return outcomes


def through(
    steps: Sequence[Step], items: Sequence[Page | Document], scratch: Path, *, spare: bool = False
) -> Ends:
    """Where each item ends, by id: (step, outcome), the step "end" for those that are kept. With
    `spare` what a filter drops goes on, so that every stage sees it."""
    live: list[Any] = list(items)
    ends: Ends = {}
    for step in steps:
        if step.is_barrier:
            outcomes = barrier(step, live, scratch)
        else:
            mine = live if step.made.takes in ("any", "page" if isinstance(live[0], Page) else
                                               "document") else []  # fmt: skip
            if not mine:
                continue
            outcomes = step.made.apply(live)
        assert len(outcomes) == len(live)
        kept = []
        for item, outcome in zip(live, outcomes, strict=True):
            if isinstance(outcome, Page | Document):
                kept.append(outcome)
            elif spare and isinstance(item, Document) and isinstance(outcome, Drop):
                kept.append(item)
            else:
                ends[item.id] = step.id, outcome
        live = kept
        if not live:
            break
    ends |= {item.id: ("end", item) for item in live}
    assert len(ends) == len(items)
    return ends


def meta(number: int) -> dict[str, Scalar]:
    return {
        "url": f"http://a.example/{number}", "host": "a.example", "date": "2026-01-01T00:00:00Z",
        "file": "x", "offset": number, "length": 1,
    }  # fmt: skip


def page(body: bytes | str, number: int = 0) -> Page:
    raw_body = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    key = document_id("t", "x", 1, number)
    return Page(key, "t", raw_body, {"content-type": HTML}, meta(number))


def text(content: str, number: int = 0) -> Document:
    return Document(document_id("t", "x", 1, number), content, "t", meta(number))


@lru_cache
def _samples() -> list[list[str]]:
    with gzip.open(configs_root() / "sample" / "labels" / "high.jsonl.gz") as f:
        texts = [json.loads(line)["text"] for line in f]
    return [[p for p in t.split("\n\n") if len(p) > 200 and "\n" not in p] for t in texts]


def story(number: int = 0) -> list[str]:
    """Paragraphs of textbooks that the chain keeps; another number, other paragraphs."""
    found: list[str] = []
    at = 50 * number
    while sum(map(len, found)) < 3_000:
        found += _samples()[at]
        at += 1
    return found


def article(paragraphs: Sequence[str], head: str = "") -> str:
    body = "".join(f"<p>{p}</p>\n" for p in paragraphs)
    return f"<html><head><title>t</title>{head}</head><body><article>{body}</article></body></html>"


RTL = "كان النهر يجري ببطء بين البيوت القديمة في القرية، وكان الناس يجلسون على ضفته كل مساء. "
PAGES: dict[str, tuple[bytes | str, set[tuple[str, str]]]] = {
    "a story": (article(story()), {("end", "kept")}),
    "a story in UTF-16": (article(story(2)).encode("utf-16"), {("end", "kept")}),
    "a story with NULs": (article(story(3)).replace("a", "a\0"), {("end", "kept")}),
    "no bytes": ("", {("tiers", "empty_text")}),
    "NULs": (bytes(10_000), {("tiers", "empty_text")}),
    "one tag": ("<p>", {("tiers", "empty_text")}),
    "deep": ("<div>" * 200_000, {("tiers", "over_budget_depth")}),
    "deep tables": ("<table>" * 5_000 + "x", {("tiers", "over_budget_depth")}),
    "formatting without end": ("".join(f"<p><b x={i}></p>" for i in range(2_000)), {("tiers", "over_budget_nodes")}),
    "options": ("<select>" + "<option>x" * 100_000, {("tiers", "over_budget_nodes")}),
    "bodies": ("".join(f"<body a{i}=1>" for i in range(20_000)), {("tiers", "over_budget_nodes")}),
    "9 MB": (article(["word " * 1_800_000]), {("tiers", "over_budget_bytes")}),
    "comments": ("<!--" * 100_000, {("tiers", "empty_text")}),
    "an open script": ("<script>" + "x" * 1_000_000, {("tiers", "empty_text")}),
    "attributes": ("<p " + "a=b " * 100_000 + ">text", {("languages", "language")}),
    "bad references": ("<p>" + "&#xD800;&#x110000;&#0;" * 1000, {("languages", "language"),
                                                                 ("tiers", "empty_text")}),
    "one word": (article(["word " * 2000]), {("languages", "language")}),
    "control characters": (article(["\x01\x02\x03\x7f\x85" * 500 + " controls"]),
                           {("languages", "language")}),
    "emoji": (article(["🙂🙃👩‍👩‍👧🇩🇪 " * 500]), {("languages", "language"), ("tiers", "empty_text")}),
    "right to left": (article([RTL * 3] * 12), {("gopher_quality", "gopher_stop_words"),
                                               ("gopher_repetition", "rep_dup_paras")}),
    "overrides only": (article(["\u202e\u200f" * 2000 + " abc"]), {("languages", "language")}),
    "lone surrogates": (article(story(4)).replace("<p>", "<p>\ud83d"), {("end", "kept")}),
    "one long word": (article(["x" * 1_000_000]), {("languages", "language")}),
    "combining marks": (article(["e" + "\u0301" * 20_000]), {("languages", "language")}),
}  # fmt: skip


def test_pages(steps: list[Step], tmp_path: Path) -> None:
    """Each page of the table to its end, the whole table as one batch."""
    items = {name: page(body, n) for n, (name, (body, _)) in enumerate(PAGES.items())}
    with within(30):
        ends = through(steps, list(items.values()), tmp_path)
    found = {name: (ends[p.id][0], code(ends[p.id][1])) for name, p in items.items()}
    assert {n: f for n, f in found.items() if f not in PAGES[n][1]} == {}
    for _, outcome in ends.values():
        if isinstance(outcome, Document):
            assert "\ud83d" not in outcome.text


def test_copies_of_one_page(steps: list[Step], tmp_path: Path) -> None:
    ends = through(steps, [page(article(story()), n) for n in range(100)], tmp_path)
    where = Counter((step, code(outcome)) for step, outcome in ends.values())
    assert where == {("end", "kept"): 1, ("same_text", "duplicate_content"): 99}


@pytest.mark.slow
def test_ten_thousand_copies_and_near_copies(steps: list[Step], tmp_path: Path) -> None:
    body = "\n".join(story())
    same = [text(body, n) for n in range(10_000)]
    near = [text(f"{body}\nNumber {n} of many.", 10_000 + n) for n in range(2_000)]
    with within(120):
        ends = through(steps[2:], same + near, tmp_path)
    where = Counter((step, code(outcome)) for step, outcome in ends.values())
    assert where == {
        ("end", "kept"): 1, ("same_text", "duplicate_content"): 9_999,
        ("minhash", "near_duplicate"): 2_000,
    }  # fmt: skip


def huge(size: int) -> dict[str, str]:
    """Texts of about `size` bytes that have trapped tokenisers, expressions and tables."""
    joined = "\n".join(story(7)) + "\n"
    units = {
        "prose": joined, "word": "word ", "letter": "x", "newline": "\n", "emoji": "🙂", "dash": "-",
        "han": "今天天气很好我们去公园吧", "thai": "สวัสดีชาวโลก", "arabic": "مرحبا بالعالم ", "quote": '"',
        "marks": "\u0301", "nul": "\0", "no character": "\uffff", "override": "\u202e", "curly": "{",
        "lines": "a\n", "digits": "1234567890", "spaced digits": "1 ", "colons": "ab:", "points": "1.",
        "plus": "+1-", "at": "a@", "address": "john.doe@mail.example ",
        "list of numbers": "123-45-6789 ", "list of phones": "call 555-123-4567 or ", "url": "http://a.b/ ",
        "scripts": "aб中あ ",
    }  # fmt: skip
    return {name: unit * (size // len(unit.encode())) for name, unit in units.items()}


def every_stage_sees(steps: list[Step], size: int, seconds: float, scratch: Path) -> None:
    for name, content in huge(size).items():
        with within(seconds):
            ends = through(steps[2:], [text(content)], scratch, spare=True)
        ((step, outcome),) = ends.values()
        assert isinstance(outcome, Document), (name, step)
        assert outcome.signals["split"] in ("train", "heldout")
        outcome.text.encode("utf-8")


def test_every_stage_sees_texts_of_40_kilobytes(steps: list[Step], tmp_path: Path) -> None:
    every_stage_sees(steps, 40_000, 10, tmp_path)


@pytest.mark.slow
def test_every_stage_sees_texts_of_a_megabyte(steps: list[Step], tmp_path: Path) -> None:
    every_stage_sees(steps, 1_000_000, 60, tmp_path)


@pytest.mark.slow
def test_a_text_of_50_megabytes(steps: list[Step], tmp_path: Path) -> None:
    whole = "\n".join(story(9))
    with within(120):
        ends = through(steps[2:], [text((whole + "\n") * (50_000_000 // len(whole)))], tmp_path)
    ((step, outcome),) = ends.values()
    assert (step, code(outcome)) == ("gopher_quality", "gopher_many_words")


# -- inputs that broke other pipelines ---------------------------------------------------------


def pick(steps: list[Step], *names: str) -> list[Step]:
    chosen = [s for s in steps if s.id in names]
    assert len(chosen) == len(names)
    return chosen


def dedup(steps: list[Step], texts: Sequence[str], scratch: Path) -> list[tuple[str, str]]:
    """(step, code) of each text behind exact and near deduplication."""
    items = [text(t, n) for n, t in enumerate(texts)]
    ends = through(pick(steps, "same_text", "minhash"), items, scratch)
    return [(ends[i.id][0], code(ends[i.id][1])) for i in items]


def test_texts_shorter_than_a_shingle_do_not_share_a_signature(
    steps: list[Step], tmp_path: Path
) -> None:
    found = dedup(steps, ["apple", "orange", "apple"], tmp_path)
    assert sorted(found) == [
        ("end", "kept"), ("end", "kept"), ("same_text", "duplicate_content"),
    ]  # fmt: skip
    assert found[1] == ("end", "kept")


def test_texts_without_a_shingle_are_accounted_for(steps: list[Step], tmp_path: Path) -> None:
    normal = "\n".join(story())
    assert dedup(steps, ["", "short one", normal, "\n \n", "!?", "。"], tmp_path) == (
        [("end", "kept")] * 6
    )


def test_a_text_that_looks_like_a_schema_is_text(tmp_path: Path) -> None:
    body = "struct<created: timestamp[s], author: string>\ntimestamp[s], author: string\n" * 200
    row = {"id": "1", "title": "list<item: string>", "author": None, "n": 3, "body": body}
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(row) + "\n", "utf-8")
    source = build("sources.jsonl", {"text_fields": ["body"]}, "rows")
    (record,) = source.read(InputFile("t", str(path), path.name, path.stat().st_size))
    doc = record.outcome
    assert isinstance(doc, Document)
    (back,) = documents(document_table([doc], {})[0], {})
    assert (back.text, back.meta["title"]) == (body, "list<item: string>")


@pytest.mark.parametrize("gap", ["\n", "\r\n", "\n\n", "\u2028", "\x85", "\x00", "\x0b", "\r"])
def test_a_model_of_lines_scores_texts_of_many(steps: list[Step], gap: str) -> None:
    """The library refuses a text with a line end: lines are joined by spaces."""
    (quality,) = pick(steps, "fasttext_quality")
    broken, joined = text(gap.join(story())), text(" ".join(story()))
    for doc in (broken, joined):
        doc.signals["lang"] = "en"
    assert quality.made.apply([broken, joined]) == [broken, joined]
    assert 0 <= float(broken.signals["quality_score"]) <= 1
    if gap in ("\n", "\r\n", "\n\n"):
        assert broken.signals == joined.signals
    (language,) = pick(steps, "language")
    language.made.apply([broken])
    assert broken.signals["lang"] == "en"


# -- real pages -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crawl() -> Callable[[str], Page]:
    """A page of the sample crawl, by its address."""
    if "CORPUSMILL_DATA" not in os.environ:
        pytest.skip("CORPUSMILL_DATA is not set")
    root = Path(os.environ["CORPUSMILL_DATA"]) / "crawl"
    with gzip.open(root / "manifest.jsonl.gz") as f:
        places = {row["url"]: row for row in map(json.loads, f)}
    source = build("sources.warc", {}, "crawl")

    def one(url: str) -> Page:
        row = places[url]
        path = root / row["file"]
        file = InputFile("crawl", str(path), row["file"], path.stat().st_size)
        record = source.read_one(file, row["offset"])
        assert isinstance(record.outcome, Page)
        return record.outcome

    return one


def extracted(steps: list[Step], found: Page) -> Outcome:
    outcome: Outcome = pick(steps, "tiers")[0].made.apply([found])[0]
    return outcome


@pytest.mark.fulldata
def test_a_charset_that_only_the_page_declares(
    steps: list[Step], crawl: Callable[[str], Page]
) -> None:
    doc = extracted(steps, crawl("https://httpd-manual.example/docs/2.4/ko/programs/httpd.html"))
    assert isinstance(doc, Document)
    assert "\ufffd" not in doc.text
    assert "하이퍼텍스트 전송 프로토콜 서버" in doc.text
    assert doc.meta["charset_rule"] == "meta"


@pytest.mark.fulldata
def test_a_charset_that_the_text_talks_of(
    steps: list[Step], crawl: Callable[[str], Page]
) -> None:  # fmt: skip
    doc = extracted(
        steps, crawl("https://www.distro-project.example/doc/manuals/reference/ch11.pt.html")
    )
    assert isinstance(doc, Document)
    assert doc.meta["charset"] == "utf-8"
    assert "conversão" in doc.text


@pytest.mark.fulldata
def test_a_refresh_for_readers_without_scripts_drops_no_page(
    steps: list[Step], crawl: Callable[[str], Page]
) -> None:
    doc = extracted(
        steps,
        crawl("https://help.office-suite.example/7.4/el/text/swriter/guide/arrange_chapters.html"),
    )
    assert isinstance(doc, Document)
    assert len(doc.text) > 500


@pytest.mark.fulldata
def test_a_stub_that_only_sends_on_is_not_kept(
    steps: list[Step], crawl: Callable[[str], Page], tmp_path: Path
) -> None:
    stub = crawl("https://docs.matrix-tool.example/v7.3.0/XREFaxesbeingdeleted.html")
    assert b'http-equiv="refresh"' in stub.body.lower()
    ((step, outcome),) = through(steps, [stub], tmp_path).values()
    assert not isinstance(outcome, Document), step
