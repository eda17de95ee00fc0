"""Hashes of list entries: the same by either way, and spread over all 64 bits."""

from __future__ import annotations

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.filters import entry_hashes
from corpusmill.stages.filters.entry_hashes import (
    LONGEST,
    PADDING,
    Hashes,
    contains,
    of_spans,
    of_texts,
    table,
)

_64 = 2**64


def by_hand(raw: bytes) -> int:
    """The hash of up to `LONGEST` bytes in whole numbers of Python."""
    by = 0xD6E8FEB86659FD93
    found = len(raw) * by
    for place in range(-(-len(raw) // 8)):
        own = int.from_bytes(raw[8 * place : 8 * place + 8], "little")
        own = own * (2 * place + 1) * 0x9E3779B97F4A7C15 % _64
        found += (own ^ own >> 32) * by
    found %= _64
    found = (found ^ found >> 32) * 0xFF51AFD7ED558CCD % _64
    return found ^ found >> 32


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.text("ab.\n\xe9", max_size=60)))
def test_texts_and_spans_have_the_hash_of_the_formula(entries: list[str]) -> None:
    encoded = [entry.encode() for entry in entries]
    wanted = [by_hand(raw) for raw in encoded]
    assert of_texts(entries).tolist() == wanted
    raw = np.frombuffer(b"-".join(encoded) + PADDING, np.uint8)
    sizes = np.array([len(e) for e in encoded], np.int64)
    assert of_spans(raw, np.cumsum(sizes + 1) - sizes - 1, sizes).tolist() == wanted


def test_long_entries_are_hashed_otherwise() -> None:
    entries = ["a" * LONGEST, "b" * (LONGEST + 1), "c"]
    first, second, third = of_texts(entries).tolist()
    assert (first, third) == (by_hand(entries[0].encode()), by_hand(b"c"))
    assert second == xxhash.xxh3_64_intdigest(entries[1].encode())


def test_hashes_differ_and_use_all_bits() -> None:
    near = [f"{a}{b}-{c}.example.com" for a in "abcdefghij" for b in range(300) for c in range(30)]
    near += [f"example{'-' * n}.{top}" for n in range(100) for top in ("com", "moc", "c", "")]
    hashes = of_texts(near)
    assert len(np.unique(hashes)) == len(near)
    assert len(np.unique(hashes >> np.uint64(32))) > 0.999 * len(near)
    bits = np.unpackbits(hashes.view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert abs(bits - 0.5).max() < 0.01


@pytest.mark.parametrize("moved", [1, 2, 3, 1 << 16])
@pytest.mark.parametrize("hashes", [[], [5, 3, 5, 1, 3], [1, 2], [2**64 - 1, 0], [4, 4, 4, 6, 6]])
def test_table(hashes: list[int], moved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_hashes, "_MOVED", moved)
    found = table(bytearray(np.array(hashes, np.uint64).tobytes()))
    assert found.dtype == np.uint64
    assert found.tolist() == sorted(set(hashes))


def test_contains() -> None:
    listed: Hashes = np.array([2, 4], np.uint64)
    keys: Hashes = np.array([1, 2, 3, 4, 5], np.uint64)
    assert contains(listed, keys).tolist() == [False, True, False, True, False]
    assert not contains(listed[:0], keys).any()
