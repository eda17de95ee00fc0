"""What is wrong with a tokenizer, as far as it can be seen without a model.

Tokens that training never meets are the direct cause of under-trained tokens (Land and Bartolo
2024, "Fishing for Magikarp"): unreachable ones, parts of characters, and those that the text
to be trained on never or rarely produces. Beside them: whether text comes back as it was, digits
with holes, tokens that one document put into the vocabulary, and how many tokens a word costs in
each group of texts. Efficiencies are reported, nothing hangs on them (Zouhar et al. 2023, alpha
2.5; Cognetta et al. 2024 give counterexamples).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corpusmill.pipeline.errors import AssetError

from .bpe_engine import bpe_digest
from .encode import BpeEncoder, Encoder, load

RARE = 10
"""A token that is produced less often is called rare."""

MOST_NEVER = 0.01
"""Share of the merged tokens that may never be produced. Single bytes are not asked for: each is
needed, and most texts lack some."""

_RANDOM_TEXTS = 500


@dataclass(frozen=True)
class Group:
    """Texts that are looked at together: a language, a kind of text, a file."""

    name: str
    texts: Sequence[str]


@dataclass
class Checkup:
    """Figures of a tokenizer on some texts, and what is wrong with it."""

    figures: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, dict[str, str]] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def open_any(path: Path) -> Encoder:
    """A tokenizer of ours (a folder with its card), or a byte-level ``tokenizer.json`` of any
    origin. Raises AssetError if it is neither."""
    if path.is_dir() and (path / "card.json").exists():
        return load(path)
    if path.is_dir():
        path = path / "tokenizer.json"
    try:
        raw = path.read_bytes()
        model = json.loads(raw)
        specials = {t["content"]: t["id"] for t in model.get("added_tokens", ())}
        first = min(specials, key=specials.__getitem__) if specials else ""
        card = {
            "digest": bpe_digest(model), "special_tokens": specials,
            "eos": {"id": specials.get(first, 0), "token": first},
        }  # fmt: skip
        return BpeEncoder(card, raw)
    except OSError as error:
        raise AssetError(f"cannot read the tokenizer {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise AssetError(
            f"{path} is no byte-level BPE in Hugging Face's format: {error!r}",
            hint="a folder that tokenizers.bpe or .spm wrote, or a tokenizer.json",
        ) from None


def check(encoder: Encoder, groups: Sequence[Group]) -> Checkup:
    """Looks at a tokenizer with these texts."""
    result = Checkup()
    pieces = [encoder.decode_bytes([i]) for i in range(encoder.vocab_size)]
    special = np.zeros(len(pieces), dtype=np.bool_)
    special[list(encoder.special_tokens.values())] = True
    if encoder.unknown_id is not None:
        special[encoder.unknown_id] = True
    _vocabulary(result, encoder, pieces, special)
    counts = np.zeros(len(pieces), dtype=np.int64)
    documents = np.zeros(len(pieces), dtype=np.int64)
    lossy = 0
    for group in groups:
        lossy += _group(result, encoder, group, counts, documents)
    lossy += _changed(encoder, _random_texts())
    injected = _injected(encoder)
    ordinary = ~special
    merged = ordinary & np.array([len(p) > 1 for p in pieces], dtype=np.bool_)
    never = merged & (counts == 0)
    result.figures |= {
        "texts": sum(len(g.texts) for g in groups),
        "tokens": int(counts.sum()),
        "never_produced": int(np.count_nonzero(never)),
        "bytes_never_produced": int(np.count_nonzero(ordinary & ~merged & (counts == 0))),
        "rare": int(np.count_nonzero(ordinary & (counts > 0) & (counts < RARE))),
        "of_one_text": int(np.count_nonzero(ordinary & (documents == 1) & (counts >= RARE))),
        "lossy_texts": lossy,
        **_efficiencies(counts[ordinary]),
    }
    top = np.flatnonzero(ordinary & (documents == 1) & (counts >= RARE))
    top = top[np.argsort(-counts[top], kind="stable")]
    result.examples["of_one_text"] = [shown(pieces[i]) for i in top[:10].tolist()]
    result.examples["never_produced"] = [
        shown(pieces[i]) for i in np.flatnonzero(never)[-10:].tolist()
    ]
    share = int(np.count_nonzero(never)) / max(1, int(np.count_nonzero(merged)))
    if lossy:
        result.faults.append(f"{lossy} texts do not come back as they were")
    if injected:
        result.faults.append(f"text becomes the special tokens {', '.join(injected)}")
    if share > MOST_NEVER:
        result.faults.append(f"{share:.1%} of the merged tokens are never produced by these texts")
    return result


def _vocabulary(
    result: Checkup, encoder: Encoder, pieces: Sequence[bytes], special: npt.NDArray[np.bool_]
) -> None:
    """What the vocabulary alone shows. A byte of sentencepiece's that is a piece of its own too is
    no token that cannot be reached: its twin is."""
    texts: list[str] = []
    numbers: list[int] = []
    partial = 0
    for i, piece in enumerate(pieces):
        if special[i]:
            continue
        try:
            texts.append(piece.decode("utf-8"))
            numbers.append(i)
        except UnicodeDecodeError:
            partial += 1
    ids, lengths = encoder.encode_batch(texts)
    starts = np.cumsum(lengths) - lengths
    reached = [
        n == 1 and pieces[ids[at]] == pieces[number]
        for n, at, number in zip(lengths.tolist(), starts.tolist(), numbers, strict=True)
    ]
    missing = sum(bytes([b]) not in set(pieces) for b in range(256))
    digits = {}
    for n in (1, 2, 3):
        have = len({t for t in texts if len(t) == n and t.isascii() and t.isdigit()})
        digits[str(n)] = have
        if have not in (0, 10**n):
            result.faults.append(f"{have} of {10**n} numbers of {n} digits are tokens: holes")
    unreached = [t for t, r in zip(texts, reached, strict=True) if not r]
    result.examples["unreachable"] = [shown(t.encode()) for t in unreached[:10]]
    result.figures |= {
        "vocabulary": len(pieces), "special": int(special.sum()), "partial_utf8": partial,
        "unreachable": len(unreached), "missing_bytes": missing, "digits": digits,
        "longest_token": max(map(len, pieces)),
        "longest_spaces": max((len(t) for t in texts if t and not t.strip(" ")), default=0),
        "longest_newlines": max((len(t) for t in texts if t and not t.strip("\n")), default=0),
        "with_carriage_return": sum("\r" in t for t in texts),
    }  # fmt: skip
    if unreached:
        result.faults.append(f"{len(unreached)} tokens cannot be reached from their own text")
    if missing and encoder.family == "bpe":
        result.faults.append(f"{missing} bytes are no tokens")


def _group(
    result: Checkup, encoder: Encoder, group: Group,
    counts: npt.NDArray[np.int64], documents: npt.NDArray[np.int64],
) -> int:  # fmt: skip
    """Adds one group's figures; the number of its texts that do not come back."""
    ids, lengths = encoder.encode_batch(group.texts)
    counts += np.bincount(ids, minlength=len(counts))
    ends = np.cumsum(lengths)
    lossy = 0
    for text, start, end in zip(
        group.texts, (ends - lengths).tolist(), ends.tolist(), strict=True
    ):  # fmt: skip
        mine = ids[start:end]
        documents[np.unique(mine)] += 1
        lossy += encoder.decode_bytes(mine) != text.encode("utf-8", "replace")
    size = sum(len(t.encode("utf-8", "replace")) for t in group.texts)
    words = sum(len(t.split()) for t in group.texts)
    tokens = int(lengths.sum())
    result.groups[group.name] = {
        "texts": str(len(group.texts)), "bytes": str(size), "tokens": str(tokens),
        "bytes_per_token": f"{size / max(1, tokens):.4f}",
        "tokens_per_word": f"{tokens / max(1, words):.4f}",
    }  # fmt: skip
    return lossy


