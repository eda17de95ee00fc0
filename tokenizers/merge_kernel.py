"""The compiled loop of BPE training: the commonest pair of the counted pieces is merged, again
and again. Import inside functions only.

The order is that of Hugging Face `BpeTrainer` (tokenizers 0.23): of equally common pairs the one
with the smaller ids; a pair keeps its count when it has been merged, and if another merge makes it
anew (two ways lead to the same token) it is merged again at once and takes its later rank; a
pair that only became rarer stays in the queue under its old count and is looked at again when
that comes up. So the merges are equal, not only as good.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.wide import fetch

_I32, _I64, _U64 = types.int32, types.int64, types.uint64

WORD = 4
"""Numbers in the row of a piece."""

AHEAD = 8
"""How many pieces ahead memory is asked for symbols."""

BATCH = 1024
"""Changes of pairs that are worked out before the first of them is entered."""

_STEP = np.uint64(0xD6E8FEB86659FD93)
_32 = np.uint64(32)
_PRIME = np.int64((1 << 31) - 1)


@kernel(_I64(_U64, _I64), inline=True)
def place_of(key, size):  # type: ignore[no-untyped-def]
    """Where a key's search begins in a table of `size` (a power of two) slots."""
    h = key * _STEP
    h = (h ^ (h >> _32)) * _STEP
    return np.int64((h ^ (h >> _32)) & np.uint64(size - 1))


@kernel(_I64(array(_U64), array(_I32), _U64), inline=True)
def find(keys, slots, key):  # type: ignore[no-untyped-def]
    """The number of a token, or -1 - the slot where it would be entered."""
    size = len(slots)
    place = place_of(key, size)
    while True:
        n = slots[place]
        if n == 0:
            return -1 - place
        if keys[n - 1] == key:
            return np.int64(n - 1)
        place = (place + 1) & (size - 1)


@kernel(_I64(array(_I64), _I64), inline=True)
def row_of(table, key):  # type: ignore[no-untyped-def]
    """Where the row of a pair begins in `table`, or where it would be entered."""
    rows = len(table) >> 2
    place = place_of(np.uint64(key), rows)
    while table[4 * place] != key and table[4 * place] != 0:
        place = (place + 1) & (rows - 1)
    return 4 * place


@kernel(_I64(out(_I64), _I64, array(_I64), _I64, _I64, _I64), inline=True)
def note(changes, n, table, pair, amount, word):  # type: ignore[no-untyped-def]
    """Adds a change to `n` others: of the count of a pair, by the piece `word`; and asks memory for
    the pair's row. Returns how many there are."""
    changes[3 * n], changes[3 * n + 1], changes[3 * n + 2] = pair, amount, word
    fetch(table, np.uint64(4 * place_of(np.uint64(pair), len(table) >> 2)))
    return n + 1


@kernel(types.boolean(_I64, _U64, _I64, _U64), inline=True)
def before(count, key, other_count, other_key):  # type: ignore[no-untyped-def]
    """Whether one entry of the queue comes before another."""
    return count > other_count or (count == other_count and key < other_key)


@kernel(types.void(out(_I64), out(_U64), _I64), inline=True)
def sift_up(counts, keys, i):  # type: ignore[no-untyped-def]
    """Restores the heap after an entry was added at `i`."""
    count, key = counts[i], keys[i]
    while i > 0:
        up = (i - 1) >> 1
        if not before(count, key, counts[up], keys[up]):
            break
        counts[i], keys[i] = counts[up], keys[up]
        i = up
    counts[i], keys[i] = count, key


@kernel(types.void(out(_I64), out(_U64), _I64), inline=True)
def sift_down(counts, keys, n):  # type: ignore[no-untyped-def]
    """Restores the heap of `n` entries after its first was replaced."""
    if n == 0:
        return
    count, key = counts[0], keys[0]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and before(counts[child + 1], keys[child + 1], counts[child], keys[child]):
            child += 1
        if not before(counts[child], keys[child], count, key):
            break
        counts[i], keys[i] = counts[child], keys[child]
        i = child
    counts[i], keys[i] = count, key


@kernel(_I64(_I64, _I64), inline=True)
def times_mod(a, b):  # type: ignore[no-untyped-def]
    """a * b modulo the prime 2^31 - 1."""
    return a * b % _PRIME


@kernel(_I64(out(_I32), array(_I64), array(_I64), out(_I64), out(_I64), out(_I64), _I64, _I64,
             _I64, out(_I32)))  # fmt: skip
