"""Dropped documents made again: what their phase says of them, whatever step dropped them."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.html_parts import safe, word_diff
from corpusmill.pipeline.masking import Masking
from corpusmill.pipeline.order import order_key
from corpusmill.pipeline.replay import Remade, remake
from corpusmill.pipeline.report_html import html_report
from corpusmill.pipeline.report_looks import overlap_tables
from corpusmill.pipeline.report_reading import masked_pages
from corpusmill.pipeline.samples import Overlap, chosen_rejects, dropped_samples

from .conftest import LONG, SEEN, SEEN_TEXTS, run_here


def remade(seen: RunFolder, phase: str) -> dict[str, Remade]:
    rows = [r for p in seen.pieces(phase, "rejects", None, None) for r in p.to_pylist()]
    made = remake(seen, seen.plan.phase(phase), rows)
    return {row["url"].rpartition("/")[2]: made[row["id"]] for row in rows}


def test_all_rules_of_the_first_phase(seen: RunFolder) -> None:
    made = remade(seen, "01-read")
    broken = {name: one.broken for name, one in made.items()}
    ends, shorts = "ends:fineweb_line_punct_below", "shorts:fineweb_short_lines_above"
    assert broken == {"no end": [ends], "short": [shorts], "both": [ends, shorts]}
    both = made["both"]
    assert both.text == "ann@tiny.io"
    assert both.complete
    assert both.signals["fineweb_short_lines"] == 1.0
    assert Masking(seen.plan)("ann@tiny.io") == "<EMAIL>"


def test_all_rules_of_a_later_phase(seen: RunFolder) -> None:
    last = [p.name for p in seen.plan.phases if p.kind == "docs"][-1]
    made = remade(seen, last)
    three = made["three"]
    assert three.broken == ["many:c4_sentences_above", "lines:c4_lines_above"]
    assert three.text == SEEN_TEXTS["three"]
    assert three.signals["exact_copies"] == 1  # of the barrier
    (copy,) = (made[n] for n in made if n.startswith("copy"))
    assert not copy.complete
    assert copy.broken == ["exact:duplicate_content"]


def test_samples_show_pairs_and_overlaps_and_no_personal_data(seen: RunFolder) -> None:
    samples, overlaps = dropped_samples(seen, 10, 1000)
    assert not any("ann@" in (s.text or "") for s in samples)
    (three,) = (s for s in samples if s.url.endswith("/three"))
    assert (three.text or "").endswith("for <EMAIL>!")
    (copy,) = (s for s in samples if s.reason == "duplicate_content")
    assert copy.pair is not None
    assert {len(t.split()) for t in copy.pair} == {len(LONG.split()) + 1}
    first, last = overlaps
    assert (first.documents, first.total) == (3, 3)
    assert first.breaks == {
        "ends:fineweb_line_punct_below": 2,
        "shorts:fineweb_short_lines_above": 2,
    }
    assert first.alone == {
        "ends:fineweb_line_punct_below": 1,
        "shorts:fineweb_short_lines_above": 1,
    }
    assert (last.documents, last.alone) == (1, {})
    sampled = dropped_samples(seen, 10, 2)[1][0]
    assert (sampled.documents, sampled.total) == (2, 3)


def test_every_plot_says_of_which_documents_it_is(seen: RunFolder) -> None:
    page = html_report(seen.root)
    assert page.count("<svg") == page.count("<figcaption>") > 5
    assert "all 2 kept documents; all 5 dropped documents" in page
    assert "ann@" not in page
    assert "Against the one kept in its place" in page


def test_overlap_tables() -> None:
    some = Overlap("01-read", 2, 9, {"a:b": 2, "c:d": 1}, {"a:b": 1})
    text = overlap_tables([some])
    assert "A sample of 2 of 9 documents, by the keyed order, that its steps dropped" in text
    assert "<td class=l>a:b</td><td>2</td><td>1</td><td>100.0%</td>" in text


def test_word_diff() -> None:
    assert word_diff("a b <c> d", "a x <c> d e") == (
        "a <del>b</del> <ins>x</ins> &lt;c&gt; d <ins>e</ins>"
    )
    long = " ".join(map(str, range(50)))
    assert "<em>… 34 equal words …</em>" in word_diff(f"{long} a", f"{long} b")
    assert word_diff("", "") == ""


def test_marks_that_turn_text_are_shown() -> None:
    assert safe("a\u202eb\x1b") == "a[U+202E]b\ufffd"


def test_why_masks_and_compares(seen: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(seen.root)
    assert main(["why", "https://a.test/three", "--run", root]) == 0
    shown = capsys.readouterr().out
    assert "for <EMAIL>!" in shown
    assert main(["why", "https://a.test/three", "--run", root, "--raw"]) == 0
    assert "for ann@tiny.io!" in capsys.readouterr().out
    last = [p.name for p in seen.plan.phases if p.kind == "docs"][-1]
    (copy,) = (name for name in remade(seen, last) if name.startswith("copy"))
    assert main(["why", f"https://a.test/{copy}", "--run", root]) == 0
    shown = capsys.readouterr().out
    other = ({"copy a", "copy b"} - {copy}).pop()
    assert f"https://a.test/{other}\n" in shown
    assert "100.0% of all runs of 5 words are in both" in shown
    stayed, own = SEEN_TEXTS[other], SEEN_TEXTS[copy]
    assert f"- {stayed}" in shown
    assert f"+ {own}" in shown
    assert main(["why", "https://a.test/none", "--run", root]) == 2
    assert "a URL is compared as it was sent" in capsys.readouterr().err


def test_stored_texts_need_no_stages(seen: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of an earlier version: what it holds is shown, what must be made again says why not."""
    from corpusmill.pipeline.registry import stage_class

    monkeypatch.setattr(stage_class("filters.threshold"), "version", 99)
    monkeypatch.setattr(stage_class("clean.pii"), "version", 99)
    last = [p.name for p in seen.plan.phases if p.kind == "docs"][-1]
    three = remade(seen, last)["three"]
    assert three.text == SEEN_TEXTS["three"]
    assert not three.complete
    assert "was made for filters.threshold version 1, installed is 99" in three.note
    first = remade(seen, "01-read")["both"]
    assert (first.text, first.complete) == (None, False)
    assert "installed is 99" in first.note
    samples, overlaps = dropped_samples(seen, 10, 1000)
    assert overlaps == []
    assert {s.url[15:] for s in samples if s.text is not None} >= {"three"}


