"""A user's scikit-learn pipeline: its own scores, and nothing run that the file brings."""

from __future__ import annotations

import html
import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
import sklearn
import skops.io
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from corpusmill.classifiers.sklearn_score import STAGE, Params, SklearnScore
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import AssetError
from corpusmill.pipeline.stage import Asset

GOOD = "the careful study of nature and of history"
BAD = "buy cheap pills now click here"
TEXTS = [GOOD, BAD, "", "the cheap nature", "\ud800 lone", "the study " * 30_000]


def fitted(last: Any, labels: list[Any], **vectorizer: Any) -> Pipeline:
    made: Pipeline = make_pipeline(TfidfVectorizer(**vectorizer), last)
    return made.fit([GOOD, BAD, GOOD + " again", BAD + " again"], labels)


def stage(path: Path, model: Any, **params: Any) -> SklearnScore:
    path.write_bytes(model if isinstance(model, bytes) else skops.io.dumps(model))
    made = STAGE(Params(model=Asset(str(path)), **params))
    made.setup()
    return made


def scored(measure: SklearnScore, texts: list[str], **signals: str) -> list[Any]:
    docs = [Document("0" * 32, text, "s", signals=dict(signals)) for text in texts]
    assert measure.apply(docs) == docs
    return [doc.signals.get(measure.params.signal) for doc in docs]


@pytest.mark.parametrize(("labels", "name"), [(["good", "bad"] * 2, "good"), ([1, 0] * 2, "1")])
def test_the_probability_of_the_class(tmp_path: Path, labels: list[Any], name: str) -> None:
    model = fitted(LogisticRegression(), labels)
    column = [str(c) for c in model.classes_].index(name)
    measure = stage(tmp_path / "m.skops", model, label=name, signal="own", max_chars=200)
    assert measure.writes == {"own": "float"}
    expected = [round(float(p[column]), 4) for p in model.predict_proba([t[:200] for t in TEXTS])]
    found = scored(measure, TEXTS)
    assert found == expected
    assert found[0] > 0.5 > found[1]
    assert scored(measure, TEXTS[:1]) == found[:1]
    assert scored(measure, [TEXTS[5][:200]]) == found[5:]


def test_a_predicted_number_and_languages(tmp_path: Path) -> None:
    model = fitted(Ridge(), [5.0, 0.0, 4.0, 1.0])
    measure = stage(tmp_path / "m.skops", model, languages=("en",))
    assert measure.reads == ("lang",)
    assert scored(measure, [GOOD], lang="en") == [round(float(model.predict([GOOD])[0]), 4)]
    assert scored(measure, [GOOD], lang="de") == [None]
    with pytest.raises(AssetError, match="predicts a number and has no class 'good'"):
        stage(tmp_path / "m.skops", model, label="good")


def test_nothing_of_a_file_is_run(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    model = make_pipeline(FunctionTransformer(os.system), LogisticRegression())
    with pytest.raises(AssetError, match=r"not trusted: (posix|os)\.system") as error:
        stage(tmp_path / "m.skops", model)
    assert error.value.hint is not None
    assert "`trusted`" in error.value.hint

    class Bomb:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return os.system, (f"touch {victim}",)

    with pytest.raises(AssetError, match=r"no file of skops: it starts with b.\\x80"):
        stage(tmp_path / "m.pkl", pickle.dumps(Bomb()))
    assert not victim.exists()


def test_a_type_that_the_user_trusts(tmp_path: Path) -> None:
    model = make_pipeline(CountVectorizer(preprocessor=html.unescape), LogisticRegression())
    model.fit([GOOD, BAD], ["good", "bad"])
    with pytest.raises(AssetError, match=r"not trusted: html\.unescape\nhint"):
        stage(tmp_path / "m.skops", model, label="good")
    measure = stage(tmp_path / "m.skops", model, label="good", trusted=("html.unescape",))
    assert scored(measure, ["c&#97;reful nature"]) == scored(measure, ["careful nature"])


def with_version(raw: bytes, version: str) -> bytes:
    """The file as another scikit-learn would have written it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                assert "_sklearn_version" in content.decode()
                ours = json.dumps(json.dumps(sklearn.__version__))[1:-1]
                other = json.dumps(json.dumps(version))[1:-1]
                content = content.decode().replace(ours, other).encode()
            new.writestr(name, content)
    return out.getvalue()


def test_files_that_are_no_such_model(tmp_path: Path) -> None:
    path = tmp_path / "m.skops"
    good = skops.io.dumps(fitted(LogisticRegression(), ["good", "bad"] * 2))
    for raw, message in (
        (good[: len(good) // 2], "cannot be read: BadZipFile"),
        (b"<html>", "no file of skops: it starts with b'<html>'"),
        (with_version(good, "1.2.0"), "saved by another version of scikit-learn.*1.2.0"),
        (skops.io.dumps(fitted(LinearSVC(), [1, 0, 1, 0])), "LinearSVC|gives no probabilities"),
    ):
        with pytest.raises(AssetError, match=message):
            stage(path, raw, label="good")
    with pytest.raises(AssetError, match=r"no label was given; its classes: bad, good"):
        stage(path, good)
    with pytest.raises(AssetError, match=r"no class 'high'; its classes: bad, good"):
        stage(path, good, label="high")
    path.unlink()
    with pytest.raises(AssetError, match="cannot be read: No such file"):
        STAGE(Params(model=Asset(str(path)))).setup()
