from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corpusmill.classifiers import topics as module
from corpusmill.classifiers.embedding import DIMENSIONS, Embedder
from corpusmill.classifiers.page_model import PageModel, likeliest, load_page_model, page_features
from corpusmill.classifiers.seed_words import guesses
from corpusmill.classifiers.shape import NAMES, shape
from corpusmill.classifiers.topics import Params, Topics
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.mix import DomainRule, domain_of

SAMPLE = Path(__file__).parents[2] / "configs" / "sample" / "models"


@pytest.fixture(autouse=True)
def without_the_package(monkeypatch: pytest.MonkeyPatch, small_embedder: Embedder) -> None:
    monkeypatch.setattr(module, "load_embedder", lambda what: small_embedder)


def model(signal: str = "topic", shaped: bool = False) -> PageModel:
    """Of three classes, each in one direction; a text at right angles to it has logit 0."""
    weights = np.zeros((3, DIMENSIONS + (len(NAMES) if shaped else 0)), np.int64)
    weights[0, 2] = weights[1, 0] = weights[2, 1] = 1000
    return PageModel(signal, ("food", "sea", "work"), shaped, weights, np.zeros(3, np.int64))


def stage(tmp_path: Path, languages: tuple[str, ...] = (), **params: object) -> Topics:
    for signal in ("topic", "format"):
        (tmp_path / signal).write_bytes(model(signal, signal == "format").to_bytes())
    made = Topics(Params(languages=languages, **params))  # type: ignore[arg-type]
    made.setup()
    return made


def doc(text: str, **signals: str) -> Document:
    return Document("0" * 32, text, "test", {"url": "https://h.example/faq"}, dict(signals))


def test_the_likeliest_class_and_its_softmax() -> None:
    assert likeliest([0.0, 1.0, 0.0], ("a", "b", "c")) == ("b", 0.5761)
    assert likeliest([2.0, 2.0], ("a", "b")) == ("a", 0.5)
    assert likeliest([-5000.0, 5000.0], ("a", "b")) == ("b", 1.0)


def test_a_logit_is_a_sum_in_millionths() -> None:
    features = np.zeros((1, DIMENSIONS), np.int64)
    features[0, :3] = (500, 0, 1000)
    biased = replace(model(), biases=np.array([0, 250_000, -1_000_000]))
    assert biased.logits(features).tolist() == [[1.0, 0.75, -1.0]]


def test_a_model_comes_back_from_its_file(tmp_path: Path) -> None:
    for shaped in (False, True):
        path = tmp_path / "m.jsonl"
        path.write_bytes(model(shaped=shaped).to_bytes())
        again = load_page_model(str(path), "topic")
        assert again.to_bytes() == model(shaped=shaped).to_bytes()
        assert again.shape is shaped


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"topic"', '"format"', "its signal is 'format', not 'topic'"),
        ("wordllama", "other", "its embedding is"),
        ("page-model/1", "page-model/2", "its schema is"),
        ('"sea"', '"eat"', "its classes are not in order"),
        ('"features": 256', '"features": 255', "it has not 256 features"),
        ('"bias": 0', '"bias": "x"', "invalid literal"),
        ("{", "", "no model of a page's topic"),
    ],
)
def test_a_file_that_is_another_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(model().to_bytes().decode().replace(old, new))
    with pytest.raises(AssetError, match=said):
        load_page_model(str(path), "topic")


def test_a_missing_file_is_refused() -> None:
    with pytest.raises(AssetError, match="no model of a page's topic"):
        load_page_model("nowhere.jsonl", "topic")


def test_documents_get_topic_format_and_scores(tmp_path: Path) -> None:
    made = stage(tmp_path, topic=str(tmp_path / "topic"),
                 format=str(tmp_path / "format"))  # fmt: skip
    docs = [doc("bread soup oven"), doc("12"), doc("the sea and the ship")]
    assert made.apply(docs) == docs
    assert docs[0].signals == {
        "topic": "food", "topic_score": 0.9616, "format": "food", "format_score": 0.9616,
    }  # fmt: skip
    assert docs[1].signals == {}
    assert docs[2].signals["topic"] == "sea"
    assert made.writes == {
        "topic": "str", "topic_score": "float", "format": "str", "format_score": "float",
    }  # fmt: skip


