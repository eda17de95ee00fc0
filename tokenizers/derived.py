"""What can be made of a trained byte-level BPE without its text: a smaller one, tiktoken's ranks.

Training adds tokens one after the other, so the vocabulary of a smaller training on the same sample
is the beginning of a larger one: train once at the largest size, and cut.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.identity import pretty, sha256_hex

from .bpe import check_bpe
from .bpe_engine import bpe_digest, byte_alphabet
from .encode import CARD, load

RANKS = "ranks.tiktoken"


def cut_model(model: Mapping[str, Any], size: int) -> dict[str, Any]:
    """A tokenizer.json with the first `size` tokens of another, and the merges that a training of
    that size would have. Raises ConfigError if it has no more, or less than its bytes."""
    bpe = model["model"]
    vocab: Mapping[str, int] = bpe["vocab"]
    least = 256 + len(model["added_tokens"])
    if not least <= size < len(vocab):
        raise ConfigError(
            f"{size} tokens cannot be cut from {len(vocab)}", hint=f"{least} … {len(vocab) - 1}"
        )
    merges = []
    known = least
    for left, right in bpe["merges"]:
        if known == size:  # a training of this size ends here
            break
        merges.append([left, right])
        known = max(known, vocab[left + right] + 1)
    kept = {token: i for token, i in vocab.items() if i < size}
    return {**model, "model": {**bpe, "vocab": kept, "merges": merges}}


def ranks(model: Mapping[str, Any]) -> bytes:
    """The vocabulary as tiktoken reads it: a line a token, its bytes in base64 and its rank, which
    is its id. Special tokens are not among them. tiktoken merges by the rank of what a pair makes:
    raises ConfigError where that would be another order than that of the merges."""
    bpe = model["model"]
    vocab: Mapping[str, int] = bpe["vocab"]
    made = [vocab[left + right] for left, right in bpe["merges"]]
    if any(a >= b for a, b in pairwise(made)):
        raise ConfigError(
            "tiktoken cannot give this tokenizer's ids: two merges make the same token",
            hint="use tokenizer.json",
        )
    alphabet = byte_alphabet()
    special = {t["id"] for t in model["added_tokens"]}
    lines = [
        base64.b64encode(bytes(alphabet[c] for c in token)) + b" %d\n" % i
        for token, i in sorted(vocab.items(), key=lambda item: item[1])
        if i not in special
    ]
    return b"".join(lines)


def cut(folder: Path, size: int, out: Path) -> dict[str, Any]:
    """Writes the tokenizer of `size` tokens cut from the one in `folder` to `out`; returns its
    card, which names the tokenizer that it was cut from."""
    card, model = _read(folder)
    smaller = cut_model(model, size)
    check_bpe(smaller, tuple(card["special_tokens"]))
    raw = (json.dumps(smaller, ensure_ascii=False, indent=1) + "\n").encode("utf-8")
    made = {
        **card, "digest": bpe_digest(smaller), "files": {"tokenizer.json": sha256_hex(raw)},
        "vocab_size": size, "vocab_size_asked": size,
        "cut_from": {"digest": card["digest"], "vocab_size": len(model["model"]["vocab"])},
    }  # fmt: skip
    _new_folder(out)
    (out / "tokenizer.json").write_bytes(raw)
    (out / CARD).write_bytes(pretty(made))
    return made


def write_ranks(folder: Path, out: Path) -> dict[str, Any]:
    """Writes `RANKS` and ``tiktoken.json`` (name, pattern and special tokens, the other arguments
    of ``tiktoken.Encoding``) to `out`; returns the latter."""
    card, model = _read(folder)
    raw = ranks(model)
    pattern = model["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
    about = {
        "name": f"corpusmill-{card['digest'][:12]}", "pat_str": pattern,
        "special_tokens": card["special_tokens"], "explicit_n_vocab": len(model["model"]["vocab"]),
        "sha256": sha256_hex(raw),
    }  # fmt: skip
    _new_folder(out)
    (out / RANKS).write_bytes(raw)
    (out / "tiktoken.json").write_bytes(pretty(about))
    return about


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Card and model of a byte-level BPE, checked."""
    load(folder)
    card: dict[str, Any] = json.loads((folder / CARD).read_bytes())
    if card["family"] != "bpe":
        raise AssetError(f"{folder} is no byte-level BPE", hint="sentencepiece cannot be cut")
    return card, json.loads((folder / "tokenizer.json").read_bytes())


def _new_folder(out: Path) -> None:
    if out.exists() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty", hint="name a new folder")
    out.mkdir(parents=True, exist_ok=True)
