"""The compiled loops of byte-level BPE encoding. Import inside functions only.

A piece is looked up among those seen last, then among all that were seen, by its bytes; only new
ones are merged. Merging takes the pair of the lowest rank, of equal ones the leftmost, as Hugging
Face `tokenizers` does: short pieces by looking at all pairs, long ones with a heap.

A row of the table has, behind a piece's two numbers, its first two ids and, in the last column,
their number and the third id; of more ids, and of long pieces, where they are in the store (low
half) and the bytes in the arena (high half).
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

from .kernel_sizes import COLUMNS, FILLED, FRONT_ROWS, ID_BITS, INLINE, KEPT, NO_PAIR, RANK_BITS
from .piece_kernel import LONG, WALK, look_ahead, same_bytes

_U8, _I32, _I64, _U32, _U64 = types.uint8, types.int32, types.int64, types.uint32, types.uint64

_1, _2, _3, _8, _32 = (np.uint64(n) for n in (1, 2, 3, 8, 32))
_RANK, _ID = np.uint64(RANK_BITS), np.uint64(ID_BITS)
_NO_PAIR, _EMPTY = np.uint64(NO_PAIR), np.uint64(0xFFFFFFFFFFFFFFFF)
_HALF = np.uint64(0xFFFFFFFF)
_BIT, _BYTE, _FILLED = np.uint64(7), np.uint64(40), np.uint64(FILLED - 1)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_FRONT_MASK = np.uint64(FRONT_ROWS - 1)
_WHERE, _LAST = np.uint64(8), np.uint64(255)  # bits of a place in a short piece
_NEVER, _NO_RANK = np.uint32(0xFFFFFFFF), np.uint32(NO_PAIR << 8)
_FAR = np.uint64(40)  # in a long one


@kernel(_U64(array(_U64), array(_U8), _U64, _U64), inline=True)
def rank_of(pairs, filled, left, right):  # type: ignore[no-untyped-def]
    """Rank of the merge of two ids, `NO_PAIR` if there is none: most often `filled` says so, whose
    bits the hashes of all pairs have set."""
    key = left << _ID | right
    h = key * _MIX
    h ^= h >> _32
    if not filled[(h >> _BYTE) & _FILLED] >> np.uint8(h & _BIT) & np.uint8(1):
        return _NO_PAIR
    mask = np.uint64(len(pairs) - 1)
    place = h & mask
    while True:
        slot = pairs[place]
        if slot >> _RANK == key:
            return slot & _NO_PAIR
        if slot == _EMPTY:
            return _NO_PAIR
        place = (place + _1) & mask


@kernel(types.void(out(_U64), out(_U8), array(_I64), array(_I64)))
def enter_pairs(pairs, filled, left, right):  # type: ignore[no-untyped-def]
    """Fills an empty table of pairs (a power of two of slots) and its bits (`FILLED` bytes) with
    merges in the order of their ranks."""
    mask = np.uint64(len(pairs) - 1)
    for rank in range(len(left)):
        key = np.uint64(left[rank]) << _ID | np.uint64(right[rank])
        h = key * _MIX
        h ^= h >> _32
        filled[(h >> _BYTE) & _FILLED] |= np.uint8(1) << np.uint8(h & _BIT)
        place = h & mask
        while pairs[place] != _EMPTY:
            place = (place + _1) & mask
        pairs[place] = key << _RANK | np.uint64(rank)


@kernel(_I64(array(_U64), array(_I64), _I64, out(_U32), _I64), inline=True)
def listed(tokens, following, n, ids, o):  # type: ignore[no-untyped-def]
    """Writes the tokens that are left of `n` to ``ids[o:]``; returns how many."""
    count = np.int64(0)
    k = np.int64(0)
    while k < n:
        ids[o + count] = np.uint32(tokens[k])
        count += 1
        k = following[k]
    return count


@kernel(_I64(array(_U8), _I64, _I64, array(_U32), array(_U32), array(_U64), array(_U8),
             array(_U32), out(_U32), out(_U64), out(_I64), out(_I64), out(_U32), _I64),
        inline=True)  # fmt: skip
def merge_short(  # type: ignore[no-untyped-def]
    data, at, n, byte_ids, byte_ranks, pairs, filled, made, ranks, tokens, following, before, ids, o
):
    """Writes the ids of the `n` bytes at `at`, up to `KEPT`, to ``ids[o:]``; returns how many.
    `byte_ranks` has the rank of each pair of bytes, `made` the id that each merge makes; the four
    arrays before `ids` are for its own use. An entry of `ranks` is a pair's rank with its place, so
    that the least of them is the next."""
    left = np.uint64(0)
    for i in range(n):
        byte = np.uint64(data[at + i])
        tokens[i] = byte_ids[byte]
        following[i] = i + 1
        before[i] = i - 1
        if i:
            rank = np.uint64(byte_ranks[left << _8 | byte])
            ranks[i - 1] = np.uint32(rank << _WHERE | np.uint64(i - 1))
        left = byte
    while True:
        least = _NEVER
        for i in range(n - 1):
            least = min(least, ranks[i])
        if least >= _NO_RANK:
            break
        k = np.int64(least & _LAST)
        token = np.uint64(made[least >> _WHERE])
        gone = following[k]
        after = following[gone]
        tokens[k], following[k] = token, after
        ranks[gone] = ranks[k] = _NEVER
        if after < n:
            before[after] = k
            rank = rank_of(pairs, filled, token, tokens[after])
            ranks[k] = np.uint32(rank << _WHERE | np.uint64(k))
        if k > 0:
            last = before[k]
            rank = rank_of(pairs, filled, tokens[last], token)
            ranks[last] = np.uint32(rank << _WHERE | np.uint64(last))
    return listed(tokens, following, n, ids, o)


@kernel(types.void(out(_U64), _I64, _U64), inline=True)
def push(heap, size, entry):  # type: ignore[no-untyped-def]
    """Adds an entry to a heap of `size` entries."""
    i = size
    while i > 0 and heap[(i - 1) >> 1] > entry:
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = entry


@kernel(_U64(out(_U64), _I64), inline=True)
def pop(heap, size):  # type: ignore[no-untyped-def]
    """Takes the least entry out of a heap of `size` entries."""
    least, entry = heap[0], heap[size - 1]
    i = np.int64(0)
    while True:
        child = 2 * i + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= entry:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = entry
    return least


@kernel(_I64(array(_U8), _I64, _I64, array(_U32), array(_U64), array(_U8), array(_U32), out(_U32),
             out(_U64), out(_I64), out(_I64), out(_U64), out(_U32), _I64))  # fmt: skip
def merge_long(  # type: ignore[no-untyped-def]
    data, at, n, byte_ids, pairs, filled, made, ranks, tokens, following, before, heap, ids, o
):
    """`merge_short` for any length, in n log n steps. An entry of the heap (rank, place) counts
    only as long as the pair at its place has that rank. The heap needs room for a pair a place and
    two new ones a merge."""
    size = np.int64(0)
    for i in range(n):
        ranks[i] = _NO_PAIR
        tokens[i] = byte_ids[data[at + i]]
        following[i] = i + 1
        before[i] = i - 1
        if i:
            rank = rank_of(pairs, filled, tokens[i - 1], tokens[i])
            ranks[i - 1] = rank
            if rank != _NO_PAIR:
                push(heap, size, rank << _FAR | np.uint64(i - 1))
                size += 1
    while size:
        entry = pop(heap, size)
        size -= 1
        k = np.int64(entry & ((_1 << _FAR) - _1))
        if ranks[k] != entry >> _FAR:
            continue
        token = np.uint64(made[ranks[k]])
        gone = following[k]
        after = following[gone]
        tokens[k], following[k] = token, after
        ranks[gone] = ranks[k] = _NO_PAIR
        if after < n:
            before[after] = k
            ranks[k] = rank_of(pairs, filled, token, tokens[after])
        last = before[k]
        if last >= 0:
            ranks[last] = rank_of(pairs, filled, tokens[last], token)
        for place in (k, last):
            if place >= 0 and ranks[place] != _NO_PAIR:
                push(heap, size, np.uint64(ranks[place]) << _FAR | np.uint64(place))
                size += 1
    return listed(tokens, following, n, ids, o)


@kernel(types.void(out(_U64), _U64, _U64, _U64, array(_U8), _I64, _I64, _I64, out(_U32), out(_U8),
                   out(_I64)), inline=True)  # fmt: skip
def enter(table, row, low, high, data, at, n, count, store, arena, state):  # type: ignore[no-untyped-def]
    """Makes a row of a piece whose `count` ids stand at the free end of `store`."""
    stored, used = state[4], state[5]
    table[row], table[row + _1] = low, high
    if count <= INLINE and high < LONG:
        table[row + _2] = np.uint64(store[stored]) | np.uint64(store[stored + 1]) << _32
        table[row + _3] = np.uint64(count) | np.uint64(store[stored + 2]) << _32
    else:
        table[row + _2] = np.uint64(stored) | np.uint64(used) << _32
        table[row + _3] = np.uint64(count)
        state[4] += count
        if high >= LONG:
            for k in range(n):
                arena[used + k] = data[at + k]
            state[5] += n
    state[3] += 1


@kernel(types.void(array(_U8), array(_I64), *WALK, array(_U32), array(_U32), array(_U64),
                   array(_U8), array(_U32), out(_U64), out(_I64), out(_U64), out(_U32), out(_U64),
                   out(_I64), out(_I64), out(_U64), out(_I64), out(_U64), out(_U32), out(_U8),
                   out(_U32), out(_I64)))  # fmt: skip
def encode(  # type: ignore[no-untyped-def]
    data, borders, classes, steps, of_byte, of_class, style, digits, byte_ids, byte_ranks, pairs,
    filled, made, front, stops, numbers, ranks, tokens, following, before, heap, state, table,
    store, arena, ids, ends,
):  # fmt: skip
    """Writes the ids of the texts between `borders` in `data` to `ids`, which has room for as many
    as there are bytes and `INLINE` more, and where each text's end there to `ends`.

    `state` holds: text, byte in it, ids so far; rows of `table`, and what is used of `store` and
    `arena`; the length of a piece. Stops, to be called again with larger arrays, where the table
    would be over half full, store or arena could not take a piece, or one is longer than the arrays
    from `ranks` to `heap`, which has three times their room. These, `front` (`FRONT_ROWS`), `stops`
    (`ROOM`) and `numbers` (three times that) are for its own use.
    """
    mask = np.uint64(len(table) // COLUMNS - 1)
    for near in range(len(front)):
        front[near] = 0
    text, at, o = state[0], state[1], state[2]
    while text < len(ends):
        pieces = look_ahead(
            data, borders, classes, steps, of_byte, of_class, style, digits, text, at, KEPT,
            table, front, stops, numbers,
        )  # fmt: skip
        for piece in range(pieces):
            while at == borders[text + 1]:
                ends[text] = o
                text += 1
            n = stops[piece] - at
            if n > len(ranks):
                state[0], state[1], state[2], state[6] = text, at, o, n
                return
            if n > KEPT:
                o += merge_long(
                    data, at, n, byte_ids, pairs, filled, made, ranks, tokens, following, before,
                    heap, ids, o,
                )  # fmt: skip
                at += n
                continue
            low, high = numbers[3 * piece], numbers[3 * piece + 1]
            place = numbers[3 * piece + 2]
            near = (place & _FRONT_MASK) << _2
            known = front[near] == low and front[near + _1] == high
            if known and high >= LONG:
                known = same_bytes(data, at, arena, np.int64(front[near + _2] >> _32), n)
            if not known:
                while True:
                    row = (place & mask) << _2
                    if table[row + _1] == high and table[row] == low:
                        begin = np.int64(table[row + _2] >> _32)
                        if high < LONG or same_bytes(data, at, arena, begin, n):
                            break
                    elif table[row + _1] == 0:
                        if (
                            np.uint64(2 * state[3]) > mask
                            or state[4] + KEPT > len(store)
                            or state[5] + KEPT > len(arena)
                        ):
                            state[0], state[1], state[2] = text, at, o
                            return
                        count = merge_short(
                            data, at, n, byte_ids, byte_ranks, pairs, filled, made, ranks, tokens,
                            following, before, store, state[4],
                        )  # fmt: skip
                        enter(table, row, low, high, data, at, n, count, store, arena, state)
                        break
                    place += _1
                front[near], front[near + _1] = low, high
                front[near + _2], front[near + _3] = table[row + _2], table[row + _3]
            two, last = front[near + _2], front[near + _3]
            count = np.int64(last & _HALF)
            if count <= INLINE and high < LONG:
                ids[o], ids[o + 1] = np.uint32(two & _HALF), np.uint32(two >> _32)
                ids[o + 2] = np.uint32(last >> _32)
            else:
                begin = np.int64(two & _HALF)
                for k in range(count):
                    ids[o + k] = store[begin + k]
            o += count
            at += n
        while text < len(ends) and at == borders[text + 1]:
            ends[text] = o
            text += 1
    state[0], state[1], state[2] = text, at, o
