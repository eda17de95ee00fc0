"""Lists of millions of plain domains are read in blocks: the result is that of a look at each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.errors import AssetError
from corpusmill.stages.filters import url_lists
from corpusmill.stages.filters.entry_hashes import of_texts
from corpusmill.stages.filters.url_lists import EntrySet, read_lists

PLAIN = ["a.com", "b.a.com", "a_b.c", "1.2.3.4", "xn--bcher-kva.de", "a--b.org", "x.y.z.example"]
OTHER = [
    "", " ", "com", "www.a.com", "www.com", "WWW.A.com", "A.com", " a.com", "a.com\t", "a.com.",
    ".a.com", "*.a.com", "*a.com", "a..com", "-a.com", "a-.com", "a.-b.com", "a.b-", "# c",
    "a.com # c", "#", "0.0.0.0 a.com", "127.0.0.1 b.com", "a.com b.com", "http://a.com/p",
    "a.com/p/q", "a.com/P%41", "a.com/", "a.com:8080", "münchen.de", "\ufeffa.com", "a.com\r",
    "a.com\rb.com", "x" * 250 + ".com", "x" * 249 + ".com", "a.com\x00", "a\u2028b.com",
]  # fmt: skip


def one_by_one(text: str, exact: frozenset[str]) -> EntrySet:
    """What `read_lists` promises, without its blocks."""
    found: tuple[list[str], list[str], list[str]] = ([], [], [])
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        entry = url_lists._entry(line.partition("#")[0].strip())
        if entry is not None:
            host, rest = entry
            entry_text = f"{host}/{rest}" if rest else host
            found[2 if rest else 1 if host in exact else 0].append(entry_text)
    return EntrySet(*(np.unique(of_texts(entries)) for entries in found))


def check(text: str, path: Path) -> None:
    path.write_bytes(text.encode())
    exact = frozenset(["a.com", "a_b.c", "münchen.de"])
    found, wanted = read_lists([str(path)], (), exact), one_by_one(text, exact)
    for name in ("domains", "exact", "prefixes"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name


@pytest.mark.parametrize("block", [7, 1 << 16])
@pytest.mark.parametrize("where", ["first", "amid", "last"])
@pytest.mark.parametrize("line", OTHER)
def test_one_odd_line_among_plain_ones(
    line: str, where: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(url_lists, "_BLOCK_BYTES", block)
    monkeypatch.setattr(url_lists, "_BAD_SHARE", 0)
    lines = PLAIN * 30
    lines.insert({"first": 0, "amid": 100, "last": len(lines)}[where], line)
    check("\n".join(lines), tmp_path / "list")


@pytest.mark.parametrize("block", [7, 64, 1 << 16])
@settings(
    derandomize=True, deadline=None, max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(
    lines=st.lists(
        st.one_of(st.sampled_from(PLAIN), st.sampled_from(OTHER), st.text("a.-w_/#\r ", max_size=9))
    ),
    repeat=st.integers(1, 40),
    end=st.sampled_from(["", "\n"]),
)
def test_blocks_give_what_lines_give(
    lines: list[str], repeat: int, end: str, block: int, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(url_lists, "_BLOCK_BYTES", block)
    monkeypatch.setattr(url_lists, "_BAD_SHARE", 0)
    text = "\n".join([*PLAIN * repeat, *lines, *PLAIN * repeat]) + end
    check(text, tmp_path / "list")


def test_bad_line_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("\n".join(["a.com"] * 300 + ["# no entry", "no entry", ""] + ["!!"] * 10))
    with pytest.raises(AssetError, match=r"11 of 311 lines .* first at line 302: 'no entry'"):
        read_lists([str(path)], ())
