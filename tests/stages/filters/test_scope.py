"""Rule sets that hold for some documents, or with other bounds for some languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpusmill.pipeline.document import Document, Drop, Outcome, Scalar
from corpusmill.pipeline.errors import AssetError, ConfigError, StageError
from corpusmill.pipeline.params import decode
from corpusmill.pipeline.stage import Asset
from corpusmill.stages.filters import fineweb, gopher_quality

BAD = {"fineweb_lines": 9, "fineweb_line_punct": 0.0, "fineweb_short_lines": 0.1,
       "fineweb_dup_line_chars": 0.0, "fineweb_newlines_per_word": 0.1}  # fmt: skip
DROP = Drop("fineweb_line_punct", 0.0)


def outcome(params: fineweb.Params, **signals: Scalar) -> Outcome:
    stage = fineweb.STAGE(params)
    stage.setup()
    (result,) = stage.apply([Document("0" * 32, "text", "s", {}, {**BAD, **signals})])
    return result


def test_unless_lets_kinds_pass() -> None:
    params = decode(fineweb.Params, {"unless": {"text_kind": ["code", "maths"]}}, "step")
    assert isinstance(outcome(params, text_kind="code"), Document)
    assert outcome(params, text_kind="prose") == DROP
    assert "text_kind" in fineweb.STAGE(params).reads


def test_when_judges_only_those() -> None:
    params = fineweb.Params(when={"text_kind": ("prose",), "lang": ("en", "de")})
    assert outcome(params, text_kind="prose", lang="de") == DROP
    assert isinstance(outcome(params, text_kind="prose", lang="fr"), Document)
    assert isinstance(outcome(params, text_kind="list", lang="de"), Document)


def test_conditions_need_their_signal_and_values() -> None:
    with pytest.raises(StageError, match="no signal 'text_kind'"):
        outcome(fineweb.Params(unless={"text_kind": ("code",)}))
    with pytest.raises(ConfigError, match="0 values"):
        fineweb.Params(when={"text_kind": ()})


def test_bounds_by_language(tmp_path: Path) -> None:
    table = tmp_path / "bounds.json"
    table.write_text(json.dumps({"ja": {"min_line_punct": None}, "th": {"min_line_punct": 0.5}}))
    params = fineweb.Params(by_language=Asset(str(table)))
    assert isinstance(outcome(params, lang="ja"), Document)
    assert outcome(params, lang="th", fineweb_line_punct=0.4) == Drop("fineweb_line_punct", 0.4)
    assert isinstance(outcome(params, lang="en", fineweb_line_punct=0.4), Document)
    assert "lang" in fineweb.STAGE(params).reads


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"de": {"min_word": 3}}', "bound 'min_word'"),
        ('{"de": {"min_words": "3"}}', "no number"),
        ('{"eng": {"min_words": 3}}', "has 'eng', which no document is ever given"),
        ('["de"]', "cannot be read"),
        ("{", "cannot be read"),
    ],
)
def test_bounds_that_are_none(tmp_path: Path, content: str, said: str) -> None:
    table = tmp_path / "bounds.json"
    table.write_text(content)
    stage = gopher_quality.STAGE(gopher_quality.Params(by_language=Asset(str(table))))
    with pytest.raises(AssetError, match=said):
        stage.setup()
