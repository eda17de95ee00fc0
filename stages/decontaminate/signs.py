"""How words are written in source: entities, escapes, links, hyphens at the ends of lines.

Each is put into the same bytes as what it says, and as many bytes: an escaped line break is a
space, an entity the letter that it means and characters that no word is told by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html.entities import html5
from typing import Final

from . import stems

_TWO, _THREE = "\u00ad".encode(), "\u2060".encode()
"""Characters that no word is told by, of two bytes and of three."""

_ALIKE: Final = dict(zip("–—‘’“”…\u00a0", "--''\"\"  ", strict=True))
"""Signs that are not of ASCII, as those of ASCII that are read alike."""

_QUIET: Final = rb"(?:\xc2\xad|\xe2\x81\xa0)*"
_SHOWN_TAG: Final = re.compile(
    rb"<" + _QUIET + rb"/?" + _QUIET + rb"[A-Za-z][A-Za-z0-9]{0,15}(?:\s[^<>]{0,300})?"
    + _QUIET + rb"/?" + _QUIET + rb">" + _QUIET
)  # fmt: skip
"""A tag that was written with entities."""

_ENTITY: Final = re.compile(
    rb"&(?:amp;){0,3}(?:#([0-9]{1,6})|#[xX]([0-9A-Fa-f]{1,5})|([A-Za-z][A-Za-z0-9]{1,7}));"
)
_COMMANDS: Final = (
    rb"n(?:u|e|eq|i|ot|otin|mid|abla|earrow|warrow|leq|geq|exists|ewline|ewcommand|oindent|"
    rb"ormalsize)|r(?:m|ho|ight\w*|angle|floor|ceil|ef|aisebox|enewcommand)|"
    rb"t(?:o|au|an|anh|heta|imes|ext\w*|op|riangle\w*|ilde|frac|able\w*)"
)
"""Those of LaTeX that begin as the escape of a line break, a return or a tab does."""
_ESCAPE: Final = re.compile(
    rb"\\(?:u([0-9A-Fa-f]{4})|(?!(?:" + _COMMANDS + rb")(?![A-Za-z]))[nrt]|"
    rb"(?:text(?:it|bf|rm|sf|tt|sc)?|emph|math(?:rm|bf|it|sf|tt|bb|cal))\{)"
)
_HYPHEN: Final = re.compile(rb"-\r?\n[ \t>#*|/]{0,8}(?=[a-z])")
_BEFORE: Final = re.compile(rb"[A-Za-z]+\Z")
_BEHIND: Final = re.compile(rb"[a-z]+")
_LETTERS: Final = 40
"""Those of a word at the end of a line that are looked at."""
_LINK: Final = re.compile(rb"\]\([^()\s]{1,300}(?:\s\"[^\"\n]{0,100}\")?\)")
_FORUM: Final = re.compile(
    rb"\[/?(?:b|i|u|s|quote|url|code|size|color|img|list|center|spoiler)(?:=[^\[\]\n]{0,100})?\]",
    re.IGNORECASE,
)
_PERCENT: Final = re.compile(
    rb"%(?:0[9ADad]|2[0-9A-Fa-f]|3[A-Fa-f]|5[BDFbdf]|7[BDbd]|[Ee]2%80%[0-9A-Fa-f]{2})"
)
_WHITE: Final = re.compile(rb"[ \n]")
_ZERO_WIDTH: Final = re.compile(rb"\xe2\x80\x8b(?=[A-Za-z])")


def _spaces(m: re.Match[bytes]) -> bytes:
    return b" " * len(m[0])


def _quiet(count: int) -> bytes:
    """`count` bytes that say nothing, 2 or more."""
    return _THREE * (count % 2) + _TWO * (count // 2 - count % 2)


def _padded(sign: str, m: re.Match[bytes]) -> bytes:
    raw = sign.encode("utf-8", "surrogatepass")
    rest = len(m[0]) - len(raw)
    return raw + _quiet(rest) if rest == 0 or rest > 1 else m[0]


def _character(number: int) -> str:
    sign = chr(number) if number <= 0x10FFFF and not 0xD800 <= number < 0xE000 else " "
    return _ALIKE.get(sign, sign)


def _meant(m: re.Match[bytes]) -> bytes:
    if m[3] is None:
        return _padded(_character(int(m[1]) if m[1] else int(m[2], 16)), m)
    sign = html5.get(f"{m[3].decode()};", "")
    return _padded(_ALIKE.get(sign, sign), m) if len(sign) == 1 else m[0]


def _escaped(m: re.Match[bytes]) -> bytes:
    return _spaces(m) if m[1] is None else _padded(_character(int(m[1], 16)), m)


def _joined(m: re.Match[bytes]) -> bytes:
    start, end = m.span()
    first = _BEFORE.search(m.string, max(0, start - _LETTERS), start)
    last = _BEHIND.match(m.string, end)
    if first is None or last is None:
        return m[0]
    known = stems.common()
    halves = [part[0].decode().lower() for part in (first, last)]
    is_compound = all(stems.stem(half) in known for half in halves)
    if is_compound and stems.stem("".join(halves)) not in known:
        return m[0]  # it has the hyphen where lines do not end, too
    return _quiet(len(m[0]))


Edit = tuple[int, bytes]
"""Where, and what stands there instead."""

SIGNS: Final[dict[int, tuple[re.Pattern[bytes], Callable[[re.Match[bytes]], bytes]]]] = {
    ord("&"): (_ENTITY, _meant),
    ord("\\"): (_ESCAPE, _escaped),
    ord("-"): (_HYPHEN, _joined),
    ord("]"): (_LINK, _spaces),
    ord("%"): (_PERCENT, _spaces),
    0xE2: (_ZERO_WIDTH, lambda m: _quiet(len(m[0]))),
}
"""By its first byte: what a sign is, and what stands for it. A ``[/`` says that a document has tags
of a forum."""


def edits_of(text: bytes, places: Sequence[int]) -> list[Edit]:
    """What stands for the signs that begin at `places` (ascending; some may be none) of `text`, a
    document of UTF-8: pieces as long as what they take the place of, ascending."""
    edits: list[Edit] = []
    at = 0
    is_shown = is_forum = False
    for place in places:
        if place < at:
            continue
        sign = text[place]
        if sign not in SIGNS:
            is_forum = True
            continue
        pattern, said = SIGNS[sign]
        m = pattern.match(text, place)
        if m is None or (other := said(m)) == m[0]:
            continue
        edits.append((place, other))
        at = m.end()
        is_shown |= other[:1] == b"<"
    if is_shown:
        edits = _blanked(_SHOWN_TAG, text, edits)
    if is_forum:
        edits = _blanked(_FORUM, text, edits)
    return edits


def _blanked(pattern: re.Pattern[bytes], text: bytes, edits: Sequence[Edit]) -> list[Edit]:
    """Spaces for what `pattern` finds when the `edits` are made, and those outside."""
    plain = bytearray(text)
    for place, other in edits:
        plain[place : place + len(other)] = other
    more = [(m.start(), _spaces(m)) for m in pattern.finditer(plain)]
    kept = []
    behind = iter([*more, (len(text), b"")])
    at, spaces = next(behind)
    for edit in edits:
        while edit[0] >= at + len(spaces):
            at, spaces = next(behind)
        if edit[0] < at:
            kept.append(edit)
    return sorted([*kept, *more])


def regions(text: bytes, edits: Sequence[Edit]) -> list[tuple[int, int]]:
    """From white space to white space, the places of `edits` (ascending) in `text`."""
    found: list[tuple[int, int]] = []
    start = -1  # of one that no white space has ended
    floor = end = 0
    for (low, other), until in zip(edits, [*(e[0] for e in edits[1:]), len(text)], strict=False):
        if start < 0:
            start = max(text.rfind(b" ", floor, low), text.rfind(b"\n", floor, low), floor - 1) + 1
        end = max(end, low + len(other))
        white = _WHITE.search(text, end, until)
        if white is not None:
            found.append((start, white.start()))
            start, floor = -1, white.start()
    if start >= 0:
        found.append((start, len(text)))
    return found
