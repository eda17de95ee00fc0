"""The blocks that both scripts of this folder use. Run by the peer's own Python."""

from __future__ import annotations

from typing import Any

EXTRACTORS = ("fineweb", "fast")
TIMEOUT_SECONDS = 60.0
"""datatrove's default is one second of wall clock, which on a busy machine drops pages that it
would keep on an idle one. A longer limit costs no CPU time."""


def extractor(name: str) -> Any:
    """``fineweb``: as in datatrove's FineWeb example (precision, no comments, its memory of
    earlier pages on). ``fast``: what a user would set who wants speed (trafilatura's fast mode,
    no memory of earlier pages)."""
    from datatrove.pipeline.extractors import Trafilatura

    if name == "fineweb":
        return Trafilatura(favour_precision=True, timeout=TIMEOUT_SECONDS)
    if name == "fast":
        return Trafilatura(
            favour_precision=False, deduplicate=False, timeout=TIMEOUT_SECONDS, fast=True
        )
    raise SystemExit(f"error: extractor {name!r} is none of {', '.join(EXTRACTORS)}")


def run(pipeline: list[Any], tasks: int, logs: str) -> Any:
    """Runs a pipeline in this process, task by task; returns datatrove's own statistics."""
    from datatrove.executor import LocalPipelineExecutor

    return LocalPipelineExecutor(pipeline, tasks=tasks, workers=1, logging_dir=logs).run()
