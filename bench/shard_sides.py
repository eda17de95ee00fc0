"""One side of `bench.shards`: a Parquet file of texts becomes one stream of ids with its digest.

    python -m bench.shard_sides SIDE TEXTS.parquet TOKENIZER OUT

Every side reads the same row groups, puts the end-of-text id (0) behind each text, and writes two
bytes an id. Prints one JSON object: bytes of text, ids, and the stream's sha256.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Encode = Callable[[Any], tuple[Any, Any]]


def ours(folder: Path) -> Encode:
    """What the stage `tokenizers.shards` calls."""
    from corpusmill.tokenizers.encode import load

    return load(folder).encode_column


def huggingface(folder: Path) -> Encode:
    """Hugging Face `tokenizers`, as its manual says for many texts."""
    from tokenizers import Tokenizer

    engine = Tokenizer.from_file(str(folder / "tokenizer.json"))
    engine.encode_special_tokens = True

    def encode(column: Any) -> tuple[Any, Any]:
        return _arrays(e.ids for e in engine.encode_batch_fast(column.to_pylist()))

    return encode


def tiktoken(folder: Path) -> Encode:
    """tiktoken with the same vocabulary, into arrays."""
    import tiktoken as library

    from corpusmill.tokenizers.bpe_engine import byte_alphabet

    model = json.loads((folder / "tokenizer.json").read_bytes())
    alphabet = byte_alphabet()
    ranks = {bytes(alphabet[c] for c in t): i for t, i in model["model"]["vocab"].items() if i}
    pattern = model["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
    engine = library.Encoding(
        "same", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 0}
    )

    def encode(column: Any) -> tuple[Any, Any]:
        texts = column.to_pylist()
        return _arrays(engine.encode_to_numpy(t, disallowed_special=()) for t in texts)

    return encode


SIDES = {"ours": ours, "tiktoken": tiktoken, "huggingface": huggingface}


def _arrays(found: Iterator[Any]) -> tuple[Any, Any]:
    parts = [np.asarray(ids, dtype=np.uint32) for ids in found]
    return np.concatenate(parts), np.array([len(p) for p in parts], dtype=np.int64)


def with_ends(ids: Any, lengths: Any) -> Any:
    """The stream: an id 0 behind each text."""
    ends = np.cumsum(lengths + 1)
    stream = np.zeros(int(ends[-1]), dtype=np.uint16)
    inside = np.ones(len(stream), dtype=np.bool_)
    inside[ends - 1] = False
    if len(ids) and int(ids.max()) > 0xFFFF:
        raise OverflowError("an id does not fit two bytes")
    stream[inside] = ids
    return stream


def written(encode: Encode, texts: str, out: str) -> dict[str, Any]:
    """Encodes a Parquet file group by group into `out`; what there is to say of it."""
    import pyarrow.parquet as pq

    digest = hashlib.sha256()
    size = count = 0
    with pq.ParquetFile(texts) as file, open(out, "wb") as target:
        for group in range(file.num_row_groups):
            column = file.read_row_group(group, columns=["text"], use_threads=False).column("text")
            stream = with_ends(*encode(column))
            raw = stream.tobytes()
            target.write(raw)
            digest.update(raw)
            size += column.nbytes
            count += len(stream)
    return {"bytes": size, "ids": count, "sha256": digest.hexdigest()}


def main(side: str, texts: str, tokenizer: str, out: str) -> int:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    print(json.dumps(written(SIDES[side](Path(tokenizer)), texts, out)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
