"""What may stand at one place of a text, in compiled form: see `windows_kernel`.

Each function looks at the bytes around a place and answers with the bits of the types that are
possible there: wider than the expressions and checks of the detectors, never narrower.
"""

from __future__ import annotations

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel

_U8, _U16, _I64, _B = types.uint8, types.uint16, types.int64, types.boolean
_PLACE = (array(_U8), _I64, _I64, _I64)

SECRET, EMAIL, WALLET, MAC, IP, IBAN, NATIONAL, CARD, SSN, PHONE = (1 << bit for bit in range(10))
PRIVATE = 1 << 10
FOREIGN, IP6, LISTED = 1 << 11, 1 << 12, 1 << 13
FOR_PHONE, FOR_SSN, FOR_NATIONAL, FOR_IP = 1, 2, 4, 8
"""What a word near a number makes it, as in `near_words`."""
_LEFT, _LEFT_PHONE, _AFTER_PHONE, _RIGHT, _RIGHT_PHONE = 66, 48, 16, 34, 26


@kernel(_B(_U8))
def digit(b):  # type: ignore[no-untyped-def]
    return 48 <= b <= 57


@kernel(_B(_U8))
def alnum(b):  # type: ignore[no-untyped-def]
    return 48 <= b <= 57 or 97 <= b <= 122 or 65 <= b <= 90


@kernel(_B(_U8))
def hexadecimal(b):  # type: ignore[no-untyped-def]
    return 48 <= b <= 57 or 97 <= b <= 102 or 65 <= b <= 70


@kernel(types.UniTuple(_I64, 2)(array(_U8), _I64, _I64))
def separator(data, at, stop):  # type: ignore[no-untyped-def]
    """(code point, bytes) of a separator of digits at `at`; (0, 0) if there is none."""
    b = data[at]
    if b == 32 or b == 40 or b == 41 or 45 <= b <= 47:
        return b, 1
    if b == 0xC2 and at + 1 < stop and data[at + 1] == 0xA0:
        return 0xA0, 2
    if b == 0xE2 and at + 2 < stop and data[at + 1] == 0x80:
        c = data[at + 2]
        if c == 0x87 or c == 0x89 or c == 0xAF or 0x90 <= c <= 0x93:
            return 0x2000 + (c & 0x3F), 3
    return 0, 0


@kernel(_I64(array(_U8), _I64, _I64, array(_U16), array(_U8, dims=2)))
def begins(data, at, stop, heads, words):  # type: ignore[no-untyped-def]
    """What the words of `near_words` that stand at `at` make of a number near them; there are three
    bytes at least."""
    code = 0
    for k in range(at, at + 3):
        b = data[k]
        code = (code << 4) ^ (b + 32 if 65 <= b <= 90 else b)
    row = heads[code & 0xFFF]
    found = 0
    while row > 0:
        size = words[row, 1] & 0x7F
        same = True
        for k in range(size):
            c = words[row, 2 + k]
            b = data[at + k] if at + k < stop else 0
            same = not alnum(b) if c == 36 else c == (b + 32 if 65 <= b <= 90 else b)
            if not same:
                break
        if same:
            found |= words[row, 0]
        row = row + 1 if words[row, 1] & 0x80 else 0
    return found


@kernel(_B(array(_U8), _I64, _I64))
def of_network(data, at, stop):  # type: ignore[no-untyped-def]
    """Does a word go on at `at` with "host", or end there with "ip" or "ips"?"""
    b = data[at] | 32
    if b == 104:
        host = at + 3 < stop and data[at + 1] | 32 == 111 and data[at + 2] | 32 == 115
        return host and data[at + 3] | 32 == 116
    if b != 105 or at + 1 >= stop or data[at + 1] | 32 != 112:
        return False
    end = at + 2
    if end < stop and data[end] | 32 == 115:
        end += 1
    return end == stop or not alnum(data[end])


