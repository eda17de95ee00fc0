"""Repeated spans: what goes is what brute force says, by both methods, whatever the partitions."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.document import Document, Drop
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.stages.dedup.lines import without
from corpusmill.stages.dedup.repeats import byte_values, classes, runs, units_of
from corpusmill.stages.dedup.substrings import STAGE, SubstringsParams

PRIME = 2**61 - 1


def brute(docs: list[Document], size: int, keep_first: bool) -> dict[str, list[tuple[int, int]]]:
    """Runs of bytes that go, for each document, by comparing every window with every other."""
    windows = [
        (doc.id, at, doc.text.encode()[at : at + size])
        for doc in sorted(docs, key=lambda d: d.id)
        for at in range(len(doc.text.encode()) - size + 1)
    ]
    goes: dict[str, set[int]] = {}
    for n, (name, at, window) in enumerate(windows):
        others = windows[:n] if keep_first else windows
        equal = [(i, a) for i, a, w in others if w == window]
        # Only the first of the equal ones counts with keep_first, as the docs say.
        for i, a in equal[:1] if keep_first else equal:
            if i != name or abs(a - at) >= size:
                goes.setdefault(name, set()).update(range(at, at + size))
    found: dict[str, list[tuple[int, int]]] = {}
    for name, places in goes.items():
        for at in sorted(places):
            spans = found.setdefault(name, [])
            if spans and spans[-1][1] == at:
                spans[-1] = (spans[-1][0], at + 1)
            else:
                spans.append((at, at + 1))
    return found


def whole_characters(text: str, spans: list[tuple[int, int]]) -> list[int]:
    """Runs of bytes as code points, partly covered characters left out."""
    raw = text.encode()
    out: list[int] = []
    for a, b in spans:
        while a < len(raw) and raw[a] & 0xC0 == 0x80:
            a += 1
        while b < len(raw) and raw[b] & 0xC0 == 0x80:
            b -= 1
        if a < b:
            out += [len(raw[:a].decode()), len(raw[:b].decode())]
    return out


def letters(r: random.Random, count: int, some: str = "abcé語 ") -> str:
    return "".join(r.choice(some) for _ in range(count))


def corpus(make: Any, seed: int, size: int) -> list[Document]:
    """Short texts out of a few pieces, with copies inside and across, and one repeated letter."""
    r = random.Random(seed)
    pieces = [letters(r, r.randrange(size // 2, 2 * size)) for _ in range(4)]
    texts = [
        "".join(r.choice(pieces) if r.random() < 0.5 else letters(r, 5) for _ in range(4))
        for _ in range(8)
    ]
    texts += ["a" * (3 * size + 1), "", "é" * size, letters(r, size - 1), texts[0]]
    return [make(n, text) for n, text in enumerate(texts)]


@pytest.mark.parametrize("method", ["hash", "exact"])
@pytest.mark.parametrize("keep", ["first", "none"])
def test_bytes_against_brute_force(make: Any, run: Any, keep: Any, method: Any) -> None:
    removed = 0
    for seed, size in ((1, 2), (2, 7), (5, 20)):
        docs = corpus(make, seed, size)
        params = SubstringsParams(unit="bytes", length=size, keep=keep, method=method)
        partitions = (1, 4)[seed % 2]
        verdicts, _, _ = run(
            STAGE(params), [make(n, d.text) for n, d in enumerate(docs)],
            partitions=partitions, batch=3, shuffle=seed,
        )  # fmt: skip
        want = brute(docs, size, keep == "first")
        text_of = {doc.id: doc.text for doc in docs}
        assert {i: v["spans"] for i, v in verdicts.items()} == {
            i: whole_characters(text_of[i], spans) for i, spans in want.items()
        }
        for v in verdicts.values():
            assert v["chars_removed"] == sum(v["spans"][1::2]) - sum(v["spans"][::2])
            assert v["copy_of"] in text_of
        removed += len(verdicts)
    assert removed > 15


@pytest.mark.parametrize("keep", ["first", "none"])
def test_windows_whose_first_hashes_collide(make: Any, run: Any, keep: Any) -> None:
    docs = corpus(make, 5, 20)
    found = []
    for mask in (2**64 - 1, 3):
        stage = STAGE(SubstringsParams(unit="bytes", length=20, keep=keep))
        stage.setup()
        windows = stage._windows

        def collide(*given: Any, mask: int = mask, windows: Any = windows) -> Any:
            doc, place, key, check = windows(*given)
            return doc, place, key & np.uint64(mask), check

        stage._windows = collide  # type: ignore[method-assign, assignment]
        found.append(run(stage, [make(n, d.text) for n, d in enumerate(docs)], partitions=2)[0])
    assert found[0] == found[1]
    assert len(found[0]) > 3


def sentences(r: random.Random, count: int) -> str:
    return " ".join(f"{r.choice('abcé')}{r.randrange(10**6)}" for _ in range(count))


def test_words_with_their_surroundings(make: Any, run: Any) -> None:
    r = random.Random(1)
    frame = sentences(r, 20)
    docs = [
        make(1, f"{sentences(r, 9)}.\n\n“{frame}!”\n\n{sentences(r, 9)}"),
        make(2, f"One here.\n\n({frame.upper()}?)\n\nTwo there."),
        make(3, f"Three stays {frame}. Four comes. "),
        make(4, f"{frame}\n"),
        make(5, f"x-{frame}-y z"),
        make(6, f"Five. {frame}.\n\nSix"),
        make(7, " ".join(frame.split()[:19])),
        make(8, f"q-{frame} z"),
    ]
    docs[0].id = "0" * 32
    whole = [doc.text for doc in docs]
    for method in ("hash", "exact"):
        texts = [make(n + 1, text) for n, text in enumerate(whole)]
        texts[0].id = docs[0].id
        params = SubstringsParams(length=20, method=method)
        verdicts, outcomes, ctx = run(STAGE(params), texts, partitions=4)
        left = [o.text if isinstance(o, Document) else o for o in outcomes]
        assert left == [
            whole[0], "One here.\n\nTwo there.", "Three stays Four comes. ",
            Drop("only_repeats", "0" * 32), "x-y z", "Five.\n\nSix", whole[6], "q- z",
        ]  # fmt: skip
        assert outcomes[1].signals == {
            "repeats_removed": 1, "repeats_removed_chars": len(frame) + 5,
        }  # fmt: skip
        assert outcomes[1].meta["text_sha256_raw"] == hashlib.sha256(whole[1].encode()).hexdigest()
        assert outcomes[0].signals == {"repeats_removed": 0, "repeats_removed_chars": 0}
        assert "text_sha256_raw" not in outcomes[0].meta
        assert {v["copy_of"] for v in verdicts.values()} == {"0" * 32}
        before = sum(len(t) for t in [*whole[1:6], whole[7]])
        (stated,) = [{k: sum(e[2][k] for e in ctx.equations) for k in ("left", "removed")}]
        assert sum(e[1] for e in ctx.equations) == before == sum(stated.values())
        assert stated["removed"] == sum(ctx.notes("tally")[0]["chars_removed"].values())


@pytest.mark.parametrize("keep", ["first", "none"])
def test_words_are_the_same_for_any_partitions_and_method(make: Any, run: Any, keep: Any) -> None:
    r = random.Random(3)
    pieces = [sentences(r, r.randrange(8, 60)) for _ in range(6)] + ["東京都に住む人は" * 5]
    texts = [
        "\n".join(r.choice(pieces) if r.random() < 0.4 else sentences(r, 9) for _ in range(7))
        for _ in range(25)
    ]
    docs = [make(n, text) for n, text in enumerate(texts)]
    found: list[Any] = []
    for method, partitions, batch, shuffle in (
        ("hash", 1, 1000, None), ("hash", 8, 7, 1), ("exact", 1, 1, 2), ("exact", 2, 13, 3),
    ):  # fmt: skip
        params = SubstringsParams(length=12, keep=keep, method=method)  # type: ignore[arg-type]
        fresh = [make(n, text) for n, text in enumerate(texts)]
        verdicts, outcomes, _ = run(
            STAGE(params), fresh, partitions=partitions, batch=batch, shuffle=shuffle
        )
        found.append((verdicts, [getattr(o, "text", o) for o in outcomes]))
    assert found[0] == found[1] == found[2] == found[3]
    assert 12 < len(found[0][0]) <= 25
    # What joins where a span went may look like a copy; whole lines do not repeat.
    kept = Counter(
        line for doc in docs for line in without(
            doc.text, found[0][0].get(doc.id, {"spans": []})["spans"]
        ).split("\n") if len(line.split()) >= 12
    )  # fmt: skip
    assert set(kept.values()) <= {1}
    if keep == "none":
        assert not kept.keys() & {p for p in pieces if len(p.split()) >= 12}


def test_every_word_that_goes_has_a_copy_that_stays(make: Any, run: Any) -> None:
    r = random.Random(9)
    text = sentences(r, 200).split()
    texts = [
        " ".join(text[a : a + r.randrange(10, 60)]) for a in (r.randrange(150) for _ in range(30))
    ]
    verdicts, outcomes, _ = run(
        STAGE(SubstringsParams(length=10)), [make(n, t) for n, t in enumerate(texts)]
    )
    assert len(verdicts) > 20
    stay = {w for o in outcomes if isinstance(o, Document) for w in o.text.split()}
    assert stay == {w for t in texts for w in t.split()}


def test_shards_are_apart(make: Any, run: Any) -> None:
    frame = sentences(random.Random(4), 30)
    docs = [make(n, frame) for n in range(40)]
    for shards, partitions in ((1, 4), (4, 1), (4, 4), (4, 16), (16, 4)):
        params = SubstringsParams(length=20, method="exact", shards=shards)
        _, outcomes, _ = run(STAGE(params), docs, partitions=partitions)
        shard = {doc.id: int(doc.id[:4], 16) * shards >> 16 for doc in docs}
        kept = [o.id for o in outcomes if isinstance(o, Document)]
        want = {s: min(i for i in shard if shard[i] == s) for s in set(shard.values())}
        assert sorted(kept) == sorted(want.values())


@settings(derandomize=True, deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(2, 9))
def test_classes_are_equality(values: list[int], size: int) -> None:
    names = classes(np.array(values, np.uint64), size)
    whole = range(max(len(values) - size + 1, 0))
    for i in whole:
        for j in whole:
            assert (names[i] == names[j]) == (values[i : i + size] == values[j : j + size])


def test_hashes_against_python() -> None:
    from corpusmill.stages.dedup import substrings_kernel as kernel

    r = random.Random(5)
    for a, b in [(r.randrange(PRIME), r.randrange(PRIME)) for _ in range(200)] + [
        (PRIME - 1, PRIME - 1), (0, 5), (PRIME - 1, 1), (2**60, 2**60),
    ]:  # fmt: skip
        assert int(kernel.times(np.uint64(a), np.uint64(b))) == a * b % PRIME
    units = units_of([letters(r, 50), "", letters(r, 9)], "bytes")
    found = np.ones(len(units.values), np.uint8)
    doc, place = np.empty((2, 100), np.int64)
    key, check = np.empty((2, 100), np.uint64)
    n = kernel.windows(units.values, units.start, 10, found, doc, place, key, check)
    sizes = np.diff(units.start)
    assert n == sum(max(int(s) - 9, 0) for s in sizes)
    base = int(kernel._BASE_61)
    for row in range(n):
        at = int(units.start[doc[row]] + place[row])
        want = 0
        for value in units.values[at : at + 10].tolist():
            want = (want * base + value) % PRIME
        assert int(check[row]) == want
    assert len(set(byte_values().tolist())) == 256


def test_runs() -> None:
    starts, ends = runs(np.array([0, 3, 5, 12]), 3)
    assert (starts.tolist(), ends.tolist()) == ([0, 12], [8, 15])
    assert [len(part) for part in runs(np.empty(0, np.int64), 3)] == [0, 0]


def test_few_rows_are_written(make: Any, run: Any) -> None:
    """Anchors are about one in a quarter of the length, and windows only those that may repeat."""
    r = random.Random(6)
    docs = [make(n, sentences(r, 1000)) for n in range(30)]
    docs.append(make(99, docs[0].text[:2000]))
    cut = len(docs[-1].text.split()) - 49
    _, _, ctx = run(STAGE(SubstringsParams()), docs)
    notes = ctx.notes("tally")[0]
    assert 30_000 / 14.5 < notes["anchors"] < 30_000 / 11.5
    assert notes["windows_cut"] in (cut, cut - 1)
    assert 2 * notes["windows_cut"] <= notes["windows"] < 2 * cut + 60


def test_one_repeated_word_and_ten_thousand_copies(make: Any, run: Any) -> None:
    docs = [make(0, "word " * 5_000)]
    _, outcomes, _ = run(STAGE(SubstringsParams()), docs)
    assert outcomes[0].text.split() == ["word"] * 50
    text = sentences(random.Random(7), 60)
    docs = [make(n, text) for n in range(1_000)]
    _, outcomes, _ = run(STAGE(SubstringsParams()), docs, partitions=4)
    best = min(doc.id for doc in docs)
    assert outcomes.count(Drop("only_repeats", best)) == 999


def test_the_guards_and_params(make: Any, run: Any) -> None:
    text = sentences(random.Random(7), 60)
    docs = [make(n, text) for n in range(4)]
    for n, doc in enumerate(docs):
        doc.source = f"s{n % 2}"
    run(STAGE(SubstringsParams(max_removed_share=0.75)), docs)
    with pytest.raises(StageError, match=r"characters are in repeated spans, .*share = 0\.74"):
        run(STAGE(SubstringsParams(max_removed_share=0.74)), docs)
    with pytest.raises(StageError, match=r"of the source 's[01]' .* max_source_share = 0\.9"):
        run(STAGE(SubstringsParams(max_source_share=0.9)), docs)
    for wrong in ({"length": 1}, {"shards": 3}, {"shards": 2}, {"max_source_share": 2}):
        with pytest.raises(ConfigError, match=f"{next(iter(wrong))} is"):
            SubstringsParams(**wrong)  # type: ignore[arg-type]


def test_verdicts_do_not_change_without_the_version(make: Any, run: Any) -> None:
    verdicts, _, _ = run(STAGE(SubstringsParams(unit="bytes", length=12)), corpus(make, 3, 12))
    words = sentences(random.Random(8), 90)
    more, _, _ = run(STAGE(SubstringsParams()), [make(n, words + f" {n}") for n in range(3)])
    digest = hashlib.sha256(json.dumps([verdicts, more], sort_keys=True).encode()).hexdigest()
    assert (STAGE.version, digest) == (
        1,
        "06706f4bda0574dd78c32338d6f15f7e197564d7b33feb9bd0ab16a9fc227954",
    )
