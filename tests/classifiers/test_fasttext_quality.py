"""The quality stage, and which fastText it lets in."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from corpusmill.classifiers import fasttext_models
from corpusmill.classifiers.fasttext_format import MAGIC, check_file
from corpusmill.classifiers.fasttext_models import fasttext_module, load_model
from corpusmill.classifiers.fasttext_quality import STAGE, FastTextQuality, Params
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset

MODEL = Path(__file__).resolve().parents[2] / "configs" / "sample" / "models" / "quality.ftz"

PROSE = (
    "The young animals are between one and three years old and sit mostly on old chains and on the "
    "stones of the former baths. Clear water brings grass, the grass holds the mud, and the larvae "
    "find something firm to settle on."
)
JUNK = "best price cheap watches best price free coupon click here best price buy now " * 4


def stage(**params: object) -> FastTextQuality:
    made = STAGE(Params(model=Asset(str(MODEL)), **params))  # type: ignore[arg-type]
    made.setup()
    return made


def document(text: str, **signals: str | float) -> Document:
    return Document(id="0" * 32, text=text, source="s", signals=dict(signals))


def test_scores_prose_above_junk() -> None:
    docs = [document(PROSE), document(JUNK), document(""), document("\n\n")]
    assert stage().apply(docs) == docs
    prose, junk, empty, blank = (d.signals["quality_score"] for d in docs)
    assert isinstance(prose, float)
    assert prose > 0.8
    assert isinstance(junk, float)
    assert junk < 0.3
    assert empty == blank == 0.0
    assert prose == round(prose, 4)


def test_neighbours_and_line_breaks_do_not_matter() -> None:
    measure = stage()
    alone, wrapped = document(PROSE), document(PROSE.replace(" ", "\r\n"))
    measure.apply([document(JUNK), alone])
    measure.apply([wrapped])
    assert alone.signals == wrapped.signals
    assert alone.text == PROSE


def test_other_languages_get_no_score() -> None:
    measure = stage(languages=("en",))
    assert measure.reads == ("lang",)
    docs = [document(PROSE, lang="de"), document(PROSE, lang="en"), document(PROSE)]
    measure.apply(docs)
    assert ["quality_score" in d.signals for d in docs] == [False, True, False]
    assert stage().reads == ()


def test_params_are_checked() -> None:
    with pytest.raises(ConfigError, match="max_chars is 0"):
        Params(model=Asset("m"), max_chars=0)
    with pytest.raises(ConfigError, match="label is empty"):
        Params(model=Asset("m"), label="")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>Not found</html>", "is no fastText model: it starts with b'<htm'"),
        (b"", "is no fastText model: it starts with b''"),
        (MAGIC, "is damaged: it ends too early"),
        (MAGIC + b"\xff" * 4, "is damaged: file version -1"),
    ],
)
def test_wrong_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "m.bin"
    path.write_bytes(content)
    with pytest.raises(AssetError, match=message):
        load_model(path, "high")
    with pytest.raises(AssetError, match=r"none\.bin cannot be read"):
        load_model(tmp_path / "none.bin", "high")


@pytest.mark.parametrize("share", [0.0001, 0.001, 0.05, 0.3, 0.6, 0.9, 0.99999])
def test_a_file_cut_short_is_refused(tmp_path: Path, share: float) -> None:
    raw = MODEL.read_bytes()
    path = tmp_path / "cut.ftz"
    path.write_bytes(raw[: int(len(raw) * share)])
    with pytest.raises(AssetError, match="is damaged: it ends too early"):
        check_file(path)
    path.write_bytes(raw + b"\0")
    with pytest.raises(AssetError, match="is damaged: 1 bytes after the end"):
        check_file(path)


@pytest.mark.parametrize("name", ["plain.bin", "quantised.ftz", "normed.ftz", "vectors.bin"])
def test_whole_files_of_every_kind_pass(tmp_path: Path, name: str) -> None:
    fasttext = fasttext_module()
    lines = tmp_path / "lines.txt"
    words = [f"word{i}" for i in range(300)]
    lines.write_text("".join(f"__label__{'ab'[i % 2]} {' '.join(words[i:])}\n" for i in range(300)))
    if name == "vectors.bin":
        model = fasttext.train_unsupervised(
            str(lines), dim=4, epoch=1, bucket=100, thread=1, verbose=0
        )
    else:
        model = fasttext.train_supervised(
            str(lines), dim=4, epoch=1, bucket=100, wordNgrams=2, thread=1, verbose=0
        )
    if name == "quantised.ftz":
        model.quantize(qnorm=False)
    if name == "normed.ftz":  # also prunes the dictionary
        model.quantize(input=str(lines), qnorm=True, cutoff=260, retrain=True, thread=1)
    model.save_model(str(tmp_path / name))
    info = check_file(tmp_path / name)
    assert info.dim == 4
    assert info.quantised == name.endswith(".ftz")
    assert info.words == len(model.get_words())
    assert info.supervised == (name != "vectors.bin")
    if info.supervised:
        assert sorted(info.labels) == ["__label__a", "__label__b"]
        assert load_model(tmp_path / name, "a").predict("word1 word2")[0][0] in info.labels
    else:
        with pytest.raises(AssetError, match="no label 'a'"):
            load_model(tmp_path / name, "a")


def test_wrong_label() -> None:
    with pytest.raises(AssetError, match=r"no label 'good'.*__label__high"):
        load_model(MODEL, "good")


def test_other_distributions_of_fasttext_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fasttext_module().__name__ == "fasttext"
    both = {"fasttext": ["fasttext-wheel", "fasttext-community"]}
    monkeypatch.setattr(metadata, "packages_distributions", lambda: both)
    with pytest.raises(AssetError, match=r"provided by .*fasttext-wheel"):
        fasttext_module()
    monkeypatch.setattr(fasttext_models, "DISTRIBUTION", "fasttext-not-there")
    with pytest.raises(AssetError, match="is not installed"):
        fasttext_module()