@kernel(_I64(array(_U8), _I64, _I64, _I64, _I64, array(_U16), array(_U8, dims=2)))
def near(data, first, low, high, stop, heads, words):  # type: ignore[no-untyped-def]
    """What stands left and right of the digits ``low:high`` and can make them a number of a kind. A
    word that makes them a telephone number has no other digits between it and them."""
    found = 0
    chars = 0
    parted = 0
    at = low
    while at > first and chars < _LEFT:
        at -= 1
        b = data[at]
        if 0x80 <= b < 0xC0:
            continue
        chars += 1
        if digit(b):
            parted = FOR_PHONE
        elif b == 1 and chars <= _AFTER_PHONE:  # a telephone number that was found before
            found |= FOR_PHONE
        else:
            if b == 64 or (b == 47 and data[at + 1] == 47) or of_network(data, at, low):
                found |= FOR_IP
            if at + 2 < low and (b >= 0x80 or not (at > first and alnum(data[at - 1]))):
                if chars > _LEFT_PHONE:
                    parted = FOR_PHONE
                found |= begins(data, at, stop, heads, words) & ~parted
    a = data[high] if high < stop else 0
    b = data[high + 1] if high + 1 < stop else 0
    if (a == 58 and digit(b)) or (a == 93 and b == 41) or (a == 32 and b == 45):  # a port, a log
        found |= FOR_IP
    if low - 2 >= first and data[low - 1] == 58 and data[low - 2] | 32 == 102:  # ::ffff:
        found |= FOR_IP
    chars = 0
    at = high
    while at + 1 < stop and chars < _RIGHT:
        b = data[at]
        if not 0x80 <= b < 0xC0:
            chars += 1
            if of_network(data, at, stop):
                found |= FOR_IP
            if at + 2 < stop and (b >= 0x80 or not alnum(data[at - 1])):
                parted = FOR_PHONE if chars > _RIGHT_PHONE else 0
                found |= begins(data, at, stop, heads, words) & ~parted
        at += 1
    return found


@kernel(_I64(array(_U8), _I64, _I64, _I64, _I64))
def card(data, low, high, stop, digits):  # type: ignore[no-untyped-def]
    """CARD if the groups of digits in ``low:high``, from the first of them on or from a later one,
    are 12 to 19 digits that Luhn's check lets through."""
    if digits < 12 or (high < stop and alnum(data[high])):
        return 0
    total = 0
    count = 0
    at = high
    while at > low and count < 20:
        at -= 1
        b = data[at]
        if not digit(b):
            continue
        d = b - 48
        if count & 1:
            d = 2 * d - 9 if d > 4 else 2 * d
        total += d
        count += 1
        edge = at == low or not digit(data[at - 1])
        if edge and 12 <= count <= 19 and total % 10 == 0:
            return CARD
    return 0


@kernel(_I64(array(_U8), _I64, _I64, _I64, array(_U8)))
def iban(data, first, at, stop, lengths):  # type: ignore[no-untyped-def]
    """IBAN if as many letters and digits as the country's have begin at `at`, behind no letters but
    "IBAN" and those of an escaped sign, single separators between them, and their check digits
    hold."""
    a, b = data[at] & 0xDF, data[at + 1] & 0xDF
    if not (65 <= a <= 90 and 65 <= b <= 90):
        return 0
    size = lengths[26 * (a - 65) + b - 65]
    if size == 0:
        return 0
    if at > first and alnum(data[at - 1]):
        named = at >= first + 4 and data[at - 4] | 32 == 105 and data[at - 3] | 32 == 98
        named = named and data[at - 2] | 32 == 97 and data[at - 1] | 32 == 110
        escaped = (at >= first + 2 and data[at - 2] == 92) or (
            at >= first + 3 and data[at - 3] == 37
        )
        if not (named or escaped or (at >= first + 6 and data[at - 6] == 92)):
            return 0
    rest = 0
    head = 0
    seen = 0
    p = at
    while seen < size and p < stop:
        c = data[p]
        if not alnum(c):
            sign, width = separator(data, p, stop)
            p += width
            if sign == 0 or p >= stop or not alnum(data[p]):
                return 0
            continue
        value = c - 48 if digit(c) else (c & 0xDF) - 55
        if seen < 4:
            head = (head * (100 if value > 9 else 10) + value) % 97
        else:
            rest = (rest * (100 if value > 9 else 10) + value) % 97
        seen += 1
        p += 1
    # The two letters and two check digits go last: six decimal digits.
    if seen < size or (rest * 1_000_000 + head) % 97 != 1:
        return 0
    return IBAN


