"""Training byte-level BPE: our loops beside Hugging Face's trainer, same text, same merges.

    python -m bench.tokenizer [--quick] [--json] [--megabytes N] [--split NAME …]

CPU seconds of this process for each, one after the other, after our loops are compiled; a document
is a unit. The text is source code of Python and its installed packages, in the order of a hash of
the path. Whether the merges are equal is part of the table.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.tokenizers.bpe_training import learn_by_kernel, learn_by_library

from .harness import Bar, BenchError, Report, finish, parser

MEGABYTES, QUICK_MEGABYTES = 64, 3
VOCABULARY, QUICK_VOCABULARY = 32_768, 4096
SPLITS = ("gpt2", "gpt4", "o200k")
EOS = ("<|endoftext|>",)


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--megabytes", type=float, help=f"text (default {MEGABYTES})")
    options.add_argument("--split", action="append", choices=SPLITS, help="default: all of them")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def texts(megabytes: float) -> list[str]:
    """Python sources of this installation, `megabytes` of them."""
    roots = [Path(sysconfig.get_paths()[k]) for k in ("stdlib", "purelib")]
    paths = {p for root in roots for p in root.rglob("*.py")}
    found: list[str] = []
    size = 0
    for path in sorted(paths, key=lambda p: hashlib.sha256(str(p).encode()).digest()):
        text = path.read_text(encoding="utf-8", errors="ignore")
        found.append(text)
        size += len(text.encode())
        if size >= megabytes * 1e6:
            return found
    raise BenchError(f"there are only {size / 1e6:.0f} MB of Python sources here", hint="--quick")


def measure(args: argparse.Namespace) -> Report:
    """One row a split."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    wanted = args.megabytes or (QUICK_MEGABYTES if args.quick else MEGABYTES)
    vocabulary = QUICK_VOCABULARY if args.quick else VOCABULARY
    some = texts(wanted)
    size = sum(len(t.encode()) for t in some)
    learn_by_kernel(["warm up"], "gpt4", 300, EOS, 2)
    rows: list[dict[str, Any]] = []
    bars: dict[str, Bar] = {}
    for split in args.split or SPLITS:
        ours, ours_seconds = _timed(learn_by_kernel, some, split, vocabulary)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        theirs, seconds = _timed(learn_by_library, some, split, vocabulary)
        say(f"{split}: {ours_seconds:.1f} and {seconds:.1f} CPU seconds")
        ratio = seconds / ours_seconds
        rows.append({
            "split": split, "MB": round(size / 1e6, 1), "ours s": round(ours_seconds, 2),
            "theirs s": round(seconds, 2), "ratio": round(ratio, 2),
            "ours s/GB": round(ours_seconds / size * 1e9, 1),
            "peak MB so far": round(peak / 1e6), "merges equal": ours == theirs,
        })  # fmt: skip
        bars[f"times less CPU than Hugging Face, {split}"] = Bar(round(ratio, 2), 8.0)
    return Report(
        "tokenizer", {n: version(n) for n in ("corpusmill", "tokenizers", "numba", "numpy")},
        rows, bars, tuple(rows[0]),
        notes=[f"vocabulary {vocabulary}, {len(some)} documents, Python {sys.version.split()[0]}"],
    )  # fmt: skip


def _timed(
    learn: Callable[..., Any], some: list[str], split: str, vocabulary: int
) -> tuple[Any, float]:
    started = time.process_time()
    result = learn(some, split, vocabulary, EOS, 2)
    return result, time.process_time() - started


if __name__ == "__main__":
    sys.exit(main())
