"""The compiled loops behind `corpusmill.stages.clean.windows`. Import inside functions only.

One pass over UTF-8 bytes stops at the few that personal data cannot do without (digits, ``@``,
colons, the marks of keys) and looks around there. What it lets through is wider than what the
detectors take, never narrower. Types are bits, in the order of `TYPES` in
`corpusmill.stages.clean.spans`.
"""

from __future__ import annotations

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

from .candidates_kernel import (
    CARD,
    EMAIL,
    FOR_IP,
    FOR_NATIONAL,
    FOR_PHONE,
    FOR_SSN,
    IP,
    IP6,
    LISTED,
    MAC,
    NATIONAL,
    PHONE,
    PRIVATE,
    SECRET,
    SSN,
    WALLET,
    alnum,
    base58,
    card,
    digit,
    email,
    foreign,
    hexadecimal,
    iban,
    long_word,
    mac,
    mac_width,
    near,
    separator,
    sixteen,
)
from .keys_kernel import keyed, secret

_U8, _U16 = types.uint8, types.uint16
_I32, _I64 = types.int32, types.int64
_EVENTS, _HEADS, _WORDS = out(_I32, dims=2), array(_U16), array(_U8, dims=2)
_GAP = 4
"""Separators between two digits of a telephone number, at most; no other number has more."""
_BEFORE_MARK = 14
"""Characters of a key before the sign or letter that `secret` knows it by, at most: those of
``AGE-SECRET-KEY``."""
_ROWS = IP | PRIVATE | CARD | SSN | PHONE | NATIONAL | LISTED
(DIGIT, AT, COLON, SIGN, MARK, FIRST, LEAD, CONTINUATION) = range(1, 9)
"""Kinds of bytes: a digit, an ``@``, a colon, another sign within keys, a letter within keys, a
letter that wallets begin with, the first byte of a digit of another script, a later byte."""


@kernel(_I64(_EVENTS, _I64, _I64, _I64, _I64))
def add(events, n, low, high, bits):  # type: ignore[no-untyped-def]
    """Writes row `n`: from character `low`, or the first one, to `high`. Returns the next row."""
    events[n, 0] = max(low, 0)
    events[n, 1] = high
    events[n, 2] = bits
    return n + 1


@kernel(types.UniTuple(_I64, 2)(array(_U8), _I64, _I64, _I64, _I64, _EVENTS, _I64))
def marked(data, first, at, stop, place, events, n):  # type: ignore[no-untyped-def]
    """Adds a row where a key or a hardware address can begin that has the sign at `at`, which is
    character `place`. Returns the next row and the types that can stand here."""
    found = secret(data, first, at, stop)
    if found:
        n = add(events, n, place - _BEFORE_MARK, place + 1, SECRET)
    b = data[at]
    if (b == 45 or b == 46 or b == 58) and mac(data, first, at, stop):
        low = place - mac_width(b)
        n = add(events, n, low, low + 1, MAC)
        found |= MAC
    return n, found


@kernel(types.boolean(array(_U8), _I64, _I64, _I64), inline=True)
def idle(data, first, at, stop):  # type: ignore[no-untyped-def]
    """Whether the byte at `at` is a full stop, hyphen or underscore that no key goes on behind, or
    a ``w`` behind neither ``s`` nor ``a``: most are."""
    b = data[at]
    if b | 32 == 119:
        before = data[at - 1] | 32 if at > first else 0
        return before != 115 and before != 97
    if b == 46 or b == 45 or b == 95:
        return at + 1 >= stop or not keyed(data[at + 1])
    return False


@kernel(types.UniTuple(_I64, 6)(array(_U8), _I64, _I64, _I64, _I64, _EVENTS, _I64))
def gap(data, first, at, stop, cont, events, n):  # type: ignore[no-untyped-def]
    """The separators at `at`, between two groups of digits: where they end, their number, the code
    point if it is one (else 0), continuation bytes with the `cont` before, the next row, and types
    that can stand here. The number is 0 where no digit follows, or only after too many."""
    p = at
    count = 0
    code = 0
    extra = cont
    found = 0
    while count <= _GAP and p < stop:
        sign, width = separator(data, p, stop)
        if sign == 0:
            break
        if sign == 45 or sign == 46:
            n, bits = marked(data, first, p, stop, p - first - extra, events, n)
            found |= bits
        count += 1
        code = sign
        extra += width - 1
        p += width
    if count > _GAP or p >= stop or not digit(data[p]):
        return at, 0, 0, cont, n, found
    return p, count, code if count == 1 else 0, extra, n, found


