"""The command line: exit codes, streams, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpusmill.pipeline.cli import main
from corpusmill.pipeline.verbs import _dropped_most

from .conftest import RECIPE, text_of


@pytest.fixture
def root(corpus: Path, finished: Path) -> Path:
    (corpus / "recipe.yaml").write_text(RECIPE)
    return finished


def test_reporting_verbs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(root)]) == 0
    shown = capsys.readouterr().out
    assert "80 records read = 72 kept + 8 dropped + 0 errors" in shown
    assert "duplicate_content 8" in shown
    assert main(["report", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"]["kept"] == 72
    assert main(["status", str(root), "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["finished"] is True
    assert [p["tasks"] for p in status["phases"]] == [4, 4, 1, 4]
    assert main(["status", str(root)]) == 0
    assert "04-docs" in capsys.readouterr().out
    assert main(["why", "https://h4.example/9", "--run", str(root), "--json"]) == 0
    story = json.loads(capsys.readouterr().out)[0]
    assert {e["outcome"] for e in story["events"]} <= {"kept", "dropped"}
    assert main(["verify", str(root)]) == 0
    assert "all as locked" in capsys.readouterr().out
    assert main(["diff", str(root), str(root), "--exit-code"]) == 0


def test_a_flipped_byte_exits_3(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sorted(root.glob("phases/04-docs-*/data/*/*.parquet"))[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(bytes(data))
    assert main(["verify", str(root), "--json"]) == 3
    assert path.name in json.loads(capsys.readouterr().out)["faults"][0]


def test_validate_and_errors(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = corpus / "recipe.yaml"
    recipe.write_text(RECIPE)
    assert main(["validate", str(recipe)]) == 0
    assert "2 steps, 1 sources, valid" in capsys.readouterr().out
    recipe.write_text(RECIPE.replace("steps:", "stepz:"))
    assert main(["validate", str(recipe)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("corpusmill: ")
    assert "hint: did you mean 'steps'?" in captured.err
    assert main(["report", str(corpus / "nothing")]) == 2
    assert main(["run", str(corpus / "none.yaml"), "--out", str(corpus / "x")]) == 2
    assert main([]) == 2


def test_a_bad_order_is_warned_about(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = corpus / "recipe.yaml"
    recipe.write_text(RECIPE.replace("  - dedup.exact", "  - dedup.minhash\n  - dedup.exact"))
    assert main(["validate", str(recipe)]) == 0
    assert "warning: dedup.exact comes after dedup.minhash" in capsys.readouterr().out


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", "stages", "--json"]) == 0
    names = {row["stage"] for row in json.loads(capsys.readouterr().out)}
    assert {
        "sources.warc",
        "extract.tiers",
        "dedup.minhash",
        "clean.pii",
        "tokenizers.bpe",
    } <= names
    assert main(["ls", "recipes"]) == 0
    assert "configs/recipes/sample.yaml" in capsys.readouterr().out
    assert main(["ls", "signals", "--json"]) == 0
    assert any(r["signal"] == "lang" for r in json.loads(capsys.readouterr().out))


def test_a_share_and_a_number_of_documents(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = corpus / "recipe.yaml"
    recipe.write_text(RECIPE)
    assert (
        main(["plan", str(recipe), "--out", str(corpus / "p"), "--sample", "0.25", "--json"]) == 0
    )
    planned = json.loads((corpus / "p" / "plan.json").read_text())
    assert planned["recipe"]["sample"] == "0.25"
    assert main(["plan", str(recipe), "--out", str(corpus / "q"), "--sample", "0"]) == 2


def test_what_a_text_resembles(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text"
    text.write_text(text_of(13).upper())
    assert main(["dedup", "near", str(text), "--run", str(root), "--json"]) == 0
    best = json.loads(capsys.readouterr().out)[0]
    assert (best["url"], best["similarity"]) == ("https://h3.example/13", 1.0)
    assert main(["dedup", "near", str(text), "--run", str(root), "--least", "0.9"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["1.000", "1.000", best["id"]]
    text.write_text("quite another text of a few words")
    assert main(["dedup", "near", str(text), "--run", str(root)]) == 0
    assert capsys.readouterr().out == "no kept document resembles it\n"
    assert main(["dedup", "near", str(text)]) == 2
    assert "hint: write dedup near TEXT --run RUN" in capsys.readouterr().err
    assert main(["dedup"]) == 2
    assert main(["dedup", "near", str(tmp_path / "none"), "--run", str(root)]) == 1
    assert "cannot be read as a text" in capsys.readouterr().err


def test_what_dropped_most() -> None:
    lost = {"read:status": 9, "sample:not_sampled": 9, "a:b": 1, "c:d": 3, "c:e": 3, "f:g": 2}
    said = _dropped_most({"records": {"dropped": lost}})
    assert said == "dropped most by c:d 3, c:e 3, f:g 2"
    assert _dropped_most({"records": {"dropped": {"read:status": 9}}}) == "no rule dropped anything"


@pytest.mark.slow
def test_a_run_ends_with_what_to_do_next(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = corpus / "recipe.yaml"
    recipe.write_text(RECIPE)
    out = str(corpus / "run")
    assert main(["run", str(recipe), "--out", out, "--workers", "1", "--quiet"]) == 0
    *_, dropped, first, second = capsys.readouterr().out.splitlines()
    assert dropped == "dropped most by exact:duplicate_content 8"
    assert first.startswith("next: corpusmill why ")
    assert main(first.split()[2:]) == 0
    assert main(second.split()[1:]) == 0
    assert (corpus / "run/report.html").exists()
    assert main(["validate", str(recipe)]) == 0
    assert "not checked: whether inputs and the files" in capsys.readouterr().out


@pytest.mark.slow
def test_json_alone_stands_on_standard_output(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_ = str(root)
    assert main(["why", "https://h4.example/4", "--run", run_, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)[0]["id"]
    recipe = str(root.parent / "recipe.yaml")
    for words in (
        ["report", run_], ["report", run_, "--against", run_], ["status", run_],
        ["trace", document, "--run", run_], ["verify", run_], ["diff", run_, run_],
        ["ls", "stages"], ["ls", "signals"], ["ls", "recipes"], ["validate", recipe],
        ["plan", recipe, "--out", str(root.parent / "planned")], ["index", run_], ["schema"],
        ["clean", run_], ["try", document, "--run", run_],
    ):  # fmt: skip
        for order in ([*words, "--json"], [words[0], "--json", *words[1:]]):
            assert main(order) == 0, order
            json.loads(capsys.readouterr().out)
    assert main(["report", str(root / "none"), "--json"]) == 2
    assert capsys.readouterr().out == ""
