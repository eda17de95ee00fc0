"""A user's fastText language model in place of our judges."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpusmill.classifiers.fasttext_language import FastTextLanguage, code_of
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import AssetError
from corpusmill.pipeline.stage import Asset
from corpusmill.stages.measure.language import MeasureLanguage, Params

ENGLISH = "the committee will meet again in the autumn to decide on the new building"
GERMAN = "der ausschuss tritt im herbst wieder zusammen und entscheidet über den neubau"


@pytest.mark.parametrize(
    ("label", "code"),
    [
        ("__label__en", "en"),
        ("__label__eng_Latn", "en"),
        ("__label__zh", "zh"),
        ("__label__cmn_Hani", "zh"),
        ("__label__zho_Hant", "zh-Hant"),
        ("__label__srp_Cyrl", "sr"),
        ("__label__no", "nb"),
        ("__label__nob_Latn", "nb"),
        ("__label__iw", "he"),
        ("__label__arb_Arab", "ar"),
        ("__label__yue_Hant", "zh-Hant"),
        ("__label__als", "sq"),
        ("__label__szl_Latn", "szl"),
        ("__label__zxx_Zzzz", ""),
        ("__label__und_Latn", ""),
        ("english", ""),
    ],
)
def test_codes(label: str, code: str) -> None:
    assert code_of(label) == code


def trained(folder: Path, *labels: str) -> Path:
    import fasttext

    lines = "".join(
        f"__label__{label} {text}\n" for label, text in zip(labels, (ENGLISH, GERMAN), strict=True)
    )
    source = folder / "train.txt"
    source.write_text(lines * 50, "utf-8")
    model = fasttext.train_supervised(
        str(source), dim=4, epoch=5, thread=1, seed=1, bucket=1000, minn=2, maxn=3, verbose=0
    )
    path = folder / f"{'-'.join(labels)}.bin"
    model.save_model(str(path))
    return path


def test_stage_uses_the_given_model(tmp_path: Path) -> None:
    stage = MeasureLanguage(Params(model=Asset(str(trained(tmp_path, "eng_Latn", "deu_Latn")))))
    assert stage.pins == ("fasttext-community",)
    assert MeasureLanguage(Params()).pins == ("pycld2", "py3langid")
    stage.setup()
    texts = [ENGLISH, f"{GERMAN}\r\n{GERMAN}\x00", "", "1 2 3", GERMAN + "\udc80"]
    documents = [Document("0" * 32, text, "s") for text in texts]
    assert stage.apply(documents) == documents
    assert stage.apply([]) == []
    found = [(d.signals["lang"], d.signals["lang_judges"]) for d in documents]
    assert found == [
        ("en", "fasttext"), ("de", "fasttext"), ("und", "none"), ("und", "none"),
        ("de", "fasttext"),
    ]  # fmt: skip
    for document in documents:
        score = document.signals["lang_score"]
        assert isinstance(score, float)
        assert 0 <= score <= 1


def test_a_model_that_names_no_languages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="names no languages"):
        FastTextLanguage(trained(tmp_path, "high_quality", "low_quality"))
    with pytest.raises(AssetError, match="no fastText model"):
        FastTextLanguage(Path(__file__))
