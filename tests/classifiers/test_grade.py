"""Grades from signals: by hand, trained on what is known, and on pages that were read."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from corpusmill.classifiers.grade import Grade, GradeModel, Params, load_grades, signal_names
from corpusmill.classifiers.metrics import spearman
from corpusmill.classifiers.train_grade import GradeConfig, train_grade
from corpusmill.pipeline import Document
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset

MODEL = Path(__file__).resolve().parents[2] / "configs/sample/models/grade.json"


def document(text: str, **signals: float) -> Document:
    doc = Document(text=text, id="d", source="s")
    doc.signals.update(signals)
    return doc


def test_grades_by_hand(tmp_path: Path) -> None:
    model = GradeModel(("gopher_words", "kind_prose"), (0.5, 2.0, -0.25), 1.0)
    path = tmp_path / "m.json"
    path.write_bytes(model.to_bytes())
    assert load_grades(str(path)) == model
    stage = Grade(Params(Asset(str(path)), languages=("en",)))
    stage.setup()
    docs = [
        document("abc", gopher_words=math.e - 1, kind_prose=0.0),
        document("abc", gopher_words=0.0, kind_prose=20.0),
        document("a" * 99_999),
        document("abc"),
    ]
    for doc, lang in zip(docs, ("en", "en", "en", "de"), strict=True):
        doc.signals["lang"] = lang
    assert stage.apply(docs) == docs
    # 1 + .5 log(e) - .25 log 4; more than 5; less than 0; not English.
    assert docs[0].signals["grade"] == round(1.5 - 0.25 * math.log(4), 2)
    assert docs[1].signals["grade"] == 5.0
    assert docs[2].signals["grade"] == 0.0
    assert "grade" not in docs[3].signals
    assert set(stage.reads) == {*signal_names(), "lang"}


def rows(count: int) -> list[dict[str, str]]:
    """Texts whose grade is their number of lines, of ten hosts."""
    return [
        {
            "text": "\n".join(f"Line {k} of the text {n} says a little more." for k in range(1 + n % 6)),
            "label": str(n % 6), "group": f"h{n % 10}", "licence": "CC0-1.0", "source": "made",
        }
        for n in range(count)
    ]  # fmt: skip


def test_training_finds_what_the_grade_hangs_on(tmp_path: Path) -> None:
    config = GradeConfig("t", ("l.jsonl",), penalty=1.0)
    made = []
    for turn in (rows(120), rows(120)[::-1]):
        (tmp_path / "l.jsonl").write_text("".join(json.dumps(r) + "\n" for r in turn))
        card = train_grade(config, tmp_path, tmp_path / "out")
        made.append((tmp_path / "out" / "model.json").read_bytes())
    assert made[0] == made[1]
    assert card["heldout"]["spearman"] > 0.95
    assert card["heldout"]["sources"]["made"]["texts"] == 120
    (tmp_path / "l.jsonl").write_text(json.dumps(rows(1)[0] | {"label": "good"}) + "\n")
    with pytest.raises(ConfigError, match="'good' is no grade"):
        train_grade(config, tmp_path, tmp_path / "out")
    with pytest.raises(ConfigError, match="folds 1"):
        replace(config, folds=1)


def test_a_text_is_graded_by_a_model_that_has_not_seen_its_host(tmp_path: Path) -> None:
    """Fourteen texts, each of a host of its own, with grades that nothing foretells: a model that had
    seen them would know them by heart."""
    grades = (3, 0, 5, 1, 4, 2, 0, 5, 2, 4, 1, 3, 5, 0)
    made = [
        {
            "text": "Some words. " * (3 + 7 * n % 13) + "\n- a list" * (5 * n % 7), "label": str(grade),
            "group": f"h{n}", "licence": "CC0-1.0", "source": "made",
        }
        for n, grade in enumerate(grades)
    ]  # fmt: skip
    (tmp_path / "l.jsonl").write_text("".join(json.dumps(r) + "\n" for r in made))
    config = GradeConfig("t", ("l.jsonl",), folds=14, penalty=0.001)
    assert train_grade(config, tmp_path, tmp_path / "out")["heldout"]["spearman"] < 0.6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no model of grades"),
        ('{"schema": "x", "weights": {}, "intercept": 0}', "its schema is 'x'"),
        ('{"schema": "corpusmill/grade-model/1", "weights": {}, "intercept": 0}', "characters"),
        (
            '{"schema": "corpusmill/grade-model/1", "weights": {"lang_score": 1, "characters": 0},'
            ' "intercept": 0}',
            "not measured: lang_score",
        ),
    ],
)
def test_wrong_models(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(AssetError, match=message):
        load_grades(str(tmp_path / "m.json"))


def test_model_of_the_sample_is_whole() -> None:
    assert load_grades(str(MODEL)).signals == signal_names()


def test_ranks_by_hand() -> None:
    assert spearman([1, 2, 3, 4], [10, 20, 30, 40]) == 1
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == -1
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5).
    assert spearman([1, 5, 5, 9], [1, 2, 3, 4]) == pytest.approx(0.9487)