def test_what_is_not_asked_for_is_not_written(tmp_path: Path) -> None:
    made = stage(tmp_path, topic=str(tmp_path / "topic"), languages=("en",))
    assert Params(topic="x").languages == ("en",)  # type: ignore[arg-type]
    english, other = doc("sea", lang="en"), doc("sea", lang="de")
    made.apply([english, other])
    assert english.signals["topic"] == "sea"
    assert other.signals == {"lang": "de"}
    assert made.writes == {"topic": "str", "topic_score": "float"}
    assert made.reads == ("lang",)


def test_no_model_and_no_setup_are_errors() -> None:
    with pytest.raises(ConfigError, match="has no model"):
        Params()
    with pytest.raises(ConfigError, match="apply before setup"):
        Topics(Params(topic="x")).apply([])  # type: ignore[arg-type]


def test_features_are_the_vector_and_then_the_shape(small_embedder: Embedder) -> None:
    vectors = small_embedder.vectors(["sea"])
    row = page_features(vectors, ["sea"], ["https://h.example/faq"], True)[0]
    assert row[:DIMENSIONS].tolist() == vectors[0].tolist()
    assert row[DIMENSIONS:].tolist() == shape("sea", "https://h.example/faq")


def test_a_mix_takes_what_is_written_as_domains(tmp_path: Path) -> None:
    made = stage(tmp_path, topic=str(tmp_path / "topic"), format=str(tmp_path / "format"))
    docs = [doc("bread"), doc("sea"), doc("sea code the"), doc("")]
    made.apply(docs)
    rules = [
        DomainRule("kitchen", {"topic": "food|drinks", "format": "f*"}),
        DomainRule("sure", {"topic": "sea", "topic_score": "0.9.."}),
        DomainRule("rest"),
    ]
    found = [domain_of({"source": d.source, **d.meta, **d.signals}, rules) for d in docs]
    assert found == ["kitchen", "sure", "rest", "rest"]
    by_cluster = DomainRule("cluster", {"text_cluster": "3|7"})
    by_bucket = DomainRule("best", {"quality_bucket": "15.."})
    assert domain_of({"text_cluster": 7}, [by_cluster]) == "cluster"
    assert domain_of({"text_cluster": 17}, [by_cluster]) is None
    assert domain_of({"quality_bucket": 15, "licence": "CC0-1.0"}, [by_bucket]) == "best"
    assert domain_of({"licence": "CC0-1.0"}, [DomainRule("free", {"licence": "CC*"})]) == "free"


def numbers(text: str, url: str = "") -> dict[str, int]:
    return dict(zip(NAMES, shape(text, url), strict=True))


def test_the_shape_of_a_list() -> None:
    found = numbers("• One thing\n\n• Two\n3. Is it?\nAnd £5 {x}\n")
    assert found["lines"] == 1609  # log(1 + 4)
    assert found["bullets"] == 500
    assert found["numbered"] == 250
    assert found["question_ends"] == found["sentence_ends"] == 250
    assert found["money"] > 0
    assert found["code"] > 0


def test_the_words_of_genres_are_a_share() -> None:
    # Five words; of 25, since twenty more are added: sqrt(2 / 25) and sqrt(1 / 25).
    found = numbers("Reply by thread starter today")
    assert found["forum"] == 283
    assert found["byline"] == 200
    assert found["shop"] == 0
    assert found["variety"] == 200


def test_cues_are_of_the_address_without_its_scheme() -> None:
    assert numbers("x", "https://shop.example/")["cue_3"] == 1000
    assert numbers("x", "https://plain.example/")["cue_3"] == 0
    assert numbers("x")["cue_3"] == 0


def test_an_empty_text_has_a_shape() -> None:
    assert set(shape("", "")) == {0}


def test_a_long_text_has_the_shape_of_its_beginning() -> None:
    one, two = numbers("plain words here.\n" * 1000), numbers("plain words here.\n" * 2000)
    assert {k: v for k, v in one.items() if k != "length"} == {
        k: v for k, v in two.items() if k != "length"
    }


def test_seed_words_guess_by_words_of_one_class_only() -> None:
    seeds = {"a": ["ship sea sail"], "b": ["code sea loop"]}
    texts = ["the ship on the sea", "code and loop and ship", "nothing", "sail code"]
    assert guesses(texts, seeds, "b") == ["a", "b", "b", "a"]


@pytest.mark.parametrize(("name", "signal"), [("topics", "topic"), ("formats", "format")])
def test_the_models_of_the_sample_load(name: str, signal: str) -> None:
    loaded = load_page_model(str(SAMPLE / f"{name}.jsonl"), signal)
    assert len(loaded.classes) == 24
    assert loaded.shape is (signal == "format")
    assert replace(loaded).to_bytes() == (SAMPLE / f"{name}.jsonl").read_bytes()
