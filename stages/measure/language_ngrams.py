"""The compiled loops of our own language model: letters by script, n-grams, a linear layer.

A text is first reduced to the letters of one group of scripts (`kept`), so that Latin names and
code in a Korean page do not speak for English. Every n-gram of 1 to 4 letters, with a blank at the
ends of words, is hashed to a row of whole numbers; the mean row times one column a language gives
the scores (the model of Joulin et al. 2017, "Bag of Tricks for Efficient Text Classification",
section 2, without words). All sums are of whole numbers, so that the result is the same on any
machine; single precision holds them exactly (below 2 ** 24) and is what processors do fastest.
Import inside functions only.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

ORDER = 4
"""Longest n-gram, in letters, blanks included."""
CHUNK = 120
"""Letters of a piece whose language is judged by itself, for the share of a second language."""
SMALLEST_CHUNK = 40
GROUPS = 64
ONE = 1 << 20
"""Probabilities are in units of 1 / ONE."""

_I8, _I64, _U32, _F32 = types.int8, types.int64, types.uint32, types.float32
SKIP = np.uint32(0x200000)
"""Entry of a character that is as if it were not there."""
_LATIN = 1


@kernel(types.void(array(_U32), _I64, _I64, array(_U32), out(_U32), out(_U32), out(_I64)))
def kept(codes, first, end, letters, main, rest, found):  # type: ignore[no-untyped-def]
    """Letters of ``codes[first:end]`` that count, in `main`, and the others, in `rest`.

    `letters` is the table of `language_scripts.py`. `found` becomes: length of main, length of
    rest, group of main, its letters, letters of rest, then letters by group. Both begin with a
    blank (0) and have one after each word. The group that counts is the non-Latin one with the
    most UTF-8 bytes if it has a quarter of the letters' bytes or more, else Latin, else the largest
    there is.
    """
    weight = np.zeros(GROUPS, np.int64)
    found[:] = 0
    last = np.uint32(0)
    for i in range(first, end):
        code = codes[i]
        entry = letters[code]
        if entry == 0 or entry == SKIP:
            continue
        if entry >> 24 != 0:
            last = entry >> 24
        weight[last] += 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        found[5 + last] += 1
    weight[0] = 0
    found[5] = 0
    best = 0
    for g in range(1, GROUPS):
        if g != _LATIN and weight[g] > 0 and (best == 0 or weight[g] > weight[best]):
            best = g
    whole = 0  # weight.sum() would have every process that loads this kernel import scipy
    for g in range(GROUPS):
        whole += weight[g]
    if best == 0 or (4 * weight[best] < whole and weight[_LATIN] > 0):
        best = _LATIN
    main[0] = 0
    rest[0] = 0
    m = 1
    r = 1
    last = np.uint32(0)
    others = whole > weight[best]
    for i in range(first, end):
        entry = letters[codes[i]]
        if entry == SKIP:
            continue
        if entry >> 24 != 0:
            last = entry >> 24
        if entry != 0 and last == best:
            main[m] = entry & np.uint32(0xFFFFFF)
            m += 1
            found[3] += 1
        elif main[m - 1] != 0:
            main[m] = 0
            m += 1
        if others:
            if entry != 0 and last != best and last != 0:
                rest[r] = entry & np.uint32(0xFFFFFF)
                r += 1
                found[4] += 1
            elif rest[r - 1] != 0:
                rest[r] = 0
                r += 1
    if main[m - 1] != 0:
        main[m] = 0
        m += 1
    if rest[r - 1] != 0:
        rest[r] = 0
        r += 1
    found[0] = m
    found[1] = r
    found[2] = best


@kernel(_I64(array(_U32), _I64, _I64, _I64, out(_I64)))
def rows(letters, first, end, buckets, into):  # type: ignore[no-untyped-def]
    """Rows of the n-grams that begin in ``letters[first:end]``; returns how many. None spans two
    words; a blank alone is none. `buckets` is a power of two."""
    n = 0
    for i in range(first, end):
        h = np.uint64(1469598103934665603)
        for k in range(ORDER):
            if i + k >= len(letters):
                break
            letter = letters[i + k]
            h = (h ^ np.uint64(letter + 1)) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
            if k == 0 and letter == 0:
                continue
            into[n] = np.int64((h * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(40)) & (buckets - 1)
            n += 1
            if letter == 0:
                break
    return n


@kernel(types.void(array(_I8, dims=2), array(_I64), _I64, out(_F32)))
def add_rows(table, which, count, into):  # type: ignore[no-untyped-def]
    """Sum of `count` rows of `table`, into `into`."""
    dims = table.shape[1]
    into[:] = 0
    for j in range(count):
        row = which[j]
        for d in range(dims):
            into[d] += np.float32(table[row, d])


@kernel(
    types.void(
        array(_F32), _I64, array(_F32, dims=2), _I64, array(_I64), out(_F32), out(_I64)
    )
)  # fmt: skip
def best_of(total, count, columns, unit, falling, scores, into):  # type: ignore[no-untyped-def]
    """Best class and its probability, into `into`, of a sum of `count` rows.

    `columns` has a row a dimension and a column a class, `unit` is how much of a score is one
    step of the table `falling` of exp(-x) (in 2 ** -20).
    """
    classes = columns.shape[1]
    scores[:] = 0
    for d in range(columns.shape[0]):
        mean = np.float32((16 * np.int64(total[d])) // count)
        for c in range(classes):
            scores[c] += mean * columns[d, c]
    best = 0
    for c in range(1, classes):
        if scores[c] > scores[best]:
            best = c
    mass = np.int64(0)
    most = len(falling) * unit
    for c in range(classes):
        below = np.int64(scores[best] - scores[c]) * 1024
        if below < most:
            mass += falling[below // unit]
    into[0] = best
    into[1] = ONE * falling[0] // mass


@kernel(
    types.void(
        array(_U32), array(_I64), array(_U32), array(_I8, dims=2), array(_F32, dims=2), _I64,
        array(_I64), out(_I64, dims=2),
    )
)  # fmt: skip
def judge(codes, start, letters_of, table, columns, unit, falling, result):  # type: ignore[no-untyped-def]
    """For each text, into its row of `result`: best class and probability; group that counts and
    its letters; letters of the others; second class and its letters, by pieces of the letters that
    count; class of the letters that do not, and its probability; then letters by group. Classes
    are -1 where there is nothing to judge."""
    longest = np.int64(0)
    for doc in range(len(start) - 1):
        longest = max(longest, start[doc + 1] - start[doc])
    main = np.empty(2 * longest + 2, np.uint32)
    rest = np.empty(2 * longest + 2, np.uint32)
    found = np.empty(5 + GROUPS, np.int64)
    into = np.empty(ORDER * (2 * longest + 2), np.int64)
    total = np.empty(table.shape[1], np.float32)
    piece = np.empty(table.shape[1], np.float32)
    scores = np.empty(columns.shape[1], np.float32)
    votes = np.zeros(columns.shape[1], np.int64)
    verdict = np.empty(2, np.int64)
    for doc in range(len(start) - 1):
        kept(codes, start[doc], start[doc + 1], letters_of, main, rest, found)
        row = result[doc]
        row[0] = row[5] = row[7] = -1
        row[1] = row[6] = row[8] = 0
        row[2], row[3], row[4] = found[2], found[3], found[4]
        for g in range(GROUPS):
            row[9 + g] = found[5 + g]
        m, r = found[0], found[1]
        if found[3] == 0:
            continue
        letters = main[:m]
        several = m > CHUNK + SMALLEST_CHUNK
        total[:] = 0
        if several:
            votes[:] = 0
        count = 0
        first = 0
        while first < m:
            end = min(m, first + CHUNK)
            while end < m and letters[end - 1] != 0 and end < first + 2 * CHUNK:
                end += 1
            n = rows(letters, first, end, table.shape[0], into)
            add_rows(table, into, n, piece)
            for d in range(table.shape[1]):
                total[d] += piece[d]
            count += n
            if several and end - first >= SMALLEST_CHUNK:
                best_of(piece, n, columns, unit, falling, scores, verdict)
                if verdict[1] > ONE * 4 // 5:
                    votes[verdict[0]] += end - first
            first = end
        best_of(total, count, columns, unit, falling, scores, verdict)
        row[0], row[1] = verdict[0], verdict[1]
        if several:
            for c in range(columns.shape[1]):
                if c != row[0] and votes[c] > row[6]:
                    row[5], row[6] = c, votes[c]
            if 2 * row[6] > m:
                row[0], row[5] = row[5], row[0]
                row[1], row[6] = ONE // 2, m - row[6]
            row[6] = row[6] * found[3] // m  # letters, without the blanks
        if found[4] >= SMALLEST_CHUNK and 10 * found[4] >= found[3]:
            n = rows(rest[:r], 0, r, table.shape[0], into)
            add_rows(table, into, n, piece)
            best_of(piece, n, columns, unit, falling, scores, verdict)
            row[7], row[8] = verdict[0], verdict[1]


@kernel(
    types.float64(
        array(_U32), array(_I64, dims=2), array(_U32), out(_F32, dims=2), out(_F32, dims=2), _F32

    )
)  # fmt: skip
def fit(codes, samples, letters_of, table, columns, rate):  # type: ignore[no-untyped-def]
    """Stochastic gradient descent on log loss over `samples` (start, end, class), once, in order,
    `rate` falling to 0. Changes `table` and `columns` (a row a class); returns the mean loss."""
    dims, classes = table.shape[1], columns.shape[0]
    longest = np.int64(0)
    for s in range(len(samples)):
        longest = max(longest, samples[s, 1] - samples[s, 0])
    main = np.empty(2 * longest + 2, np.uint32)
    rest = np.empty(2 * longest + 2, np.uint32)
    found = np.empty(5 + GROUPS, np.int64)
    into = np.empty(ORDER * (2 * longest + 2), np.int64)
    mean = np.zeros(dims, np.float32)
    back = np.zeros(dims, np.float32)
    share = np.zeros(classes, np.float32)
    loss = 0.0
    for s in range(len(samples)):
        kept(codes, samples[s, 0], samples[s, 1], letters_of, main, rest, found)
        n = rows(main[: found[0]], 0, found[0], table.shape[0], into)
        if n == 0:
            continue
        mean[:] = 0
        back[:] = 0
        for j in range(n):
            for d in range(dims):
                mean[d] += table[into[j], d]
        part = np.float32(1.0 / n)
        for d in range(dims):
            mean[d] *= part
        top = np.float32(-1e30)
        for c in range(classes):
            score = np.float32(0)
            for d in range(dims):
                score += columns[c, d] * mean[d]
            share[c] = score
            top = max(top, score)
        mass = np.float32(0)
        for c in range(classes):
            share[c] = np.exp(share[c] - top)
            mass += share[c]
        right = samples[s, 2]
        loss -= np.log(max(share[right] / mass, np.float32(1e-9)))
        step = np.float32(rate * (1.0 - s / len(samples)))
        for c in range(classes):
            error = share[c] / mass - (np.float32(1) if c == right else np.float32(0))
            if abs(error) < 1e-5:
                continue
            error *= step
            for d in range(dims):
                back[d] += error * columns[c, d]
                columns[c, d] -= error * mean[d]
        for d in range(dims):
            back[d] *= part
        for j in range(n):
            for d in range(dims):
                table[into[j], d] -= back[d]
    return loss / max(1, len(samples))
