"""One spelling for one address."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.dedup.urls import canonical_url


@pytest.mark.parametrize(
    ("url", "want"),
    [
        ("HTTP://Example.ORG:80", "https://example.org/"),
        ("https://example.org:443/a#b", "https://example.org/a"),
        ("https://example.org/a#!/item/28", "https://example.org/a#!/item/28"),
        ("http://example.org/a#/inbox?x", "https://example.org/a#/inbox?x"),
        ("https://example.org:8443/a", "https://example.org:8443/a"),
        ("http://user:pw@example.org./%7euser/%e4%BD", "https://example.org/~user/%E4%BD"),
        ("https://example.org/a/./b/../c/..", "https://example.org/a/"),
        ("https://example.org/../../a", "https://example.org/a"),
        ("https://e.org/?utm_source=x&b=2&a=1&FBCLID=9&", "https://e.org/?b=2&a=1"),
        ("https://e.org/p;jsessionid=0A?x=%3d%2f", "https://e.org/p?x=%3D%2F"),
        ("https://e.org/?", "https://e.org/"),
        ("https://e.org/é ü", "https://e.org/%C3%A9%20%C3%BC"),
        ("https://e.org/100%", "https://e.org/100%25"),
        ("https://e.org::80/", "https://e.org::80/"),
        ("https://e.org/%%61b?%75tm_id=1", "https://e.org/%25ab"),
        (" https://e.org/a\n b\t", "https://e.org/a%20b"),
        ("https://[::1]:443/x", "https://[::1]/x"),
        ("ftp://e.org:80/x", "ftp://e.org:80/x"),
        ("//e.org/x", "//e.org/x"),
        ("mailto:a@b", "mailto:a@b"),
        ("not a url", "not a url"),
        ("", ""),
    ],
)
def test_spelling(url: str, want: str) -> None:
    assert canonical_url(url) == want


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://e.org/a", "https://e.org/a/"),
        ("https://e.org/a", "https://www.e.org/a"),
        ("https://e.org/A", "https://e.org/a"),
        ("https://e.org/?a=1&b=2", "https://e.org/?b=2&a=1"),
        ("https://e.org/a%2Fb", "https://e.org/a/b"),
        ("https://e.org/?q=a+b", "https://e.org/?q=a%2Bb"),
    ],
)
def test_different_addresses_stay_apart(one: str, other: str) -> None:
    assert canonical_url(one) != canonical_url(other)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.text(alphabet=st.sampled_from("aZé09:/?#[]@%2fF.~&=;+ \n-_"), max_size=30))
def test_a_canonical_url_is_its_own_canonical_url(rest: str) -> None:
    once = canonical_url("http://e.org" + rest)
    assert canonical_url(once) == once
