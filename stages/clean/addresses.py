"""E-mail and IP addresses: where they may start, what makes them valid, what they are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal

from .spans import LETTERS, SPACE, Span, after, ascii_lower, before, word
from .tables import (
    FILE_ENDINGS,
    LOGINS,
    MAIL_PROVIDERS,
    PRIVATE_IPV4,
    PRIVATE_IPV6,
    RESERVED_DOMAINS,
    RESERVED_TLDS,
    SPECIAL_IPV4,
    SPECIAL_IPV6,
)
from .windows import Window, Windows, matches

_CJK: Final = "\u0e01-\u0eff\u3005\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Letters of scripts without spaces between words, and Korean ones."""

_LOCAL_TURNED: Final = re.compile(rf"(?:[{LETTERS}0-9_.%+\-]|['’](?![.%+\-'’]))*['’]?")
"""A local part from its end on; a quotation mark has no sign before it but at the start."""
_LABEL: Final = rf"[{LETTERS}0-9](?:[{LETTERS}0-9\-]{{0,61}}[{LETTERS}0-9])?"
_DOMAIN: Final = re.compile(
    rf"(?:{_LABEL}\.)+(?:xn--[A-Za-z0-9\-]{{2,59}}|[{LETTERS}]{{2,24}})"
    rf"(?![{LETTERS}0-9]|-[{LETTERS}0-9\-]*\.[{LETTERS}0-9])"
)
_CJK_LOCAL: Final = re.compile(rf"(?<![{_CJK}A-Za-z0-9_])[{_CJK}A-Za-z0-9_.+\-]{{1,32}}\Z")
_CJK_DOMAIN: Final = re.compile(
    rf"(?=[A-Za-z0-9.\-]{{0,63}}[{_CJK}])(?:[{_CJK}A-Za-z0-9\-]{{1,63}}\.)+"
    rf"(?:[{_CJK}]{{2,10}}(?![{_CJK}A-Za-z0-9])|[A-Za-z]{{2,24}}(?![A-Za-z0-9]))"
)
_QUOTED: Final = re.compile(rf'(?<![{LETTERS}0-9])"[{LETTERS}][{LETTERS}0-9 .\'\-]*"\Z')
"""A local part in quotation marks that may be a name: between two strings of code are signs."""
_ENCODED: Final = re.compile(r".*%(?:0[AaDd]|2[0267CcFf]|3[A-Fa-f])(?=.)")
_ESCAPED: Final = re.compile(r"(?:[nrt]|[ux](?:00)?[0-9A-Fa-f]{2})(?=.)")
"""Signs before an address as URLs and as strings of code have them."""
_SCHEME_BEFORE: Final = re.compile(r"[a-z][a-z0-9+.\-]*://[^ \t\n\r\u00a0/@]*\Z")
_COLON: Final = re.compile(r":([A-Za-z0-9~/._\-][^\s\"'`<>,;()\[\]{}|\x00\x01]{0,200})")
"""A colon and what it is joined to: a path, a port, a password."""
_PATH: Final = re.compile(r"[~/.]|(?!https?://)[^/]*/|.*\.git(?![0-9A-Za-z])")
_PORT_ALONE: Final = re.compile(r"[0-9]{1,5}(?![0-9A-Za-z_])")
_COMMAND: Final = re.compile(
    word(
        "ssh|sshfs|scp|sftp|rsync|mosh|git|hg|svn|cvs|bzr|darcs|rclone|unison|borg|restic|lsof|"
        "clone|remote|repo(?:sitory)?"
    )
)
"""What a place on a host is given to; on the line before it."""
_NAME: Final = re.compile(rf"[{LETTERS}]{{2,}}(?:[._+\-][{LETTERS}]{{2,}})+")
_PARTED: Final = re.compile(r"[._+\-]")
_PLACEHOLDER_WORDS: Final = """
your my some first last firstname lastname surname name user username email mail address test
example sample foo bar
"""
_PLACEHOLDERS: Final = frozenset(_PLACEHOLDER_WORDS.split())
"""Words with which a local part is nobody's name: ``your.name@example.com``."""
_VERSION_DOMAIN: Final = re.compile(r"v?[0-9]+\.[0-9]+")

