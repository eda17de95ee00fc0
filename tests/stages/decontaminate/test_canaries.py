"""Canaries: the set, the exact test, and small models that were, and were not, trained on it."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from corpusmill.pipeline.cli import main
from corpusmill.pipeline.errors import AssetError, ConfigError, InputError
from corpusmill.stages.decontaminate.canaries import (
    CanaryParams,
    judge,
    make,
    p_value,
    queries,
    read_scores,
    sentences,
)
from corpusmill.stages.filters.verb import filter_jsonl

KEY = bytes(range(32))
SMALL = CanaryParams(shards=6, items=8, orders=19)


class Trigrams:
    """A model of words by the two before them, mixed with shorter contexts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.counts: tuple[Counter[tuple[str, ...]], ...] = (Counter(), Counter(), Counter())
        for text in texts:
            words = ["", "", *text.split()]
            for n, counts in enumerate(self.counts):
                counts.update(tuple(words[at - n : at + 1]) for at in range(2, len(words)))
        self.left = [Counter[tuple[str, ...]]() for _ in self.counts]
        for left, counts in zip(self.left, self.counts, strict=True):
            for gram, count in counts.items():
                left[gram[:-1]] += count

    def logprob(self, text: str) -> float:
        words = ["", "", *text.split()]
        total = 0.0
        for at in range(2, len(words)):
            p = 1e-6
            for n, weight in enumerate((0.2, 0.3, 0.5)):
                gram = tuple(words[at - n : at + 1])
                seen = self.left[n][gram[:-1]]
                p += weight * self.counts[n][gram] / seen if seen else 0.0
            total += math.log(p)
        return total


def background() -> list[str]:
    """Sentences of the same kind by another key: the words are known to either model."""
    return ["\n".join(sentences(bytes(32), n, 20)) for n in range(30)]


def scored(model: Trigrams, key: bytes = KEY) -> list[list[float]]:
    rows = [model.logprob(row["text"]) for row in queries(key, SMALL)]
    return [rows[at : at + 20] for at in range(0, len(rows), 20)]


def test_a_model_that_was_trained_on_the_set_is_found() -> None:
    own = ["\n".join(sentences(KEY, n, SMALL.items)) for n in range(SMALL.shards)]
    verdict = judge(scored(Trigrams(background() + own)))
    assert (verdict.ahead, verdict.beaten, verdict.pairs) == (6, 0, 114)
    assert float(verdict.p_value) == pytest.approx(20**-6, rel=1e-3)
    assert verdict.gain > 10


def test_a_model_that_was_not_is_not() -> None:
    model = Trigrams(background())
    found = [judge(scored(model, bytes([k]) * 32)) for k in range(1, 11)]
    values = sorted(float(v.p_value) for v in found)
    assert values[0] > 0.005
    assert 0.2 < sum(values) / 10 < 0.8
    assert 0.35 < sum(v.beaten for v in found) / sum(v.pairs for v in found) < 0.65


def test_the_same_sentences_in_another_order_do_not_count() -> None:
    rng = random.Random(3)
    mixed = [rng.sample(s := sentences(KEY, n, SMALL.items), len(s)) for n in range(SMALL.shards)]
    verdict = judge(scored(Trigrams(background() + ["\n".join(m) for m in mixed])))
    assert float(verdict.p_value) > 0.01


@pytest.mark.parametrize(("orders", "shards"), [(1, 1), (3, 2), (4, 3), (2, 5)])
def test_the_p_value_is_that_of_all_throws(orders: int, shards: int) -> None:
    throws = [sum(t) for t in itertools.product(range(orders + 1), repeat=shards)]
    for total in range(orders * shards + 1):
        exact = Fraction(sum(t <= total for t in throws), len(throws))
        assert float(p_value(total, orders, shards)) == pytest.approx(float(exact), rel=1e-3)


def test_ties_make_the_test_more_careful() -> None:
    assert judge([[1.0, 1.0, 1.0]] * 4).p_value == "1.000e+0"
    assert judge([[1.0, 0.0, 0.0]] * 2).p_value == "1.111e-1"
    assert judge([[1.0, 0.0, 2.0]]).gain == 0.0


