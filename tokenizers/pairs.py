r"""Pairs of tokens that no text is ever encoded to, one right after the other.

A model that gives such a pair any probability is wrong; whoever trains may mask it. A pair (a, b)
is listed only if both ways to it are shut:

*Within a piece of the split.* Merging goes by rank, then from the left, and never crosses a border
that is there at the end. What lies between the outer borders of a and b is therefore merged as
though it stood alone: if the bytes of both, merged alone, give anything but a, b, no piece has a, b
within it. This holds for any list of merges.

*Across a border of the split.* `_JOINED` says after which kinds of characters a border can never
come before which others. A token that may end a contraction (``'s``) ends a piece before anything,
and a token whose outer character is not whole may have any.

Beside both, bytes that are UTF-8 in no context (a lead byte, then a letter) follow each other
nowhere. A pair that is not listed may still be impossible: contexts are looked at no further.
Special tokens stand where documents end, next to anything.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corpusmill.pipeline.errors import AssetError, ConfigError

from . import fast
from .bpe_engine import bpe_digest, byte_alphabet
from .splits import BREAK, LETTER, LOWER, NUMBER, SPACE, UPPER, class_table

SCHEMA = "corpusmill/token-pairs/1"
EXACT_UP_TO = 16_384
"""Tokens of a vocabulary up to which every pair is looked at: the bitmap of all is 32 MiB then."""

SAMPLE = 1024
"""How many second tokens are tried after each token of a larger vocabulary."""

ROWS = 256
"""First tokens looked at together: bounds memory."""

KINDS = ("capital", "small", "letter", "mark", "number", "blank", "break", "white", "slash", "sign")
"""Kinds of characters; ``letter`` has no case, ``white`` is white space but blank, CR and LF."""

_LETTERS = ("capital", "small", "letter")
_SIGNS = ("mark", "slash", "sign")
_GPT4 = (
    (_LETTERS, _LETTERS), (("blank", "white"), _LETTERS), (("blank",), _SIGNS), (_SIGNS, _SIGNS),
    ((*_SIGNS, "break", "blank", "white"), ("break",)),
)  # fmt: skip
_JOINED: Mapping[str, Sequence[tuple[Sequence[str], Sequence[str]]]] = {
    "gpt2": (
        (_LETTERS, _LETTERS), (("blank",), (*_LETTERS, "number", *_SIGNS)),
        (("number",), ("number",)), (_SIGNS, _SIGNS),
    ),
    "gpt4": _GPT4, "llama3": _GPT4, "qwen2": _GPT4, "digits1": _GPT4, "digits2": _GPT4,
    "o200k": (
        (_LETTERS, ("small", "letter", "mark")), (("capital",), ("capital",)),
        (("mark",), ("mark",)),
        (("blank", "white"), (*_LETTERS, "mark")), (("blank",), _SIGNS), (("sign",), _SIGNS),
        (("slash",), ("slash",)), (("sign", "slash", "break", "blank", "white"), ("break",)),
    ),
}  # fmt: skip
"""By split: no piece ends in a character of the first kinds if one of the second kinds comes next,
contractions aside. Each follows from a repetition that takes all it can get."""

_CONTRACTIONS = ("'s", "'d", "'m", "'t", "'ll", "'ve", "'re")
_CONTRACTED, _GAP_END, _TAIL, _OPEN = range(len(KINDS), len(KINDS) + 4)
"""Kinds of ends: of a contraction; of two or more characters of white space; the rest of a
character that began before the token; and one, two or three bytes short of a character."""

_GAP, _HEAD, _REST = range(len(KINDS), len(KINDS) + 3)
"""Kinds of beginnings: two or more characters of white space; a character that the token does not
end; the rest of one. Of white space before something else, the last character begins a new piece:
so a gap ends no piece before anything else, and begins none after white space. CR and LF do
otherwise, save with ``gpt2``, and make no gap there."""


def joined(split: str) -> npt.NDArray[np.bool_]:
    """Whether a split never has a border after one kind of character (row) and before another."""
    table = np.zeros((len(KINDS), len(KINDS)), dtype=np.bool_)
    for before, after in _JOINED[split]:
        for x in before:
            table[KINDS.index(x), [KINDS.index(y) for y in after]] = True
    return table


def kind_of(character: str) -> int:
    """The number of a character's kind in `KINDS`."""
    if character in "/ ":
        return KINDS.index("slash" if character == "/" else "blank")
    flags = int(class_table()[ord(character)])
    case = flags & (UPPER | LOWER)
    names = {UPPER: "capital", LOWER: "small", UPPER | LOWER: "letter"}
    if case:
        return KINDS.index(names[case] if flags & LETTER else "mark")
    for flag, name in ((NUMBER, "number"), (BREAK, "break"), (SPACE, "white")):
        if flags & flag:
            return KINDS.index(name)
    return KINDS.index("sign")


