"""The compiled loop behind `corpusmill.stages.clean.windows`. Import inside functions only."""

from __future__ import annotations

from numba import types

from corpusmill.stages.compiled import array, kernel, out

_U8, _U32, _I64 = types.uint8, types.uint32, types.int64


@kernel(
    types.UniTuple(_I64, 5)(
        array(_U32), array(_U8), _I64, out(_I64, dims=2), out(_I64, dims=2), out(_I64)
    )
)
def scan(codes, kinds, gap, chains, hexes, heads):  # type: ignore[no-untyped-def]
    """One pass over the code points of a text; `kinds` has bits for those below 256: 1 digit, 2
    separator of digits, 4 hexadecimal digit or colon, 8 letter, 16 character of keys.

    Fills `chains` with rows (start, end, digits, dots) of runs of digits with at most `gap`
    separators between two of them, `hexes` with (start, end) of runs of hexadecimal digits and
    colons with two colons or more, `heads` with the places of two letters before two digits.
    Returns how many there are of each, the longest run of characters of keys, and whether a run
    of exactly 16 letters and digits is there.
    """
    n_chains = 0
    n_hexes = 0
    n_heads = 0
    longest = 0
    sixteen = 0
    waiting = -1  # separators since the last digit of a chain that is open; -1 if none is
    dots = 0  # those among them
    hex_start = 0
    colons = 0
    run = 0
    alnum = 0
    before = 0
    second = 0
    third = 0
    size = len(codes)
    for at in range(size + 1):
        k = 0
        if at < size:
            c = codes[at]
            if c < 256:
                k = kinds[c]
            elif c == 0x2009 or c == 0x202F or 0x2010 <= c <= 0x2013:
                k = 2
        if k & 1:
            if waiting < 0:
                chains[n_chains, 0] = at
                chains[n_chains, 2] = 0
                chains[n_chains, 3] = 0
                n_chains += 1
            else:
                chains[n_chains - 1, 3] += dots
            chains[n_chains - 1, 1] = at + 1
            chains[n_chains - 1, 2] += 1
            waiting = 0
            dots = 0
            if before & 1 and second & 8 and third & 8:
                heads[n_heads] = at - 3
                n_heads += 1
        elif waiting >= 0:
            if k & 2 and waiting < gap:
                waiting += 1
                if c == 46:
                    dots += 1
            else:
                waiting = -1
        if k & 4:
            if c == 58:
                colons += 1
        else:
            if colons > 1:
                hexes[n_hexes, 0] = hex_start
                hexes[n_hexes, 1] = at
                n_hexes += 1
            colons = 0
            hex_start = at + 1
        if k & 16:
            run += 1
        else:
            longest = max(longest, run)
            run = 0
        if k & 9:
            alnum += 1
        else:
            if alnum == 16:
                sixteen = 1
            alnum = 0
        third = second
        second = before
        before = k
    return n_chains, n_hexes, n_heads, longest, sixteen
