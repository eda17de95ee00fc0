"""The package's own table: vectors, the models of the sample, and a whole run with them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from corpusmill.classifiers.embedding import LENGTH, Embedder, load_embedder, products
from corpusmill.classifiers.topics import Params, Topics
from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.registry import pin_versions
from corpusmill.pipeline.stage import Asset
from corpusmill.stages.dedup.semantic import SemanticDedup, SemanticParams

MODELS = Path(__file__).parents[3] / "configs" / "sample" / "models"
TEXTS = (
    "The captain sailed the ship across the sea.",
    "A vessel was steered over the ocean by its skipper.",
    "The function returns a list of strings or raises an error.",
    "今天天气很好，我们去公园吧。",
    "",
    "Grüße aus München! Ça va? Привет, мир!",
)
ABOUT = {
    "food": "Mix the flour, butter and sugar, add two eggs, and bake the cake in the oven.",
    "sport": "The striker scored twice and the club won the league after a long season.",
    "health": "Patients with diabetes should ask their doctor about the side effects of the drug.",
    "programming": "The compiler reports a type error when the function returns a string.",
    "travel": "We booked a hotel near the beach and took the ferry to the islands.",
    "history": "The army besieged the castle until the king signed the treaty in 1412.",
}


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_embedder("test")


def test_vectors_are_the_same_everywhere(embedder: Embedder) -> None:
    vectors = embedder.vectors(TEXTS)
    digest = hashlib.sha256(vectors.astype("<i2").tobytes()).hexdigest()
    assert digest == "2468607402be036a842252800cd00c0fcbb4166efbe1542de1eedcc67fc6b0e1"


def test_what_says_the_same_points_the_same_way(embedder: Embedder) -> None:
    one, two, other = embedder.vectors(TEXTS[:3])
    alike = products(one[None], np.stack([two, other]))[0] / LENGTH**2
    assert alike[0] > 0.4 > 0.2 > alike[1]


def test_a_word_at_a_time_is_nearly_the_whole_text(embedder: Embedder) -> None:
    """Against the tokenizer given the text as it is, without what we leave out anyway."""
    text = "the captain sailed the unsinkable ship across the mediterranean sea to thessaloniki"
    tokens = embedder.tokenizer.encode(text, add_special_tokens=False).ids
    whole = embedder.table[tokens].sum(axis=0).astype(float)
    (vector,) = embedder.vectors([text])
    cosine = vector @ whole / np.linalg.norm(vector.astype(float)) / np.linalg.norm(whole)
    assert cosine > 0.9999


def test_the_models_of_the_sample_tell_plain_topics() -> None:
    topic, form, clusters = (
        Asset(MODELS / f"{name}.jsonl") for name in ("topics", "formats", "clusters")
    )
    stage = Topics(Params(topic=topic, format=form, clusters=clusters, languages=()))
    stage.setup()
    docs = [Document(f"{n:032d}", text, "test") for n, text in enumerate(ABOUT.values())]
    stage.apply(docs)
    assert [doc.signals["topic"] for doc in docs] == list(ABOUT)
    assert set(docs[0].signals) == set(stage.writes)
    assert all(0 < float(doc.signals["format_score"]) <= 1 for doc in docs)
    assert pin_versions(stage.pins)["wordllama"].startswith("0.4.")


def test_an_unlikely_class_is_unsure() -> None:
    topic = Asset(MODELS / "topics.jsonl")
    texts = ("A page.", ABOUT["health"])
    documents = [Document(str(n), text, "test", {}, {}) for n, text in enumerate(texts)]
    stage = Topics(Params(topic=topic, languages=(), min_score=0.6))
    stage.setup()
    stage.apply(documents)
    assert [doc.signals["topic"] for doc in documents] == ["unsure", "health"]
    assert (
        float(documents[0].signals["topic_score"])
        < 0.6
        < float(documents[1].signals["topic_score"])
    )


def test_two_wordings_of_one_text_are_found(tmp_path: Path) -> None:
    dedup = SemanticDedup(
        SemanticParams(Asset(MODELS / "clusters.jsonl"), min_cosine=0.8, languages=())
    )
    dedup.setup()
    texts = [
        "Add the flour and the butter to the bowl, then bake the bread in a hot oven.",
        "Put butter and flour in the bowl, and bake the bread in the hot oven.",
        "The striker scored twice and the club won the league.",
    ]
    docs = [Document(f"{n:02d}" * 16, text, "test") for n, text in enumerate(texts)]
    ctx = MemoryContext(tmp_path, partitions=2)
    for name, (table, hashes) in dedup.emit(docs).items():
        ctx.write(name, table, hashes)
    ctx.run_phases(dedup)
    dedup.decide(docs, {row["id"]: row for row in ctx.read("verdicts").to_pylist()})
    assert docs[0].signals == {"semantic_copies": 2}
    assert docs[1].signals["semantic_of"] == docs[0].id
    assert docs[2].signals == {"semantic_copies": 1}
