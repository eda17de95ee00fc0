"""A detector that looks at the windows finds what it finds when it looks everywhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.clean import pii
from corpusmill.stages.clean.spans import TYPES, as_ascii
from corpusmill.stages.clean.windows import scan, whole

SOUP = st.text(
    alphabet="0123456789  --..//()+,:;#xabcdefAZ_@\n\u00a0\u2009\u2011\u4e00é", max_size=80
)


def test_what_one_pass_finds() -> None:
    text = "call 415-555-0166 x12, fe80::1:2 at 12:30, DE44 5001, é1"
    found = scan(text)
    chains = [(text[a:b], n) for a, b, n, _ in found.chains.tolist()]
    assert chains == [
        ("415-555-0166", 10), ("12", 2), ("80", 2), ("1", 1), ("2", 1), ("12", 2), ("30", 2),
        ("44 5001", 6), ("1", 1),
    ]  # fmt: skip
    assert [text[a:b] for a, b in found.hexes.tolist()] == ["fe80::1:2"]
    assert [text[h : h + 4] for h in found.heads.tolist()] == ["fe80", "DE44"]
    assert scan("v1.2.3, 4").numbers(3, dots=2) == [(1, 6)]
    assert found.longest == len("415-555-0166")
    assert not found.sixteen
    assert scan("RSSMRA85T10A562S").sixteen
    assert not scan("RSSMRA85T10A562S1").sixteen
    assert found.has_number(10)
    assert not found.has_number(11)
    assert len(scan("").chains) == 0


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("1 - (2", True),
        ("1 - ((2", False),
        ("1\u2009\u20112", True),
        ("1,2", False),
        ("1_2", False),
    ],
)
def test_a_chain_has_gaps_of_four_separators(text: str, joined: bool) -> None:
    assert len(scan(text).chains) == (1 if joined else 2)


@settings(derandomize=True, deadline=None, max_examples=600)
@given(SOUP)
def test_windows_hide_nothing_in_a_soup_of_digits(text: str) -> None:
    check(text)


@pytest.mark.slow
@pytest.mark.fulldata
@pytest.mark.skipif("CORPUSMILL_DATA" not in os.environ, reason="CORPUSMILL_DATA is not set")
def test_windows_hide_nothing_in_real_text() -> None:
    from bench import texts

    rows = texts.rows(Path(os.environ["CORPUSMILL_DATA"]) / "html_gold" / "doc_containers.jsonl.gz")
    count = 0
    for row in rows:
        check(row["text"][:3000])
        count += 1
    assert count > 1000


def test_a_number_behind_a_window_is_not_cut_at_its_margin() -> None:
    text = "tel 555-0166, +49 (0) 30 - 1234 - 5678 90"
    assert [text[s.start : s.end] for s in pii.find(text)] == ["555-0166", text[14:]]
    check(text)


def check(text: str) -> None:
    work = as_ascii(text)
    windows, everywhere = scan(work), whole(work)
    for type_ in TYPES:
        found = list(pii._detect(type_, work, windows, "tag"))
        assert found == list(pii._detect(type_, work, everywhere, "tag")), type_
    assert {s.type for s in pii.find(text, TYPES)} <= set(pii.possible_types(work, windows))
