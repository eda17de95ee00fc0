"""Canonical bytes and order-free sums."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from corpusmill.pipeline.document import document_id
from corpusmill.pipeline.errors import CorpusmillError
from corpusmill.pipeline.identity import (
    canonical,
    fingerprint,
    hex128,
    pretty,
    row_hash,
    sha256_file,
    sha256_tree,
    sum_ids,
)


def test_canonical_bytes() -> None:
    assert canonical({"b": [1, True, None], "a": "é"}) == '{"a":"é","b":[1,true,null]}'.encode()
    assert pretty({"a": 1}) == b'{\n  "a": 1\n}\n'


@pytest.mark.parametrize("value", [0.5, {1: 2}, {"a": {1}}, object(), b"x"])
def test_refuses_what_has_no_single_spelling(value: object) -> None:
    with pytest.raises(CorpusmillError):
        canonical({"x": value})


class Word(str):
    """Text of a kind of its own."""


@pytest.mark.parametrize(
    "value",
    [{"a": (1, [None, {"b": ()}])}, MappingProxyType({"a": 1}), {"a": MappingProxyType({})},
     [Word("x"), {Word("k"): True}], [[[[]]]], {}],
)  # fmt: skip
def test_kinds_that_have_the_spelling_of_plain_ones(value: object) -> None:
    """Tuples, mappings and words of other kinds are written as lists, dicts and text."""
    assert json.loads(canonical({"x": value})) == {"x": plain(value)}


def plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("value", [0.5, {1: 2}, {None: 1}, b"x", [1, (2, [0.5])]])
def test_what_is_refused_is_named_at_its_place(value: object) -> None:
    with pytest.raises(CorpusmillError, match=r"^value\.deep\[1\]"):
        canonical({"deep": [{}, value]})


def test_a_known_fingerprint() -> None:
    # sha256 of the two bytes {}
    assert fingerprint({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_sums_do_not_depend_on_order_and_see_a_swap() -> None:
    ids = [document_id("s", "f", 10, i) for i in range(20)]
    assert sum_ids(ids) == sum_ids(reversed(ids))
    assert sum_ids(ids) != sum_ids([*ids[:-1], ids[0]])
    assert len(hex128(sum_ids(ids))) == 32


def test_ids_separate_their_parts() -> None:
    assert document_id("ab", "c", 1, 2) != document_id("a", "bc", 1, 2)
    assert document_id("a", "c", 1, 12) != document_id("a", "c", 11, 2)
    assert document_id("web", "a.warc.gz", 100, 0) == "a6b32d6f0cbe10327f1305280b0f4f4e"


def test_row_hash_sees_every_part() -> None:
    base = row_hash("0" * 32, "text", {"a": 1})
    assert base == row_hash("0" * 32, "text", {"a": 1})
    assert len({base, row_hash("1" * 32, "text", {"a": 1}), row_hash("0" * 32, "texT", {"a": 1}),
                row_hash("0" * 32, "text", {"a": 2}), row_hash("0" * 32, "text", {"b": 1})}) == 5  # fmt: skip


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"")
    (tmp_path / "b").write_bytes(b"abc")
    assert sha256_file(tmp_path / "b") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
    digest, size = sha256_tree(tmp_path)
    assert size == 3
    (tmp_path / "b").rename(tmp_path / "c")
    assert sha256_tree(tmp_path)[0] != digest
