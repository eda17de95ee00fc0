from __future__ import annotations

import hashlib
import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.licences import licence_ids, satisfied
from corpusmill.pipeline.mix import (
    HELDOUT,
    Domain,
    DomainRule,
    MixParams,
    Phase,
    Share,
    apportion,
    budgets,
    copies_of,
    decimal,
    domain_of,
    domains_of,
    plan_mix,
    select,
)
from corpusmill.pipeline.order import below, key_hex, order_key, order_keys, sorted_by


def ids_of(count: int) -> list[str]:
    return [hashlib.md5(str(i).encode(), usedforsecurity=False).hexdigest() for i in range(count)]


def lengths(count: int) -> Any:
    return np.array([1 + (i * 37) % 100 for i in range(count)], dtype=np.int64)


def test_order_key_is_the_documented_hash() -> None:
    id_ = "00112233445566778899aabbccddeeff"
    h = hashlib.blake2b(
        bytes.fromhex(id_) + b"\x02\0\0\0", digest_size=16, key=b"42", person=b"corpusmill-order"
    )
    assert order_key(42, id_, 2) == h.digest()
    assert key_hex(order_keys(42, [id_], 2)[0]) == h.hexdigest()
    others = {order_key(42, id_, 1), order_key(41, id_, 2), order_key(42, id_, 2, "place")}
    assert h.digest() not in others


def test_each_purpose_has_an_order_of_its_own() -> None:
    keys = {order_key(1, "0" * 31 + "7", 0, p) for p in ("order", "place", "sample", "subset")}
    assert len(keys) == 4


def test_keys_sort_as_their_bytes() -> None:
    ids = ids_of(300)
    keys = order_keys(1, ids, 0)
    order = sorted_by(keys)
    raw = [order_key(1, i, 0) for i in ids]
    assert [raw[i] for i in order.tolist()] == sorted(raw)
    bound = raw[17].hex()
    less, equal = below(keys, bound)
    assert less.tolist() == [r < raw[17] for r in raw]
    assert np.flatnonzero(equal).tolist() == [17]


def test_rules() -> None:
    rules = (
        DomainRule("german", {"lang": "de|gsw", "source": "web*"}),
        DomainRule("gov", {"host": "*.gov"}),
        DomainRule("rest"),
    )
    assert domain_of({"source": "web-1", "lang": "gsw"}, rules) == "german"
    assert domain_of({"source": "books", "lang": "de", "host": "x.gov"}, rules) == "gov"
    assert domain_of({"source": "books", "lang": "de", "host": "xxgov"}, rules) == "rest"
    assert domain_of({"source": "web", "lang": "den"}, rules[:2]) is None
    assert domain_of({"source": "web", "lang": None}, rules[:2]) is None
    assert domain_of({"source": "web"}, ()) == "web"
    columns: dict[str, list[object]] = {"source": ["web", "a", "a"], "host": ["a.b", None, "c.gov"]}
    assert domains_of(columns, rules[1:2], 3) == [None, None, "gov"]
    assert domain_of({"source": "a", "ok": True}, [DomainRule("t", {"ok": "true"})]) == "t"


@settings(derandomize=True, deadline=None, max_examples=80)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 1000), min_size=1, max_size=8))
def test_apportion(total: int, weights: list[int]) -> None:
    shares = apportion(total, [Fraction(w) for w in weights])
    assert sum(shares) == total
    for share, weight in zip(shares, weights, strict=True):
        assert abs(Fraction(share) - Fraction(total * weight, sum(weights))) < 1


def test_apportion_by_hand() -> None:
    assert apportion(10, [Fraction(1, 3)] * 3) == [4, 3, 3]
    assert apportion(7, [Fraction(5, 10), Fraction(3, 10), Fraction(2, 10)]) == [4, 2, 1]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(1, 40), st.integers(1, 6000), st.integers(0, 5))
