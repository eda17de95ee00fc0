"""`warm`: compiles the numeric kernels into their cache, once for a machine's CPU type."""

from __future__ import annotations

import time

from .registry import room_module, stage_class

STAGES = (
    "measure.language", "measure.gopher", "measure.repetition", "dedup.lines", "dedup.minhash",
    "dedup.substrings", "clean.pii",
)  # fmt: skip
"""Stages whose `setup` compiles kernels and needs no asset."""

MODULES = (
    "tokenizers.count_kernel", "tokenizers.merge_kernel", "tokenizers.encode_kernel",
    "tokenizers.pair_kernel",
)  # fmt: skip
"""Modules of kernels that are used once there is much text, or by a verb."""


def warm_kernels() -> dict[str, str]:
    """Compiles, or loads from the cache; wall seconds by part, as decimal strings."""
    seconds: dict[str, str] = {}

    def timed(name: str, started: float) -> None:
        seconds[name] = format(time.monotonic() - started, ".1f")

    started = time.monotonic()
    room_module("stages.words").tokenise(["warm 文字 up"])
    timed("words", started)
    for name in STAGES:
        started = time.monotonic()
        cls = stage_class(name)
        cls(cls.Params()).setup()
        timed(name, started)
    for name in MODULES:
        started = time.monotonic()
        room_module(name)
        timed(name, started)
    started = time.monotonic()
    room_module("stages.extract.blocks.model").setup()
    timed("extract.tiers own", started)
    return seconds
