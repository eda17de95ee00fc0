"""Names by a user's token classifier: one that knows five words, weights set by hand."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from corpusmill.classifiers.names import STAGE, Names, Params
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import AssetError
from corpusmill.pipeline.stage import Asset
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

PERSONS, PLACES = ["ann", "lee", "schwarz", "##er", "email"], ["oslo"]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *PERSONS, *PLACES, *"met in < > , and ##ber".split()]


def folder(at: Path) -> Path:
    """A BERT without layers: each token has the class that its own embedding says."""
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=4, num_hidden_layers=0, num_attention_heads=1,
        intermediate_size=4, max_position_embeddings=64,
        id2label={0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC"},
    )  # fmt: skip
    model = transformers.BertForTokenClassification(config)
    embeddings = model.bert.embeddings
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        embeddings.LayerNorm.weight.fill_(1.0)
        for n, word in enumerate(WORDS):
            kind = 1 if word in PERSONS else 3 if word in PLACES else 0
            embeddings.word_embeddings.weight[n, kind] = 1.0
        model.classifier.weight.copy_(3 * torch.eye(4))
    model.save_pretrained(at)
    cut = Tokenizer(models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    cut.normalizer = normalizers.Lowercase()
    cut.pre_tokenizer = pre_tokenizers.Whitespace()
    cut.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=cut, model_max_length=64, pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(at)
    return at


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("names"))


def stage(place: Path, **params: Any) -> Names:
    made = STAGE(Params(model=Asset(str(place)), **{"max_tokens": 16, **params}))
    made.setup()
    return made


def told(made: Names, text: str, **signals: str) -> tuple[str, Any]:
    doc = Document("0" * 32, text, "s", signals=dict(signals))
    assert made.apply([doc]) == [doc]
    return doc.text, doc.signals.get("pii_name")


@pytest.mark.parametrize(
    ("text", "expected", "count"),
    [
        ("Ann Lee met Schwarz in Oslo.", "<NAME> met <NAME> in Oslo.", 2),
        ("Ann, Lee and\nLEE\nmet", "<NAME>, <NAME> and\n<NAME>\nmet", 3),
        ("Schwarzer met Schwarzber", "<NAME> met <NAME>", 2),
        ("<EMAIL> met <NAME>, Ann-Lee", "<EMAIL> met <NAME>, <NAME>-<NAME>", 2),
        ("email <EMAIL> met <IP>", "<NAME> <EMAIL> met <IP>", 1),
        ("\ud800 Ann \U0001f600 Lee", "\ud800 <NAME> \U0001f600 <NAME>", 2),
        ("", "", 0),
        ("met in Oslo", "met in Oslo", 0),
    ],
)
def test_whole_words_that_the_model_marks(
    place: Path, text: str, expected: str, count: int
) -> None:
    assert told(stage(place), text) == (expected, count)


def test_windows_and_pieces_see_every_word_once(place: Path) -> None:
    text = "met Ann in Oslo and " * 2_200  # three pieces, and 1,100 windows of 16 tokens
    assert told(stage(place), text) == (text.replace("Ann", "<NAME>"), 2_200)
    unbroken = "x" * 45_000 + " Ann"
    assert told(stage(place), unbroken) == (unbroken[:-3] + "<NAME>", 1)


def test_what_is_done_with_names(place: Path) -> None:
    assert told(stage(place, policy="annotate"), "Ann met Lee") == ("Ann met Lee", 2)
    assert told(stage(place, labels=("LOC",)), "Ann in Oslo") == ("Ann in <NAME>", 1)
    assert told(stage(place, labels=("LOC", "PER")), "Ann in Oslo") == ("<NAME> in <NAME>", 2)
    # Logits are 3 √3 and three times -√3: B-PER and I-PER have .998045 together.
    assert told(stage(place, min_probability=0.998), "Ann met")[1] == 1
    assert told(stage(place, min_probability=0.9981), "Ann met")[1] == 0
    made = stage(place, languages=("en",))
    assert made.reads == ("lang",)
    assert told(made, "Ann", lang="de") == ("Ann", None)
    assert told(made, "Ann", lang="en") == ("<NAME>", 1)


def test_the_text_before_is_told_by_its_digest(place: Path) -> None:
    doc = Document("0" * 32, "Ann met", "s")
    stage(place).apply([doc])
    assert doc.meta["text_sha256_raw"] == hashlib.sha256(b"Ann met").hexdigest()
    doc = Document("0" * 32, "met", "s")
    stage(place).apply([doc])
    assert "text_sha256_raw" not in doc.meta


def test_folders_that_are_no_such_model(tmp_path: Path) -> None:
    place = folder(tmp_path / "m")
    with pytest.raises(AssetError, match="no class 'NAME'; its classes: LOC, O, PER"):
        stage(place, labels=("NAME",))
    with pytest.raises(AssetError, match="reads at most 64 tokens, max_tokens is 65"):
        stage(place, max_tokens=65)
    path = place / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"architectures": ["BertForSequenceClassification"]}))
    with pytest.raises(AssetError, match=r"is no token classifier: .* BertForSequenceClass"):
        stage(place)
