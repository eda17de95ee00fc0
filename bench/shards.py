"""From Parquet to a stream of ids with its digest: our encoder beside tiktoken and Hugging Face.

    python -m bench.shards [--quick] [--json] [--megabytes N]

Text of three kinds from this machine (`bench.mixed`); a vocabulary of 32,768 tokens with the split
``gpt4`` trained on a tenth of it. A side is one process (`bench.shard_sides`), whose whole CPU time
counts, start and all. The others are slower and get a part of the text; on that part their digests
are compared with ours. gigatoken joins where it is installed (``make peers``) and gets all of it.
Cold figures: how long we take for little text, in either of our ways.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.identity import pretty, sha256_hex
from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.tokenizers.bpe import EOS, BpeParams, train_bpe
from corpusmill.tokenizers.bpe_engine import WAY, bpe_digest
from corpusmill.tokenizers.encode import CARD, CARD_SCHEMA

from .harness import PEERS, ROOT, Bar, Report, Usage, finish, parser, peer_python, timed
from .mixed import by_kind

MEGABYTES, QUICK_MEGABYTES = 400.0, 12.0
VOCABULARY, QUICK_VOCABULARY = 32_768, 4096
TRAINING_SHARE = 0.1
PARTS = {"tiktoken": 0.1, "huggingface": 0.02}
"""Of the text, what the slower sides get."""
PEER, GIGATOKEN = "tokenizers", "gigatoken"
PEER_SIDES = ROOT / "bench" / "peers" / PEER / "sides.py"
COLD_MEGABYTES = (2.0, 20.0, 200.0)
REFERENCE_MOST = 20.0
"""Megabytes from which the reference way is no longer measured cold."""
GROUP = 1024


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--megabytes", type=float, help=f"text (default {MEGABYTES:.0f})")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def measure(args: argparse.Namespace) -> Report:
    wanted = args.megabytes or (QUICK_MEGABYTES if args.quick else MEGABYTES)
    vocabulary = QUICK_VOCABULARY if args.quick else VOCABULARY
    with tempfile.TemporaryDirectory(prefix="bench-shards-") as name:
        folder = Path(name)
        texts = shuffled(by_kind(wanted))
        size = sum(len(t.encode()) for t in texts)
        train(folder / "tokenizer", first_of(texts, size * TRAINING_SHARE), vocabulary)
        bench = Sides(folder, texts, size)
        ours = bench.row("ours", size, compared=False)
        rows = [ours, *(bench.row(side, size * part) for side, part in PARTS.items())]
        if (PEERS / PEER).exists():
            rows.append(bench.row(GIGATOKEN, size))
        for cold in COLD_MEGABYTES:
            if cold * 1e6 < size:
                rows.append(bench.row("ours", cold * 1e6, compared=False))
            if cold * 1e6 < size and cold <= REFERENCE_MOST:
                rows.append(bench.row("reference", cold * 1e6))
    speed = "MB/CPU-s"
    bars = {
        "MB a CPU-second, start included": Bar(ours[speed], 60.0),
        "times tiktoken": Bar(round(ours[speed] / rows[1][speed], 2), 4.0),
        "times Hugging Face": Bar(round(ours[speed] / rows[2][speed], 2), 30.0),
    }
    names = ("corpusmill", "tokenizers", "tiktoken", "numba", "numpy", "pyarrow")
    return Report(
        "shards", {n: version(n) for n in names}, rows, bars, tuple(ours),
        notes=[f"vocabulary {vocabulary}, split gpt4, {len(texts)} texts in groups of {GROUP}"],
    )  # fmt: skip


class Sides:
    """Runs sides on the first part of the texts."""

    def __init__(self, folder: Path, texts: Sequence[str], size: int) -> None:
        self._folder = folder
        self._texts = texts
        self._size = size
        self._digests: dict[float, str] = {}

    def row(self, side: str, size: float, *, compared: bool = True) -> dict[str, Any]:
        """CPU time of one side on the first `size` bytes; `compared`: with ours on the same."""
        usage, said = self._run(side, size)
        if compared and size not in self._digests:
            self._digests[size] = self._run("ours", size)[1]["sha256"]
        known = self._digests.setdefault(size, said["sha256"])
        say(f"{side}, {said['bytes'] / 1e6:.0f} MB: {usage.cpu_seconds:.1f} CPU seconds")
        return {
            "side": side, "MB": round(said["bytes"] / 1e6, 1), "tokens": said["ids"],
            "CPU s": round(usage.cpu_seconds, 2),
            "MB/CPU-s": round(said["bytes"] / 1e6 / usage.cpu_seconds, 2),
            "peak MB": round(usage.peak_bytes / 1e6), "ids equal": said["sha256"] == known,
        }  # fmt: skip

    def _run(self, side: str, size: float) -> tuple[Usage, dict[str, Any]]:
        texts = self._folder / f"{size:.0f}.parquet"
        if not texts.exists():
            write(texts, first_of(self._texts, size))
        log = self._folder / "side.log"
        environment = {WAY: "reference" if side == "reference" else "auto"}
        begin = [sys.executable, "-m", "bench.shard_sides", "ours" if side == "reference" else side]
        if side == GIGATOKEN:
            begin = [str(peer_python(PEER)), str(PEER_SIDES), "encode"]
        files = (texts, self._folder / "tokenizer", self._folder / "stream.bin")
        command = [*begin, *map(str, files)]
        usage = timed(command, log, environment)
        return usage, json.loads(log.read_text().strip().splitlines()[-1])


def shuffled(kinds: dict[str, list[str]]) -> list[str]:
    """All texts in the order of their hashes."""
    texts = [t for some in kinds.values() for t in some]
    return sorted(texts, key=lambda t: hashlib.sha256(t.encode()).digest())


def first_of(texts: Sequence[str], size: float) -> list[str]:
    """The first texts, `size` bytes of them or a little more."""
    found: list[str] = []
    left = size
    for text in texts:
        if left <= 0:
            break
        found.append(text)
        left -= len(text.encode())
    return found


def write(path: Path, texts: Sequence[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"text": pa.array(texts, pa.large_string())})
    pq.write_table(table, path, compression="zstd", row_group_size=GROUP)


def train(folder: Path, texts: Sequence[str], vocabulary: int) -> None:
    """A tokenizer with its card."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    raw = train_bpe(list(texts), BpeParams(vocab_size=vocabulary, allow_smaller=True))
    card = {
        "schema": CARD_SCHEMA, "family": "bpe", "digest": bpe_digest(json.loads(raw)),
        "files": {"tokenizer.json": sha256_hex(raw)}, "eos": {"id": 0, "token": EOS},
        "special_tokens": {EOS: 0},
    }  # fmt: skip
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes(raw)
    (folder / CARD).write_bytes(pretty(card))


if __name__ == "__main__":
    sys.exit(main())
