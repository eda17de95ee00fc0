"""Planted pairs of known similarity: what meets, what is accepted, what goes.

Texts are 204 words drawn at random, with letters beyond ASCII among them; pairs have a common
beginning. Of each three pairs one copy is in upper case and one in another composition (NFD).
"""

from __future__ import annotations

import json
import tempfile
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill.pipeline.context import MemoryContext, hash_of_ids
from corpusmill.pipeline.document import Document, document_id

from .harness import Bar

LEVELS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
ABOUT = (0.60, 0.62, 0.64, 0.66, 0.68, 0.70, 0.72, 0.74, 0.76, 0.78, 0.80)
THRESHOLD, SLACK, ABOVE = 0.7, 0.02, 0.05
NGRAM, WORDS = 5, 204
PAIRS = 900
PARTITIONS = (1, 2, 16, 64)
Z = 3.29
"""The 99.9 % interval of a normal distribution, in standard deviations."""
_STEMS = ("été", "straße", "ångström", "ﬁnd", "Ὀδυσσεύς", "word", "Zażółć", "naïve")


def shared_shingles(jaccard: float, count: int = WORDS) -> int:
    """How many shingles two texts of `count` words must share for this similarity."""
    return round(2 * (count - NGRAM + 1) * jaccard / (1 + jaccard))


def true_jaccard(jaccard: float, count: int = WORDS) -> float:
    """The similarity that pairs made for `jaccard` have."""
    shared = shared_shingles(jaccard, count)
    return shared / (2 * (count - NGRAM + 1) - shared)


def planted(
    rng: np.random.Generator, jaccard: float, pairs: int, count: int = WORDS
) -> list[tuple[str, str]]:
    """`pairs` pairs of texts with the same similarity: see `true_jaccard`."""
    shared = shared_shingles(jaccard, count)
    head = count if shared == count - NGRAM + 1 else shared + NGRAM - 1 if shared else 0
    numbers = rng.integers(0, 10**9, (pairs, 2, count))
    numbers[:, 1, :head] = numbers[:, 0, :head]
    made = []
    for n, (one, other) in enumerate(numbers.tolist()):
        left, right = (" ".join(f"{_STEMS[w & 7]}{w}" for w in side) for side in (one, other))
        if n % 3 == 1:
            right = right.upper()
        elif n % 3 == 2:
            right = unicodedata.normalize("NFD", right)
        made.append((left, right))
    return made


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """Jaccard similarity of the sets of word 5-grams."""
    a, b = (
        {tuple(text[n : n + NGRAM]) for n in range(len(text) - NGRAM + 1)} for text in (one, other)
    )
    return len(a & b) / len(a | b)


def theory(jaccard: float) -> float:
    """The chance that a pair of this similarity shares one of 14 bands of 8 minima."""
    return float(1 - (1 - jaccard**8) ** 14)


def recall(pairs: int, seeds: int) -> tuple[list[dict[str, Any]], dict[str, Bar]]:
    """A row a level; whether each is in the interval of theory, and how far they are from it."""
    from corpusmill.stages.dedup.bands import Sketcher

    sketches = Sketcher(14, 8, NGRAM, 1)
    rows = []
    outside, off = 0, 0.0
    for level in LEVELS:
        met = 0
        for seed in range(seeds):
            texts = planted(np.random.default_rng([seed, int(1000 * level)]), level, pairs)
            keys = sketches([text for pair in texts for text in pair]).keys
            met += int((keys[::2] == keys[1::2]).any(axis=1).sum())
        chance, total = theory(true_jaccard(level)), pairs * seeds
        value, spread = met / total, (chance * (1 - chance) / total) ** 0.5
        outside += abs(value - chance) > Z * spread + 0.5 / total
        off += abs(value - chance)
        rows.append({"what": f"candidates at J = {level}", "value": value, "theory": chance,
                     "pairs": total})  # fmt: skip
    return rows, {
        "levels outside the 99.9 % interval of theory": Bar(outside, 0, at_most=True),
        "mean difference from theory": Bar(round(off / len(LEVELS), 5), 0.01, at_most=True),
    }


def documents_of(levels: Sequence[float], pairs: int) -> list[Document]:
    """`pairs` pairs of each level, the members of a pair one after the other."""
    texts = (
        text
        for level in levels
        for pair in planted(np.random.default_rng([99, int(1000 * level)]), level, pairs)
        for text in pair
    )
    return [Document(document_id("b", "p", 1, n), text, "b") for n, text in enumerate(texts)]


def judged(
    docs: Sequence[Document], scratch: Path, partitions: int = 1
) -> tuple[set[str], MemoryContext]:
    """The whole step on `docs`: the ids of what it removes, and its tables."""
    from corpusmill.stages.dedup.minhash import STAGE, MinhashParams
    from corpusmill.stages.dedup.verb import documents

    stage = STAGE(MinhashParams(min_jaccard=THRESHOLD, floor=THRESHOLD))
    stage.setup()
    ctx = MemoryContext(scratch, partitions=partitions)
    for name, (table, hashes) in stage.emit(docs).items():
        ctx.write(name, table, hashes)
    ctx.write("docs", documents(docs), hash_of_ids([doc.id for doc in docs]))
    ctx.run_phases(stage)
    return {v["id"] for v in ctx.read("verdicts").to_pylist() if v["survivor"] != v["id"]}, ctx