def _changed(encoder: Encoder, texts: Sequence[str]) -> int:
    """How many of these texts do not come back."""
    ids, lengths = encoder.encode_batch(texts)
    ends = np.cumsum(lengths)
    parts = zip(texts, (ends - lengths).tolist(), ends.tolist(), strict=True)
    return sum(encoder.decode_bytes(ids[a:b]) != t.encode() for t, a, b in parts)


def _random_texts() -> list[str]:
    """Texts of random bytes and random characters of all planes, the same each time."""
    result = []
    for i in range(_RANDOM_TEXTS):
        raw = hashlib.shake_128(f"corpusmill checkup {i}".encode()).digest(64)
        if i % 2:
            result.append(raw.decode("latin-1"))
            continue
        points = (int.from_bytes(raw[k : k + 3], "little") % 0x110000 for k in range(0, 63, 3))
        result.append("".join(chr(p) for p in points if not 0xD800 <= p < 0xE000))
    return result


def _injected(encoder: Encoder) -> list[str]:
    """Special tokens whose string, in a text, becomes their id."""
    names = [n for n in encoder.special_tokens if n]
    ids, lengths = encoder.encode_batch([f"a {n} b{n}" for n in names])
    ends = np.cumsum(lengths)
    found = []
    for name, start, end in zip(names, (ends - lengths).tolist(), ends.tolist(), strict=True):
        if encoder.special_tokens[name] in ids[start:end].tolist():
            found.append(name)
    return found


def _efficiencies(counts: npt.NDArray[np.int64]) -> dict[str, str]:
    """Shannon's and Rényi's entropy of the tokens by the most that the vocabulary allows."""
    used = counts[counts > 0]
    if len(used) < 2:
        return {"shannon_efficiency": "0.0000", "renyi_efficiency": "0.0000"}
    p = used / used.sum()
    most = math.log(len(counts))
    shannon = -float((p * np.log(p)).sum()) / most
    renyi = math.log(float((p**2.5).sum())) / (1 - 2.5) / most
    return {"shannon_efficiency": f"{shannon:.4f}", "renyi_efficiency": f"{renyi:.4f}"}


def shown(piece: bytes) -> str:
    """A piece as text; bytes that are no UTF-8 as ``\\xb8``, so is what cannot be printed."""
    return repr(piece.decode("utf-8", "surrogateescape"))[1:-1].replace(r"\udc", r"\x")


def read_groups(paths: Iterable[Path], column: str | None = None) -> list[Group]:
    """Texts of files: ``.txt`` (one text each), ``.jsonl`` and ``.parquet`` (field ``text``). Each
    file is a group, or, with `column`, each value of it. Raises AssetError on other files."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        for row in rows_of(path):
            name = path.name if column is None else str(row.get(column))
            groups.setdefault(name, []).append(str(row["text"]))
    return [Group(name, texts) for name, texts in sorted(groups.items())]


def rows_of(path: Path) -> Sequence[Mapping[str, Any]]:
    """The rows of one file: see `read_groups`."""
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            rows: list[dict[str, Any]] = pq.read_table(path, partitioning=None).to_pylist()
        elif path.suffix == ".jsonl":
            rows = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
        else:
            rows = [{"text": path.read_text(encoding="utf-8")}]
    except (OSError, ValueError) as error:
        raise AssetError(f"cannot read {path}: {error}") from None
    if rows and "text" not in rows[0]:
        raise AssetError(f"{path} has no field 'text'", hint=f"fields: {', '.join(rows[0])}")
    return rows
