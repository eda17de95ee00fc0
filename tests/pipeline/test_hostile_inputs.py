"""Inputs and assets that cannot be read stop the plan, by name."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Recipe, plan
from corpusmill.pipeline.errors import ConfigError, CorpusmillError

GOOD = """
schema: corpusmill/recipe/1
name: small
version: "1"
sources:
  - {name: rows, stage: sources.jsonl, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - dedup.exact
"""


INPUTS: dict[str, str] = {
    "link to nowhere": "No such file",
    "pipe": "is no regular file",
    "link to itself": "cannot be listed",
    "not UTF-8": "is not UTF-8",
    "folder": "nothing matches",
    "long": "nothing matches",
}


@pytest.mark.parametrize("kind", INPUTS)
def test_inputs_that_cannot_be_read_stop_the_plan(tmp_path: Path, kind: str) -> None:
    (tmp_path / "good.jsonl").write_text('{"text": "a"}\n')
    assert plan(Recipe.parse(GOOD, tmp_path))
    name = {"not UTF-8": "bad\udcff.jsonl", "long": "x" * 300}.get(kind, "bad.jsonl")
    path = tmp_path / name
    if kind == "link to nowhere":
        path.symlink_to("nowhere")
    elif kind == "link to itself":
        path.symlink_to(name)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "not UTF-8":
        path.write_text("{}")
    if kind == "folder":  # passed over where other names match
        assert plan(Recipe.parse(GOOD, tmp_path)).data["inputs"][0]["files"][0][0] == "good.jsonl"
    pattern = name if kind in ("folder", "long") else "*.jsonl"
    with pytest.raises(ConfigError, match=INPUTS[kind]):
        plan(Recipe.parse(GOOD.replace("*.jsonl", pattern), tmp_path))
    if kind not in ("folder", "long"):  # what cannot be read can be named out
        text = GOOD.replace('["*.jsonl"]', '["*.jsonl"], exclude: ["bad*.jsonl"]')
        (source,) = plan(Recipe.parse(text, tmp_path)).data["inputs"]
        assert [f[0] for f in source["files"]] == ["good.jsonl"]
        assert source["excluded"] == ["bad\\xff.jsonl" if kind == "not UTF-8" else "bad.jsonl"]


@pytest.mark.parametrize("pattern", ["none.jsonl", "old", "old/*", "../x", "**"])
def test_an_exclusion_that_leaves_nothing_out_is_refused(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "good.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "good.txt").write_text("")
    text = GOOD.replace('["*.jsonl"]', f'["*.jsonl"], exclude: ["{pattern}"]')
    with pytest.raises(ConfigError, match="exclude"):
        plan(Recipe.parse(text, tmp_path))


def test_nothing_is_left_to_read(tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_text('{"text": "a"}\n')
    text = GOOD.replace('["*.jsonl"]', '["*.jsonl"], exclude: ["**/*"]')
    with pytest.raises(ConfigError, match=r"nothing matches .* that is not excluded"):
        plan(Recipe.parse(text, tmp_path))


def test_a_folder_that_may_not_be_listed_stops_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shut").mkdir()
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert plan(Recipe.parse(GOOD, tmp_path))
    with pytest.raises(ConfigError, match=r"shut.*Permission denied"):
        plan(Recipe.parse(GOOD.replace("*.jsonl", "**/*.jsonl"), tmp_path))


@pytest.mark.parametrize(
    "asset",
    ["nowhere", "x" * 300, "broken", "pipe", "~no-such-user-9/x", "loop", "package:../../pipeline",
     "package:/etc"],
)  # fmt: skip
def test_assets_that_cannot_be_read_stop_the_plan(tmp_path: Path, asset: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "list").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    text = GOOD + f"  - decontaminate.ngram: {{benchmarks: {json.dumps(asset)}}}\n"
    with pytest.raises(CorpusmillError) as caught:
        plan(Recipe.parse(text, tmp_path))
    assert caught.value.exit_code == 2


LISTED = GOOD.replace('paths: ["*.jsonl"]', "paths_from: all.paths.gz")


def test_paths_from_a_list(tmp_path: Path) -> None:
    """The list lies beside the recipe, its paths below the root; patterns add to it."""
    (tmp_path / "in" / "a").mkdir(parents=True)
    for name in ("a/2.jsonl", "a/1.jsonl", "3.jsonl", "more.json"):
        (tmp_path / "in" / name).write_text('{"text": "a"}\n')
    (tmp_path / "all.paths.gz").write_bytes(gzip.compress(b"a/2.jsonl\n\n3.jsonl \n", mtime=0))
    text = LISTED.replace("stage:", "root: in, stage:")
    (source,) = plan(Recipe.parse(text, tmp_path)).data["inputs"]
    assert [f[0] for f in source["files"]] == ["3.jsonl", "a/2.jsonl"]
    assert source["files"][0][1] == 14
    more = text.replace("gz,", 'gz, paths: ["*.json", "3.*"], exclude: ["a/*"],')
    (source,) = plan(Recipe.parse(more, tmp_path)).data["inputs"]
    assert [f[0] for f in source["files"]] == ["3.jsonl", "more.json"]
    assert source["excluded"] == ["a/2.jsonl"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"good.jsonl\ngone.jsonl\n.\n", "is no path below the root"),
        (
            b"good.jsonl\ngone.jsonl\nold\n",
            "2 of 3 listed paths are no files .* 'gone.jsonl' first",
        ),
        (b"good.jsonl\ngood.jsonl\n", "stands twice"),
        (b"../good.jsonl\n", "is no path below the root"),
        (b"s3://commoncrawl/x.warc.gz\n", "is no path below the root"),
        (b"\n", "names no file"),
        (b"\xff\n", "cannot be read"),
        (b"\x1f\x8b\x08cut", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_a_list_of_paths_that_is_none(tmp_path: Path, content: bytes | None, said: str) -> None:
    (tmp_path / "good.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "old").mkdir()
    if content is not None:
        (tmp_path / "all.paths.gz").write_bytes(content)
    with pytest.raises(ConfigError, match=said):
        plan(Recipe.parse(LISTED, tmp_path))


def test_a_source_without_paths(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="lists no paths"):
        Recipe.parse(GOOD.replace('paths: ["*.jsonl"], ', ""), tmp_path)