def test_the_table_of_masked_data(seen: RunFolder) -> None:
    """Counts alone are added up; a signal of another kind is none."""
    rows = [{"id": "0a", "url": None, "pii_email": 2, "pii_ip": None, "pii_spans": "[]"},
            {"id": "0b", "url": None, "pii_email": 1, "pii_ip": 3, "pii_spans": None}]  # fmt: skip
    text = masked_pages(seen, rows, "all 2")
    assert "<td class=l>email</td><td class=l>tag</td><td>3</td><td>2</td>" in text
    assert "<td class=l>ip</td><td class=l>tag</td><td>3</td><td>1</td>" in text
    assert "spans" not in text
    assert masked_pages(seen, [{"id": "a"}], "all 1") == "<p>No step looked for it.</p>"


def test_what_is_chosen_is_first_by_the_keyed_order(seen: RunFolder) -> None:
    phase = seen.plan.phase("01-read")
    rows = [r for p in seen.pieces("01-read", "rejects", None, None) for r in p.to_pylist()]
    rows.sort(key=lambda row: order_key(seen.plan.seed, row["id"], 0, "sample"))
    chosen = chosen_rejects(seen, phase, 1, 1)
    assert [row["id"] for row in chosen.judged] == [rows[0]["id"]]
    assert chosen.total == len(rows) == 3
    first: dict[str, str] = {}
    for row in rows:
        first.setdefault(row["step"], row["id"])
    assert {row["step"]: row["id"] for row in chosen.shown} == first
    last = [p for p in seen.plan.phases if p.kind == "docs"][-1]
    chosen = chosen_rejects(seen, last, 9, 9)
    assert (len(chosen.shown), chosen.total) == (2, 1)  # the barrier's drop breaks no rule
    assert [row["url"][15:] for row in chosen.judged] == ["three"]


def test_a_page_that_is_dropped_as_a_page(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.html").write_text("<p>Some text.</p>")
    (tmp_path / "names.txt").write_text("https://a.test/a.html\n")
    text = SEEN.replace("stage: sources.jsonl, ", "stage: sources.html, ").replace(
        "*.jsonl", "*.html"
    )
    text = text.replace("licence: CC0-1.0}", 'licence: CC0-1.0, params: {url: "https://a.test/"}}')
    text = text.replace("steps:", "steps:\n  - filters.listed: {drop: [names.txt]}")
    run = run_here(Recipe.parse(text, tmp_path), tmp_path / "run")
    (made,) = remade(run, "01-read").values()
    assert made.note == "dropped as a page of 17 bytes, before its text was extracted"
    assert (made.text, made.broken, made.complete) == (None, ["listed:listed"], True)
