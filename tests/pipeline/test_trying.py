"""One page through the steps of a recipe."""

from __future__ import annotations

import http.server
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Document, Recipe
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.registry import build
from corpusmill.pipeline.trying import page_of_file, page_of_web, ready_steps, verdict, walk

RECIPE = """
schema: corpusmill/recipe/1
name: tried
version: "1"
sources:
  - {name: rows, stage: sources.jsonl, root: in, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - measure.fineweb
  - filters.fineweb: {as: web, min_line_punct: 0.5, max_short_lines: 0.5}
  - dedup.exact
  - filters.threshold: {signal: exact_copies, max: 2, as: copies}
  - clean.pii
execution: {partitions: 2}
"""
BAD = "no end here\nnor here\nWrite to ann@tiny.io\n"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "bad.txt").write_text(BAD)
    return tmp_path


def test_every_step_speaks_also_after_the_one_that_drops(base: Path) -> None:
    item: Any = page_of_file(base / "bad.txt", "https://a.test/bad").outcome
    assert (item.meta["url"], item.meta["host"]) == ("https://a.test/bad", "a.test")
    views = {v.step: v for v in walk(item, ready_steps(Recipe.load(base / "recipe.yaml")))}
    assert list(views) == ["fineweb", "web", "exact", "copies", "pii"]
    web = views["web"]
    assert (web.verdict, web.reason, web.value) == ("dropped", "fineweb_line_punct", "0")
    assert web.also == ("fineweb_short_lines",)
    bounds = {b.reason: b for b in web.bounds}
    punct = bounds["fineweb_line_punct"]
    assert (punct.value, punct.bound, punct.side, punct.broken) == (0.0, 0.5, "low", True)
    assert bounds["fineweb_short_lines"].broken
    assert not bounds["fineweb_empty"].broken
    assert views["exact"].verdict == views["copies"].verdict == "skipped"
    assert "exact_copies" in views["copies"].note
    assert views["pii"].text == BAD.replace("ann@tiny.io", "<EMAIL>")
    assert views["pii"].signals["pii_email"] == 1
    assert (views["pii"].before, views["pii"].after) == (len(BAD), len(BAD) - 4)
    assert verdict(list(views.values())) == "dropped by web: fineweb_line_punct (0)"


def test_the_verb(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = str(base / "recipe.yaml")
    assert main(["try", str(base / "bad.txt"), "--recipe", recipe, "--text"]) == 0
    shown = capsys.readouterr().out
    assert "must be >= 0.5" in shown
    assert "BROKEN      fineweb_line_punct" in shown
    assert "    | Write to <EMAIL>" in shown
    assert shown.endswith("dropped by web: fineweb_line_punct (0)\n")
    change = ["--set", "steps.web.min_line_punct=0", "--set", "steps.web.max_short_lines=1"]
    assert main(["try", str(base / "bad.txt"), "--recipe", recipe, *change, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["verdict"] == "kept, as far as one page tells: not judged by exact, copies"
    assert [s["verdict"] for s in said["steps"]] == [*["kept"] * 3, "skipped", "skipped", "kept"]
    assert said["steps"][0]["text"] == BAD


def test_a_record_of_a_run(
    seen: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(seen.root)
    assert main(["try", "https://a.test/both", "--run", root]) == 0
    assert capsys.readouterr().out.endswith("dropped by ends: fineweb_line_punct_below (0)\n")
    assert main(["try", "https://a.test/both", "--run", root, "--set", "seed=2"]) == 2
    data = seen.root.parent / "in/a.jsonl"
    data.rename(tmp_path / "elsewhere")
    try:
        assert main(["try", "https://a.test/both", "--run", root]) == 1
    finally:
        (tmp_path / "elsewhere").rename(data)
    assert "is no longer there" in capsys.readouterr().err


def test_what_cannot_be_tried(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = ["--recipe", str(base / "recipe.yaml")]
    assert main(["try", str(base / "bad.txt")]) == 2
    assert "hint: --recipe FILE" in capsys.readouterr().err
    assert main(["try", str(base / "none.html"), *recipe]) == 1
    (base / "not.html").write_bytes(b"%PDF-1.7 binary")
    assert main(["try", str(base / "not.html"), *recipe]) == 0
    assert capsys.readouterr().out.endswith("dropped by read: not_html (application/pdf)\n")
    assert main(["try", "http://127.0.0.1:9/", *recipe]) == 1
    assert "hint: save the page" in capsys.readouterr().err


def test_a_page_of_the_web() -> None:
    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(b"<html lang=fr><p>Bonjour")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Site) as site:
        thread = threading.Thread(target=site.handle_request)
        thread.start()
        item: Any = page_of_web(f"http://127.0.0.1:{site.server_port}/a").outcome
        thread.join()
    assert item.body == b"<html lang=fr><p>Bonjour"
    assert item.meta["lang_declared"] == "fr"
    assert item.meta["host"] == "127.0.0.1"
    assert item.headers["content-type"] == "text/html; charset=utf-8"


def test_the_first_broken_rule_is_the_one_that_drops() -> None:
    stage = build("filters.gopher_quality", {}, "here")
    low: dict[str, Any] = {"gopher_words": 3, "gopher_mean_word": 20.0, "gopher_hash_ratio": 0.0}
    rest = ("ellipsis_ratio", "bullet_lines", "ellipsis_lines", "alpha_words", "stop_words")
    signals = low | {f"gopher_{name}": 0.0 for name in rest}
    document = Document("0" * 32, "", "s", {}, signals)
    (drops,) = stage.broken([document])
    assert stage.apply([document]) == drops[:1]
    assert [d.reason for d in drops] == [
        "gopher_few_words", "gopher_long_words", "gopher_no_letters", "gopher_stop_words",
    ]  # fmt: skip
    assert {t[3] for t in stage.thresholds() if t[1] == "gopher_mean_word"} == {"low", "high"}