def train(symbols, begins, counts, hash_a, hash_b, powers, known, vocab_size, least, merges):  # type: ignore[no-untyped-def]
    """Merges until `vocab_size` tokens are there or no pair occurs `least` times.

    `symbols` are the pieces' tokens, piece w at ``begins[w]``, which occurs ``counts[w]`` times;
    they are changed. The first `known` tokens have two polynomial hashes modulo 2^31 - 1, and
    the powers of their bases for the token's length in ``powers[2 * t]`` and ``[2 * t + 1]``: with
    them a token that another pair makes already is recognised. `merges` takes (left, right,
    token); returns how many, or -1 if there are more than it has room for.
    """
    words = len(counts)
    # a row for each piece, as visits know no order: where it begins, its length, its count
    pieces = np.empty(WORD * words, dtype=np.int64)
    for i in range(words):
        pieces[WORD * i] = begins[i]
        pieces[WORD * i + 1] = begins[i + 1] - begins[i]
        pieces[WORD * i + 2] = counts[i]
    # a row for each pair, found by its hash: key (0: none), count, first node of its list, and
    # the round in which it was touched last with the piece that was added last
    table = np.zeros(4 << 17, dtype=np.int64)
    pairs = np.int64(0)
    # the pieces that a pair occurs in: linked nodes
    node_word = np.empty(1 << 16, dtype=np.int32)
    node_next = np.empty(1 << 16, dtype=np.int32)
    nodes = np.int64(0)
    free = np.int64(-1)
    touched = np.empty(1 << 12, dtype=np.int64)
    changes = np.empty(3 << 12, dtype=np.int64)
    heap_counts = np.empty(1 << 16, dtype=np.int64)
    heap_keys = np.empty(1 << 16, dtype=np.uint64)
    heap = np.int64(0)
    # tokens by their hash
    token_size = np.int64(4)
    while token_size < 4 * vocab_size:
        token_size *= 2
    token_slots = np.zeros(token_size, dtype=np.int32)
    token_keys = np.zeros(vocab_size + 1, dtype=np.uint64)
    for t in range(known):
        key = np.uint64(hash_a[t]) << _32 | np.uint64(hash_b[t])
        token_keys[t] = key
        n = find(token_keys, token_slots, key)
        if n < 0:
            token_slots[-1 - n] = t + 1

    made = np.int64(0)
    left = right = token = np.int64(0)
    round_ = np.int64(0)
    waiting = np.empty(1 << 16, dtype=np.int32)  # pieces of this round; the first takes all
    waits = np.int64(words)
    while True:
        touch = np.int64(0)
        at = np.int64(0)
        while at < waits:
            # -- what changes in some pieces; the rows of the pairs are asked for meanwhile -------
            changed = np.int64(0)
            while at < waits and changed < BATCH:
                word = at if round_ == 0 else np.int64(waiting[at])
                if round_ > 0 and at + 2 * AHEAD < waits:
                    fetch(pieces, np.uint64(WORD * np.int64(waiting[at + 2 * AHEAD])))
                    fetch(symbols, np.uint64(pieces[WORD * np.int64(waiting[at + AHEAD])]))
                at += 1
                begin, n = pieces[WORD * word], pieces[WORD * word + 1]
                amount = pieces[WORD * word + 2]
                if 3 * (changed + 4 * n) > len(changes):
                    more_changes = np.empty(6 * (changed + 4 * n), dtype=np.int64)
                    for i in range(len(changes)):
                        more_changes[i] = changes[i]
                    changes = more_changes
                if round_ == 0:
                    for i in range(begin, begin + n - 1):
                        pair = np.int64(symbols[i]) << 32 | np.int64(symbols[i + 1])
                        changed = note(changes, changed, table, pair, amount, word)
                    continue
                r = np.int64(0)
                p = np.int64(0)
                while r < n:
                    s = np.int64(symbols[begin + r])
                    if s != left or r + 1 >= n or symbols[begin + r + 1] != right:
                        symbols[begin + p] = s
                        p += 1
                        r += 1
                        continue
                    r += 2
                    if p > 0:
                        beside = np.int64(symbols[begin + p - 1]) << 32
                        changed = note(changes, changed, table, beside | left, -amount, word)
                        changed = note(changes, changed, table, beside | token, amount, word)
                    if r < n:
                        beside = np.int64(symbols[begin + r])
                        pair = right << 32 | beside
                        changed = note(changes, changed, table, pair, -amount, word)
                        pair = token << 32 | beside
                        changed = note(changes, changed, table, pair, amount, word)
                    symbols[begin + p] = token
                    p += 1
                pieces[WORD * word + 1] = p
            # -- and is entered ------------------------------------------------------------------
            for c in range(changed):
                pair, amount, word = changes[3 * c], changes[3 * c + 1], changes[3 * c + 2]
                row = row_of(table, pair)
                if table[row] == 0:
                    if 8 * (pairs + 1) > len(table):
                        older = table
                        table = np.zeros(2 * len(older), dtype=np.int64)
                        for q in range(0, len(older), 4):
                            if older[q]:
                                row = row_of(table, older[q])
                                for i in range(4):
                                    table[row + i] = older[q + i]
                        row = row_of(table, pair)
                    pairs += 1
                    table[row] = pair
                    table[row + 2] = -1
                    table[row + 3] = -1
                table[row + 1] += amount
                if amount < 0:
                    continue
                last = table[row + 3]
                table[row + 3] = round_ << 32 | word
                if last >> 32 != round_:
                    if touch == len(touched):
                        more_touched = np.empty(2 * touch, dtype=np.int64)
                        for i in range(touch):
                            more_touched[i] = touched[i]
                        touched = more_touched
                    touched[touch] = pair
                    touch += 1
                head = table[row + 2]
                if head >= 0 and last & 0xFFFFFFFF == word:
                    continue
                if free >= 0:
                    node = free
                    free = np.int64(node_next[node])
                else:
                    if nodes == len(node_word):
                        more_nodes = np.empty(2 * nodes, dtype=np.int32)
                        more_nexts = np.empty(2 * nodes, dtype=np.int32)
                        for i in range(nodes):
                            more_nodes[i] = node_word[i]
                            more_nexts[i] = node_next[i]
                        node_word = more_nodes
                        node_next = more_nexts
                    node = nodes
                    nodes += 1
                node_word[node] = word
                node_next[node] = head
                table[row + 2] = node
        for q in range(touch):
            row = row_of(table, touched[q])
            if table[row + 1] >= least:  # others cannot be merged, unless they are made anew
                if heap == len(heap_counts):
                    more_counts = np.empty(2 * heap, dtype=np.int64)
                    more_queue = np.empty(2 * heap, dtype=np.uint64)
                    for i in range(heap):
                        more_counts[i] = heap_counts[i]
                        more_queue[i] = heap_keys[i]
                    heap_counts = more_counts
                    heap_keys = more_queue
                heap_counts[heap] = table[row + 1]
                heap_keys[heap] = np.uint64(touched[q])
                sift_up(heap_counts, heap_keys, heap)
                heap += 1
        round_ += 1
        # -- the next pair -----------------------------------------------------------------
        if known >= vocab_size:
            return made
        number = np.int64(-1)
        while heap > 0:
            number = row_of(table, np.int64(heap_keys[0]))
            total = table[number + 1]
            unused = table[number + 2] >= 0  # else another entry of the pair has been used
            if unused and heap_counts[0] != total >= least:
                heap_counts[0] = total  # it became rarer
                sift_down(heap_counts, heap_keys, heap)
                continue
            heap -= 1
            heap_counts[0], heap_keys[0] = heap_counts[heap], heap_keys[heap]
            sift_down(heap_counts, heap_keys, heap)
            if unused and total >= least:
                break
            number = np.int64(-1)
        if number < 0:
            return made
        left, right = table[number] >> 32, table[number] & 0xFFFFFFFF
        a = (times_mod(hash_a[left], powers[2 * right]) + hash_a[right]) % _PRIME
        b = (times_mod(hash_b[left], powers[2 * right + 1]) + hash_b[right]) % _PRIME
        key = np.uint64(a) << _32 | np.uint64(b)
        found = find(token_keys, token_slots, key)
        if found < 0:
            token = known
            token_keys[token] = key
            token_slots[-1 - found] = token + 1
            hash_a[token], hash_b[token] = a, b
            powers[2 * token] = times_mod(powers[2 * left], powers[2 * right])
            powers[2 * token + 1] = times_mod(powers[2 * left + 1], powers[2 * right + 1])
            known += 1
        else:
            token = found
        if made == len(merges) // 3:
            return -1
        merges[3 * made], merges[3 * made + 1], merges[3 * made + 2] = left, right, token
        made += 1
        node = table[number + 2]
        table[number + 2] = -1
        waits = np.int64(0)
        while node >= 0:
            if waits == len(waiting):
                more_waiting = np.empty(2 * waits, dtype=np.int32)
                for i in range(waits):
                    more_waiting[i] = waiting[i]
                waiting = more_waiting
            waiting[waits] = node_word[node]
            waits += 1
            following = np.int64(node_next[node])
            node_next[node] = free
            free, node = node, following