@kernel(
    types.UniTuple(_I64, 4)(
        array(_U8), _I64, _I64, _I64, array(_U8), _HEADS, _WORDS, _EVENTS, _I64, _I64
    )
)
def chain(data, first, i, stop, lengths, heads, words, events, n, cont):  # type: ignore[no-untyped-def]
    """The run of digits that begins at `i`, with at most four separators between two of them.

    Adds rows (start, end, bits) to `events` where a number can stand. Returns where the run ends,
    how many rows there are, the continuation bytes so far, and the types that can stand here.
    """
    began = i - first - cont
    at = i
    digits = 0
    found = 0
    quads = 0
    quad_at = 0
    public = private = False
    large = 0  # bit by bit: is one of the last numbers 64 or more?
    small = False
    zeros = False
    brackets = american = False
    serial = 0  # 1: nine digits, or three, two and four; 2: with dashes between them
    sep = s2 = s3 = 0
    l1 = l2 = l3 = l4 = 0
    run_at = i
    run = 0
    while True:
        low = at
        value = 0
        while at < stop and digit(data[at]):
            if at - low < 3:
                value = value * 10 + data[at] - 48
            at += 1
        size = at - low
        digits += size
        run += size
        after = data[at] if at < stop else 0
        # four dotted numbers
        if size <= 3 and value < 256 and not (size > 1 and data[low] == 48):
            if sep == 46 and quads > 0:
                quads += 1
            else:
                quads = 1
                quad_at = low
                public = 0 < value < 224 and value != 10 and value != 127
                private = (
                    value == 10 or value == 100 or value == 169 or value == 172 or value == 192
                )
            large = large << 1 & 15 | (value >= 64)
            if quads == 4 and (public or private) and not alnum(after) and after != 95:
                edge = data[quad_at - 1] if quad_at > first else 0
                more = after == 46 and at + 1 < stop and alnum(data[at + 1])
                if not more and not alnum(edge) and edge != 95 and edge != 46 and edge != 45:
                    if private:
                        found |= PRIVATE
                    if public:
                        if value > 0 and large & large - 1:  # two of them are
                            found |= IP
                        small = True
        else:
            quads = 0
        # national numbers that need no word
        if size >= 17:
            found |= NATIONAL
        elif size == 6 and at + 4 < stop:
            joint = after == 45 or after == 43 or 65 <= after <= 70 or 85 <= after <= 89
            if joint and digit(data[at + 1]) and digit(data[at + 2]) and digit(data[at + 3]):
                found |= NATIONAL
        elif size == 2 and l1 == 3:  # 3.3.3-2 and 2.2.2-3.2
            threes = sep == 45 and s2 == 46 and s3 == 46 and l2 == 3 and l3 == 3
            twos = sep == 46 and s2 == 45 and l2 == 2 and l3 == 2 and l4 == 2
            if threes or twos:
                found |= NATIONAL
        b = data[low - 1] if low > first else 0
        if not alnum(b):
            b = data[low]
            wallet = 0
            if b == 49 or b == 51:
                wallet = base58(data, low + 1, stop)
            elif b == 48 and after == 120:
                wallet = long_word(data, at + 1, stop, 40)
            if wallet:
                n = add(events, n, low - first - cont, low - first - cont + 1, WALLET)
                found |= WALLET
        if size == 9:
            serial |= 1
        elif size == 4 and l1 == 2 and l2 == 3 and sep == s2:
            if sep == 32 or sep == 46 or sep == 47:
                serial |= 1
            elif sep == 45 or 0x2010 <= sep <= 0x2013:
                serial |= 2
        elif size == 4 and l1 == 3 and l2 == 3 and sep == s2:
            american |= sep == 45 or sep == 46 or 0x2010 <= sep <= 0x2013
        if size >= 2 and data[low] == 48 and data[low + 1] == 48:
            zeros = True
        if size == 3 and after == 41 and low > first and data[low - 1] == 40:
            brackets = True
        # what stands between this group and the next
        l4, l3, l2, l1 = l3, l2, l1, size
        s3, s2 = s2, sep
        p, seps, sep, cont_p, n, marks = gap(data, first, at, stop, cont, events, n)
        found |= marks
        found |= card(data, run_at, at, stop, run)
        if seps != 1 or sep == 47 or sep == 40 or sep == 41 or (sep == 46 and size < 4):
            run_at = p  # no card goes on
            run = 0
        if seps == 0:
            break
        cont = cont_p
        at = p
    beside = near(data, first, i, at, stop, heads, words) if small or digits >= 6 else 0
    if small and beside & FOR_IP:
        found |= IP
    if digits >= 6:
        if beside & FOR_NATIONAL:
            found |= NATIONAL
        if serial & 2 or (serial and beside & FOR_SSN):
            found |= SSN
        if digits >= 7:
            plus = False
            for k in range(max(first, i - 6), i):
                plus = plus or data[k] == 43
            if plus or brackets or american or beside & FOR_PHONE or (zeros and digits >= 11):
                found |= PHONE
            else:
                found |= LISTED
    before = data[i - 1] if i > first else 0
    if alnum(before):
        found |= sixteen(data, first, i, stop)
        bech = data[i] == 49 and (before == 99 or before == 67)  # bc1, ltc1
        if bech and long_word(data, i + 1, stop, 38):
            n = add(events, n, began - 3, began, WALLET)
            found |= WALLET
        if i - 2 >= first and at - i >= 2 and digit(data[i + 1]):
            head = iban(data, first, i - 2, stop, lengths)
            if head:
                n = add(events, n, began - 2, began + 2, head)
                found |= head
    if found & _ROWS:
        n = add(events, n, began, at - first - cont, found & _ROWS)
    return at, n, cont, found & ~LISTED


