"""`warm`: compiles the numeric kernels into their cache, once for a machine's CPU type."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from .registry import room_module, stage_class

STAGES = (
    "clean.pii", "measure.language", "dedup.minhash", "dedup.substrings", "measure.gopher",
    "measure.repetition", "dedup.lines",
)  # fmt: skip
"""Stages whose `setup` compiles kernels and needs no asset."""

MODULES = (
    "stages.extract.blocks.scan", "stages.extract.blocks.features",
    "stages.extract.blocks.intake", "stages.extract.blocks.measure",
    "tokenizers.encode_kernel", "tokenizers.piece_kernel", "tokenizers.count_kernel",
    "tokenizers.merge_kernel", "tokenizers.pair_kernel", "stages.decontaminate.grams_kernel",
    "stages.decontaminate.paraphrase_kernel", "stages.decontaminate.markup_kernel",
    "stages.filters.domain_kernel",
)  # fmt: skip
"""Modules of kernels: the tier own's, and those that are used once there is much text, or by a
verb. The longest first."""


def warm_kernels(jobs: int = 1) -> dict[str, str]:
    """Compiles, or loads from the cache, in `jobs` processes, or in this one alone; wall seconds by
    part, as decimal strings."""
    seconds = {"words": _timed("words")}  # which the kernels of most others are made with
    names = [*MODULES, *STAGES]
    if jobs == 1:
        seconds |= {name: _timed(name) for name in names}
    else:
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            seconds |= dict(zip(names, pool.map(_timed, names), strict=True))
    return seconds | {"extract.tiers own": _timed("extract.tiers own")}


def _timed(name: str) -> str:
    started = time.monotonic()
    if name == "words":
        room_module("stages.words").tokenise(["warm 文字 up"])
    elif name == "extract.tiers own":
        room_module("stages.extract.blocks.model").setup()
    elif name in STAGES:
        cls = stage_class(name)
        cls(cls.Params()).setup()
    else:
        room_module(name)
    room_module("stages.compiled").load_imported()
    return format(time.monotonic() - started, ".1f")
