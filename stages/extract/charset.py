"""Decodes the bytes of a page to text, whatever its labels claim.

Rules, in order; the name of the one that decided is `Decoded.rule`:

    bom         a byte order mark
    utf16       NUL bytes in every second place: UTF-16 without a mark
    escape      pure ASCII bytes with ISO-2022 escape sequences (valid UTF-8, but not meant so)
    utf8        valid UTF-8 (a last character cut in the middle is allowed)
    utf8_twice  valid UTF-8 of text that was UTF-8 read as windows-1252: repaired
    utf8_mostly UTF-8 with few broken bytes: at least 20 well-formed characters for each
    header      the encoding that reads best, which the label of the HTTP header names
    meta        the same, which the label in the first 1,024 bytes of the page names
    detected    the encoding that reads best, which no label names
    fallback    windows-1252, as browsers do, where nothing reads like a language

Labels are read by the WHATWG Encoding Standard, so ``iso-8859-1`` is windows-1252 and ``gb2312``
is gb18030. Of 31 legacy encodings the one is taken in which the bytes read best
(`corpusmill.stages.extract.charset_model`), after what is known of it beforehand: how common it
is, and whether a label names it. A label outweighs a few characters, not a page. Labels of the
Latin-1 family, the default of many servers, weigh less.

`docs/reading.md` has what was measured, by ``python -m bench.charset``. `decode` is a pure function
of the bytes, the label and the model's file.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .charset_labels import LABELS, PYTHON_CODECS

PINS: tuple[str, ...] = ()
"""Distributions whose versions determine what `decode` gives: for `Stage.pins`."""

Rule = Literal[
    "bom", "utf16", "escape", "utf8", "utf8_twice", "utf8_mostly", "header", "meta", "detected",
    "fallback",
]  # fmt: skip

_META_BYTES = 1024
_FIRST_LOOK, _SECOND_LOOK = 1024, 64 * 1024


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded page."""

    text: str
    """Without the byte order mark."""
    codec: str
    """The encoding's WHATWG name in lower case (``windows-1252``, ``shift_jis``, …)."""
    declared: str
    """The label declared, as sent: of the header, else of the page; else empty."""
    rule: Rule
    replaced: int
    """How many characters of `text` are U+FFFD."""
    utf8: bytes | None = field(default=None, compare=False, repr=False)
    """`text` in UTF-8, where the body was that already."""

    @property
    def replaced_share(self) -> float:
        """Share of U+FFFD among the characters, 0 to 1, rounded to 6 decimals."""
        return round(self.replaced / len(self.text), 6) if self.text else 0.0


_NAME_OF = {label: name for name, labels in LABELS.items() for label in labels.split()}


def encoding_name(label: str | None) -> str:
    """The WHATWG name for a label, or an empty string for none that exists."""
    return _NAME_OF.get((label or "").strip(" \t\n\f\r\"'").lower(), "")


def header_charset(content_type: str) -> str:
    """The charset parameter of a Content-Type header, as sent; else empty."""
    m = _CHARSET.search(content_type)
    return (m[1] or m[2] or "")[:64] if m else ""


_CHARSET = re.compile(r"charset\s*=\s*(?:[\"']\s*([^\"';]+)|([^\s;,\"']+))", re.I)
_META = re.compile(rb"<meta\b[^>]{0,512}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.\-]+)", re.I)
_XML = re.compile(rb"\s*<\?xml[^>]{0,256}?\bencoding\s*=\s*[\"']\s*([A-Za-z0-9_:.\-]+)", re.I)
_COMMENT = re.compile(rb"<!--.*?-->", re.S)
_ESCAPES: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\x1b\$\)C"), "iso-2022-kr"),
    (re.compile(rb"\x1b(?:\$[@B]|\$\([DOQ]|\([IJ])"), "iso-2022-jp"),
)


def meta_charset(body: bytes) -> str:
    """The label that a page declares in its first 1,024 bytes, as sent; else empty."""
    head = _COMMENT.sub(b"", body[:_META_BYTES])
    m = _META.search(head) or _XML.match(head)
    return m[1].decode("ascii")[:64] if m else ""


def decode(body: bytes, header_label: str | None = None) -> Decoded:
    """The text of `body`. `header_label` is the charset of the HTTP header (see
    `header_charset`). Never raises on any bytes: what cannot be decoded becomes U+FFFD."""
    in_page = meta_charset(body)
    declared = header_label or in_page
    for mark, name in _MARKS:
        if body.startswith(mark):
            return _finish(_lenient(body[len(mark) :], name), name, declared, "bom")
    if name := _nul_pattern(body):
        return _finish(_lenient(body, name), name, declared, "utf16")
    if body.isascii():
        for pattern, name in _ESCAPES:
            if pattern.search(body) and (text := _strict(body, name)) is not None:
                return _finish(text, name, declared, "escape")
        if "hz-gb-2312" in (encoding_name(header_label), encoding_name(in_page)) and (
            (text := _strict(body, "hz-gb-2312")) is not None
        ):
            return _finish(text, "hz-gb-2312", declared, "escape")
        return Decoded(body.decode("ascii"), "utf-8", declared, "utf8", 0, body)
    if (valid := _valid_utf8(body)) is not None:
        text, body = valid
        if (once := _once(body, text)) is not None:
            return _finish(once, "utf-8", declared, "utf8_twice")
        return _finish(text, "utf-8", declared, "utf8", body)
    return _legacy(body, header_label or "", in_page, declared)