def _borders(split: str) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """By kinds of an end (row) and a beginning: whether a border can come between them, and whether
    they can follow each other at all."""
    known = len(KINDS)
    white = [name in ("blank", "break", "white") for name in KINDS]
    solid = [not is_white for is_white in white]
    follows = np.zeros((_OPEN + 3, _REST + 4), dtype=np.bool_)
    follows[: _TAIL + 1, : _HEAD + 1] = True
    follows[_GAP_END, :known][solid] = False
    border = follows.copy()
    border[:known, :known] = ~joined(split)
    border[_GAP_END, :known][white] = border[KINDS.index("white"), :known][white]
    border[[KINDS.index("blank"), KINDS.index("white"), _GAP_END], _GAP] = False
    if split == "gpt2":
        border[KINDS.index("break"), _GAP] = False
    follows[_TAIL, _REST:] = True
    follows[_OPEN:, _REST] = True
    for missing in range(3):
        follows[_OPEN + missing, _REST + 1 + missing] = True
    return border, follows


def end_kind(piece: bytes, split: str) -> int:
    """How a token ends: a kind of `KINDS`, `_CONTRACTED`, `_GAP_END`, `_TAIL`, or `_OPEN` and
    one less than the bytes that its last character lacks."""
    at = len(piece) - 1
    while at >= 0 and piece[at] & 0xC0 == 0x80:
        at -= 1
    if at < 0:
        return _TAIL
    missing = _width(piece[at]) - (len(piece) - at)
    if missing > 0:
        return _OPEN + missing - 1
    text = piece.decode("utf-8", "replace")
    low = text.lower()
    if low.endswith(_CONTRACTIONS) or any(c.endswith(low) for c in _CONTRACTIONS):
        return _CONTRACTED
    return _GAP_END if _is_gap(text[-2:], text[-1], split) else kind_of(text[-1])


def beginning_kind(piece: bytes, split: str) -> int:
    """How a token begins: a kind of `KINDS`, `_GAP`, `_HEAD`, `_REST` if it has nothing but the
    rest of a character, or that and how many bytes of one come before something else."""
    rest = 0
    while rest < len(piece) and piece[rest] & 0xC0 == 0x80:
        rest += 1
    if rest:
        return _REST if rest == len(piece) or rest > 3 else _REST + rest
    if len(piece) < _width(piece[0]):
        return _HEAD
    text = piece.decode("utf-8", "replace")
    return _GAP if _is_gap(text[:2], text[0], split) else kind_of(text[0])


def _is_gap(text: str, outer: str, split: str) -> bool:
    """Whether these two characters are white space, and the outer one no CR or LF where such are
    apart."""
    if len(text) < 2 or (split != "gpt2" and outer in "\r\n"):
        return False
    return all(int(class_table()[ord(c)]) & SPACE for c in text)


def _width(lead: int) -> int:
    """Bytes of the character that a byte begins."""
    return 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)


@dataclass(frozen=True)
class Pairs:
    """A tokenizer.json, made ready for the question."""

    split: str
    pieces: Sequence[bytes]
    special: npt.NDArray[np.bool_]
    states: tuple[npt.NDArray[Any], ...]
    """`pair_kernel.keep_apart`'s ``begins``, ``steps``, ``last`` and ``first``."""
    merges: tuple[npt.NDArray[Any], ...]
    """Its ``of_left``, ``seconds`` and ``ranks``."""

    @classmethod
    def of(cls, model: Mapping[str, Any]) -> Pairs:
        """Raises ConfigError if the tokenizer is none whose split and merging are known."""
        alphabet = byte_alphabet()
        split = fast.suits(model, alphabet)
        if split is None:
            raise ConfigError(
                "impossible pairs are known of byte-level BPE with a split by name only",
                hint="one that tokenizers.bpe made, or with the same parts",
            )
        vocab: Mapping[str, int] = model["model"]["vocab"]
        special = np.zeros(1 + max(vocab.values()), dtype=np.bool_)
        special[[t["id"] for t in model["added_tokens"]]] = True
        pieces = [b""] * len(special)
        for token, i in vocab.items():
            if not special[i]:
                pieces[i] = bytes(alphabet[c] for c in token)
        merges = [(vocab[a], vocab[b], vocab[a + b]) for a, b in model["model"]["merges"]]
        single = {byte: vocab[letter] for letter, byte in alphabet.items()}
        return cls(
            split, pieces, special, _states(pieces, merges, single), _by_left(merges, special)
        )

    def impossible(
        self, lefts: npt.NDArray[np.int32], rights: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.bool_]:
        """Of every first token (row) and second token: whether they can never follow each other."""
        from .pair_kernel import keep_apart

        border, follows = _borders(self.split)
        ordinary = [~self.special[lefts], ~self.special[rights]]
        ends = np.array([end_kind(self.pieces[i] or b"?", self.split) for i in lefts.tolist()])
        begins = np.array(
            [beginning_kind(self.pieces[i] or b"?", self.split) for i in rights.tolist()]
        )
        table = (~border[ends[:, None], begins]).astype(np.uint8)
        follow = follows[ends[:, None], begins]
        table[~follow] = 0
        keep_apart(lefts, rights, *self.states, *self.merges, table)
        found: npt.NDArray[np.bool_] = (table > 0) | ~follow
        return found & ordinary[0][:, None] & ordinary[1]


