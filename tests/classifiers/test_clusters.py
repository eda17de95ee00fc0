from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from corpusmill.classifiers import clusters_model
from corpusmill.classifiers import topics as module
from corpusmill.classifiers import train_clusters as train_clusters_module
from corpusmill.classifiers.clusters_model import (
    Clusters,
    centred,
    fit_centres,
    load_clusters,
    marking_words,
    nearest,
)
from corpusmill.classifiers.embedding import DIMENSIONS, LENGTH, Embedder, unit
from corpusmill.classifiers.topics import Params, Topics
from corpusmill.classifiers.train_clusters import ClustersConfig, train_clusters
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import AssetError, ConfigError

TEXTS = [
    "sea ship", "ship sail", "sea wave sail", "whale sea", "ship wave whale",
    "code loop", "loop list", "int code list", "class code", "list class int",
    "bread oven", "oven salt", "bread flour salt", "soup bread", "flour oven soup",
]  # fmt: skip


@pytest.fixture(autouse=True)
def without_the_package(monkeypatch: pytest.MonkeyPatch, small_embedder: Embedder) -> None:
    monkeypatch.setattr(module, "load_embedder", lambda what: small_embedder)
    monkeypatch.setattr(train_clusters_module, "load_embedder", lambda what: small_embedder)


def directions(*numbers: tuple[int, ...]) -> np.ndarray:
    rows = np.zeros((len(numbers), DIMENSIONS), np.int64)
    rows[:, : len(numbers[0])] = numbers
    return unit(rows)


def write(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


def train(folder: Path, texts: list[str], **more: int) -> dict[str, object]:
    write(folder / "texts.jsonl", texts)
    config = ClustersConfig("test", ("texts.jsonl",), **{"clusters": 3, **more})
    return train_clusters(config, folder, folder / "out")


def test_texts_of_three_kinds_make_three_clusters(tmp_path: Path) -> None:
    card = train(tmp_path, [*TEXTS, "12 34"])
    assert card["training"] == {
        "texts": 15, "largest": 5, "smallest": 5, "mean_cosine": 0.9993,
    }  # fmt: skip
    found = {tuple(row["words"]) for row in card["clusters"]}  # type: ignore[attr-defined]
    assert found == {
        ("ship", "sail", "wave", "whale"),
        ("code", "list", "class", "loop"),
        ("bread", "oven", "flour", "salt", "soup"),
    }


def test_the_file_is_the_same_for_any_order_and_copies(tmp_path: Path) -> None:
    for name, texts in (("a", TEXTS), ("b", [*reversed(TEXTS), TEXTS[3]])):
        (tmp_path / name).mkdir()
        train(tmp_path / name, texts)
    one, two = ((tmp_path / n / "out/clusters.jsonl").read_bytes() for n in "ab")
    assert one == two


def test_too_few_texts_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="2 different texts, too few for 3 clusters"):
        train(tmp_path, ["sea", "code", "sea", ""])
    with pytest.raises(ConfigError, match="only 2 of the texts differ"):
        train(tmp_path, ["sea", "sea wave", "code", "code list"], clusters=4)
    with pytest.raises(ConfigError, match="1 clusters"):
        ClustersConfig("test", ("x",), clusters=1)


def test_centres_are_the_means_of_their_vectors() -> None:
    vectors = directions((10, 0), (9, 1), (0, 10), (1, 9))
    centres, places = fit_centres(vectors, 2, 1)
    assert sorted(places.tolist()) == [0, 0, 1, 1]
    assert places[0] == places[1]
    means = {tuple(row) for row in centres[:, :2].tolist()}
    assert means == {(3994, 221), (221, 3994)}


def test_in_the_end_no_vector_is_nearer_to_another_centre() -> None:
    random = np.random.default_rng(5)
    vectors = directions(*map(tuple, random.integers(-99, 100, (200, 3)).tolist()))
    centres, places = fit_centres(vectors, 7, 1)
    assert (nearest(vectors, centres)[0] == places).all()
    sums = np.zeros((7, DIMENSIONS), np.int64)
    np.add.at(sums, places, vectors.astype(np.int64))
    assert (unit(sums) == centres).all()


def test_what_differs_by_rounding_alone_is_the_same() -> None:
    with pytest.raises(ConfigError, match="only 1 of the texts differ"):
        fit_centres(directions((10, 10, 1), (10, 10, 1)), 2, 1)


def test_a_centre_that_loses_all_stays_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    first = directions((1, 0), (0, 1), (-1, -1))
    monkeypatch.setattr(clusters_model, "_spread", lambda vectors, k, seed: first)
    centres, places = fit_centres(directions((9, 1), (1, 9)), 3, 1)
    assert places.tolist() == [0, 1]
    assert centres[2].tolist() == first[2].tolist()


def test_of_equal_centres_the_first_is_taken() -> None:
    vectors = directions((1, 1))
    places, found = nearest(vectors, directions((1, 0), (0, 1)))
    assert places.tolist() == [0]
    assert found[0] == 2828 * LENGTH


def test_what_is_common_is_taken_off() -> None:
    vectors = directions((3, 4, 0), (0, 0, 0))
    turned = centred(vectors, directions((1, 0, 0))[0])
    assert turned[:, :3].tolist() == [[0, 4000, 0], [0, 0, 0]]


def test_words_that_mark_a_cluster_stand_in_it_and_nowhere_else() -> None:
    words = [{"sea", "all"}, {"sea", "all"}, {"bread", "all"}, {"bread", "all", "sea"}]
    found = marking_words(words, np.array([0, 0, 1, 1]), 2)
    assert found == (("sea", "all"), ("bread", "all"))


def test_clusters_come_back_from_their_file_and_are_written(tmp_path: Path) -> None:
    middle = directions((0, 0, 0, 1))[0]
    made = Clusters(directions((1, 0, 0), (0, 1, 0)), middle, (("sea",), ("code",)))
    path = tmp_path / "c.jsonl"
    path.write_bytes(made.to_bytes())
    assert load_clusters(str(path)).to_bytes() == made.to_bytes()
    stage = Topics(Params(clusters=str(path), languages=()))  # type: ignore[arg-type]
    stage.setup()
    docs = [Document(str(n), text, "test") for n, text in enumerate(["code list", "sea", ""])]
    stage.apply(docs)
    assert docs[0].signals == {"text_cluster": 1, "text_cluster_score": 1.0}
    assert docs[1].signals["text_cluster"] == 0
    assert docs[2].signals == {}


@pytest.mark.parametrize(
    ("old", "new"), [("clusters/1", "clusters/2"), ("wordllama", "x"), ('"centre"', '"center"'),
                     ("[4000", "[400000"), ("[4000, ", "[")]
)  # fmt: skip
def test_a_file_that_is_another_is_refused(tmp_path: Path, old: str, new: str) -> None:
    made = Clusters(directions((1, 0)), directions((0, 1))[0], (("sea",),))
    path = tmp_path / "c.jsonl"
    path.write_text(made.to_bytes().decode().replace(old, new))
    with pytest.raises(AssetError, match="is no file of clusters"):
        load_clusters(str(path))
