"""No report shows the items of a private evaluation set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpusmill.pipeline import Lock, Recipe, verify
from corpusmill.pipeline.identity import pretty
from corpusmill.pipeline.ledger import build_ledger
from corpusmill.pipeline.lock import seal_lock
from corpusmill.pipeline.masking import Masking
from corpusmill.pipeline.publish import publish
from corpusmill.pipeline.report import report_lines
from corpusmill.pipeline.report_html import html_report
from corpusmill.pipeline.samples import dropped_samples

from .conftest import run_here, text_of

SECRET = (
    "A quorvel of eleven zandrites walks from Ormesk to Dallow in four days and rests for one; "
    "how many zandrites arrive in Dallow before the frost of the ninth day?"
)
ANSWER = "Only the grey ones, eleven less the two that stay in Ormesk"
OPEN = (
    "How many lanterns does the harbour need when every second ship of nineteen carries two of its "
    "own and the others borrow three from the granary by the bridge?"
)
RECIPE = """
schema: corpusmill/recipe/1
name: hides
version: "1"
sources:
  - {name: rows, stage: sources.jsonl, root: in, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - decontaminate.ngram: {benchmarks: sets, action: ACTION}
  - clean.pii
"""


def make(folder: Path, action: str, private: bool) -> Path:
    (folder / "in").mkdir(parents=True)
    (folder / "sets").mkdir()
    texts = [f"{SECRET}\n{ANSWER}.\n{text_of(1)}", f"{OPEN}\n{text_of(2)}", text_of(3)]
    rows = [{"text": text, "url": f"https://a.test/{n}"} for n, text in enumerate(texts)]
    (folder / "in/a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    entries = []
    for name, question, answer in (("mine", SECRET, ANSWER), ("open", OPEN, "58")):
        row = {"id": "q1", "question": question, "answer": answer}
        (folder / f"sets/{name}.jsonl").write_text(json.dumps(row) + "\n")
        entries.append({
            "name": name, "version": "1", "licence": "MIT", "files": [f"{name}.jsonl"],
            "private": private and name == "mine",
        })  # fmt: skip
    said = {"schema": "corpusmill/benchmarks/1", "benchmarks": entries}
    (folder / "sets/registry.json").write_text(json.dumps(said))
    return folder


@pytest.mark.parametrize("action", ["drop", "annotate"])
def test_reports_name_a_private_item_and_do_not_show_it(tmp_path: Path, action: str) -> None:
    folder = make(tmp_path / "a", action, private=True)
    run = run_here(Recipe.parse(RECIPE.replace("ACTION", action), folder), folder / "run")
    page = html_report(folder / "run")
    assert "[mine/q1]" in page
    assert "lanterns does the harbour need" in page
    for word in ("quorvel", "zandrites", "Ormesk", "Dallow", "grey ones"):
        assert word not in page
    mask = Masking(run.plan)
    text = "x" * 900 + " " + SECRET + "\n" + ANSWER + ". " + "y " * 900 + "Ask ann@tiny.io."
    assert mask(text).startswith("xxx")
    assert mask(text).endswith("y y Ask <EMAIL>.")
    assert "zandrites" not in mask(text)
    assert mask(OPEN) == OPEN
    (folder / "sets/registry.json").unlink()
    (folder / "sets/mine.jsonl").unlink()
    (folder / "sets/open.jsonl").unlink()
    said = Masking(run.plan)(text)
    assert said.startswith("[not shown, for it may hold what is private: ")
    assert said.endswith("sets: holds no benchmark]")


def test_other_items_are_shown(tmp_path: Path) -> None:
    folder = make(tmp_path / "a", "drop", private=False)
    run = run_here(Recipe.parse(RECIPE.replace("ACTION", "drop"), folder), folder / "run")
    ledger = build_ledger(run)
    (folder / "run/ledger.json").write_bytes(pretty(ledger))
    lock = Lock.load(publish(run, ledger))
    done = {"mine": {"dropped": 1}, "open": {"dropped": 1}}
    assert lock.data["decontaminated"] == [{"step": "ngram", "action": "drop", "documents": done}]
    text = "\n".join(report_lines(folder / "run"))
    assert [line.split() for line in text.splitlines() if "dropped " in line][-2:] == [
        ["mine", "dropped", "1"], ["open", "dropped", "1"],
    ]  # fmt: skip
    assert "Benchmark items found by ngram" in html_report(folder / "run")
    assert verify(folder / "run").faults == []
    body = {k: v for k, v in lock.data.items() if k != "seal"}
    body["decontaminated"][0]["documents"]["mine"] = {"dropped": 2}
    lock.path.write_bytes(pretty(seal_lock(body)))
    assert any("its decontaminated is not what" in f for f in verify(folder / "run").faults)
    samples, _ = dropped_samples(run, 9, 9)
    found = {s.value: [span for _, span, _, _ in s.marked] for s in samples}
    assert found == {"mine/q1": [SECRET[:-1]], "open/q1": [OPEN[:-1]]}
