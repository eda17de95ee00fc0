"""The rows that a report is made of, where there are more than it reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from corpusmill.pipeline import Recipe, report_rows
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.ledger import sealed_docs_phases
from corpusmill.pipeline.report import report_lines
from corpusmill.pipeline.report_html import html_report
from corpusmill.pipeline.report_rows import (
    Drawn,
    base,
    draw_kept,
    draw_rejects,
    lost_of,
    telling_tasks,
)
from corpusmill.pipeline.samples import chosen_rejects

from .conftest import run_here

FILES, ROWS = 12, 10
RECIPE = """
schema: corpusmill/recipe/1
name: many
version: "1"
sources:
  - {name: rows, stage: sources.jsonl, root: in, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - measure.fineweb
  - filters.threshold: {signal: fineweb_line_punct, min: 0.5, as: ends}
  - filters.threshold: {signal: fineweb_short_lines, max: 0.5, as: shorts}
execution: {partitions: 1, task_bytes: 1}
"""
LONG = "A line that is by far long enough to be no short line, of file"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A task a file; each loses three of its rows for one reason, the last file one for another."""
    base = tmp_path_factory.mktemp("many")
    (base / "in").mkdir()
    for file in range(FILES):
        texts = [f"{LONG} {file}, number {n}" + "." * (n > 2) for n in range(ROWS)]
        if file == FILES - 1:
            texts[-1] = "Short."
        rows = ({"text": text, "url": f"https://h{file}.test/{n}"} for n, text in enumerate(texts))
        (base / f"in/{file:02d}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return run_here(Recipe.parse(RECIPE, base), base / "run")


def test_all_rows_where_they_are_few(many: RunFolder) -> None:
    (phase,) = sealed_docs_phases(many)
    kept, lost = draw_kept(many, phase), draw_rejects(many, phase)
    assert (len(kept.rows), kept.total, kept.tasks, kept.of, kept.weight) == (83, 83, 12, 12, 1)
    assert (len(lost.rows), lost.total) == (37, 37)
    assert [row["file"] for row in kept.rows[:8]] == ["00.jsonl"] * 7 + ["01.jsonl"]
    assert "text" not in kept.rows[0]
    assert base([kept], "kept") == "all 83 kept documents"
    assert telling_tasks(many, phase, 1, 1) == set(range(FILES))


def test_tasks_by_the_keyed_order_where_they_are_many(
    many: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (phase,) = sealed_docs_phases(many)
    monkeypatch.setattr(report_rows, "MOST_ROWS", 16)
    kept = draw_kept(many, phase)
    files = list(dict.fromkeys(row["file"] for row in kept.rows))
    assert (len(kept.rows), kept.tasks, kept.of) == (16, 3, 12)
    assert files != sorted(files)
    assert kept.weight == 83 / 16
    assert base([kept], "kept") == (
        "16 of 83 kept documents, of tasks chosen by the keyed order (3 of 12)"
    )
    assert draw_kept(many, phase) == kept
    page = html_report(many.root)
    assert "16 of 83 kept documents, of tasks" in page
    assert "lost about" not in page  # no host lost most of its pages


def test_a_rare_reason_is_never_missed(many: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    (phase,) = sealed_docs_phases(many)
    commits = many.seal(phase.name).commits
    assert lost_of(commits[0]) == {("ends", "fineweb_line_punct_below"): 3}
    assert len(lost_of(commits[-1])) == 2
    monkeypatch.setattr(report_rows, "MOST_ROWS", 8)
    tasks = telling_tasks(many, phase, 4, 1)
    assert FILES - 1 in tasks
    assert len(tasks) in (2, 3)  # two have four rows of the common reason, the rare one is in one
    assert len(telling_tasks(many, phase, 1, 9)) in (3, 4)  # nine to be judged are in three
    chosen = chosen_rejects(many, phase, 4, 5)
    assert sorted(row["step"] for row in chosen.shown) == ["ends"] * 4 + ["shorts"]
    assert (len(chosen.judged), chosen.total) == (5, 37)


def test_what_is_said_of_several_tables() -> None:
    row = {"id": "a"}
    some = [Drawn([row], 1, 1, 1), Drawn([row, row], 6, 2, 5)]
    assert base(some, "dropped") == (
        "3 of 7 dropped documents, of tasks chosen by the keyed order (2 of 5)"
    )
    assert Drawn([], 0, 1, 1).weight == 1


PERSONAL = """
schema: corpusmill/recipe/1
name: personal
version: "1"
sources:
  - {name: rows, stage: sources.jsonl, root: in, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - clean.pii: {policy: {ip: annotate}}
execution: {partitions: 1}
"""


def report_of(folder: Path, texts: Sequence[str]) -> tuple[str, str]:
    """The text and the page about a run over `texts`."""
    (folder / "in").mkdir()
    rows = ({"text": text, "url": f"https://h.test/{n}"} for n, text in enumerate(texts))
    (folder / "in/0.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    run = run_here(Recipe.parse(PERSONAL, folder), folder / "run")
    return "\n".join(report_lines(run.root)), html_report(run.root)


def test_personal_data_by_type_and_policy(tmp_path: Path) -> None:
    mail = "To ann@tiny.io and bugs@tiny.io, please."
    text, page = report_of(tmp_path, [mail, mail + " Call 415-555-0166.", "server 8.8.8.8 is up"])
    table = text[text.index("personal data") :].splitlines()[:5]
    assert [line.split() for line in table] == [
        ["personal", "data", "policy", "spans", "documents"],
        ["email", "tag", "4", "2"],
        ["ip", "annotate", "1", "1"],
        ["phone", "tag", "1", "1"],
        ["in", "all", "3", "kept", "documents"],
    ]
    assert "<td class=l>ip</td><td class=l>annotate</td>" in page
    assert "2 of the e-mail addresses are of roles and lists" in page


def test_where_there_is_no_personal_data_the_report_says_so(tmp_path: Path) -> None:
    text, _ = report_of(tmp_path, ["Nothing in here."])
    assert "personal data: none found in all 1 kept documents" in text


def test_nothing_is_said_of_personal_data_where_no_step_looked(many: RunFolder) -> None:
    assert "personal data" not in "\n".join(report_lines(many.root))
