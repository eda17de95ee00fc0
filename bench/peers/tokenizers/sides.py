"""Sides of `bench.tokenizer` and `bench.shards` in an environment of their own.

    PYTHON sides.py encode TEXTS.parquet TOKENIZER OUT    # gigatoken: as bench.shard_sides
    PYTHON sides.py train TEXTS.parquet PATTERN SIZE OUT  # rustbpe: tokens in OUT, CPU seconds said
    PYTHON sides.py --prove

Each in one thread. gigatoken knows a few patterns by their spelling; that of GPT-4's in Llama 3's
file takes the place of ours, which differs by U+017F alone.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def encoder(folder: Path) -> Any:
    """gigatoken, which without the special tokens takes their strings for text."""
    import gigatoken
    import numpy as np

    model = json.loads((folder / "tokenizer.json").read_bytes())
    model["added_tokens"] = []
    model["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"Regex": LLAMA3}
    engine = gigatoken.Tokenizer.from_json(json.dumps(model))

    def encode(column: Any) -> tuple[Any, Any]:
        import awkward

        found = engine.encode_batch(column.to_pylist(), parallel=False)
        ids = awkward.flatten(found).to_numpy()
        return ids.astype(np.uint32, copy=False), awkward.num(found).to_numpy()

    return encode


def train(texts: list[str], pattern: str, size: int) -> tuple[list[bytes], float]:
    """rustbpe's tokens in the order in which they are learnt, and CPU seconds."""
    import rustbpe

    engine = rustbpe.Tokenizer()
    started = time.process_time()
    engine.train_from_iterator(iter(texts), size, pattern=pattern)
    spent = time.process_time() - started
    return [bytes(token) for token, _ in engine.get_mergeable_ranks()], spent


def prove() -> None:
    """Raises SystemExit unless a merge that must be learnt is."""
    tokens, _ = train(["lower lower lowest"] * 5, LLAMA3, 300)
    if b" lower" not in tokens or len(tokens) < 262:
        raise SystemExit(f"rustbpe learns {tokens[256:]}")
    import gigatoken

    if "encode_batch" not in dir(gigatoken.Tokenizer):
        raise SystemExit("gigatoken has no encode_batch")


def main() -> int:
    import pyarrow.parquet as pq

    os.environ["RAYON_NUM_THREADS"] = "1"
    if sys.argv[1:] == ["--prove"]:
        prove()
    elif sys.argv[1] == "encode":
        sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
        from bench.shard_sides import written

        texts, tokenizer, out = sys.argv[2:]
        print(json.dumps(written(encoder(Path(tokenizer)), texts, out)))
    else:
        source, pattern, size, out = sys.argv[2:]
        texts = pq.read_table(source).column("text").to_pylist()
        tokens, spent = train(texts, pattern, int(size))
        Path(out).write_text(json.dumps([t.hex() for t in tokens]))
        print(json.dumps({"cpu_seconds": spent, "tokens": len(tokens)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
