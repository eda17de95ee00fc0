from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.mix import (
    HELDOUT,
    Domain,
    DomainRule,
    MixParams,
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
    share = select("d", ids, n, seed=seed, take=take)
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
        share = select("d", ids, n, seed=5, take=take)
        taken.append({ids[r] for _, rows, _ in copies_of(share, ids, n, seed=5) for r in rows})
    assert taken[0] < taken[1]


def test_epochs_differ() -> None:
    ids, n = ids_of(50), np.full(50, 10, dtype=np.int64)
    share = select("d", ids, n, seed=5, take=1250)
    assert (share.full_copies, share.copies, share.distinct, share.cut) == (2, 125, 50, 0)
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
    assert (shares["a"].taken, shares["a"].full_copies, shares["a"].epochs) == (250, 2, "2.500000")
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