def test_a_set_is_a_function_of_its_key(tmp_path: Path) -> None:
    card = make(KEY, tmp_path / "a", SMALL)
    assert card == make(KEY, tmp_path / "b", SMALL)
    for name in ("documents.jsonl", "queries.jsonl.gz", "canaries.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert make(bytes(32), tmp_path / "c", SMALL)["digest"] != card["digest"]
    documents = [
        json.loads(line)["text"]
        for line in (tmp_path / "a/documents.jsonl").read_text().splitlines()
    ]
    with gzip.open(tmp_path / "a" / "queries.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    assert len(rows) == 6 * 20
    for shard, text in enumerate(documents):
        own, *others = [r["text"] for r in rows if r["id"].startswith(f"{shard}-")]
        assert own == text
        assert all(sorted(o.split("\n")) == sorted(own.split("\n")) for o in others)
        assert len({own, *others}) > 15
    lines = [line for text in documents for line in text.split("\n")]
    assert len(set(lines)) == 48
    with pytest.raises(ConfigError, match="exists"):
        make(KEY, tmp_path / "a", SMALL)


def write_scores(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_scores_are_all_there(tmp_path: Path) -> None:
    params = CanaryParams(shards=2, items=3, orders=2)
    make(KEY, tmp_path / "set", params)
    rows: list[Mapping[str, object]] = [
        {"id": row["id"], "logprob": -1 - int(row["id"][-1])} for row in queries(KEY, params)
    ]
    path = tmp_path / "scores.jsonl"
    assert read_scores(tmp_path / "set", write_scores(path, rows[::-1])).p_value == "1.111e-1"
    wrong: tuple[tuple[Sequence[Mapping[str, object]], str], ...] = (
        (rows[1:], "1 of 6 queries have no score"),
        ([*rows, rows[0]], "line 7: '0-0' is no query"),
        ([{"id": "9-9", "logprob": 1}], "line 1: '9-9' is no query"),
        ([{"id": "0-0", "logprob": "x"}], "no finite number"),
        ([{"id": "0-0", "logprob": True}], "no finite number"),
    )
    for bad, said in wrong:
        with pytest.raises(InputError, match=said):
            read_scores(tmp_path / "set", write_scores(path, bad))
    (tmp_path / "set" / "canaries.json").write_text('{"schema": "other"}')
    with pytest.raises(AssetError, match="other"):
        read_scores(tmp_path / "set", path)
    with pytest.raises(AssetError, match="no canary set"):
        read_scores(tmp_path, path)


@pytest.mark.parametrize("sizes", [(0, 2, 1), (1, 1, 1), (1, 2, 0), (201, 2, 100)])
def test_wrong_sizes_are_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ConfigError, match="canary"):
        CanaryParams(*sizes)


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key, folder = tmp_path / "key", tmp_path / "set"
    made = ["canary", "make", str(folder), "--key", str(key), "--shards", "2", "--orders", "3",
            "--json"]  # fmt: skip
    assert main(made) == 0
    card = json.loads(capsys.readouterr().out)
    assert (card["shards"], card["items"], card["orders"]) == (2, 12, 3)
    assert key.read_text().strip() not in json.dumps(card)
    with gzip.open(folder / "queries.jsonl.gz", "rt") as file:
        ids = [json.loads(line)["id"] for line in file]
    scores = write_scores(tmp_path / "s", [{"id": i, "logprob": -float(i[-1])} for i in ids])
    assert main(["canary", "test", str(folder), str(scores), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["p_value"] == "6.250e-2"
    assert main(["canary", "test", str(folder)]) != 0
    assert main(["canary", "make", str(tmp_path / "other")]) != 0


def test_the_default_filters_keep_the_whole_set(tmp_path: Path) -> None:
    make(KEY, tmp_path / "set")
    done = filter_jsonl(tmp_path / "set" / "documents.jsonl", tmp_path / "out.jsonl")
    assert (done["rows"], done["kept"]) == (20, 20)
