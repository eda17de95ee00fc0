"""Our side of `bench.end_to_end`: the recipe, the run, and what came out of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from .crawl import Labelled
from .harness import BenchError, Side

RECIPE = """\
schema: corpusmill/recipe/1
name: bench
version: "1"
seed: 1
sources:
  - {{name: web, stage: sources.warc, root: {source}, paths: ["*.warc.gz"], licence: CC0-1.0}}
steps:
  - filters.url: {{block: [{block}]}}
  - extract.tiers: {{tier: {tier}}}
  - measure.repetition
  - filters.gopher_repetition
  - measure.gopher: {{language: en}}
  - filters.gopher_quality
  - measure.c4: {{terminal: false}}
  - filters.c4: {{as: c4_rules}}
  - filters.c4_lines: {{rules: {{terminal: false}}}}
  - measure.fineweb
  - filters.fineweb: {{as: fineweb_rules}}
  - dedup.minhash
  - clean.pii: {{types: [email, ip]}}
tokenizer: {{stage: tokenizers.given, folder: {tokenizer}}}
mix: {{}}
shards: {{}}
execution: {{task_bytes: 1000000000000, partitions: 1}}
"""
"""The steps of datatrove's FineWeb example, in its order and with the papers' numbers. The licence
is a placeholder: the run is thrown away."""

TRAINED_ON = {"own": ("wcxb",)}
"""Sets of labelled pages that a tier has learned from: it is not scored on them."""


def tiers() -> tuple[str, ...]:
    """The tiers that are measured: the peer's extractor, the fastest, and the best that exist."""
    from corpusmill.stages.extract.policy import Tier

    known = get_args(Tier)
    return tuple(t for t in ("trafilatura", "fast", "quality", "own") if t in known)


def recipe(tier: str, source: Path, tokenizer: Path, block: Sequence[Path]) -> str:
    """The text of the recipe; `block` are lists of domains and URLs to drop."""
    listed = ", ".join(map(str, block))
    return RECIPE.format(tier=tier, source=source, tokenizer=tokenizer, block=listed)


def side(tier: str, source: Path, tokenizer: Path, block: Sequence[Path]) -> Side:
    """A run of the recipe with one worker process."""

    def command(folder: Path) -> list[str]:
        path = folder / "recipe.yaml"
        path.write_text(recipe(tier, source, tokenizer, block))
        return [
            sys.executable, "-P", "-m", "corpusmill.pipeline", "run", str(path),
            "--out", str(folder / "run"), "--workers", "1",
        ]  # fmt: skip

    def check(folder: Path) -> None:
        ledger = json.loads((folder / "run" / "ledger.json").read_text())
        if not ledger["balanced"] or ledger["records"]["kept"] == 0:
            raise BenchError(f"our run in {folder} kept nothing")

    return Side(f"corpusmill {tier}", command, check)


def outcome(folder: Path) -> dict[str, Any]:
    """``filtered`` and ``kept`` (WARC-Record-IDs before and after deduplication), and
    ``stages``: CPU seconds by stage."""
    from corpusmill.pipeline.engine import RunFolder
    from corpusmill.pipeline.planning import Plan

    root = folder / "run"
    run = RunFolder(root, Plan.load(root / "plan.json"))
    docs = [phase.name for phase in run.plan.phases if phase.kind == "docs"]
    ledger = json.loads((root / "ledger.json").read_text())
    stages = {row["stage"]: float(row["cpu_seconds"]) for row in ledger["stages"]}
    stages |= {row["product"]: float(row["cpu_seconds"]) for row in ledger["products"]}
    return {
        "filtered": set(_record_ids(run, docs[0])),
        "kept": set(_record_ids(run, docs[-1])),
        "stages": stages,
    }


def _record_ids(run: Any, phase: str) -> Iterator[str]:
    for piece in run.pieces(phase, "docs", None, ["record_id"]):
        yield from piece["record_id"].to_pylist()


def texts(tier: str, pages: Labelled) -> dict[str, str]:
    """The text that `tier` extracts from each labelled page, by WARC-Record-ID."""
    from corpusmill.pipeline.document import Document, Page
    from corpusmill.pipeline.registry import build
    from corpusmill.pipeline.stage import InputFile

    source = build("sources.warc", {}, "bench")
    stage = build("extract.tiers", {"tier": tier}, "bench")
    source.setup()
    stage.setup()
    found: dict[str, str] = {}
    try:
        for path in sorted(pages.folder.glob("*.warc.gz")):
            file = InputFile("web", str(path), path.name, path.stat().st_size)
            given = [r.outcome for r in source.read(file) if isinstance(r.outcome, Page)]
            for outcome in stage.apply(given):
                if isinstance(outcome, Document):
                    found[str(outcome.meta["record_id"])] = outcome.text
    finally:
        stage.close()
    return found


def make_tokenizer(texts: list[str], folder: Path) -> Path:
    """Trains the tokenizer that both sides use; returns the folder with its files."""
    import pyarrow as pa

    from corpusmill.pipeline.context import MemoryContext, hash_of_ids
    from corpusmill.tokenizers.bpe import Bpe, BpeParams

    ids = [f"{number:032x}" for number in range(len(texts))]
    columns = {"id": ids, "text": texts, "source": ["gold"] * len(ids)}
    context = MemoryContext(folder, seed=1)
    context.write("docs", pa.table(columns), hash_of_ids(ids))
    stage = Bpe(BpeParams(vocab_size=16384, allow_smaller=True))
    stage.setup()
    context.run_phases(stage)
    return next(iter(context.files().values())).parent