def test_selection_is_exact_and_local(count: int, take: int, seed: int) -> None:
    ids, n = ids_of(count), lengths(count)
    share, _ = select("d", ids, n, seed=seed, take=take)
    # the whole at once, and document by document in another order
    whole = copies_of(share, ids, n, seed=seed)
    assert sum(int(t.sum()) for _, _, t in whole) == take == share.taken
    assert sum(len(rows) for _, rows, _ in whole) == share.copies
    assert len({int(r) for _, rows, _ in whole for r in rows}) == share.distinct
    one_by_one = sorted(
        (ids[i], copy, int(t))
        for i in reversed(range(count))
        for copy, _, ts in copies_of(share, [ids[i]], n[i : i + 1], seed=seed)
        for t in ts
    )
    assert one_by_one == sorted(
        (ids[r], copy, int(t)) for copy, rows, ts in whole for r, t in zip(rows, ts, strict=True)
    )
    cut = [t for _, rows, ts in whole for r, t in zip(rows, ts, strict=True) if t < n[r]]
    assert len(cut) <= 1
    assert Share.from_json(json.loads(json.dumps(share.to_json()))) == share


def test_smaller_budget_takes_a_subset() -> None:
    ids, n = ids_of(200), lengths(200)
    taken = []
    for take in (1000, 4000):
        share, _ = select("d", ids, n, seed=5, take=take)
        taken.append({ids[r] for _, rows, _ in copies_of(share, ids, n, seed=5) for r in rows})
    assert taken[0] < taken[1]


def test_epochs_differ() -> None:
    ids, n = ids_of(50), np.full(50, 10, dtype=np.int64)
    share, _ = select("d", ids, n, seed=5, take=1250)
    assert (share.until_copy, share.copies, share.distinct, share.cut) == (2, 125, 50, 0)
    assert share.epochs == "2.500000"
    third = copies_of(share, ids, n, seed=5)[2][1].tolist()
    assert len(third) == 25
    first_half = sorted_by(order_keys(5, ids, 0))[:25].tolist()
    assert sorted(third) != sorted(first_half)


