from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.classifiers import embedding
from corpusmill.classifiers.embedding import (
    DIMENSIONS,
    LENGTH,
    Embedder,
    cosines,
    load_embedder,
    products,
    unit,
    with_words,
    words_of,
)
from corpusmill.pipeline.errors import AssetError, StageError


def test_a_vector_points_where_the_sum_of_the_words_does(small_embedder: Embedder) -> None:
    (vector,) = small_embedder.vectors(["Sea, ship! 12"])
    assert vector[:4].tolist() == [3993, 235, 0, 0]  # (9 + 8, 1, 0) at a length of 4,000
    assert np.linalg.norm(vector.astype(float)) == pytest.approx(LENGTH, abs=1)


def test_the_order_and_the_repetition_of_a_text_do_not_count(small_embedder: Embedder) -> None:
    one, two = small_embedder.vectors(["sea code", "code sea sea code"])
    assert (one == two).all()


def test_a_text_without_a_word_is_all_zeros(small_embedder: Embedder) -> None:
    vectors = small_embedder.vectors(["", "12 – 34!", "sea"])
    assert not vectors[:2].any()
    assert with_words(vectors).tolist() == [False, False, True]


def test_no_texts_give_no_vectors(small_embedder: Embedder) -> None:
    assert small_embedder.vectors([]).shape == (0, DIMENSIONS)


def test_only_the_beginning_is_read(small_embedder: Embedder) -> None:
    one, two = small_embedder.vectors(["sea " * 10 + "code " * 10, "sea"], max_chars=40)
    assert (one == two).all()


def test_words_are_what_is_written_with_letters() -> None:
    assert words_of("Don't stop_me: naïve Ünder 今天,天气 3x \ud800y") == [
        "don", "t", "stop", "me", "naïve", "Ünder", "今天", "天气", "x", "y",
    ]  # fmt: skip


def test_a_long_run_of_letters_is_cut() -> None:
    assert [len(word) for word in words_of("a" * 90)] == [40, 40, 10]


def test_many_words_are_forgotten_and_give_the_same(
    monkeypatch: pytest.MonkeyPatch, small_embedder: Embedder
) -> None:
    monkeypatch.setattr(embedding, "_KEPT_WORDS", 3)
    texts = ["sea ship", "code loop list", "sea bread"]
    found = np.vstack([small_embedder.vectors([text]) for text in texts])
    assert len(small_embedder.words) == 2
    assert (found == Embedder(small_embedder.table, small_embedder.tokenizer).vectors(texts)).all()


@given(st.lists(st.integers(-(2**40), 2**40), min_size=4, max_size=4))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_unit_has_the_length_and_the_direction(numbers: list[int]) -> None:
    row = np.zeros((1, DIMENSIONS), np.int64)
    row[0, :4] = numbers
    (made,) = unit(row)
    if not any(numbers):
        assert not made.any()
        return
    exact = np.array(numbers, float) / np.linalg.norm(np.array(numbers, float)) * LENGTH
    assert np.abs(made[:4] - exact).max() <= 1


def test_unit_of_large_sums_does_not_overflow() -> None:
    (made,) = unit(np.full((1, DIMENSIONS), 2**40, np.int64))
    assert set(made.tolist()) == {LENGTH // 16}


def test_products_are_whole_numbers_whatever_the_order() -> None:
    random = np.random.default_rng(1)
    vectors = unit(random.integers(-1000, 1000, (50, DIMENSIONS)))
    exact = vectors.astype(np.int64) @ vectors.astype(np.int64).T
    assert (products(vectors, vectors) == exact).all()
    turned = np.ascontiguousarray(vectors[:, ::-1])
    assert (products(turned, turned) == exact).all()
    # Rounding makes a vector a little longer or shorter than it should be.
    assert cosines(products(vectors[:1], vectors[:1])).tolist() == [[0.9998]]
    assert cosines(np.array([LENGTH**2 * 1.001], np.float32)).tolist() == [1.0]


def test_without_the_package_there_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StageError, match=r"some\.stage: .* wordllama, which is not") as caught:
        load_embedder("some.stage")
    assert caught.value.hint == "install the extra embed"


class Spec:
    def __init__(self, folder: Path) -> None:
        self.submodule_search_locations = [str(folder)]


def test_another_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: Spec(tmp_path))
    with pytest.raises(AssetError, match="cannot be read"):
        load_embedder("some.stage")
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(b"other")
    with pytest.raises(AssetError, match="not the file that models were trained with"):
        load_embedder("some.stage")
