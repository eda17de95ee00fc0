"""Near look-up: similarities worked out by hand, nothing missed."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from corpusmill.pipeline.errors import ConfigError
from corpusmill.stages.dedup.near import Near, find_near

WORDS = [f"w{n}" for n in range(200)]
TEXT = " ".join(WORDS[:104])  # 100 shingles


def table(texts: dict[str, str]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(list(texts), pa.string()),
            "url": pa.array([f"https://{i}.example/" if i != "d" else None for i in texts]),
            "text": pa.array(list(texts.values()), pa.large_string()),
        }
    )


def test_similar_containing_and_other_pages() -> None:
    first = table({
        "a": TEXT.upper().replace(" ", ", "),  # the same words
        "b": " ".join(WORDS[50:154]),  # 50 shingles shared, 50 of its own
        "c": "nothing of the kind, but a few words more than five",
        "d": " ".join(WORDS),  # 196 shingles, all of the text among them
        "e": "",
    })  # fmt: skip
    second = table({"f": TEXT, "g": " ".join(WORDS[99:])})  # one shingle: below `least`
    found = find_near(TEXT, [first, second])
    assert found == [
        Near("a", "https://a.example/", 1.0, 1.0, 100),
        Near("f", "https://f.example/", 1.0, 1.0, 100),
        Near("d", "", round(100 / 196, 6), 1.0, 100),
        Near("b", "https://b.example/", round(50 / 150, 6), 0.5, 50),
    ]
    assert found == find_near(TEXT, [second, first])
    assert find_near(TEXT, [first, second], most=2) == found[:2]
    assert [near.id for near in find_near(TEXT, [first, second], least=0)] == [*"afdbg"]
    assert [near.id for near in find_near(TEXT, [first, second], least=0.6)] == [*"afd"]
    assert found[0].plain()["similarity"] == 1.0


def test_of_equally_similar_pages_that_comes_first_which_contains_more() -> None:
    part = " ".join(WORDS[:54])  # 50 shingles, all shared: 50 of 100
    more = " ".join(WORDS[:64] + WORDS[110:130])  # 80 shingles, 60 of them shared: 60 of 120
    found = find_near(TEXT, [table({"a": part, "b": more})])
    assert [(near.id, near.similarity, near.contained) for near in found] == [
        ("b", 0.5, 0.6), ("a", 0.5, 0.5),
    ]  # fmt: skip


def test_many_rows() -> None:
    r = random.Random(1)
    texts = {f"{n:04}": " ".join(r.choices(WORDS, k=30)) for n in range(2000)}
    found = find_near(texts["1234"], [table(texts)])
    assert found[0].id == "1234"
    assert found[0].similarity == 1.0


def test_texts_without_words() -> None:
    for text in ("", " …\n"):
        with pytest.raises(ConfigError, match="no words"):
            find_near(text, [])
    assert find_near("one word", []) == []
