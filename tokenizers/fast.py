"""Byte-level BPE by loops of our own (`encode_kernel`), over texts that lie in one buffer.

`suits` says whether a tokenizer.json is one that they were made for; `Loops` encodes. Nothing here
may be believed before its ids were compared with Hugging Face's for the same vocabulary: see
`corpusmill.tokenizers.encode`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from corpusmill.stages.compiled import is_kept

from . import kernel_sizes as sizes
from .splits import PATTERNS, walk_of

MOST_IDS, MOST_MERGES = 1 << 20, (1 << 24) - 1
"""Limits of the table of pairs: see `kernel_sizes.RANK_BITS`."""

SLICE_BYTES = 8 << 20
"""Bytes of text at a time: bounds the room for ids, and changes nothing."""

MOST_ROWS = 1 << 22
"""Rows of the table of pieces (32 bytes each) at most, half of them in use. When it is full, it is
emptied: what it holds is only what has been worked out already."""

_FIRST_ROWS = 1 << 18
_PLAIN = {
    "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
    "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
}  # fmt: skip

_NO_SLOT = 0xFFFFFFFFFFFFFFFF
Bytes = npt.NDArray[np.uint8]
Borders = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int64]


def suits(model: Mapping[str, Any], alphabet: Mapping[str, int]) -> str | None:
    """The name of the split of a tokenizer.json, if it is byte-level BPE as `tokenizers.bpe` makes
    it: one of the named patterns, all bytes, no normaliser, no added tokens but special ones."""
    bpe = model["model"]
    pre = model.get("pre_tokenizer") or {}
    steps = pre.get("pretokenizers", []) if pre.get("type") == "Sequence" else []
    if len(steps) != 2 or steps[0].get("type") != "Split" or steps[1].get("type") != "ByteLevel":
        return None
    split, letters = steps
    pattern = split["pattern"].get("Regex")
    named = [name for name, known in PATTERNS.items() if known == pattern]
    plain = (
        bpe.get("type") == "BPE"
        and all(bpe.get(key) == value for key, value in _PLAIN.items())
        and (split["behavior"], split["invert"]) == ("Isolated", False)
        and (letters["add_prefix_space"], letters["use_regex"]) == (False, False)
        and model.get("normalizer") is None
        and all(t["special"] for t in model["added_tokens"])
        and len(bpe["vocab"]) <= MOST_IDS
        and len(bpe["merges"]) <= MOST_MERGES
        and alphabet.keys() <= bpe["vocab"].keys()
    )
    return named[0] if named and plain else None


@cache
def compiled() -> bool:
    """Whether this machine has compiled the loops; where it has not, that takes seconds."""
    from . import encode_kernel, piece_kernel

    return is_kept(encode_kernel.__name__) and is_kept(piece_kernel.__name__)


class Loops:
    """One vocabulary. Keeps the ids of pieces that it has met; they do not depend on anything."""

    def __init__(self, model: Mapping[str, Any], split: str, alphabet: Mapping[str, int]) -> None:
        from .encode_kernel import encode, enter_pairs
        from .piece_kernel import refill

        self._encode, self._refill = encode, refill
        self._walk = walk_of(split)
        vocab: Mapping[str, int] = model["model"]["vocab"]
        merges: Sequence[tuple[str, str]] = model["model"]["merges"]
        self._byte_ids = np.zeros(256, dtype=np.uint32)
        for letter, byte in alphabet.items():
            self._byte_ids[byte] = vocab[letter]
        left = np.array([vocab[a] for a, _ in merges], dtype=np.int64)
        right = np.array([vocab[b] for _, b in merges], dtype=np.int64)
        made = np.array([vocab[a + b] for a, b in merges], dtype=np.uint32)
        pairs = np.full(1 << max(10, (2 * len(merges)).bit_length()), _NO_SLOT, dtype=np.uint64)
        filled = np.zeros(sizes.FILLED, dtype=np.uint8)
        enter_pairs(pairs, filled, left, right)
        self._merges = (self._byte_ranks(left, right), pairs, filled, made)
        self._table = np.zeros(_FIRST_ROWS * sizes.COLUMNS, dtype=np.uint64)
        self._store = np.zeros(1 << 16, dtype=np.uint32)
        self._arena = np.zeros(1 << 16, dtype=np.uint8)
        self._used = [0, 0, 0]  # rows of the table, and how much of store and arena
        self._room = np.zeros(0, dtype=np.uint32)
        self._ahead = (
            np.zeros(sizes.FRONT_ROWS * sizes.COLUMNS, dtype=np.uint64),
            np.zeros(sizes.ROOM, dtype=np.int64), np.zeros(3 * sizes.ROOM, dtype=np.uint64),
        )  # fmt: skip
        self._piece = _room_for_piece(sizes.KEPT)

    def _byte_ranks(self, left: Numbers, right: Numbers) -> npt.NDArray[np.uint32]:
        """The rank of the merge of each pair of bytes."""
        byte_of = np.full(1 + max(left.max(initial=0), right.max(initial=0), 255), -1)
        known = self._byte_ids < len(byte_of)
        byte_of[self._byte_ids[known]] = np.flatnonzero(known)
        places = byte_of[left] << 8 | byte_of[right]
        ranks = np.full(1 << 16, sizes.NO_PAIR, dtype=np.uint32)
        both = (byte_of[left] >= 0) & (byte_of[right] >= 0)
        ranks[places[both]] = np.flatnonzero(both)
        return ranks

    def encode(self, data: Bytes, borders: Borders) -> tuple[npt.NDArray[np.uint32], Borders]:
        """Ids of the texts between `borders` in `data` one after the other, and the number of
        ids of each. The texts must be valid UTF-8."""
        parts = []
        lengths = np.zeros(len(borders) - 1, dtype=np.int64)
        for first, past in _slices(borders):
            ids, ends = self._encode_slice(data, borders[first : past + 1])
            lengths[first:past] = np.diff(ends, prepend=0)
            parts.append(ids)
        whole = np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint32)
        return whole, lengths

    def _encode_slice(
        self, data: Bytes, borders: Borders
    ) -> tuple[npt.NDArray[np.uint32], Borders]:
        need = int(borders[-1] - borders[0]) + sizes.INLINE
        if len(self._room) < need:
            self._room = np.empty(need, dtype=np.uint32)
        ends = np.zeros(len(borders) - 1, dtype=np.int64)
        state = np.array([0, borders[0], 0, *self._used, 0], dtype=np.int64)
        while True:
            self._encode(
                data, borders, *self._walk, self._byte_ids, *self._merges, *self._ahead,
                *self._piece, state, self._table, self._store, self._arena, self._room, ends,
            )  # fmt: skip
            self._used = state[3:6].tolist()
            if state[0] == len(ends):
                return self._room[: int(state[2])].copy(), ends
            self._make_room(int(state[6]))
            state[3:6] = self._used

    def _make_room(self, longest: int) -> None:
        """Enlarges what is full, or empties the table if it may not grow."""
        if longest > len(self._piece[0]):
            self._piece = _room_for_piece(longest)
        rows, stored, used = self._used
        if 2 * rows > len(self._table) // sizes.COLUMNS - 1:
            if len(self._table) // sizes.COLUMNS >= MOST_ROWS:
                self._table.fill(0)
                self._used = [0, 0, 0]
                return
            larger = np.zeros(2 * len(self._table), dtype=np.uint64)
            self._refill(larger, self._table)
            self._table = larger
        if stored + sizes.KEPT > len(self._store):
            self._store = np.concatenate([self._store, np.zeros_like(self._store)])
        if used + sizes.KEPT > len(self._arena):
            self._arena = np.concatenate([self._arena, np.zeros_like(self._arena)])


def _room_for_piece(size: int) -> tuple[npt.NDArray[Any], ...]:
    """What merging a piece of `size` bytes needs: see `encode_kernel.encode`."""
    kinds = (np.uint32, np.uint64, np.int64, np.int64)
    return (*(np.empty(size, dtype=k) for k in kinds), np.empty(3 * size, dtype=np.uint64))


def _slices(borders: Borders) -> Iterator[tuple[int, int]]:
    """First and past-the-last numbers of texts that have at least `SLICE_BYTES` together, at the
    end less."""
    first = 0
    while first < len(borders) - 1:
        past = int(np.searchsorted(borders, borders[first] + SLICE_BYTES, side="left"))
        past = min(max(past, first + 1), len(borders) - 1)
        yield first, past
        first = past
