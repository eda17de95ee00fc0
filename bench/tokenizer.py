"""Training byte-level BPE: our loops beside Hugging Face's trainer, same text, same merges; and
beside sentencepiece and, where it is installed (``make peers``), rustbpe.

    python -m bench.tokenizer [--quick] [--json] [--megabytes N] [--split NAME …]

CPU seconds of this process for each, one after the other, after our loops are compiled; a document
is a unit. The text is source code of Python and its installed packages, in the order of a hash of
the path. Whether the merges are equal is part of the table.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.peak import peak_bytes
from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.tokenizers.bpe_training import learn_by_kernel, learn_by_library
from corpusmill.tokenizers.splits import PATTERNS

from .harness import PEERS, Bar, BenchError, Report, finish, parser, peer_python, timed
from .shards import PEER, PEER_SIDES, write

MEGABYTES, QUICK_MEGABYTES = 64, 3
VOCABULARY, QUICK_VOCABULARY = 32_768, 4096
COLUMNS = (
    "split", "trainer", "MB", "CPU s", "s/GB", "times ours", "peak MB so far", "merges equal",
)  # fmt: skip
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
    """A row a split and trainer, and sentencepiece, which has no splits."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    wanted = args.megabytes or (QUICK_MEGABYTES if args.quick else MEGABYTES)
    vocabulary = QUICK_VOCABULARY if args.quick else VOCABULARY
    some = texts(wanted)
    size = sum(len(t.encode()) for t in some)
    learn_by_kernel(["warm up"], "gpt4", 300, EOS, 2)
    rows: list[dict[str, Any]] = []
    bars: dict[str, Bar] = {}

    def row(split: str, trainer: str, seconds: float, ours: float, **more: Any) -> None:
        say(f"{split} {trainer}: {seconds:.1f} CPU seconds")
        rows.append({
            "split": split, "trainer": trainer, "MB": round(size / 1e6, 1),
            "CPU s": round(seconds, 2), "s/GB": round(seconds / size * 1e9, 1),
            "times ours": round(seconds / ours, 2), **more,
        })  # fmt: skip

    for split in args.split or SPLITS:
        ours, seconds = _timed(learn_by_kernel, some, split, vocabulary, EOS, 2)
        peak = peak_bytes() or 0
        theirs, library = _timed(learn_by_library, some, split, vocabulary, EOS, 2)
        row(split, "ours", seconds, seconds, **{"peak MB so far": round(peak / 1e6)})
        row(split, "Hugging Face", library, seconds, **{"merges equal": ours == theirs})
        if (PEERS / PEER).exists():
            row(split, "rustbpe", _by_rustbpe(some, split, vocabulary), seconds)
        bars[f"times less CPU than Hugging Face, {split}"] = Bar(round(library / seconds, 2), 8.0)
        bars[f"CPU seconds a GB, {split}"] = Bar(round(seconds / size * 1e9, 1), 60.0, at_most=True)
    row("-", "sentencepiece", _timed(_by_sentencepiece, some, vocabulary)[1], seconds)
    names = ("corpusmill", "tokenizers", "sentencepiece", "numba", "numpy")
    return Report(
        "tokenizer", {n: version(n) for n in names}, rows, bars, COLUMNS,
        notes=[f"vocabulary {vocabulary}, {len(some)} documents, Python {sys.version.split()[0]}"],
    )  # fmt: skip


def _timed(learn: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    started = time.process_time()
    result = learn(*arguments)
    return result, time.process_time() - started


def _by_rustbpe(some: list[str], split: str, vocabulary: int) -> float:
    """CPU seconds of rustbpe with the same pattern, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-tokenizer-") as name:
        folder = Path(name)
        write(folder / "texts.parquet", some)
        command = [
            str(peer_python(PEER)), str(PEER_SIDES), "train", str(folder / "texts.parquet"),
            PATTERNS[split], str(vocabulary), str(folder / "tokens.json"),
        ]  # fmt: skip
        timed(command, folder / "log")
        seconds: float = json.loads((folder / "log").read_text().splitlines()[-1])["cpu_seconds"]
    return seconds


def _by_sentencepiece(some: list[str], vocabulary: int) -> None:
    """BPE of the texts' lines with the settings that lose nothing."""
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(line for text in some for line in text.splitlines() if line),
        model_writer=io.BytesIO(), model_type="bpe", vocab_size=vocabulary, byte_fallback=True,
        split_digits=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        add_dummy_prefix=False, num_threads=1, max_sentence_length=1 << 20, minloglevel=2,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