_LOGIN: Final = re.compile(
    word("ssh|scp|sftp|rsync|slogin|finger|autossh|mosh") + rf"(?:{SPACE}+-[^ \t\n]+)*{SPACE}+\Z"
)
_IN_PATH: Final = re.compile(r"://[^ \t\n\r\u00a0]*/\Z")
_SIGIL: Final = re.compile(r"\$\Z|(?:^|[^0-9A-Za-z])#\Z")
_MESSAGE_ID: Final = re.compile(r"(?:cover\.)?(?=[A-F]*[0-9])[0-9A-F]{8,}[.\-]")
"""How local parts of Message-IDs begin: with the time, in digits or in hexadecimal ones."""
_MESSAGE: Final = re.compile(
    word("message-?id|in-reply-to|references|msg-?id|mid|selm|threadm")
    + rf"(?:{SPACE}|[:=<\"'])+(?:of{SPACE}+)?<?\Z"
)
_JOINTS: Final = " \t\n\r\u00a0:=<\"'"
"""With one of these the last two end."""

LOCAL_LIMIT: Final = 64
"""Octets that a local part may have (RFC 5321, 4.5.3.1.1); counted in characters here."""

Reserved = Literal["names", "keep", "tag"]


def emails(work: str, reserved: Reserved, windows: Windows) -> Iterator[Span]:
    """Addresses with a dotted domain. Left alone are remote paths (``git@host.org:repo``, see
    `_is_remote`) and logins (``ssh ann@host.org``), the user part of URLs, file names
    (``icon@2x.png``), package versions (``pkg@1.2.3``), variables (``$user@host.org``), the ids of
    messages and, by `reserved`, addresses at domains set aside for examples."""
    last_end = 0
    for at, _ in windows.of("email"):
        span = _email_at(work, at, last_end, reserved)
        if span is not None:
            yield span
            last_end = span.end


def _email_at(work: str, at: int, floor: int, reserved: Reserved) -> Span | None:
    window = work[max(floor, at - LOCAL_LIMIT - 1) : at]
    local = _local(window)
    if not local:
        other = (_QUOTED if window.endswith('"') else _CJK_LOCAL).search(window)
        local = other.group() if other is not None else ""
    domain = _DOMAIN.match(work, at + 1) or _CJK_DOMAIN.match(work, at + 1)
    if domain is None or not local:
        return None
    name = _unescaped(work, at, local).lstrip(".%+-'’")
    if work.startswith("_", domain.end()):
        name = name.lstrip("_")  # _ann@tiny.io_ is emphasis
    if not name or len(name) > LOCAL_LIMIT or name.endswith(".") or ".." in name:
        return None
    start, end = at - len(name), domain.end()
    host = ascii_lower(domain.group())
    if host.rpartition(".")[2] in FILE_ENDINGS or _VERSION_DOMAIN.match(host):
        return None
    if is_reserved(host) and (reserved == "keep" or (reserved == "names" and not _is_name(name))):
        return None
    if _SIGIL.search(work, max(0, start - 2), start) or _MESSAGE_ID.match(name):
        return None  # a variable, a channel of IRC, a message's id
    if work.startswith(":", end) and _is_remote(work, start, end, name, host):
        return None
    near = before(work, start, 40)
    if near and near[-1] in _JOINTS and (_LOGIN.search(near) or _MESSAGE.search(near)):
        return None
    left = work[max(0, start - 200) : start]
    if "://" in left and work[end : end + 1] == "/" and _IN_PATH.search(left):
        return None  # a message in an archive
    url = _SCHEME_BEFORE.search(before(work, start, 200)) if "://" in left else None
    if url is not None and not url.group().startswith("mailto:"):
        return None
    return Span(start, end, "email")


def _unescaped(work: str, at: int, local: str) -> str:
    """`local`, which ends at `at`, without what belongs to an escaped sign before it."""
    escaped = _ENCODED.match(local) if "%" in local else None
    if escaped is None and work[max(0, at - len(local) - 1)] == "\\":
        escaped = _ESCAPED.match(local)
    return local if escaped is None else local[escaped.end() :]


def _is_remote(work: str, start: int, end: int, name: str, host: str) -> bool:
    """Is ``start:end``, behind which a colon stands, a login on a host: with a path or a port, in a
    command, of an account's name? All others have a password or a remark behind the colon, as in
    lists of credentials; at providers of mail nobody has a login."""
    behind = _COLON.match(work, end)
    if behind is None or host.partition(".")[0] in MAIL_PROVIDERS:
        return False
    said = behind.group(1)
    if _PATH.match(said) or (_PORT_ALONE.match(said) and not _is_name(name)):
        return True
    login = ascii_lower(name)
    if login in LOGINS or not _PLACEHOLDERS.isdisjoint(_PARTED.split(login)):
        return True
    if work[max(0, start - 1) : start] == "-":
        return True  # an option with a host: -itcp@tiny.io:ftp
    return _COMMAND.search(before(work, start, 120).rpartition("\n")[2]) is not None


