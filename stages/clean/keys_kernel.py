"""Where keys, tokens and passwords can stand, in compiled form: see `windows_kernel`.

As wide as the expressions of `corpusmill.stages.clean.keys`, never narrower.
"""

from __future__ import annotations

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel

from .candidates_kernel import SECRET, alnum, digit

_U8, _I64, _B = types.uint8, types.int64, types.boolean
_PLACE = (array(_U8), _I64, _I64, _I64)


@kernel(_B(_U8))
def keyed(b):  # type: ignore[no-untyped-def]
    """Is `b` one of the characters of keys?"""
    return 48 <= b <= 57 or 97 <= b <= 122 or 65 <= b <= 90 or b == 45 or b == 95


@kernel(_I64(array(_U8), _I64, _I64, _B))
def run_of(data, at, stop, joined):  # type: ignore[no-untyped-def]
    """How many letters and digits of ``data[at:stop]`` begin it; `joined`: hyphens and underscores
    too."""
    p = at
    while p < stop and (keyed(data[p]) if joined else alnum(data[p])):
        p += 1
    return p - at


@kernel(_B(array(_U8), _I64, _I64, _I64))
def long_key(data, at, stop, least):  # type: ignore[no-untyped-def]
    """Do at least `least` characters of keys begin at `at`?"""
    return run_of(data, at, min(stop, at + least), True) == least


@kernel(_B(array(_U8), _I64, _I64, _I64))
def long_run(data, at, stop, least):  # type: ignore[no-untyped-def]
    """Do at least `least` letters and digits begin at `at`?"""
    return run_of(data, at, min(stop, at + least), False) == least


@kernel(_B(array(_U8), _I64, _I64))
def assigned(data, at, stop):  # type: ignore[no-untyped-def]
    """Is what ends at `at` followed by a colon or an equals sign, quotes and blanks aside?"""
    for p in range(at, min(stop, at + 5)):
        b = data[p]
        if b == 58 or b == 61:
            return True
        if b != 32 and b != 34 and b != 39 and b != 9 and b != 10:
            return False
    return False


@kernel(_B(array(_U8), _I64, _I64))
def with_password(data, at, stop):  # type: ignore[no-untyped-def]
    """Is there, behind the ``://`` at `at`, a colon and then an ``@`` before the host ends?"""
    colon = False
    for p in range(at + 3, min(stop, at + 140)):
        b = data[p]
        if b == 64:
            return colon
        if b == 47 or b <= 32:
            return False
        colon = colon or b == 58
    return False


@kernel(_B(array(_U8), _I64, _I64))
def named_key(data, at, stop):  # type: ignore[no-untyped-def]
    """Do the sign at `at` and the word behind it end a name like ``api_key``, with a value?"""
    if at + 6 >= stop:
        return False
    a, b, c = data[at + 1] | 32, data[at + 2] | 32, data[at + 3] | 32
    if a == 107:  # key
        return b == 101 and c == 121 and assigned(data, at + 4, stop)
    if a == 116:  # token
        return b == 111 and c == 107 and assigned(data, at + 6, stop)
    return a == 115 and b == 101 and c == 99 and assigned(data, at + 7, stop)  # secret


