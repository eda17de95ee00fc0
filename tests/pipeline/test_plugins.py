"""Stages of other packages: found, listed, pinned; a clash or a broken one stops."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corpusmill.pipeline import Document, Recipe
from corpusmill.pipeline.catalogue import stages
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.planning import make_plan
from corpusmill.pipeline.plugins import plugins
from corpusmill.pipeline.registry import build, stage_class, stage_names

CODE = '''
"""A stage from elsewhere."""
from corpusmill.pipeline.document import Drop
from corpusmill.pipeline.stage import Stage


class Short(Stage):
    """Drops short texts."""

    name = "acme.short"
    version = 3
    kind = "decide"
    reasons = ("short",)

    def apply(self, batch):
        return [d if len(d.text) > 5 else Drop("short", len(d.text)) for d in batch]


STAGE = Short
'''
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """``install("package", {"acme.short": "module"})``: a distribution on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def put(package: str, points: dict[str, str], code: str = CODE, version: str = "1.5") -> None:
        info = tmp_path / f"{package.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        )
        lines = "".join(f"{name} = {module}\n" for name, module in points.items())
        (info / "entry_points.txt").write_text(f"[corpusmill.stages]\n{lines}")
        for module in points.values():
            (tmp_path / f"{module}.py").write_text(code)
            made.append(module)
        plugins.cache_clear()

    plugins.cache_clear()
    yield put
    plugins.cache_clear()
    for module in made:
        sys.modules.pop(module, None)


def test_it_is_a_stage_like_ours(install: Install, tmp_path: Path) -> None:
    install("acme-stages", {"acme.short": "acme_short"})
    assert "acme.short" in stage_names()
    (row,) = (r for r in stages() if r["stage"] == "acme.short")
    assert (row["origin"], row["version"], row["what"]) == (
        "acme-stages 1.5",
        "3",
        "A stage from elsewhere.",
    )
    made = build("acme.short", {}, "here")
    document = Document("0" * 32, "abc", "s", {}, {})
    assert made.apply([document])[0].value == 3
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl").write_text(json.dumps({"text": "a text"}) + "\n")
    recipe = """
schema: corpusmill/recipe/1
name: other
version: "1"
sources: [{name: rows, stage: sources.jsonl, root: in, paths: ["*.jsonl"], licence: CC0-1.0}]
steps: [acme.short]
"""
    plan = make_plan(Recipe.parse(recipe, tmp_path))
    assert plan.data["identity"]["steps"][0]["pins"] == {"acme-stages": "1.5"}


def test_a_name_of_ours(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("acme-stages", {"filters.url": "acme_url"})
    assert main(["ls", "stages"]) == 2
    assert "acme-stages 1.5 gives a stage 'filters.url', which Corpusmill has itself" in (
        capsys.readouterr().err
    )
    with pytest.raises(ConfigError):
        stage_class("filters.url")


def test_a_name_given_twice(install: Install) -> None:
    install("acme-stages", {"acme.short": "acme_short"})
    install("other-stages", {"acme.short": "other_short"})
    with pytest.raises(ConfigError, match=r"both give a stage 'acme\.short'"):
        stage_class("filters.url")


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("acme.short", "raise RuntimeError('no')", "cannot be loaded: RuntimeError: no"),
        ("acme.short", "x = 1", "cannot be loaded: AttributeError"),
        ("acme.long", CODE, "calls itself 'acme.short'"),
        ("short", CODE, "is no stage name"),
    ],
)
def test_a_broken_one(install: Install, name: str, code: str, said: str) -> None:
    install("acme-stages", {name: "acme_broken"}, code)
    with pytest.raises(ConfigError, match=said):
        stage_class(name if "." in name else "filters.url")