def _is_name(local: str) -> bool:
    """Does a local part read like a person's name, and not like a placeholder for one?"""
    words = _PARTED.split(ascii_lower(local))
    return _NAME.fullmatch(local) is not None and _PLACEHOLDERS.isdisjoint(words)


def _local(window: str) -> str:
    """The longest end of `window` that can be a local part."""
    turned = _LOCAL_TURNED.match(window[::-1])
    return window[len(window) - turned.end() :] if turned else ""


_AT_WORD: Final = (
    r"(?: {0,2}[\[({<【] {0,2}(?:at|@|ät|arroba|arobase|chiocciola|małpa) {0,2}[\])}>】] {0,2}"
    r"|&#64;|&#x40;|%40)"
)
_DOT_WORD: Final = (
    r"(?: {0,2}[\[({<] {0,2}(?:dot|\.|punkt|punto|point|kropka) {0,2}[\])}>] {0,2}| dot )"
)
_PLAIN_TLD: Final = "com|org|net|edu|gov|info|io|de|fr|uk|ch|nl|eu|es|pl|ru|cz|jp|kr|cn|br|ca|au|se"
_SPELLED: Final = re.compile(
    rf"(?i)(?<![{LETTERS}0-9_.@])([a-z0-9][a-z0-9_.+\-]{{0,40}}(?:{_DOT_WORD}[a-z0-9_\-]{{1,30}}){{0,2}})"
    rf"(?:(?:{_AT_WORD}|@(?=[a-z0-9.\-]{{1,60}} {{0,2}}[\[({{<]))"
    rf"([a-z0-9\-]{{1,40}}(?:(?:{_DOT_WORD}|\.)[a-z0-9\-]{{1,40}}){{0,3}}"
    rf"(?:{_DOT_WORD}|\.)[a-z]{{2,12}})"
    rf"| at ([a-z0-9\-]{{1,40}}(?:{_DOT_WORD}[a-z0-9\-]{{1,40}}){{0,3}}{_DOT_WORD}"
    rf"(?:{_PLAIN_TLD})))"
    rf"(?![{LETTERS}0-9_@])"
)
_DOTS: Final = re.compile(rf"(?i){_DOT_WORD}")


def spelled_emails(work: str) -> Iterator[Span]:
    """Addresses whose @ or dots are written as words: in brackets (``ann [at] tiny.io``), or both
    as plain words (``ann at tiny dot io``); one plain "at" alone is a sentence."""
    for m in _SPELLED.finditer(work):
        host = ascii_lower(_DOTS.sub(".", m.group(2) or m.group(3)))
        if not is_reserved(host) and host.rpartition(".")[2] not in FILE_ENDINGS:
            yield Span(m.start(), m.end(), "email")


_AT: Final = re.compile(rf"(?i){_AT_WORD}| at ")


def unspelled(address: str) -> str:
    """An address in words as it is meant: ``ann [at] tiny dot io`` is ``ann@tiny.io``."""
    if "@" in address and not _DOTS.search(address):
        return address if _AT.search(address) is None else _AT.sub("@", address)
    return _AT.sub("@", _DOTS.sub(".", address))


_RESERVED_ENDS: Final = tuple(f".{name}" for name in RESERVED_DOMAINS)


def is_reserved(host: str) -> bool:
    """Is `host` (lower case) a name set aside for examples or for private networks?"""
    return host.rpartition(".")[2] in RESERVED_TLDS or f".{host}".endswith(_RESERVED_ENDS)


