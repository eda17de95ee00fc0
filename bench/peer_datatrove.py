"""datatrove's side of `bench.end_to_end`: its scripts, run by the Python of its own environment."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from .crawl import Labelled, bare, read_jsonl
from .harness import PEERS, ROOT, BenchError, Side, peer_python

SCRIPTS = ROOT / "bench" / "peers" / "datatrove"
JUDGE = SCRIPTS / "judge.py"
EXTRACTORS = {"datatrove": "fineweb", "datatrove fast": "fast"}
"""Rows, and how each calls trafilatura: see ``bench/peers/datatrove/blocks.py``."""
DISTRIBUTIONS = ("datatrove", "trafilatura", "lxml", "spacy", "tokenizers", "warcio")

ENVIRONMENT = {
    "HF_HOME": str(PEERS / "datatrove" / "cache"),  # where its URL lists are unpacked, once
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
}


def _call(*words: str) -> str:
    """Runs one of the scripts; returns its standard output."""
    done = subprocess.run(
        [str(peer_python("datatrove")), *words],
        capture_output=True, text=True, env={**os.environ, **ENVIRONMENT},
    )  # fmt: skip
    if done.returncode != 0:
        lines = [line for line in done.stderr.strip().splitlines() if line]
        raise BenchError(
            f"datatrove: {' '.join(Path(w).name for w in words[:1])} failed: "
            + (lines[-1] if lines else f"exit code {done.returncode}"),
            hint="rm -rf .venv-peers/datatrove, then make peers",
        )
    return done.stdout


def prove() -> None:
    """Raises BenchError unless datatrove extracts the known words of a known page."""
    _call(str(SCRIPTS / "extract.py"), "--prove")


def lists() -> list[Path]:
    """The files of blocked domains and URLs that its URL filter brings, for both sides."""
    folder = Path(_call(str(SCRIPTS / "extract.py"), "--lists").strip().splitlines()[-1])
    return [folder / "domains", folder / "urls"]


def side(name: str, source: Path, tokenizer: Path) -> Side:
    """A run of the FineWeb example in one process."""
    python = peer_python("datatrove")

    def command(folder: Path) -> list[str]:
        return [
            str(python), str(SCRIPTS / "curate.py"), "--input", str(source), "--out", str(folder),
            "--tokenizer", str(tokenizer / "tokenizer.json"), "--extractor", EXTRACTORS[name],
        ]  # fmt: skip

    def check(folder: Path) -> None:
        if not _ids(folder / "kept") or not list((folder / "tokens").glob("*.ds")):
            raise BenchError(f"datatrove's run in {folder} kept nothing")

    return Side(name, command, check, ENVIRONMENT)


def _ids(folder: Path) -> set[str]:
    return {
        bare(row["id"]) for path in sorted(folder.glob("*.jsonl.gz")) for row in read_jsonl(path)
    }


def outcome(folder: Path) -> dict[str, Any]:
    """``filtered`` and ``kept`` (WARC-Record-IDs before and after deduplication); ``stages``:
    seconds by block as datatrove counts them (wall clock, of which an extraction is mostly CPU);
    ``executors``: CPU seconds of each of its five runs."""
    figures = json.loads((folder / "figures.json").read_text())
    stages: dict[str, float] = {}
    for entry in figures:
        for block in entry["blocks"]:
            name = f"{entry['executor']}: {plain(block['name'])}"
            stages[name] = round(stages.get(name, 0.0) + block["time_stats"].get("total", 0.0), 3)
    return {
        "filtered": _ids(folder / "filtered"),
        "kept": _ids(folder / "kept"),
        "stages": stages,
        "executors": {entry["executor"]: entry["cpu_seconds"] for entry in figures},
    }


def plain(block: str) -> str:
    """A block's name without its kind and its picture (``🔻 - FILTER: 🥇 Gopher Quality``)."""
    return "".join(c for c in block.partition(": ")[2] if c.isascii()).strip() or block


def texts(name: str, pages: Labelled, folder: Path) -> dict[str, str]:
    """The text that datatrove extracts from each labelled page, by WARC-Record-ID."""
    _call(
        str(SCRIPTS / "extract.py"), "--input", str(pages.folder), "--out", str(folder),
        "--extractor", EXTRACTORS[name],
    )  # fmt: skip
    found = {}
    for path in sorted(folder.glob("*.jsonl.gz")):
        found.update({bare(row["id"]): row["text"] for row in read_jsonl(path)})
    return found
