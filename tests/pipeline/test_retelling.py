"""`why --steps`: every step again, from the input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.engine import RunFolder

from .conftest import SEEN, SEEN_TEXTS, run_here


def told(run: RunFolder, name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The story of one text of the small run."""
    words = ["why", f"https://a.test/{name}", "--run", str(run.root), "--steps", "--json"]
    assert main(words) == 0
    (story,) = json.loads(capsys.readouterr().out)
    found: dict[str, Any] = story
    return found


def verdicts(story: dict[str, Any]) -> dict[str, str]:
    return {step["step"]: step["verdict"] for step in story["steps"]}


def test_up_to_the_step_that_dropped_it(
    seen: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    story = told(seen, "short", capsys)
    assert verdicts(story) == {
        "read": "kept", "fineweb": "kept", "ends": "kept", "shorts": "dropped",
    }  # fmt: skip
    assert story["steps"][0]["text"] == SEEN_TEXTS["short"]
    (bound,) = story["steps"][3]["bounds"]
    assert (bound["value"], bound["bound"], bound["broken"]) == (1.0, 0.5, True)


def test_what_a_barrier_said_is_taken_from_the_run(
    seen: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    copies = [told(seen, name, capsys) for name in ("copy a", "copy b")]
    (gone,) = (s for s in copies if s["survivor"])
    (stayed,) = (s for s in copies if not s["survivor"])
    assert verdicts(gone)["exact"] == "dropped"
    assert gone["steps"][-1]["value"] == stayed["id"]
    assert verdicts(stayed)["exact"] == "kept"
    assert verdicts(stayed)["pii"] == "kept"


def test_a_text_is_masked_unless_asked(seen: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    story = told(seen, "both", capsys)
    assert "ann@tiny.io" not in json.dumps(story["steps"])
    words = ["why", "https://a.test/both", "--run", str(seen.root), "--steps"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "fineweb_line_punct = 0, must be >= 0.5" in said
    assert "ann@tiny.io" not in said
    assert main([*words, "--raw"]) == 0
    assert "ann@tiny.io" in capsys.readouterr().out


def test_an_input_that_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    rows = [{"text": text, "url": f"https://a.test/{name}"} for name, text in SEEN_TEXTS.items()]
    (tmp_path / "in/a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    run = run_here(Recipe.parse(SEEN, tmp_path), tmp_path / "run")
    shutil.rmtree(tmp_path / "in")
    story = told(run, "good", capsys)
    assert story["steps"] is None
    assert "is no longer there: a.jsonl" in story["note"]
    words = ["why", "https://a.test/good", "--run", str(run.root), "--steps"]
    assert main(words) == 0
    assert "cannot be told again: the input of" in capsys.readouterr().out
