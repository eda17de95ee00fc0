"""The fuzzer itself: the same seed gives the same inputs, what is kept holds, a fault is told."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench import fuzz
from bench.fuzz_inputs import KEPT, WARC_WORDS, changed, coded, kept, packed, seeds


@pytest.mark.parametrize("name", sorted(fuzz.TARGETS))
def test_what_was_kept_holds(name: str) -> None:
    inputs = kept(name)
    assert bool(inputs) == (KEPT / name).is_dir()
    for data in inputs:
        assert fuzz.TARGETS[name].check(data) == ""


def test_kept_inputs_are_small() -> None:
    sizes = [path.stat().st_size for path in KEPT.rglob("*") if path.is_file()]
    assert len(sizes) > 60
    assert sum(sizes) < 200_000


def test_the_same_seed_gives_the_same_inputs() -> None:
    def drawn(seed: int) -> list[bytes]:
        draw = random.Random(seed)
        archives = seeds("sources")
        bodies = seeds("bodies")
        return [
            *(packed(draw, changed(draw, a, WARC_WORDS, archives)) for a in archives[:30]),
            *(coded(draw, body) for body in bodies[:30]),
        ]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_a_fault_is_told_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def check(data: bytes) -> str:
        if b"zstd" in data:
            raise ValueError("of the check")
        return "odd" if len(data) % 2 else ""

    target = fuzz.Target(check, ("stages/sources/bodies.py",), (b"x",))
    feeder = fuzz.Feeder("index", target, 1, tmp_path)
    for data in (b"even", b"odd", b"zstd"):
        feeder.feed(data)
    assert (target.inputs, target.faults) == (3, 2)
    assert [p.read_bytes() for p in sorted((tmp_path / "index").iterdir())] == [b"odd", b"zstd"]
    assert "index: odd\nindex: ValueError: of the check\n" in capsys.readouterr().err


def test_lines_that_run_are_noted() -> None:
    target = fuzz.Target(fuzz.TARGETS["bodies"].check, ("stages/sources/bodies.py",), ())
    feeder = fuzz.Feeder("bodies", target, 1, None)
    feeder.feed(b"\0plain")
    plain = sum(map(len, target.seen.values()))
    feeder.feed(b"\0plain too")
    assert sum(map(len, target.seen.values())) == plain > 5
    feeder.feed(b"\1\x1f\x8b\x08 damaged")
    assert sum(map(len, target.seen.values())) > plain