# Each expression begins with a class of characters and looks back from behind it: only so does
# the search skip at the speed of a scan to where a match can begin.
_IPV4: Final = re.compile(
    r"[0-9](?<![0-9A-Za-z_.\-][0-9])[0-9]{0,2}(?:\.[0-9]{1,3}){3}(?![0-9A-Za-z_]|\.[0-9A-Za-z])"
)
# Words that make four dotted numbers a version, a section or an object identifier.
_NUMBERING: Final = re.compile(
    "(?:"
    + word(
        "versions?|ver|vers|v|releases?|rel|sections?|sect?|chapters?|chap|ch|clauses?|paragraphs?|"
        "para|appendix|annex|figures?|fig|tables?|tab|steps?|items?|parts?|rules?|articles?|art|"
        "examples?|ex|exercises?|lemma|theorem|peps?|oids?|rfc|iso|iec|ieee|builds?|rev|revisions?|"
        "update[sd]?|patch(?:es|ed)?|upgraded?|upgrading|since|until|before|after|requires?|needs?|"
        "series|kernel|firmware|drivers?|plugins?|git|ssh|openssh|linux|java|flash|"
        "kapitel|abschnitt|secci[oó]n|sezione|se[cç][aã]o|раздел|глава|верси[яию]"
    )
    + rf"|[§¶])[.:#(]*{SPACE}*[(#]?(?:(?:to|from|than|or|and|is){SPACE}+)?\Z"
    + rf"|[<>=~^≥≤≈]{SPACE}?\Z"
)
_NETWORK_BEFORE: Final = re.compile(
    word(
        "[a-z]*_?ips?|ipv4|ip4|inet|address(?:e[sn])?|addrs?|adress[eo]?n?|direcci[oó]n|indirizzo|"
        "hosts?|servers?|clients?|peers?|gateways?|routers?|resolvers?|dns|nameservers?|"
        "subnet|proxy|proxies|log(?:in|ged)|ping(?:ed|ing|s)?|traceroute|tracert|whois|dig|"
        "nslookup|telnet|connect(?:ed|ions?|ing|s)?|listen(?:ing|s)?|bind|src|dst|bann?(?:ed|s)?|"
        "firewall|attack(?:ed|er|s)?|[a-z]*virtualhost|visitors?|came from|forwarders?|forwarded|"
        "remote|(?:un)?block(?:ed|s|ing)?|abuse[a-z]*|spam[a-z]*|vpn|"
        "адрес"
    )
)
_ASSIGNED: Final = re.compile(
    r"(?:ip|addr(?:ess)?|host|server|gateway|dns|peer|interfaces?|src|dst|client|remote)[\"']?"
    r"[ ]?=[ ]?[\"'\[]?\Z"
)
"""``addr=``, which would otherwise read like ``version=``."""
_NETWORK_AFTER: Final = re.compile(
    rf"(?:{SPACE}|[)\],;\"'])*(?:(?:is|was){SPACE}+)?"
    + word("ips?|address|port|host|netmask|mask|banned|blocked")
)
_LOGGED: Final = re.compile(r" - [^ ]{1,40} \[|\]\)")
"""How lines of servers' logs and headers of mail go on behind an address."""


_PREFIX: Final = re.compile(r"\]?/[0-9]{1,3}(?![0-9])")
_PRODUCT: Final = re.compile(r"[a-z0-9_)]/\Z")
_NETWORK_SIZE: Final = re.compile(r"/([0-9]{1,2})(?![0-9])")
_HOST_OF_URL: Final = re.compile(r"://(?:[^ \t\n\r\u00a0/@]*@)?\Z")
_PORT: Final = re.compile(r":[0-9]{2,5}(?![0-9.])")
_GOES_ON: Final = re.compile(r"-[0-9a-z]")


def ips(work: str, windows: Windows) -> Iterator[Span]:
    """Public IPv4 and IPv6 addresses (see `public_ipv4`, `public_ipv6`)."""
    yield from _ipv4s(work, windows.of("ip"), public_ipv4, "ip")
    yield from _ipv6s(work, windows.hexes(), public_ipv6, "ip")


def private_ips(work: str, windows: Windows) -> Iterator[Span]:
    """Addresses of private networks and of one link, by the same context as public ones."""
    rows = windows.of("private_ip")
    yield from _ipv4s(work, rows, private_ipv4, "private_ip")
    yield from _ipv6s(work, rows, private_ipv6, "private_ip")


def _ipv4s(
    work: str, rows: Iterable[Window], wanted: Callable[[list[int]], bool], type_: str
) -> Iterator[Span]:
    for m in matches(_IPV4, work, rows):
        written = m.group().split(".")
        parts = [int(p) for p in written]
        if max(parts) > 255 or any(p[0] == "0" and p != "0" for p in written):
            continue
        if wanted(parts) and _is_address(work, m.start(), m.end(), parts):
            yield Span(m.start(), m.end(), type_)