@kernel(_I64(array(_U8), array(_I64), array(_U8), array(_U8), _HEADS, _WORDS, out(_I64), out(_I64),
             _EVENTS))  # fmt: skip
def scan(data, starts, kinds, lengths, heads, words, masks, rows, events):  # type: ignore[no-untyped-def]
    """The candidates of every text of a batch: text `d` is ``data[starts[d]:starts[d + 1]]``.

    `kinds`: what is looked at, by byte; `lengths`: of an IBAN, by country; `heads` and `words`: the
    table of `near_words`. Fills `masks` with the types that a text may hold and
    `events` with rows (start, end, bits) in characters, those of text `d` being
    ``rows[d]:rows[d + 1]``. Returns the number of rows.
    """
    n = 0
    for d in range(len(starts) - 1):
        first, stop = starts[d], starts[d + 1]
        rows[d] = n
        mask = 0
        cont = 0
        colons_to = first
        i = first
        while i < stop:
            kind = kinds[data[i]]
            if kind == 0:
                i += 1
                continue
            if kind == CONTINUATION:
                cont += 1
            elif kind == DIGIT:
                i, n, cont, bits = chain(
                    data, first, i, stop, lengths, heads, words, events, n, cont
                )
                mask |= bits
                continue
            elif kind == AT:
                if email(data, first, i, stop):
                    mask |= EMAIL
                    n = add(events, n, i - first - cont, i - first - cont + 1, EMAIL)
            elif kind == FIRST:
                if not (i > first and alnum(data[i - 1])) and base58(data, i + 1, stop):
                    mask |= WALLET
                    n = add(events, n, i - first - cont, i - first - cont + 1, WALLET)
            elif kind == LEAD:
                mask |= foreign(data, i, stop)
            elif not idle(data, first, i, stop):
                n, bits = marked(data, first, i, stop, i - first - cont, events, n)
                mask |= bits
                if kind == COLON and i >= colons_to:
                    low = i
                    while low > first and hexadecimal(data[low - 1]):
                        low -= 1
                    colons_to = i
                    colons = 0
                    while colons_to < stop and (
                        hexadecimal(data[colons_to]) or data[colons_to] == 58
                    ):
                        colons += data[colons_to] == 58
                        colons_to += 1
                    block = i - low == 4 and (data[low] == 50 or data[low] == 51)
                    local = (
                        i - low == 4 and data[low] | 32 == 102 and 99 <= data[low + 1] | 32 <= 101
                    )
                    bits = 0
                    if colons >= 7 or (colons >= 2 and block):  # whole, or in 2000::/3
                        bits = IP6
                        mask |= IP
                    if colons >= 2 and local:  # fc00::/7, fe80::/10
                        bits |= PRIVATE
                        mask |= PRIVATE
                    if bits:
                        n = add(events, n, low - first - cont, colons_to - first - cont, bits)
            i += 1
        masks[d] = mask
    rows[len(starts) - 1] = n
    return n
