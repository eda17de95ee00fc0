"""The bounds and stop words by language that ship: what they hold, and what they change."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.document import Document, Drop, Scalar
from corpusmill.pipeline.stage import Asset
from corpusmill.stages.filters import fineweb, gopher_quality, gopher_repetition
from corpusmill.stages.measure import gopher
from corpusmill.stages.measure.language_codes import LANGUAGES
from corpusmill.stages.measure.stop_words import LISTS, read_lists

FOLDER = Path(__file__).resolve().parents[2] / "configs" / "languages"
RULES: dict[str, Any] = {
    "fineweb2_quality": gopher_quality, "fineweb2_repetition": gopher_repetition,
    "fineweb2_lines": fineweb,
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_rule_sets_read_their_bounds(name: str) -> None:
    path = FOLDER / f"{name}.json"
    stage = RULES[name].STAGE(RULES[name].Params(by_language=Asset(str(path))))
    stage.setup()
    table = json.loads(path.read_text(encoding="utf-8"))
    assert len(table) == 222
    assert set(table) <= set(LANGUAGES) - {"en", "und"}
    assert set(LISTS) - {"en"} <= set(table)
    # One set of names, and of each bound not one value for all: none is missing, or a copy.
    keys = {frozenset(row) for row in table.values()}
    assert len(keys) == (2 if name == "fineweb2_quality" else 1)
    for key in set().union(*keys):
        assert len({row.get(key) for row in table.values()}) > 5, key


def test_values_of_the_publication() -> None:
    tables = {n: json.loads((FOLDER / f"{n}.json").read_text(encoding="utf-8")) for n in RULES}
    assert tables["fineweb2_quality"]["de"] == {
        "min_mean_word": 0, "max_mean_word": 15, "min_alpha_words": 0.774
    }  # fmt: skip
    assert tables["fineweb2_lines"]["de"] == {
        "min_line_punct": None, "max_newlines_per_word": 0.152
    }  # fmt: skip
    assert tables["fineweb2_repetition"]["fr"]["dup_10gram"] == 0.1
    assert tables["fineweb2_quality"]["th"] == {"min_alpha_words": 0.9}


def verdict(mean_word: float, lang: str, path: Path | None) -> object:
    signals: dict[str, Scalar] = {
        "lang": lang, "gopher_words": 300, "gopher_mean_word": mean_word, "gopher_hash_ratio": 0.0,
        "gopher_ellipsis_ratio": 0.0, "gopher_bullet_lines": 0.0, "gopher_ellipsis_lines": 0.0,
        "gopher_alpha_words": 0.95, "gopher_stop_words": 3,
    }  # fmt: skip
    given = None if path is None else Asset(str(path))
    stage = gopher_quality.STAGE(gopher_quality.Params(by_language=given))
    stage.setup()
    (outcome,) = stage.apply([Document("0" * 32, "text", "s", {}, signals)])
    return outcome.reason if isinstance(outcome, Drop) else "kept"


def test_what_they_change() -> None:
    path = FOLDER / "fineweb2_quality.json"
    for lang, mean_word, before, after in (
        ("ml", 11.0, "gopher_long_words", "kept"),
        ("ko", 2.5, "gopher_short_words", "kept"),
        ("ko", 7.0, "kept", "gopher_long_words"),
        ("en", 11.0, "gopher_long_words", "gopher_long_words"),
    ):
        assert verdict(mean_word, lang, None) == before
        assert verdict(mean_word, lang, path) == after


def test_stop_words() -> None:
    lists = read_lists(FOLDER / "stop_words.json")
    assert len(lists) == 157
    assert set(lists) <= set(LANGUAGES)
    assert {code: lists[code] for code in LISTS} == LISTS
    assert not {"ay", "qu", "sn"} & set(lists)  # theirs do not fit our words
    stage = gopher.STAGE(gopher.Params(stop_words=Asset(str(FOLDER / "stop_words.json"))))
    stage.setup()
    document = Document("0" * 32, "Ke lahui kanaka a ke kanaka", "s", signals={"lang": "haw"})
    stage.apply([document])
    assert document.signals["gopher_stop_words"] == 2


@pytest.mark.fulldata
def test_the_declaration_is_kept_in_every_language() -> None:
    """No language loses more than half of it, but by the rule on line ends: it is a list."""
    if "CORPUSMILL_DATA" not in os.environ:
        pytest.skip("CORPUSMILL_DATA is not set")
    import runpy

    pieces = runpy.run_path(str(FOLDER / "build.py"))["pieces"]
    documents: list[Document] = list(pieces(Path(os.environ["CORPUSMILL_DATA"])))
    measure = gopher.STAGE(gopher.Params(stop_words=Asset(str(FOLDER / "stop_words.json"))))
    table = Asset(str(FOLDER / "fineweb2_quality.json"))
    decide = gopher_quality.STAGE(gopher_quality.Params(by_language=table))
    for stage in (measure, decide):
        stage.setup()
    measure.apply(documents)
    codes = [str(document.signals["lang"]) for document in documents]
    assert len(set(codes)) > 150
    lost = [
        code for code, outcome in zip(codes, decide.apply(documents), strict=True)
        if isinstance(outcome, Drop)
    ]  # fmt: skip
    assert len(lost) <= 0.01 * len(codes), sorted(lost)
    assert all(lost.count(code) <= codes.count(code) / 2 for code in set(lost))
