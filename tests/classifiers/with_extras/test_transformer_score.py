"""A user's transformer: the scores of the library's own pipeline, and nothing run from the folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from corpusmill.classifiers.transformer_score import STAGE, Params, TransformerScore
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import AssetError
from corpusmill.pipeline.stage import Asset
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"the careful study of nature buy cheap pills".split()]
TEXTS = ["the careful study of nature", "buy cheap pills", "", "buy the pills " * 5000, "\ud800"]


def folder(at: Path, labels: int = 3, problem: str | None = None) -> Path:
    """A tiny BERT with weights drawn by a fixed seed, and its tokenizer."""
    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, num_labels=labels,
        initializer_range=1.0, problem_type=problem,
        id2label={i: f"class{i}" for i in range(labels)},
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(at)
    cut = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    cut.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    cut.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=cut, model_max_length=64, pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(at)
    return at


def stage(place: Path, **params: Any) -> TransformerScore:
    made = STAGE(Params(model=Asset(str(place)), **{"max_tokens": 32, **params}))
    made.setup()
    return made


def scored(measure: TransformerScore, texts: list[str], **signals: str) -> list[Any]:
    docs = [Document("0" * 32, text, "s", signals=dict(signals)) for text in texts]
    assert measure.apply(docs) == docs
    return [doc.signals.get(measure.params.signal) for doc in docs]


@pytest.mark.parametrize(
    ("labels", "problem", "label", "function"),
    [
        (3, None, "class2", "softmax"),
        (3, "multi_label_classification", "class1", "sigmoid"),
        (1, "regression", None, "none"),
    ],
)
def test_the_scores_of_the_librarys_own_pipeline(
    tmp_path: Path, labels: int, problem: str | None, label: str | None, function: str
) -> None:
    place = folder(tmp_path / "m", labels, problem)
    theirs = transformers.pipeline(
        "text-classification", model=str(place), top_k=None, function_to_apply=function, device=-1
    )
    expected = [
        round(next(r["score"] for r in rows if r["label"] == (label or "class0")), 4)
        for rows in theirs(
            [t.replace("\ud800", "?") for t in TEXTS], truncation=True, max_length=32
        )
    ]
    measure = stage(place, label=label, signal="own_score")
    found = scored(measure, TEXTS)
    assert found == pytest.approx(expected, abs=1e-4)
    assert len(set(found)) > 3
    # Neighbours change nothing, not even the last digit.
    assert [scored(measure, [text])[0] for text in TEXTS] == found
    assert measure.writes == {"own_score": "float"}


def test_languages(tmp_path: Path) -> None:
    measure = stage(folder(tmp_path / "m", 1), languages=("en",))
    assert measure.reads == ("lang",)
    assert scored(measure, ["the"], lang="de") == [None]
    assert scored(measure, ["the"], lang="en") != [None]


def edited(place: Path, **changes: Any) -> None:
    path = place / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_folders_that_are_no_such_model(tmp_path: Path) -> None:
    place = folder(tmp_path / "m")
    weights = load_file(place / "model.safetensors")
    with pytest.raises(AssetError, match="no label was given; its classes: class0, class1, class2"):
        stage(place)
    with pytest.raises(AssetError, match="no class 'good'"):
        stage(place, label="good")
    with pytest.raises(AssetError, match="reads at most 64 tokens, max_tokens is 65"):
        stage(place, label="class0", max_tokens=65)
    without = {k: v for k, v in weights.items() if not k.startswith("classifier")}
    save_file(without, place / "model.safetensors", {"format": "pt"})
    with pytest.raises(AssetError, match=r"no weights for classifier\.bias, classifier\.weight"):
        stage(place, label="class0")
    (place / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(AssetError, match="cannot be loaded"):
        stage(place, label="class0")
    (place / "model.safetensors").rename(place / "pytorch_model.bin")
    with pytest.raises(AssetError, match=r"no weights as safetensors; there are .*pytorch_model"):
        stage(place, label="class0")
    edited(place, auto_map={"AutoModelForSequenceClassification": "evil.Model"})
    with pytest.raises(AssetError, match=r"brings code of its own \(AutoModelForSequence"):
        stage(place, label="class0")
    edited(place, architectures=["BertModel"])
    with pytest.raises(AssetError, match=r"no sequence classifier: .* BertModel"):
        stage(place, label="class0")
    (place / "config.json").unlink()
    with pytest.raises(AssetError, match=r"no config\.json that can be read"):
        stage(place, label="class0")
    single = folder(tmp_path / "single", 1)
    with pytest.raises(AssetError, match="gives one number and has no class 'class0'"):
        stage(single, label="class0")