def _legacy(body: bytes, header: str, in_page: str, declared: str) -> Decoded:
    """`body` is neither UTF-8 nor ASCII."""
    lossy = body.decode("utf-8", "replace")
    broken = lossy.count("\ufffd")
    if _count_not_ascii(lossy) - broken >= 20 * broken:
        return _finish(lossy, "utf-8", declared, "utf8_mostly")
    by_header, by_page = encoding_name(header), encoding_name(in_page)
    name = _read(body, by_header, by_page)
    rule: Rule = "header" if name == by_header else "meta" if name == by_page else "detected"
    if not name:
        name, rule = "windows-1252", "fallback"
    return _finish(_lenient(body, name), name, declared, rule)


_BORDERS = re.compile(rb"[<>\n]")
_LONG_ASCII = re.compile(rb"([\x00-\x7f]{40})[\x00-\x7f]+([\x00-\x7f]{40})")
"""What lies between is nothing to the text around, as in scripts on one line."""
_PRIOR: dict[str, float] = {
    "windows-1252": 0.0, "windows-1251": -1.5, "shift_jis": -2.0, "gb18030": -2.5, "euc-jp": -3.0,
    "euc-kr": -3.0, "big5": -3.5, "iso-8859-15": -3.0, "windows-1250": -3.3, "iso-8859-2": -3.3,
    "windows-1254": -3.3, "windows-1256": -3.5, "windows-1255": -4.0, "koi8-r": -4.0,
    "windows-874": -4.0, "windows-1253": -4.5, "iso-8859-7": -4.5, "windows-1257": -4.5,
    "windows-1258": -5.0, "koi8-u": -5.0, "iso-8859-5": -6.0, "iso-8859-6": -6.0,
    "iso-8859-8": -6.0, "ibm866": -6.0, "macintosh": -6.0, "x-mac-cyrillic": -6.0,
    "iso-8859-3": -8.0, "iso-8859-4": -8.0, "iso-8859-10": -8.0, "iso-8859-13": -7.0,
    "iso-8859-14": -8.0, "iso-8859-16": -8.0,
}  # fmt: skip
"""How common encodings are among pages that are not UTF-8, natural logarithms to the most common
one: our estimate, in steps as coarse as its worth."""
_RAREST = -5.0
"""An encoding that a label names is taken to be at least this common, …"""
_LABELLED, _DEFAULT_LABEL = 8.0, 3.0
"""… and so much more likely; the second for windows-1252. In natural logarithms."""
_UNREADABLE = -12.0
"""Mean score of a byte beyond ASCII below which nothing is read: text has -4 and better."""