def _by_left(
    merges: Sequence[tuple[int, int, int]], special: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[Any], ...]:
    """Merges by their left part, then their right part."""
    order = sorted((a, b, rank) for rank, (a, b, _) in enumerate(merges))
    columns = np.array(order, dtype=np.int64).reshape(-1, 3)
    of_left = np.searchsorted(columns[:, 0], np.arange(len(special) + 1)).astype(np.int64)
    return of_left, *(np.ascontiguousarray(columns[:, k], dtype=np.int32) for k in (1, 2))


def _states(
    pieces: Sequence[bytes], merges: Sequence[tuple[int, int, int]], single: Mapping[int, int]
) -> tuple[npt.NDArray[Any], ...]:
    """What each token goes through when its bytes are merged alone."""
    from .pair_kernel import NONE

    ranks = {(a, b): (rank, made) for rank, (a, b, made) in enumerate(merges)}
    begins = [0]
    rows: list[tuple[int, int, int]] = []
    for token, piece in enumerate(pieces):
        symbols = [single[byte] for byte in piece] or [token]
        while True:
            found = [
                (*ranks[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in ranks
            ]
            rank, made, at = min(found, key=lambda f: (f[0], f[2]), default=(NONE, 0, 0))
            rows.append((rank, symbols[-1], symbols[0]))
            if not found:
                break
            symbols[at : at + 2] = [made]
        begins.append(len(rows))
    columns = np.array(rows, dtype=np.int32)
    return np.array(begins, dtype=np.int64), *(columns[:, k].copy() for k in range(3))


def sampled(size: int) -> npt.NDArray[np.int32]:
    """The second tokens to try: all, or `SAMPLE` of a larger vocabulary, by keyed hashes."""
    if size <= EXACT_UP_TO:
        return np.arange(size, dtype=np.int32)
    keys = [hashlib.sha256(f"corpusmill pairs {i}".encode()).digest() for i in range(size)]
    return np.array(sorted(sorted(range(size), key=keys.__getitem__)[:SAMPLE]), dtype=np.int32)


def write_pairs(source: Path, out: Path) -> dict[str, Any]:
    """Writes a row for each token of the tokenizer in `source` (its folder or its tokenizer.json)
    to the Parquet file `out`: ``id``, ``impossible`` (how many of the tokens that were tried can
    never follow it), and ``never``, a bit for each token, the lowest of a byte first; it is null
    where only a sample was tried. What it was made of is in the metadata and is returned: there
    ``tried`` has the number of second tokens, and ``exact`` says whether that is all. Raises
    AssetError where there is no such file, ConfigError on another kind of tokenizer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = source / "tokenizer.json" if source.is_dir() else source
    try:
        model = json.loads(path.read_bytes())
        pairs = Pairs.of(model)
    except OSError as error:
        raise AssetError(f"cannot read the tokenizer {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise AssetError(f"{path} is no tokenizer.json of a byte-level BPE: {error!r}") from None
    size = len(pairs.pieces)
    rights = sampled(size)
    exact = len(rights) == size
    counts: list[int] = []
    bits: list[bytes | None] = []
    for table in _tables(pairs, rights):
        counts += np.count_nonzero(table, axis=1).tolist()
        packed = np.packbits(table, axis=1, bitorder="little")
        bits += [row.tobytes() for row in packed] if exact else [None] * len(table)
    about = {
        "schema": SCHEMA, "tokenizer": bpe_digest(model), "split": pairs.split, "tokens": size,
        "tried": len(rights), "exact": exact, "impossible": sum(counts),
        "share": f"{sum(counts) / (size * len(rights)):.4f}",
    }  # fmt: skip
    columns = {
        "id": pa.array(range(size), pa.int32()), "impossible": pa.array(counts, pa.int32()),
        "never": pa.array(bits, pa.binary()),
    }  # fmt: skip
    written = io.BytesIO()
    meta = {"corpusmill": json.dumps(about, sort_keys=True)}
    pq.write_table(pa.table(columns).replace_schema_metadata(meta), written, compression="zstd")
    out.write_bytes(written.getvalue())
    return about


def _tables(pairs: Pairs, rights: npt.NDArray[np.int32]) -> Iterator[npt.NDArray[np.bool_]]:
    """`Pairs.impossible` of all tokens, `ROWS` at a time."""
    every = np.arange(len(pairs.pieces), dtype=np.int32)
    for at in range(0, len(every), ROWS):
        yield pairs.impossible(every[at : at + ROWS], rights)
