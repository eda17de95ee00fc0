"""`filter_jsonl`: every row is written, with its verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.stage import Stage
from corpusmill.stages.filters import c4_lines, threshold, url
from corpusmill.stages.filters.verb import default_steps, filter_jsonl
from corpusmill.stages.measure import gopher

PROSE = (
    "The harbour lies behind two hills, and fishing boats return to it before noon. Their crews "
    "sort silver herring on wooden tables while gulls wait above the market roof. Nobody hurries. "
    "A woman with a red scarf writes prices in chalk; an old clerk checks every line twice. When "
    "rain begins, children run from school to help cover crates that have been left outside. By "
    "evening the square is empty again, swept clean for another morning."
)


def run(
    tmp_path: Path, rows: list[Any], steps: list[Stage] | None = None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    counts = filter_jsonl(source, target, steps)
    return [json.loads(line) for line in target.read_text("utf-8").splitlines()], counts


def test_default_chain(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": PROSE, "label": [1, 2]},
        {"id": "b", "text": PROSE, "url": "http://h.example/porn"},
        {"id": "c", "text": "12 34"},
        {"id": "d", "text": "Just a short sentence in plain English."},
        {"id": "e", "text": f"{PROSE}\n{PROSE}"},
        {"id": "f"},
        {"id": "g", "text": PROSE.replace("Nobody hurries", "{}")},
    ]
    out, counts = run(tmp_path, rows)
    assert [(r["id"], r["keep"], r["reason"]) for r in out] == [
        ("a", True, None),
        ("b", False, "url_word"),
        ("c", False, "language"),
        ("d", False, "gopher_few_words"),
        ("e", False, "rep_dup_lines"),
        ("f", False, "error_no_text"),
        ("g", False, "c4_curly_bracket"),
    ]
    assert out[0]["label"] == [1, 2]
    assert out[0]["signals"]["lang"] == "en"
    assert out[0]["signals"]["gopher_words"] == 76
    assert set(out[0]["signals"]) == set(out[3]["signals"])  # measured before it was dropped
    assert counts == {
        "rows": 7,
        "kept": 1,
        "dropped": {
            "filters.c4:c4_curly_bracket": 1,
            "filters.gopher_quality:gopher_few_words": 1,
            "filters.gopher_repetition:rep_dup_lines": 1,
            "filters.language:language": 1,
            "filters.url:url_word": 1,
        },
        "errors": {"no_text": 1},
    }


def test_own_steps(tmp_path: Path) -> None:
    steps: list[Stage] = [
        c4_lines.STAGE(c4_lines.Params()),
        gopher.STAGE(gopher.Params(language="en")),
        threshold.STAGE(threshold.Params("gopher_words", min=5)),
    ]
    out, counts = run(
        tmp_path,
        [{"text": "A title\nThis line has an end."}, {"text": "One two three."}, {"text": "None"}],
        steps,
    )
    assert [r["reason"] for r in out] == [None, "gopher_words_below", "c4_no_lines"]
    assert out[0]["text"] == "A title\nThis line has an end."
    assert out[0]["clean_text"] == "This line has an end."
    assert "clean_text" not in out[1]
    assert counts["kept"] == 1


def test_same_in_any_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"text": PROSE[i:]} for i in range(0, 300, 30)]
    together = run(tmp_path, rows)
    monkeypatch.setattr("corpusmill.stages.filters.verb.BATCH_CHARS", 1)
    assert run(tmp_path, rows) == together


def test_bad_input_is_loud(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "a"}\n{"text": \n')
    with pytest.raises(InputError, match="line 2 is not JSON"):
        filter_jsonl(source, tmp_path / "out", [url.STAGE(url.Params())])
    source.write_text("[1]\n")
    with pytest.raises(InputError, match="line 1 is not a JSON object"):
        filter_jsonl(source, tmp_path / "out", [url.STAGE(url.Params())])
    with pytest.raises(InputError, match="cannot be read"):
        filter_jsonl(tmp_path / "none", tmp_path / "out", [url.STAGE(url.Params())])


def test_stages_on_pages_are_refused(tmp_path: Path) -> None:
    class OnPages(Stage):
        name = "extract.something"
        takes = "page"

    with pytest.raises(ConfigError, match=r"extract\.something cannot filter"):
        filter_jsonl(tmp_path / "in", tmp_path / "out", [OnPages(None)])


def test_default_steps_read_what_is_written_before() -> None:
    written: set[str] = set()
    for stage in default_steps():
        assert set(stage.reads) <= written, stage.name
        assert not set(stage.writes) & written, stage.name
        written |= set(stage.writes)