def _read(body: bytes, header: str, in_page: str) -> str:
    """The encoding in which `body` reads best; empty if it reads like none. All of them are tried
    on the first bytes beyond ASCII with what stands around them, the best on more of them."""
    parts = b"\n".join(part for part in _BORDERS.split(body) if not part.isascii())
    whole = _LONG_ASCII.sub(rb"\1\n\2", parts[: 4 * _SECOND_LOOK])[:_SECOND_LOOK]
    prior = dict(_PRIOR)
    labelled = {header, in_page} & prior.keys()
    for name in labelled:
        weight = _DEFAULT_LABEL if name == "windows-1252" else _LABELLED
        prior[name] = max(prior[name], _RAREST) + weight
    from .charset_model import UNIT, habit

    habits = habit(whole[:16384].decode("latin-1"))
    end = max(whole.rfind(border, _FIRST_LOOK // 2, _FIRST_LOOK) for border in (b" ", b"\n"))
    first = whole if len(whole) <= _FIRST_LOOK else whole[: end if end > 0 else _FIRST_LOOK]
    ranked = _ranked(first, prior, habits)
    if first is not whole:
        best = {name for _, name in ranked[:8]} | labelled
        ranked = _ranked(whole, {n: p for n, p in prior.items() if n in best}, habits)
    least = _UNREADABLE * len(whole.translate(None, _ASCII)) - 20
    return ranked[0][1] if -ranked[0][0] > least * UNIT else ""


_ASCII = bytes(range(128))


def _ranked(body: bytes, prior: Mapping[str, float], habits: Any) -> list[tuple[int, str]]:
    """(score with its sign turned, encoding), the best first."""
    from .charset_model import UNIT, scores  # with numpy: not for pages in UTF-8

    body += b"\n"  # so that a first half of a character at the end counts against an encoding
    texts = {name: _whatever(body, name) for name in prior}
    different = list(dict.fromkeys(texts.values()))
    known = dict(zip(different, scores(different, habits), strict=True))
    return sorted((-known[texts[n]] - round(UNIT * p), n) for n, p in prior.items())


def _whatever(body: bytes, name: str) -> str:
    codec = PYTHON_CODECS.get(name, (name,))[0]
    try:
        return codecs.decode(body, codec, _C1)
    except UnicodeDecodeError:
        return body.decode(codec, "replace")


_BYTE_OF = {bytes([b]).decode("cp1252", "replace"): b for b in range(0x80, 0x100)}
_BYTE_OF.update({chr(b): b for b in range(0x80, 0x100)})
_RUN = re.compile("[^\x00-\x7f]+")
_LEAD = re.compile(rb"\xc3[\x82-\xb4](?=[\xc2\xc5\xc6\xcb\xe2\xef])")
"""UTF-8 of what windows-1252 makes of a first byte of UTF-8, before that of another byte (U+0080 to
U+00BF, or what stands for 80 to 9F, U+FFFD too): there is one for each character that can be
decoded again."""
_LEAST_AGAIN = 4


def _once(body: bytes, text: str) -> str | None:
    """`text` (in UTF-8 `body`) with UTF-8 decoded a second time, where that gives at least four
    characters, and nine for each run of characters beyond ASCII that is not UTF-8 read as
    windows-1252; else None."""
    if len(_LEAD.findall(body)) < _LEAST_AGAIN:
        return None
    good = bad = 0
    fixed: dict[str, str] = {}
    for m in _RUN.finditer(text):
        run = m[0]
        if run not in fixed:
            fixed[run] = _decoded_again(run)
        good += len(fixed[run])
        bad += not fixed[run]
        if bad > 3 and bad * 9 > good:
            return None
    if good < _LEAST_AGAIN or bad * 9 > good:
        return None
    return _RUN.sub(lambda m: fixed[m[0]] or m[0], text)


def repaired(text: str) -> str:
    """`text`, or what it was before it was encoded twice: the rule ``utf8_twice``, for texts."""
    once = _once(text.encode("utf-8", "surrogatepass"), text)
    return text if once is None else once


def _decoded_again(run: str) -> str:
    try:
        return bytes(_BYTE_OF[char] for char in run).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return ""


def _finish(text: str, name: str, declared: str, rule: Rule, utf8: bytes | None = None) -> Decoded:
    replaced = text.count("\ufffd") if "\ufffd" in text else 0  # to look is quicker than to count
    return Decoded(text, name, declared, rule, replaced, utf8)


_MARKS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32le"),
    (b"\x00\x00\xfe\xff", "utf-32be"),
    (b"\xff\xfe", "utf-16le"),
    (b"\xfe\xff", "utf-16be"),
)


def _nul_pattern(body: bytes) -> str:
    """UTF-16 or UTF-32 without a mark: markup is ASCII, so NULs stand in fixed places."""
    head = body[:4096]
    head = head[: len(head) // 4 * 4]
    if head.count(0) * 10 < len(head) or not head:
        return ""
    nul = [head[i::4].count(0) for i in range(4)]
    quarter = len(head) // 4
    few, many = quarter // 50, quarter // 5
    if nul[0] <= few and min(nul[2:]) >= quarter - few:
        return "utf-32le"
    if nul[3] <= few and min(nul[:2]) >= quarter - few:
        return "utf-32be"
    if max(nul[0], nul[2]) <= few and min(nul[1], nul[3]) >= many:
        return "utf-16le"
    if max(nul[1], nul[3]) <= few and min(nul[0], nul[2]) >= many:
        return "utf-16be"
    return ""


def _valid_utf8(body: bytes) -> tuple[str, bytes] | None:
    """`body` in UTF-8 and its bytes, or None where it is none. A last character cut in the middle
    is left out."""
    try:
        return body.decode("utf-8"), body
    except UnicodeDecodeError as err:
        if err.start >= len(body) - 3 and err.reason == "unexpected end of data":
            body = body[: err.start]
            return body.decode("utf-8"), body
        return None


def _strict(body: bytes, name: str) -> str | None:
    """`body` in an encoding, or None where a byte sequence is not of it. A last character cut in
    the middle is left out."""
    for codec in PYTHON_CODECS.get(name, (name,)):
        try:
            return codecs.decode(body, codec, _C1)
        except UnicodeDecodeError as err:
            if err.start >= len(body) - 3 and err.start > 0:
                try:
                    return codecs.decode(body[: err.start], codec, _C1)
                except UnicodeDecodeError:
                    continue
    return None


def _lenient(body: bytes, name: str) -> str:
    text = _strict(body, name)
    if text is None:
        text = body.decode(PYTHON_CODECS.get(name, (name,))[0], "replace")
    return text


_C1 = "corpusmill-c1"
_HOLES = frozenset({"charmap"})


def _c1_holes(err: UnicodeError) -> tuple[str, int]:
    """As the Encoding Standard has it: bytes 0x80 to 0x9F that a windows code page leaves open
    are the control characters of the same number. Anything else is an error."""
    if isinstance(err, UnicodeDecodeError) and err.encoding in _HOLES:
        byte = err.object[err.start]
        if 0x80 <= byte <= 0x9F:
            return chr(byte), err.start + 1
    raise err


codecs.register_error(_C1, _c1_holes)


def _count_not_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))
