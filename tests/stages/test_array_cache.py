"""A cached array is what its maker gives, or it is made again."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from corpusmill.pipeline.errors import AssetError
from corpusmill.stages import array_cache
from corpusmill.stages.array_cache import cached, digest_of
from corpusmill.stages.filters import url_lists
from corpusmill.stages.filters.url_lists import load_lists, read_lists


class Maker:
    """Makes two arrays; counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> dict[str, npt.NDArray[np.generic]]:
        self.calls += 1
        return {"odd": np.arange(3, dtype=np.uint8), "big": np.array([1 << 63], dtype=np.uint64)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CORPUSMILL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_arrays_are_made_once(folder: Path) -> None:
    make = Maker()
    for _ in range(3):
        found = cached("some", "a" * 64, make)
        assert found["odd"].tolist() == [0, 1, 2]
        assert found["big"].tolist() == [1 << 63]
        assert found["big"].flags.aligned
    assert make.calls == 1
    assert cached("some", "b" * 64, make)["odd"].tolist() == [0, 1, 2]
    assert make.calls == 2


@pytest.mark.parametrize("at", [0, 20, 63, 64, -1])
def test_a_flipped_byte_is_made_good(folder: Path, at: int) -> None:
    make = Maker()
    cached("some", "a" * 64, make)
    (path,) = folder.iterdir()
    good = path.read_bytes()
    bad = bytearray(good)
    bad[at] ^= 1
    path.write_bytes(bad)
    assert cached("some", "a" * 64, make)["big"].tolist() == [1 << 63]
    assert path.read_bytes() == good
    path.write_bytes(good[:-9])
    assert cached("some", "a" * 64, make)["odd"].tolist() == [0, 1, 2]
    assert path.read_bytes() == good


def test_a_cache_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CORPUSMILL_CACHE", str(tmp_path / "file"))
    assert cached("some", "a" * 64, Maker())["odd"].tolist() == [0, 1, 2]


def test_the_oldest_go(folder: Path) -> None:
    make = Maker()
    for number in range(array_cache._KEPT + 2):
        cached("some", f"{number:064d}"[::-1], make)
        for path in folder.iterdir():  # one second apart, whatever the file system can tell
            os.utime(path, ns=(0, path.stat().st_mtime_ns - 10**9))
    assert len(list(folder.iterdir())) == array_cache._KEPT
    cached("some", f"{0:064d}", make)
    assert make.calls == array_cache._KEPT + 3


def test_the_key_tells_files_from_names(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("text")
    two.write_text("text")
    assert digest_of([one]) == digest_of([two]) == digest_of(["text"])
    two.write_text("test")
    assert digest_of([one]) != digest_of([two])
    assert digest_of(["ab", "c"]) != digest_of(["a", "bc"])
    with pytest.raises(FileNotFoundError):
        digest_of([tmp_path / "three"])


def test_lists_from_the_cache_are_the_lists(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(url_lists, "_CACHED_BYTES", 0)
    path, suffixes = tmp_path / "list", tmp_path / "suffixes"
    path.write_text("a.example\nco.example\nb.example/path\n")
    suffixes.write_text("co.example\n")
    for _ in range(2):
        found = load_lists([str(path)], (), suffixes)
        plain = read_lists([str(path)], (), {"co.example"})
        for name in ("domains", "exact", "prefixes"):
            assert getattr(found, name).tolist() == getattr(plain, name).tolist() != []
    assert len(list(folder.iterdir())) == 1
    path.write_text("c.example\n")
    assert len(load_lists([str(path)], (), suffixes)) == 1
    suffixes.write_text("c.example\n")
    assert len(load_lists([str(path)], (), suffixes).exact) == 1
    path.write_text("no list at all\n")
    with pytest.raises(AssetError, match="1 of 1 lines are no domain"):
        load_lists([str(path)], (), suffixes)
