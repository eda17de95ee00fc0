"""MinHash: recall where theory puts it, estimates against exact Jaccard, one answer always."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from corpusmill.pipeline.document import Document, Drop
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.stages.dedup.minhash import STAGE, MinhashParams
from corpusmill.stages.dedup.sets import MOST, sets_of

BANDS, ROWS, NGRAM = 14, 8, 5
WIDTH = BANDS * ROWS


def words(r: random.Random, count: int) -> list[str]:
    return [f"{r.choice('abcdé')}{r.randrange(10**9)}" for _ in range(count)]


def planted(r: random.Random, jaccard: float, count: int = 400) -> tuple[list[str], list[str]]:
    """Two texts of `count` words whose 5-gram sets have this Jaccard similarity (to 1/700)."""
    shingles = count - NGRAM + 1
    shared = round(2 * shingles * jaccard / (1 + jaccard))
    head = shared + NGRAM - 1 if shared else 0
    one = words(r, count)
    return one, one[:head] + words(r, count - head)


def exact_jaccard(one: list[str], other: list[str]) -> float:
    a, b = (
        {tuple(text[n : n + NGRAM]) for n in range(len(text) - NGRAM + 1)} for text in (one, other)
    )
    return len(a & b) / len(a | b)


def theory(jaccard: float, least: float) -> float:
    """Chance that a pair meets in a band, and 0 where its similarity is below `least`."""
    return float(1 - (1 - jaccard**ROWS) ** BANDS) if jaccard >= least else 0.0


@pytest.mark.parametrize("least", [0.0, 0.68])
@pytest.mark.parametrize("jaccard", [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9])
def test_recall_is_what_theory_says(make: Any, run: Any, jaccard: float, least: float) -> None:
    r = random.Random(int(jaccard * 100))
    pairs = [planted(r, jaccard) for _ in range(150)]
    assert abs(exact_jaccard(*pairs[0]) - jaccard) < 0.003
    docs = [make(n, " ".join(text)) for n, text in enumerate(t for pair in pairs for t in pair)]
    stage = STAGE(MinhashParams(min_jaccard=least, floor=least))
    verdicts, outcomes, _ = run(stage, docs)
    removed = [o for o in outcomes if isinstance(o, Drop)]
    for one, other in zip(docs[::2], docs[1::2], strict=True):  # no pair met another's member
        assert verdicts.get(one.id, {}).get("cluster") == verdicts.get(other.id, {}).get("cluster")
        if one.id in verdicts:
            assert verdicts[one.id]["survivor"] == min(one.id, other.id)
    chance = theory(jaccard, least)
    spread = (chance * (1 - chance) * len(pairs)) ** 0.5
    assert abs(len(removed) - chance * len(pairs)) <= 3.5 * spread + 1


def test_estimates_against_exact_jaccard_and_datasketch() -> None:
    from datasketch import MinHash

    r = random.Random(9)
    levels = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97]
    pairs = [planted(r, level, 200) for level in levels for _ in range(25)]
    truth = np.array([exact_jaccard(*pair) for pair in pairs])
    stage = STAGE(MinhashParams())
    stage.setup()
    minima = stage.sketches([" ".join(text) for pair in pairs for text in pair]).minima
    ours = (minima[::2] == minima[1::2]).mean(axis=1)
    theirs = []
    for pair in pairs:
        made = []
        for text in pair:
            sketch = MinHash(num_perm=WIDTH, seed=7)
            grams = [" ".join(text[n : n + 5]).encode() for n in range(len(text) - 4)]
            sketch.update_batch(grams)
            made.append(sketch)
        theirs.append(made[0].jaccard(made[1]))
    ideal = np.sqrt(np.mean(truth * (1 - truth)) / WIDTH)
    error = np.sqrt(np.mean((ours - truth) ** 2))
    assert error < 1.2 * ideal
    assert error < 1.3 * np.sqrt(np.mean((np.array(theirs) - truth) ** 2))
    assert abs(np.mean(ours - truth)) < 3.5 * ideal / len(pairs) ** 0.5


def test_spellings_of_one_text(make: Any, run: Any) -> None:
    text = "Élève naïve: «Straße» ÅNGSTRÖM, 12 Ὀδυσσεύς und so weiter … " * 3
    import unicodedata

    forms = [text, text.upper(), unicodedata.normalize("NFD", text),
             unicodedata.normalize("NFD", text.upper()), text.replace(" ", "\r\n\u00a0"),
             "".join(c for c in text if c not in "«»:,…")]  # fmt: skip
    docs = [make(n, form) for n, form in enumerate(forms)]
    other = make(99, text.replace("12", "13"))
    verdicts, _, _ = run(STAGE(MinhashParams(min_jaccard=1.0, floor=1.0)), [*docs, other])
    assert {row["cluster"] for row in verdicts.values()} == {min(d.id for d in docs)}
    assert len(verdicts) == len(forms)
    assert {row["similarity"] for row in verdicts.values()} == {1.0}


def test_numbers_are_kept_apart(make: Any, run: Any) -> None:
    r = random.Random(2)
    docs = [
        make(n, " ".join(f"team {r.randrange(10**6)} beat {r.randrange(10**6)}" for _ in range(50)))
        for n in range(20)
    ]
    verdicts, _, _ = run(STAGE(MinhashParams()), docs)
    assert verdicts == {}
    verdicts, _, _ = run(STAGE(MinhashParams(collapse_numbers=True)), docs, partitions=2)
    assert {v["similarity"] for v in verdicts.values()} == {1.0}
    assert len(verdicts) == 20


@pytest.mark.parametrize(("count", "goes"), [(30, False), (40, True), (120, True), (250, True)])
def test_templated_pages(make: Any, run: Any, count: int, goes: bool) -> None:
    """Of pages that differ in one word of n, n - 9 of n + 1 shingles are shared: from 33 words on
    they are near-duplicates at .7, and `min_jaccard` is what decides."""
    text = words(random.Random(count), count)
    docs = [make(n, " ".join([*text[:20], f"name{n}", *text[21:]])) for n in range(30)]
    for least, gone in ((0.7, goes), (0.95, count > 199)):
        verdicts, _, _ = run(STAGE(MinhashParams(min_jaccard=least, floor=least)), docs)
        if gone:
            assert sum(v["survivor"] == i for i, v in verdicts.items()) < 5
            assert len(verdicts) >= 28
        else:
            assert verdicts == {}


def test_ten_thousand_copies_of_one_page(make: Any, run: Any) -> None:
    text = " ".join(words(random.Random(4), 50))
    docs = [make(n, text) for n in range(10_000)]
    _, outcomes, ctx = run(STAGE(MinhashParams()), docs, partitions=4)
    best = min(doc.id for doc in docs)
    assert outcomes.count(Drop("near_duplicate", best)) == 9_999
    kept = [o for o in outcomes if isinstance(o, Document)]
    assert [d.signals for d in kept] == [{"cluster": best, "cluster_size": 10_000, "family": best}]
    assert ctx.equations == [
        ("documents of families = survivors + removed", 10_000, {"survivors": 1, "removed": 9_999})
    ]
    tally = ctx.notes("tally")[0]
    assert tally["documents"] == 10_000
    assert tally["candidate_pairs"] == 9_999 + 9_998  # a star and a chain


@pytest.mark.slow
def test_pages_of_fifty_megabytes(make: Any, run: Any) -> None:
    """Words of one page that is no other, nine tenths of it, one word all over, one letter."""
    page = " ".join(map(str, range(6_300_000)))
    most = page[: len(page) * 9 // 10]
    assert len(page) > 48_000_000
    texts = [page, most, "spam " * 10_000_000, "spam " * 5, "a" * 50_000_000, ""]
    docs = [make(n, text) for n, text in enumerate(texts)]
    verdicts, outcomes, _ = run(STAGE(MinhashParams()), docs)
    for pair, similarity in (((0, 1), 0.9), ((2, 3), 1.0)):
        ids = sorted(docs[n].id for n in pair)
        assert {verdicts[i]["survivor"] for i in ids} == {ids[0]}
        assert verdicts[ids[1]]["similarity"] == pytest.approx(similarity, abs=0.015)
    assert len(verdicts) == 4
    assert sum(isinstance(o, Drop) for o in outcomes) == 2


def test_short_repeated_and_empty_texts(make: Any, run: Any) -> None:
    texts = ["", "…", "one two three", "One, two: three!", "one two", "word " * 1000,
             "word " * 5, "word " * 4, "東京", "東 京",
             "東京都に住む", "東京都に住む。"]  # fmt: skip
    docs = [make(n, text) for n, text in enumerate(texts)]
    verdicts, outcomes, _ = run(STAGE(MinhashParams()), docs)
    together = [(2, 3), (5, 6), (10, 11)]  # "word word word word word" is the only 5-gram of both
    for pair in together:
        ids = [docs[n].id for n in pair]
        assert {verdicts[i]["survivor"] for i in ids} == {min(ids)}
    assert set(verdicts) == {docs[n].id for pair in together for n in pair}
    assert docs[0].signals == {"cluster": docs[0].id, "cluster_size": 1, "family": docs[0].id}
    assert sum(isinstance(o, Drop) for o in outcomes) == 3
    assert run(STAGE(MinhashParams()), [])[1] == []


def corpus(make: Any) -> list[Document]:
    """Chains of texts that drift away from each other, templates, copies and single pages."""
    r = random.Random(11)
    texts = []
    for _ in range(12):
        text = words(r, 120)
        for _ in range(12):
            texts.append(" ".join(text))
            at = r.randrange(100)
            text = text[:at] + words(r, r.choice([1, 3, 10])) + text[at + 10 :]
    frame = words(r, 80)
    texts += [" ".join(frame + words(r, 12)) for _ in range(60)]
    texts += [texts[0]] * 5 + [" ".join(words(r, 40)) for _ in range(60)]
    return [make(n, text) for n, text in enumerate(texts)]


@pytest.mark.parametrize("keep", ["smallest_id", "longest"])
def test_the_same_for_any_order_partitions_and_batches(make: Any, run: Any, keep: Any) -> None:
    docs = corpus(make)
    want, _, _ = run(STAGE(MinhashParams(keep=keep)), docs)
    assert 50 < len(want) < len(docs)
    for partitions, batch, shuffle in ((4, 17, 1), (16, 1000, 2), (1, 1, 3)):
        again, _, _ = run(
            STAGE(MinhashParams(keep=keep)), docs,
            partitions=partitions, batch=batch, shuffle=shuffle,
        )  # fmt: skip
        assert again == want


@pytest.mark.parametrize("keep", ["smallest_id", "longest"])
def test_clusters_are_stars_around_the_best_member(make: Any, run: Any, keep: Any) -> None:
    docs = corpus(make)
    by_id = {doc.id: doc for doc in docs}
    verdicts, _, ctx = run(STAGE(MinhashParams(keep=keep)), docs)

    def better(i: str) -> tuple[int, str]:
        return (-len(by_id[i].text) if keep == "longest" else 0, i)

    def jaccard(i: str, j: str) -> float:
        return exact_jaccard(by_id[i].text.split(), by_id[j].text.split())

    def rows(table: str) -> list[tuple[int, ...]]:
        return list(zip(*ctx.read(table).to_pydict().values(), strict=True))

    by_prefix = {int(i[:16], 16): i for i in by_id}
    pairs = {(by_prefix[a], by_prefix[b]) for a, b in rows("pairs")}
    candidates = sorted({i for pair in pairs for i in pair})  # their places are their numbers
    edges = {(candidates[a], candidates[b]) for a, b in rows("edges")}
    assert edges == {(i, j) for i, j in pairs if jaccard(i, j) >= 0.7}
    assert edges < pairs
    sizes: dict[str, int] = {}
    for i, v in verdicts.items():
        sizes[v["survivor"]] = sizes.get(v["survivor"], 0) + 1
        assert verdicts[v["survivor"]]["survivor"] == v["survivor"]
        assert v["similarity"] == round(jaccard(i, v["survivor"]), 6)
        assert v["similarity"] >= 0.7
        assert better(v["survivor"]) <= better(i)
    for v in verdicts.values():
        assert v["cluster_size"] == sizes[v["survivor"]]
        assert v["cluster"] == min(j for j, w in verdicts.items() if w["survivor"] == v["survivor"])
        assert v["family"] == min(j for j, w in verdicts.items() if w["family"] == v["family"])
    for i, j in edges:  # one that has a pair with a survivor is no survivor itself
        assert verdicts[i]["family"] == verdicts[j]["family"]
        assert verdicts[i]["survivor"] != i or verdicts[j]["survivor"] != j
    assert {i for pair in edges for i in pair} == set(verdicts)
    families = {v["family"] for v in verdicts.values()}
    assert len(sizes) > len(families)  # chains were cut


def test_documents_whose_ids_begin_alike_are_kept_apart(run: Any) -> None:
    """64 bits of an id name a candidate: where two share them, each pair of documents counts."""
    r = random.Random(5)
    one, other = words(r, 100), words(r, 100)
    near = [*one[:99], "x"]
    texts = {"a" * 16 + "0" * 16: one, "a" * 16 + "1" * 16: other, "a" * 16 + "2" * 16: near,
             "b" * 16 + "0" * 16: other, "a" * 15 + "b" + "0" * 16: one,
             "c" * 32: words(r, 100), "c" * 31 + "d": words(r, 100)}  # fmt: skip
    docs = [Document(name, " ".join(text), "s") for name, text in texts.items()]
    names = [doc.id for doc in docs]
    for partitions in (1, 4, 16):
        verdicts, _, ctx = run(STAGE(MinhashParams()), docs, partitions=partitions, batch=2)
        assert {name: v["survivor"] for name, v in verdicts.items()} == {
            names[0]: names[0], names[2]: names[0], names[4]: names[0],
            names[1]: names[1], names[3]: names[1],
        }  # fmt: skip
        assert verdicts[names[4]]["similarity"] == 1.0
        tally = ctx.notes("tally")[0]
        # Three documents begin alike: 3 pairs among them, and 3 with each of two others.
        assert [tally[n] for n in ("candidate_pairs", "verified_pairs", "removed")] == [9, 4, 3]


def test_a_long_chain_is_cut_in_linear_time(make: Any, run: Any) -> None:
    """Windows of one long text: each resembles the next few, and the far ones not at all."""
    text = words(random.Random(8), 30_000)
    docs = [make(n, " ".join(text[n * 5 : n * 5 + 104])) for n in range(5_000)]
    verdicts, _, ctx = run(STAGE(MinhashParams()), docs, partitions=2)
    assert len(verdicts) > 4_900
    assert all(v["similarity"] >= 0.7 for v in verdicts.values())
    # Neighbours at a distance of n share 100 - 5 n of 100 + 5 n shingles: at most 3 away.
    place = {doc.id: n for n, doc in enumerate(docs)}
    assert all(abs(place[i] - place[v["survivor"]]) <= 3 for i, v in verdicts.items())
    assert ctx.notes("tally")[0]["families"] < 300


def test_large_sets_are_sampled_by_their_smallest_values() -> None:
    stage = STAGE(MinhashParams())
    stage.setup()
    r = random.Random(12)
    for jaccard in (0.5, 0.7, 0.9):
        one, other = planted(r, jaccard, 20_000)
        sets = sets_of([" ".join(one), " ".join(other)], NGRAM)
        assert (sets.stop - sets.start).tolist() == [MOST, MOST]
        found = np.zeros((2, 1), np.int64)
        here = np.zeros(1, np.int64)
        stage._kernel.overlaps(
            sets.values, sets.start, sets.stop, here,
            sets.values, sets.start, sets.stop, here + 1, MOST, *found,
        )  # fmt: skip
        assert found[1, 0] == MOST
        assert abs(found[0, 0] / MOST - jaccard) < 0.025  # 3.5 standard errors at .7
        values = [np.sort(sets.values[a:b]) for a, b in zip(sets.start, sets.stop, strict=True)]
        union = np.union1d(values[0], values[1])[:MOST]
        both = np.intersect1d(values[0], values[1])
        assert found[0, 0] == len(np.intersect1d(both, union))


def test_sets_of_texts_of_any_length() -> None:
    STAGE(MinhashParams()).setup()
    sets = sets_of(["", "a b", "a b a b a b a b", "a b c d e f", ""], NGRAM)
    assert (sets.stop - sets.start).tolist() == [0, 1, 2, 2, 0]
    assert (np.diff(sets.values[sets.start[3] : sets.stop[3]].astype(np.int64)) > 0).all()
    again = sets.column().to_pylist()
    assert [len(value) // 4 for value in again] == [0, 1, 2, 2, 0]


def test_large_clusters_are_named(make: Any, run: Any) -> None:
    r = random.Random(6)
    docs: list[Document] = []
    for size in (3, 5, 4):
        text = " ".join(words(r, 30))
        for _ in range(size):
            docs.append(make(len(docs), text, host=f"h{size}.example"))
    for partitions in (1, 4):
        _, _, ctx = run(STAGE(MinhashParams(large_cluster=4)), docs, partitions=partitions)
        assert ctx.notes("tally")[0]["large_clusters"] == [
            [ids[0], len(ids), host, ids[1:4]]
            for host, some in (("h5.example", docs[3:8]), ("h4.example", docs[8:]))
            for ids in [sorted(d.id for d in some)]
        ]


def test_the_guard(make: Any, run: Any) -> None:
    docs = [make(n, "the same five words here " + "x " * 9) for n in range(10)]
    docs.append(make(10, ""))
    assert len(run(STAGE(MinhashParams(max_removed_share=0.9)), docs)[0]) == 10
    with pytest.raises(StageError, match=r"9 of 10 documents .* max_removed_share = 0\.8"):
        run(STAGE(MinhashParams(max_removed_share=0.8)), docs)
    docs += [make(n, " ".join(words(random.Random(n), 20))) for n in range(11, 90)]
    for n, doc in enumerate(docs):
        doc.source = "one" if n < 10 else "other"
    run(STAGE(MinhashParams(max_removed_share=0.2, max_source_share=0.9)), docs)
    match = "of the source 'one' 9 of 10 documents are near-duplicates: more than max_source_share"
    with pytest.raises(StageError, match=match):
        run(STAGE(MinhashParams(max_source_share=0.8)), docs)


@pytest.mark.parametrize("keep", ["newest", "highest"])
def test_who_stays(make: Any, run: Any, keep: Any) -> None:
    text = words(random.Random(1), 100)
    docs = [make(n, " ".join([*text, f"end{n}"])) for n in range(4)]
    for doc, value in zip(docs, (3, 9, 9, None), strict=True):
        if value is not None:
            doc.meta["date"] = f"2026-01-0{value}T00:00:00Z"
            doc.signals["score"] = value
    stage = STAGE(MinhashParams(keep=keep, signal="score" if keep == "highest" else ""))
    for partitions in (1, 4):
        verdicts, _, _ = run(stage, docs, partitions=partitions)
        assert {v["survivor"] for v in verdicts.values()} == {min(docs[1].id, docs[2].id)}
        assert {v["cluster"] for v in verdicts.values()} == {min(d.id for d in docs)}


def test_params() -> None:
    for wrong in ({"bands": 0}, {"ngram": 1001}, {"min_jaccard": 1.5}, {"floor": -0.1},
                  {"large_cluster": 1}):  # fmt: skip
        with pytest.raises(ConfigError, match=f"{next(iter(wrong))} is"):
            MinhashParams(**wrong)


def test_sketches_do_not_change_without_the_version() -> None:
    import hashlib

    stage = STAGE(MinhashParams())
    stage.setup()
    texts = ["The quick brown fox jumps over the lazy dog", "Ünïcödé ガガ 東京都に住む", "x", ""]
    made = stage.sketches(texts)
    sets = sets_of(texts, 5)
    parts = [made.has_words, made.keys, made.sides, sets.values, sets.stop]
    digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    assert (STAGE.version, digest) == (
        4,
        "9faff0dceb5465c2d7816e9b3df04132fc96dff2349a9e444522cb07ce4a6f59",
    )


def test_verdicts_do_not_change_without_the_version(make: Any, run: Any) -> None:
    import hashlib
    import json

    verdicts, _, _ = run(STAGE(MinhashParams()), corpus(make))
    digest = hashlib.sha256(json.dumps(verdicts, sort_keys=True).encode()).hexdigest()
    assert (STAGE.version, digest) == (
        4,
        "f3dda289dd9dec88a0f221f7c492945543f93d72f270c87640463df28121bde0",
    )