@kernel(_I64(array(_U8), _I64, _I64, _I64))
def sixteen(data, first, at, stop):  # type: ignore[no-untyped-def]
    """NATIONAL if `at` lies in a run of exactly 16 letters and digits."""
    low = at
    while low > first and alnum(data[low - 1]) and at - low < 17:
        low -= 1
    high = at
    while high < stop and alnum(data[high]) and high - low < 18:
        high += 1
    return NATIONAL if high - low == 16 else 0


@kernel(_I64(array(_U8), _I64, _I64, _I64))
def long_word(data, at, stop, least):  # type: ignore[no-untyped-def]
    """WALLET if `least` letters and digits or more begin at `at`."""
    if at + least > stop:
        return 0
    for k in range(at, at + least):
        if not alnum(data[k]):
            return 0
    return WALLET


@kernel(_I64(array(_U8), _I64, _I64))
def base58(data, at, stop):  # type: ignore[no-untyped-def]
    """WALLET if a word of 25 to 34 letters and digits begins at `at`, without 0, O, I and l."""
    p = at
    while p < stop and alnum(data[p]) and p - at < 35:
        b = data[p]
        if b == 48 or b == 79 or b == 73 or b == 108:
            return 0
        p += 1
    return WALLET if 25 <= p - at <= 34 else 0


@kernel(_I64(array(_U8), _I64, _I64))
def foreign(data, at, stop):  # type: ignore[no-untyped-def]
    """FOREIGN if a digit of another script, or a full-width sign, begins at `at`."""
    if at + 2 > stop:
        return 0
    a, b = data[at], data[at + 1]
    c = data[at + 2] if at + 2 < stop else 0
    arabic = a == 0xD9 and 0xA0 <= b <= 0xA9
    persian = a == 0xDB and 0xB0 <= b <= 0xB9
    devanagari = a == 0xE0 and b == 0xA5 and 0xA6 <= c <= 0xAF
    wide = a == 0xEF and ((b == 0xBC and c >= 0x90) or (b == 0xBD and c <= 0x9A))
    return FOREIGN if arabic or persian or devanagari or wide else 0


@kernel(_I64(_U8))
def mac_width(sign):  # type: ignore[no-untyped-def]
    """The digits before the first sign of a hardware address with such signs."""
    return 4 if sign == 46 else 2


@kernel(_I64(*_PLACE))
def mac(data, first, at, stop):  # type: ignore[no-untyped-def]
    """MAC if the sign at `at` can be the first within a hardware address, which begins `mac_width`
    bytes before it."""
    sign = data[at]
    width = mac_width(sign)
    if at - width < first or at + width >= stop:
        return 0
    edge = data[at - width - 1] if at - width > first else 0
    if alnum(edge) or edge == sign:
        return 0
    for k in range(at - width, at):
        if not hexadecimal(data[k]):
            return 0
    p = at
    for _ in range(2 if sign == 46 else 5):
        if p + width >= stop or data[p] != sign:
            return 0
        for k in range(p + 1, p + 1 + width):
            if not hexadecimal(data[k]):
                return 0
        p += width + 1
    return MAC


@kernel(_B(*_PLACE))
def email(data, first, at, stop):  # type: ignore[no-untyped-def]
    """Can the ``@`` at `at` be that of an address: is there a name before it, and a label, a dot
    and a letter behind it?"""
    if at == first or at + 3 >= stop:
        return False
    b = data[at - 1]
    signs = b == 34 or b == 37 or b == 39 or b == 43 or b == 45 or b == 46 or b == 95
    if not (alnum(b) or b >= 0x80 or signs):
        return False
    p = at + 1
    while p < stop:
        b = data[p]
        if b == 46 and p > at + 1 and p + 1 < stop:
            b = data[p + 1]
            return alnum(b) or b >= 0x80
        if not (alnum(b) or b == 45 or b >= 0x80) or p - at > 260:
            return False
        p += 1
    return False