def plan(params: MixParams, **tokens: int) -> dict[str, Share]:
    """Shares where each domain has documents of 10 tokens."""
    domains = [d for d, t in tokens.items() for _ in range(t // 10)]
    n = np.full(len(domains), 10, dtype=np.int64)
    made = plan_mix(params, domains, ids_of(len(domains)), n, seed=1)
    return {s.domain: s for s in made.shares}


def two(weight: float, **more: Any) -> tuple[Domain, Domain]:
    return (
        Domain("a", {"source": "a"}, weight=weight, **more),
        Domain("b", {"source": "b"}, weight=round(1 - weight, 3), **more),
    )


def test_weights_of_a_total() -> None:
    shares = plan(MixParams(two(0.7), tokens=501), a=1000, b=1000)
    assert {d: s.taken for d, s in shares.items()} == {"a": 351, "b": 150}
    assert shares["a"].cut == 1
    assert shares["a"].wanted == 351


def test_everything_once_by_source() -> None:
    shares = plan(MixParams(), b=70, a=30)
    assert [(s.domain, s.taken, s.epochs) for s in shares.values()] == [
        ("a", 30, "1.000000"), ("b", 70, "1.000000"),
    ]  # fmt: skip


def test_proportional() -> None:
    shares = plan(MixParams(tokens=55), b=700, a=300)
    assert {d: s.taken for d, s in shares.items()} == {"a": 17, "b": 38}  # 16.5 and 38.5
    with pytest.raises(ConfigError, match="not enough tokens"):
        plan(MixParams(tokens=1001), b=700, a=300)


def test_own_budgets() -> None:
    domains = (
        Domain("a", {"source": "a"}, tokens=250, max_epochs=3), Domain("b", {"source": "b"})
    )  # fmt: skip
    shares = plan(MixParams(domains), a=100, b=40)
    assert (shares["a"].taken, shares["a"].until_copy, shares["a"].epochs) == (250, 2, "2.500000")
    assert shares["b"].taken == 40


def test_shortfall() -> None:
    with pytest.raises(ConfigError, match="b: wanted 500, has 100, may give 200"):
        plan(MixParams(two(0.5, max_epochs=2), tokens=1000), a=1000, b=100)
    params = MixParams(two(0.5, max_epochs=2), tokens=1000, shortfall="renormalise")
    shares = plan(params, a=1000, b=100)
    assert {d: s.taken for d, s in shares.items()} == {"a": 800, "b": 200}
    assert shares["b"].shortfall == 300
    assert plan(params, a=100, b=100)["a"].taken == 200  # as far as it goes
    assert budgets(params, {"a": 1000}) == {"a": (500, 1000), "b": (500, 0)}


def test_warnings() -> None:
    params = MixParams((Domain("a", tokens=50, max_epochs=9), Domain("c")))
    made = plan_mix(params, ["a"], ids_of(1), np.array([10]), seed=1)
    assert made.warnings == ("a: 5.000000 epochs, more than 4", "c: no documents")
    params = MixParams(two(0.5), tokens=100, shortfall="renormalise")
    made = plan_mix(params, ["a"], ids_of(1), np.array([10]), seed=1)
    assert made.warnings[-1] == "mix: 90 tokens short of 100"
    assert made.tokens == 10


def test_held_out_is_taken_whole_and_last() -> None:
    made = plan_mix(
        MixParams(tokens=10), [HELDOUT, "a", HELDOUT, "a"], ids_of(4), np.array([5, 10, 6, 10]),
        seed=1,
    )  # fmt: skip
    assert [(s.domain, s.taken, s.documents) for s in made.shares] == [
        ("a", 10, 2), (HELDOUT, 11, 2),
    ]  # fmt: skip


def test_no_documents() -> None:
    assert plan_mix(MixParams(), [], [], np.zeros(0, dtype=np.int64), seed=1).shares == ()
    with pytest.raises(ConfigError, match="not enough"):
        plan_mix(MixParams(tokens=1), [], [], np.zeros(0, dtype=np.int64), seed=1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: MixParams((Domain("a", weight=0.5), Domain("b", weight=0.4)), 9), "0.900000"),
        (lambda: MixParams((Domain("a", weight=1.0),)), "no total"),
        (lambda: MixParams((Domain("a"),), tokens=5), "no weights"),
        (lambda: MixParams((Domain("a", weight=1.0), Domain("b")), 9), "'b' has no weight"),
        (lambda: MixParams((Domain("a"), Domain("a"))), "two domains"),
        (lambda: Domain("heldout"), "cannot name a domain"),
        (lambda: Domain("../a"), "cannot name a domain"),
        (lambda: Domain("a", weight=0.5, tokens=3), "both"),
        (lambda: Domain("a", max_epochs=0.5), "max_epochs"),
    ],
)
def test_refusals(make: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make()


def test_three_thirds_are_one() -> None:
    MixParams(tuple(Domain(d, weight=0.3333333) for d in "abc"), tokens=9)


def test_decimal() -> None:
    assert decimal(Fraction(2, 3)) == "0.666666"
    assert decimal(Fraction(12345, 1000)) == "12.345000"


# -- phases, ladder, policies --------------------------------------------------------------------


def taken(share: Share, ids: list[str], n: Any) -> dict[tuple[str, int], int]:
    """Tokens by document and copy."""
    return {
        (ids[r], copy): int(t)
        for copy, rows, ts in copies_of(share, ids, n, seed=3)
        for r, t in zip(rows.tolist(), ts.tolist(), strict=True)
    }


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(1, 30), st.lists(st.integers(0, 2500), min_size=1, max_size=5))
def test_what_follows_goes_on_where_the_last_one_ended(count: int, takes: list[int]) -> None:
    """Several pieces of the sequence, against a list of all documents copy by copy."""
    ids, n = ids_of(count), lengths(count)
    line = [
        (ids[i], copy, int(n[i]))
        for copy in range(1 + sum(takes) // int(n.sum()) + len(takes))
        for i in sorted(range(count), key=lambda i: order_key(3, ids[i], copy))
    ]
    cursor, at = None, 0
    for take in takes:
        share, cursor = select("d", ids, n, seed=3, take=take, start=cursor)
        expected, left = {}, take
        while left:
            id_, copy, size = line[at]
            at += 1
            expected[id_, copy] = min(size, left)
            left -= expected[id_, copy]
        assert taken(share, ids, n) == expected
        assert (share.taken, share.copies) == (take, len(expected))
        assert share.distinct == len({i for i, _ in expected})
        assert cursor.position == sum(size for _, _, size in line[:at])
        assert Share.from_json(json.loads(json.dumps(share.to_json()))) == share


PHASES = (
    Phase("pretrain", share=0.8, weights={"a": 0.5, "b": 0.5}),
    Phase("anneal", share=0.2, weights={"b": 1.0}),
)
PAIR = (Domain("a", {"source": "a"}), Domain("b", {"source": "b"}, max_epochs=2))


def test_phases_have_their_own_weights_and_repeat_nothing_early() -> None:
    domains, n = ["a"] * 100 + ["b"] * 70, np.full(170, 10, dtype=np.int64)
    ids = ids_of(170)
    made = plan_mix(MixParams(PAIR, 1000, phases=PHASES), domains, ids, n, seed=3)
    assert [(s.stream, s.taken) for s in made.shares] == [
        ("pretrain/a", 400), ("pretrain/b", 400), ("anneal/a", 0), ("anneal/b", 200),
    ]  # fmt: skip
    assert made.tokens == 1000
    first, second = (taken(s, ids[100:], n[100:]) for s in (made.shares[1], made.shares[3]))
    assert len(first) == 40
    assert len(second) == 20
    assert not first.keys() & second.keys()
    assert {c for _, c in (*first, *second)} == {0}
    # 980 of each, then 490 of the 20 and 420 that are left
    more = (PHASES[0], Phase("anneal", share=0.2, policy="unimax"))
    with pytest.raises(ConfigError, match="anneal: not enough tokens"):
        plan_mix(MixParams(PAIR, 2450, phases=more), domains, ids, n, seed=3)


def test_a_domain_is_capped_over_all_phases() -> None:
    domains, n = ["a"] * 10 + ["b"] * 10, np.full(20, 10, dtype=np.int64)
    phases = (Phase("x", tokens=150, weights={"b": 1.0}), Phase("y", tokens=60, weights={"b": 1.0}))
    with pytest.raises(
        ConfigError, match=r"phase y: not enough tokens .b: wanted 60, has 100, may "
    ):
        plan_mix(MixParams(PAIR, phases=phases), domains, ids_of(20), n, seed=3)
    params = MixParams(PAIR, phases=phases, shortfall="renormalise")
    made = plan_mix(params, domains, ids_of(20), n, seed=3)
    assert [s.taken for s in made.shares if s.domain == "b"] == [150, 50]
    assert "y: b: 10 tokens short of 60" in made.warnings


def test_each_rung_of_the_ladder_is_part_of_the_next() -> None:
    ids, n = ids_of(400), lengths(400)
    domains = ["a" if i % 3 else "b" for i in range(400)]
    params = MixParams(PAIR, 9000, phases=PHASES, ladder=("1/64", "0.25", "1/4096"))
    made = plan_mix(params, domains, ids, n, seed=3)
    rows = np.array([i for i, d in enumerate(domains) if d == "b"])
    mine, sizes = [ids[i] for i in rows.tolist()], n[rows]
    by_stream = {s.stream: s for s in made.shares}
    whole = by_stream["pretrain/b"]
    assert whole.taken == 3600
    rungs = [by_stream[f"scale-{r}/pretrain/b"] for r in ("1-4096", "1-64", "0.25")]
    assert [r.taken for r in rungs] == [0, 56, 900]
    parts = [taken(s, mine, sizes) for s in (*rungs, whole)]
    for small, large in itertools.pairwise(parts):
        assert small.keys() <= large.keys()
        assert sum(t < large[k] for k, t in small.items()) <= 1  # the one that is cut
    later = taken(by_stream["scale-0.25/anneal/b"], mine, sizes)
    assert later.keys() <= taken(by_stream["anneal/b"], mine, sizes).keys()
    assert not later.keys() & parts[-1].keys()
    assert made.tokens == 9000


def test_policies() -> None:
    sizes = {"a": 1_000_000, "b": 10_000, "c": 100}
    rules = tuple(Domain(d, {"source": d}, max_epochs=4) for d in "abc")

    def take(**more: Any) -> list[int]:
        made = budgets(MixParams(rules, tokens=30_000, **more), sizes)
        return [t for _, t in made.values()]

    assert take(policy="proportional") == [29700, 297, 3]
    assert take(policy="temperature", alpha=0.5, shortfall="renormalise") == [27027, 2703, 270]
    assert sum(take(policy="temperature", shortfall="renormalise")) == 30_000
    assert take(policy="unimax") == [14800, 14800, 400]  # c gives 4 epochs, the others share
    with pytest.raises(ConfigError, match="all: wanted 9000000, may give 4040400"):
        budgets(MixParams(rules, tokens=9_000_000, policy="unimax"), sizes)


def test_temperature_is_the_power_of_the_size() -> None:
    sizes = {"a": 81, "b": 16, "c": 1}
    params = MixParams(tokens=60, policy="temperature", alpha=0.25, shortfall="renormalise")
    assert [w for w, _ in budgets(params, sizes).values()] == [30, 20, 10]  # fourth roots 3, 2, 1


def test_ranges_of_numbers() -> None:
    rules = (
        DomainRule("best", {"score": "0.8.."}),
        DomainRule("good", {"score": "0.5..0.8", "lang": "de"}),
        DomainRule("poor", {"score": "..0.5"}),
    )
    rows = [(0.8, "x"), (0.799999, "de"), (0.799999, "x"), (0.5, "de"), (-3, "x"), ("0.9", "x"),
            (None, "de"), (True, "x"), (1, "x")]  # fmt: skip
    columns: dict[str, list[object]] = {"score": [r[0] for r in rows], "lang": [r[1] for r in rows]}
    assert domains_of(columns, rules, len(rows)) == [
        "best", "good", None, "good", "poor", None, None, None, "best",
    ]  # fmt: skip
    assert domain_of({"score": 0.8}, rules[1:]) is None
    assert domain_of({"source": "a..b"}, [DomainRule("t", {"source": "a..b"})]) == "t"
    with pytest.raises(ConfigError, match="is empty"):
        MixParams((Domain("a", {"score": "0.8..0.5"}),))


def test_licences() -> None:
    allowed = {"MIT", "CC0-1.0", "GPL-2.0-only WITH Classpath-exception-2.0"}
    for expression, holds in {
        "mit": True, "MIT AND GPL-3.0": False, "MIT OR GPL-3.0": True, "NOASSERTION": False,
        "(MIT OR X) AND CC0-1.0": True, "MIT OR X AND Y": True, "(MIT OR X) AND Y": False,
        "GPL-2.0-only WITH Classpath-exception-2.0": True, "MIT WITH Anything": True,
    }.items():  # fmt: skip
        assert satisfied(expression, allowed) is holds, expression
    assert licence_ids("B AND (A OR B) AND C WITH D") == ["A", "B", "C WITH D"]
    for bad in ("", "MIT AND", "(MIT", "MIT GPL", "AND", "MIT)", "M!T"):
        with pytest.raises(ConfigError, match="no licence expression"):
            satisfied(bad, allowed)


def of_phases(*phases: Phase, **more: Any) -> MixParams:
    return MixParams(PAIR, phases=phases, **more)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Phase("x"), "a share or tokens"),
        (lambda: Phase("x", share=0.5, tokens=3), "a share or tokens"),
        (lambda: Phase("scale-x", share=0.5), "for the ladder"),
        (lambda: Phase("x", share=0.5, weights={"a": 0.5}), "sum to 0.500000"),
        (lambda: of_phases(Phase("x", share=1.0, policy="unimax")), "no total"),
        (lambda: of_phases(Phase("x", share=0.5, policy="unimax"), tokens=5), "sum to 0.5"),
        (lambda: of_phases(Phase("x", tokens=5, policy="unimax"), tokens=5), "leave mix.tokens"),
        (lambda: of_phases(Phase("x", tokens=5)), "neither weights nor a policy"),
        (lambda: of_phases(Phase("x", tokens=5, weights={"c": 1.0})), "which is no domain"),
        (lambda: of_phases(*[Phase("x", tokens=5, policy="unimax")] * 2), "two mix phases"),
        (lambda: MixParams((Domain("a", tokens=3),), policy="unimax", tokens=5), "of its own"),
        (lambda: MixParams(policy="unimax"), "no total"),
        (lambda: MixParams(ladder=("2",)), "no part of a mix"),
        (lambda: MixParams(ladder=("1/1",)), "no part of a mix"),
        (lambda: MixParams(ladder=("1/4", "0.25")), "twice"),
        (lambda: MixParams(licences=("MIT AND X",)), "not one licence"),
        (lambda: MixParams(tokens=5, policy="temperature", alpha=0.0), "alpha"),
    ],
)
def test_refusals_of_phases_and_policies(make: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make()
