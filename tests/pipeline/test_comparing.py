"""Two runs over the same records: every change of fate is counted and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.comparing import compare, open_run
from corpusmill.pipeline.document import document_id
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.errors import TaskError

from .conftest import SEEN, SEEN_TEXTS, run_here


@pytest.fixture(scope="module")
def other(seen: RunFolder) -> RunFolder:
    """The same records: short lines may stay, long pages too, PII too; one page more is read."""
    base = seen.root.parent
    text = SEEN.replace("max: 0.5, as: shorts", "max: 1, as: shorts")
    text = text.replace("max: 2, as: many", "max: 9, as: many").replace("  - clean.pii\n", "")
    text = text.replace('paths: ["*.jsonl"]', 'paths: ["*.jsonl", "*.more"]')
    text = text.replace("min: 0.5, as: ends", "min: 0.1, as: ends")
    (base / "in/b.more").write_text(json.dumps({"text": "More, and it ends."}) + "\n")
    return run_here(Recipe.parse(text, base), base / "other")


def test_every_change_is_counted(seen: RunFolder, other: RunFolder) -> None:
    found = compare(other, seen)
    assert found.sources == {
        "rows": {"before": 7, "now": 8, "in_both": 7, "kept_before": 2, "kept_now": 4}
    }
    told = {(c.kind, c.before, c.now): (c.documents, {e.url[15:] for e in c.examples})
            for c in found.changes}  # fmt: skip
    assert told == {
        ("came in", "shorts:fineweb_short_lines_above", "kept"): (1, {"short"}),
        ("another reason", "many:c4_sentences_above", "lines:c4_lines_above"): (1, {"three"}),
        ("not in both", "not read", "kept"): (1, {""}),
    }
    assert found.recipe == (
        "step ends: min 0.5 -> 0.1", "step shorts: max 0.5 -> 1", "step many: max 2 -> 9",
        "step pii: removed",
    )  # fmt: skip
    assert compare(seen, seen).changes == ()
    back = compare(seen, other)
    assert {(c.kind, c.now) for c in back.changes if c.before == "kept"} == {
        ("went out", "shorts:fineweb_short_lines_above"), ("not in both", "not read"),
    }  # fmt: skip


def test_another_text(seen: RunFolder, tmp_path: Path) -> None:
    """Without masking the page with the address keeps its text; nothing else changes."""
    texts = SEEN.replace("max: 2, as: many", "max: 9, as: many").replace(
        "max: 2, as: lines", "max: 9, as: lines"
    )
    base = seen.root.parent
    masked = run_here(Recipe.parse(texts, base), tmp_path / "masked")
    plain = run_here(Recipe.parse(texts.replace("  - clean.pii\n", ""), base), tmp_path / "plain")
    (change,) = compare(masked, plain).changes
    assert (change.kind, change.documents) == ("another text", 1)
    assert change.examples[0].url == "https://a.test/three"
    assert main(["report", str(masked.root), "--against", str(plain.root), "--html"]) == 0
    page = (masked.root / "against.html").read_text("utf-8")
    assert "<ins>&lt;EMAIL&gt;!</ins>" in page
    assert SEEN_TEXTS["three"].count("ann@tiny.io") == 1
    assert "<script" not in page


def test_the_verb(
    seen: RunFolder, other: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["report", str(other.root), "--against", str(seen.root)]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "came in 1, went out 0, another text 0, another reason 1, not in both 1" in shown
    assert "https://a.test/short" in shown
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [c["kind"] for c in said["changes"]] == ["came in", "another reason", "not in both"]
    assert said["recipe"][-1] == "step pii: removed"
    assert main(["report", str(seen.root), "--against", str(seen.root)]) == 0
    assert capsys.readouterr().out.endswith("no document has another fate\n")
    target = tmp_path / "page.html"
    assert main([*command, "--html", str(target)]) == 0
    assert "came in: shorts:fineweb_short_lines_above → kept" in target.read_text("utf-8")
    assert main(["report", str(seen.root), "--against", str(tmp_path)]) == 2


def test_a_run_that_is_not_finished(seen: RunFolder, tmp_path: Path) -> None:
    plan = seen.plan
    plan.save(tmp_path / "plan.json")
    with pytest.raises(TaskError, match="is not finished"):
        open_run(tmp_path)


def test_examples_are_the_smallest_ids(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"text": f"text number {n}"}) + "\n" for n in range(9)]
    (tmp_path / "in/a.jsonl").write_text("".join(lines))
    head = SEEN.partition("steps:")[0]
    runs = [
        run_here(
            Recipe.parse(
                f"{head}steps:\n  - measure.fineweb\n"
                f"  - filters.threshold: {{signal: fineweb_line_punct, min: {bound}}}\n",
                tmp_path,
            ),
            tmp_path / f"run{bound}",
        )
        for bound in (0, 1)
    ]
    (change,) = compare(runs[1], runs[0]).changes
    size = (tmp_path / "in/a.jsonl").stat().st_size
    starts = [sum(map(len, lines[:n])) for n in range(9)]
    ids = sorted(document_id("rows", "a.jsonl", size, start) for start in starts)
    assert (change.kind, change.documents) == ("went out", 9)
    assert [e.id for e in change.examples] == ids[:5]
    assert {e.value_now for e in change.examples} == {"0"}
