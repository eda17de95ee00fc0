from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corpusmill.classifiers.clusters_model import Clusters
from corpusmill.classifiers.embedding import DIMENSIONS, LENGTH, Embedder, unit
from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.stages.dedup import semantic
from corpusmill.stages.dedup.semantic import SemanticDedup, SemanticParams, belongs_to

TEXTS = {
    "01": "sea ship", "02": "code loop", "03": "ship sea and sea ship", "04": "bread",
    "05": "loop code", "06": "", "07": "sea sea ship ship", "08": "bread and code",
}  # fmt: skip


@pytest.fixture(autouse=True)
def without_the_package(monkeypatch: pytest.MonkeyPatch, small_embedder: Embedder) -> None:
    monkeypatch.setattr(semantic, "load_embedder", lambda what: small_embedder)


def directions(*numbers: tuple[int, ...]) -> np.ndarray:
    rows = np.zeros((len(numbers), DIMENSIONS), np.int64)
    rows[:, : len(numbers[0])] = numbers
    return unit(rows)


def stage(tmp_path: Path, **params: object) -> SemanticDedup:
    path = tmp_path / "clusters.jsonl"
    made = Clusters(directions((1, 0, 0), (0, 1, 0), (0, 0, 1)), directions((0, 0, 0, 1))[0],
                    ((), (), ()))  # fmt: skip
    path.write_bytes(made.to_bytes())
    dedup = SemanticDedup(SemanticParams(str(path), **params))  # type: ignore[arg-type]
    dedup.setup()
    return dedup


def document(key: str, text: str, lang: str = "en") -> Document:
    return Document(key * 16, text, "test", signals={"lang": lang})


def found_of(docs: list[Document]) -> dict[str, dict[str, object]]:
    """What was written, by the first two digits of the id."""
    return {d.id[:2]: {k: v for k, v in d.signals.items() if k != "lang"} for d in docs}


def documents() -> list[Document]:
    return [document(key, text) for key, text in TEXTS.items()]


def run(dedup: SemanticDedup, docs: list[Document], tmp_path: Path, partitions: int) -> None:
    ctx = MemoryContext(tmp_path, partitions=partitions)
    for at in range(0, len(docs), 3):
        for name, (table, hashes) in dedup.emit(docs[at : at + 3]).items():
            ctx.write(name, table, hashes)
    ctx.run_phases(dedup)
    verdicts = {row["id"]: row for row in ctx.read("verdicts").to_pylist()}
    assert dedup.decide(docs, verdicts) == docs


@pytest.mark.parametrize("partitions", [1, 4])
def test_what_says_the_same_belongs_to_the_smallest_id(tmp_path: Path, partitions: int) -> None:
    docs = documents()
    run(stage(tmp_path), list(reversed(docs)), tmp_path, partitions)
    found = found_of(docs)
    assert found["01"] == {"semantic_copies": 3}
    assert found["07"] == {"semantic_of": "01" * 16, "semantic_cosine": 1.0}
    assert found["03"] == {"semantic_of": "01" * 16, "semantic_cosine": 0.9993}
    assert found["02"] == {"semantic_copies": 2}
    assert found["05"]["semantic_of"] == "02" * 16
    assert found["04"] == found["06"] == found["08"] == {"semantic_copies": 1}


def test_a_higher_bound_parts_them(tmp_path: Path) -> None:
    docs = documents()
    run(stage(tmp_path, min_cosine=0.9995), docs, tmp_path, 1)
    found = found_of(docs)
    assert found["03"] == {"semantic_copies": 1}
    assert found["01"] == {"semantic_copies": 2}


def test_members_of_other_clusters_are_not_compared(tmp_path: Path) -> None:
    texts = {"01": "sea code the", "02": "code sea", "03": "sea code code"}
    docs = [document(key, text) for key, text in texts.items()]
    run(stage(tmp_path, min_cosine=0.9), docs, tmp_path, 1)
    found = found_of(docs)
    assert found["02"] == {"semantic_of": "01" * 16, "semantic_cosine": 0.9972}
    assert found["03"] == {"semantic_copies": 1}  # its cosine with 01 is .95, in another cluster


def test_other_languages_are_left_alone_unless_asked_for(tmp_path: Path) -> None:
    docs = [document("01", "sea"), document("02", "sea", "de"), document("03", "sea", "de")]
    run(stage(tmp_path), docs, tmp_path, 1)
    assert {tuple(found) for found in found_of(docs).values()} == {("semantic_copies",)}
    run(stage(tmp_path, languages=("de",)), docs, tmp_path, 1)
    assert found_of(docs)["03"]["semantic_of"] == "02" * 16
    assert stage(tmp_path).reads == ("lang",)
    assert stage(tmp_path, languages=()).reads == ()


def test_a_cluster_that_is_too_large_stops_the_run(tmp_path: Path) -> None:
    dedup = stage(tmp_path, max_cluster=2)
    with pytest.raises(StageError, match="cluster 0 has 3 documents, more than max_cluster = 2"):
        run(dedup, documents(), tmp_path, 1)


def test_bounds_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"min_cosine is 1\.5"):
        SemanticParams("x", min_cosine=1.5)  # type: ignore[arg-type]


def by_hand(vectors: np.ndarray, bound: float) -> list[int]:
    """One after the other, each compared with all that stand for themselves."""
    leader = list(range(len(vectors)))
    for n in range(len(vectors)):
        for m in range(n):
            product = int(vectors[n].astype(int) @ vectors[m].astype(int))
            if leader[m] == m and round(product / LENGTH**2, 4) >= bound:
                leader[n] = m
                break
    return leader


@pytest.mark.parametrize("block", [1, 3, 7, 64])
def test_blocks_give_what_one_by_one_gives(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(semantic, "_BLOCK", block)
    monkeypatch.setattr(semantic, "_TILE", block * 5)
    random = np.random.default_rng(3)
    vectors = unit(np.hstack([random.integers(-9, 10, (90, 3)),
                              np.zeros((90, DIMENSIONS - 3), np.int64)]))  # fmt: skip
    leader, cosine = belongs_to(vectors, 0.9)
    assert leader.tolist() == by_hand(vectors, 0.9)
    assert len(set(leader.tolist())) < 60
    moved = leader != np.arange(90)
    assert (cosine[moved] >= 0.9).all()
    assert not cosine[~moved].any()


def test_no_vectors_belong_to_nothing() -> None:
    leader, cosine = belongs_to(np.zeros((0, DIMENSIONS), np.int16), 0.9)
    assert leader.tolist() == cosine.tolist() == []