@kernel(_I64(*_PLACE))
def secret(data, first, at, stop):  # type: ignore[no-untyped-def]
    """SECRET if the byte at `at` can be the mark of a vendor's key: the sign that its prefix ends
    with, or a rare letter in it."""
    c = data[at]
    p1 = data[at - 1] if at - 1 >= first else 32
    p2 = data[at - 2] if at - 2 >= first else 32
    p3 = data[at - 3] if at - 3 >= first else 32
    n1 = data[at + 1] if at + 1 < stop else 32
    n2 = data[at + 2] if at + 2 < stop else 32
    n3 = data[at + 3] if at + 3 < stop else 32
    if c == 45:  # -
        if n1 == 45:  # -----BEGIN
            return SECRET if n2 == 66 and n3 == 69 else 0
        if p3 == 111 and p2 == 120:  # xox?
            return SECRET if long_key(data, at + 1, stop, 10) else 0
        if p3 == 112 and p2 == 97 and p1 == 116:  # glpat
            return SECRET if long_key(data, at + 1, stop, 20) else 0
        if p2 == 115 and p1 == 107 and not keyed(p3):  # sk
            return SECRET if long_key(data, at + 1, stop, 32) else 0
        if p3 == 107 and p2 == 101 and p1 == 121:  # key
            return SECRET if long_key(data, at + 1, stop, 32) else 0
        if p1 == 105 and p2 == 112 and n1 == 65 and n2 == 103:  # pypi-Ag
            return SECRET
        gitlab = p3 == 108 and p1 == 116  # gl?t
        slack = p3 == 97 and p2 == 112 and p1 == 112 and digit(n1)  # xapp
        square = p1 == 112 and (p2 == 116 or p2 == 115) and (p3 == 97 or p3 == 99)  # sq0atp, csp
        google = p2 == 80 and p1 == 88  # GOCSPX
        if (gitlab or slack or square or google) and long_key(data, at + 1, stop, 20):
            return SECRET
        named = long_run(data, at + 1, stop, 20) or named_key(data, at, stop)
        return SECRET if named else 0
    if c == 95:  # _
        if n1 == 112 and n2 == 97 and n3 == 116:  # github_pat_
            return SECRET if p1 == 98 else 0
        github = p3 == 103 and p2 == 104  # gh?_
        stripe = p3 == 105 and p2 == 118 and p1 == 101  # live_
        face = p2 == 104 and p1 == 102  # hf_
        npm = p3 == 110 and p2 == 112 and p1 == 109
        ocean = p2 == 118 and p1 == 49  # v1_
        shop = p3 == 112 and (p2 == 97 or p2 == 99 or p2 == 112 or p2 == 115)  # shp??_
        if github or stripe or face or npm or ocean or shop:
            return SECRET if long_key(data, at + 1, stop, 20) else 0
        docker = p3 == 112 and p2 == 97 and p1 == 116  # pat_
        scale = p3 == 116 and p2 == 107 and p1 == 110  # tkn_
        figma = p3 == 105 and p2 == 103 and p1 == 100
        if (docker or scale or figma) and long_key(data, at + 1, stop, 27):
            return SECRET
        named = long_run(data, at + 1, stop, 20) or named_key(data, at, stop)
        return SECRET if named else 0
    if c == 46:  # .
        google = p3 == 97 and p2 == 50 and p1 == 57  # ya29.
        vault = p3 == 104 and p2 == 118  # hv?.
        if google or vault or (p2 == 83 and p1 == 71):  # SG.
            return SECRET if long_key(data, at + 1, stop, 20) else 0
        hooks = p3 == 111 and p2 == 107 and p1 == 115 and n1 == 115 and n2 == 108 and n3 == 97
        return SECRET if hooks else 0
    if c == 58 and n1 == 47 and n2 == 47:
        return SECRET if with_password(data, at, stop) else 0
    if c == 58:  # :AA
        both = n1 == 65 and n2 == 65 and digit(p1)
        return SECRET if both and long_key(data, at + 1, stop, 35) else 0
    if c == 65:  # A: AKIA ASIA ABIA ACCA AIza
        if p1 == 73 or p1 == 67:
            same = p2 == 75 or p2 == 83 or p2 == 66 or p2 == 67
            return SECRET if same and p3 == 65 and long_key(data, at + 1, stop, 16) else 0
        google = n1 == 73 and n2 == 122 and n3 == 97
        atlassian = n1 == 84 and n2 == 65 and n3 == 84
        if google or atlassian:
            return SECRET if long_key(data, at + 1, stop, 38) else 0
        amazon = n1 == 99 and n2 == 99 and n3 == 101 and p1 | 32 == 116  # SecretAccessKey
        azure = n1 == 99 and n2 == 99 and at + 10 < stop and data[at + 10] == 61  # AccountKey=
        return SECRET if amazon or azure else 0
    if c == 74:  # J: eyJ
        return SECRET if p2 == 101 and p1 == 121 and long_key(data, at + 1, stop, 10) else 0
    if p1 | 32 == 115:  # w: password, passwd
        word = 4 if n1 | 32 == 111 else 2 if n1 | 32 == 100 else 0
        return SECRET if word and p2 | 32 == 115 and assigned(data, at + word, stop) else 0
    if p1 | 32 != 97 or n1 | 32 != 115:
        return 0  # w: aws_secret
    return SECRET if n2 == 95 or n2 | 32 == 115 else 0