def sameness(pairs: int) -> tuple[list[dict[str, Any]], dict[str, Bar]]:
    """What is removed of pairs of all levels, by partitions and order of the documents."""
    docs = documents_of(LEVELS, pairs)
    removed = []
    for turn, partitions in enumerate(PARTITIONS):
        np.random.default_rng(turn).shuffle(docs)
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            removed.append(judged(docs, Path(scratch), partitions)[0])
    rows = [
        {"what": f"removed of {len(docs)} documents, {partitions} partitions", "value": len(gone)}
        for partitions, gone in zip(PARTITIONS, removed, strict=True)
    ]
    others = sum(gone != removed[0] for gone in removed)
    return rows, {"other sets by partitions and order": Bar(others, 0, at_most=True)}


def index_size(pairs: int) -> tuple[list[dict[str, Any]], dict[str, Bar]]:
    """A row an array of the index of known documents, made of pairs of all levels."""
    import pyarrow as pa

    from corpusmill.stages.dedup.index import ARRAYS, build_index

    docs = documents_of(LEVELS, pairs)
    table = pa.table({"id": [doc.id for doc in docs], "text": [doc.text for doc in docs]})
    raw = build_index([table], {"run": "bench", "plan_id": "bench", "purpose": "known"})
    lengths = json.loads(raw[: raw.index(b"\n")])["lengths"]
    size = {n: lengths[n] * np.dtype(kind).itemsize / len(docs) for n, kind in ARRAYS.items()}
    rows = [{"what": f"index of known documents, {n}", "bytes a text": b} for n, b in size.items()]
    return rows, {
        "bytes a known document, band keys and ids": Bar(
            size["ids"] + size["keys"] + size["key_row"], 230, at_most=True
        ),
        "bytes a known document, to verify by": Bar(size["minima"], 256, at_most=True),
    }


def kept(pairs: int) -> tuple[list[dict[str, Any]], dict[str, Bar]]:
    """What the whole step accepts and removes, of pairs at all levels and about the threshold."""
    from corpusmill.stages.dedup.bands import Sketcher
    from corpusmill.stages.dedup.ids import hex_ids
    from corpusmill.stages.dedup.sets import packed_ids

    levels = sorted({*LEVELS, *ABOUT})
    docs = documents_of(levels, pairs)
    truth = [true_jaccard(level) for level in levels for _ in range(pairs)]
    pair_of = {doc.id: n // 2 for n, doc in enumerate(docs)}
    sketch = Sketcher(14, 8, NGRAM, 1)([doc.text for doc in docs])
    met = (sketch.keys[::2] == sketch.keys[1::2]).any(axis=1)
    estimate = (sketch.minima[::2] == sketch.minima[1::2]).mean(axis=1)
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        gone, ctx = judged(docs, Path(scratch))
        edges = ctx.read("edges")
        candidates = hex_ids(np.sort(packed_ids(ctx.read("sets"))))  # by number
    accepted = []
    for a, b in zip(edges["a"].to_pylist(), edges["b"].to_pylist(), strict=True):
        one, other = pair_of[candidates[a]], pair_of[candidates[b]]
        accepted.append(truth[one] if one == other else 0.0)
    rows = []
    share = {}
    for name, found in (
        ("as we accept", accepted),
        ("by 112 minima", [truth[n] for n in np.flatnonzero(met & (estimate >= THRESHOLD))]),
        ("without a check", [truth[n] for n in np.flatnonzero(met)]),
    ):
        share[name] = sum(j >= THRESHOLD - SLACK for j in found) / len(found)
        rows.append({"what": f"pairs of J >= {THRESHOLD - SLACK:.2f}, {name}",
                     "value": share[name], "pairs": len(found)})  # fmt: skip
    worst = 0.0
    # Few pairs may be further off by chance: at J = .75, the worst level, .183 is the variance.
    allowed = max(0.02, round(Z * (0.183 / pairs) ** 0.5, 4))
    removed = np.array([doc.id in gone for doc in docs]).reshape(-1, 2).sum(axis=1)
    for number, level in enumerate(levels):
        if level in LEVELS and level >= THRESHOLD + ABOVE:
            value = float(removed[number * pairs : (number + 1) * pairs].mean())
            chance = theory(true_jaccard(level))
            worst = max(worst, abs(value - chance))
            rows.append({"what": f"removed at J = {level}, checked at {THRESHOLD}",
                         "value": value, "theory": chance, "pairs": pairs})  # fmt: skip
    return rows, {
        f"accepted pairs of J >= {THRESHOLD - SLACK:.2f}": Bar(share["as we accept"], 0.98),
        "smallest J of an accepted pair": Bar(round(min(accepted), 4), 0.3),
        "removed less theory, worst level": Bar(round(worst, 4), allowed, at_most=True),
    }
