"""Arrays that are kept: made once, mapped, made again when damaged or of other sources."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corpusmill.pipeline.errors import AssetError
from corpusmill.stages import kept
from corpusmill.stages.kept import Arrays, kept_arrays


class Maker:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> Arrays:
        self.asked += 1
        return {
            "numbers": np.arange(6, dtype=np.int16).reshape(2, 3),
            "names": np.array(["a", "é"]),
        }


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "source"
    path.write_bytes(b"model")
    return path


def test_made_once_and_then_mapped(source: Path) -> None:
    make = Maker()
    for _ in range(2):
        arrays = kept_arrays("thing", (source,), make)
        assert arrays["numbers"].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert arrays["numbers"].dtype == np.int16
        assert arrays["names"].tolist() == ["a", "é"]
        assert not arrays["numbers"].flags.writeable
    assert make.asked == 1
    assert len(list((source.parent / "cache").iterdir())) == 1


def test_other_sources_are_another_thing(source: Path) -> None:
    make = Maker()
    kept_arrays("thing", (source,), make)
    source.write_bytes(b"modem")
    kept_arrays("thing", (source,), make)
    assert make.asked == 2


@pytest.mark.parametrize("damage", ["bit", "cut", "gone"])
def test_what_is_damaged_is_made_again(source: Path, damage: str) -> None:
    make = Maker()
    kept_arrays("thing", (source,), make)
    (file,) = (source.parent / "cache").glob("*/numbers.npy")
    raw = bytearray(file.read_bytes())
    if damage == "bit":
        raw[-1] ^= 1
    file.write_bytes(raw[:-3] if damage == "cut" else raw)
    if damage == "gone":
        file.unlink()
    for _ in range(2):
        assert kept_arrays("thing", (source,), make)["numbers"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert make.asked == 2


def test_without_a_folder_it_is_made_each_time(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere() -> Path:
        raise OSError("read-only")

    monkeypatch.setattr(kept, "kept_folder", nowhere)
    make = Maker()
    for _ in range(2):
        assert kept_arrays("thing", (source,), make)["names"].tolist() == ["a", "é"]
    assert make.asked == 2


def test_what_cannot_be_made_says_why(source: Path) -> None:
    def broken() -> Arrays:
        raise AssetError("no model")

    with pytest.raises(AssetError, match="no model"):
        kept_arrays("thing", (source,), broken)