_SPECIAL: Final = tuple(
    [(first, n) for first, n in SPECIAL_IPV4 if (first >> 24 ^ a) >> max(8 - n, 0) == 0]
    for a in range(256)
)
"""The blocks of `SPECIAL_IPV4` that have addresses with that first number."""


def public_ipv4(parts: list[int]) -> bool:
    """Is the address of these four numbers outside every special-purpose block?"""
    value = parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | parts[3]
    return not any(value >> (32 - n) == first >> (32 - n) for first, n in _SPECIAL[parts[0]])


def private_ipv4(parts: list[int]) -> bool:
    """Is the address of these four numbers one of a private network or of one link?"""
    value = parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | parts[3]
    return any(value >> (32 - n) == first >> (32 - n) for first, n in PRIVATE_IPV4)


def _is_address(work: str, start: int, end: int, parts: list[int]) -> bool:
    """Does the context make four dotted numbers an address, rather than a version or a section?

    Versions and sections are made of small numbers, so the smaller the numbers, the more the
    context must say: an address of which two numbers are 64 or more needs none.
    """
    left = before(work, start, 48).rpartition("\n")[2]
    right = after(work, end, 24).partition("\n")[0]
    if left.endswith("/") and _PRODUCT.search(left):
        return False  # Chrome/91.0.4.124
    prefix = _NETWORK_SIZE.match(right)
    if prefix is not None and prefix.group(1) != "32":
        return False  # a network, not an address
    if ("://" in left and _HOST_OF_URL.search(left)) or _PORT.match(right):
        return True
    if not _ASSIGNED.search(left) and (_GOES_ON.match(right) or _NUMBERING.search(left)):
        return False
    if _LOGGED.match(right) or left.endswith(("@", "::ffff:")):
        return True
    if _NETWORK_BEFORE.search(left) or _NETWORK_AFTER.match(right):
        return True
    return parts[3] != 0 and sum(p >= 64 for p in parts) >= 2


_IPV6: Final = re.compile(
    r"[0-9A-Fa-f](?<![0-9A-Za-z_:.][0-9A-Fa-f])[0-9A-Fa-f]{0,3}:(?:[0-9A-Fa-f]{1,4}:){0,6}(?::?[0-9A-Fa-f]{1,4})?(?::[0-9A-Fa-f]{1,4}){0,6}"
    r"(?:::)?(?![0-9A-Za-z_:])"
)


def _ipv6s(
    work: str, rows: Iterable[Window], wanted: Callable[[str], bool], type_: str
) -> Iterator[Span]:
    for m in matches(_IPV6, work, rows):
        if m.group().endswith("::") and _PREFIX.match(work, m.end()):
            continue  # a network, not an address
        if wanted(m.group()) and not re.match(r"\.[0-9]", work[m.end() : m.end() + 2]):
            yield Span(m.start(), m.end(), type_)


def public_ipv6(text: str) -> bool:
    """Is `text` an IPv6 address of the public block 2000::/3, or a full form outside all blocks?

    Names such as ``a::b`` or ``face::1`` parse as IPv6 but lie in no block that was ever
    assigned. A full form of eight groups is taken wherever it lies (except below 0100::/8 and in
    the local blocks from fc00::/7 on), if most groups have the three or four digits that
    hardware addresses of eight bytes do not have.
    """
    value = parse_ipv6(text)
    if value is None:
        return False
    if value >> 125 == 1:
        return not any(value >> (128 - n) == first >> (128 - n) for first, n in SPECIAL_IPV6)
    groups = text.split(":")
    return (
        len(groups) == 8
        and sum(len(g) >= 3 for g in groups) >= 5
        and 0x0100 <= value >> 112 < 0xFC00
    )


def private_ipv6(text: str) -> bool:
    """Is `text` an IPv6 address of a private network or of one link?"""
    value = parse_ipv6(text)
    return value is not None and any(
        value >> (128 - n) == first >> (128 - n) for first, n in PRIVATE_IPV6
    )


def parse_ipv6(text: str) -> int | None:
    """The value of an IPv6 address in hexadecimal groups, or None if it is none."""
    head, gap, tail = text.partition("::")
    left = head.split(":") if head else []
    right = tail.split(":") if tail else []
    missing = 8 - len(left) - len(right)
    if "::" in tail or (missing < 1 if gap else missing != 0):
        return None
    groups = [*left, *["0"] * missing, *right]
    if any(not 1 <= len(g) <= 4 for g in groups):
        return None
    value = 0
    for group in groups:
        value = value << 16 | int(group, 16)
    return value
