"""The spelling of a URL that two crawls of one address share.

`canonical_url` is a key, not an address to fetch. What it undoes are differences that RFC 3986
(sections 6.2.2 and 6.2.3) calls equivalent, and a few that hold on the Web in practice: the
scheme https for http, the fragment, session ids and campaign parameters. What it leaves alone
can lead to another page: ``www.``, the order of the parameters, a slash at the end, a fragment
that is a route of a page made by script (``#!/…`` and ``#/…``).
"""

from __future__ import annotations

import re

# RFC 3986, appendix B. `urllib.parse` is not used: what it accepts changes with the Python.
_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_AS_IS = _UNRESERVED | frozenset(b"!$&'()*+,;=:@/?[]|^`{}\\\"<>")
_AS_IS_BYTES = bytes(sorted(_AS_IS)) + b"%"
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})?")
_HOST = re.compile(r"(?:[^@]*@)*(\[[0-9a-f:.]+\]|[^:\[\]@]*[^:\[\]@.])\.*(?::([0-9]*))?")
_SESSION_PATH = re.compile(r";jsessionid=[^/?;]*", re.IGNORECASE | re.ASCII)
_ENDS = "".join(map(chr, range(0x21)))  # what the URL Standard of WHATWG strips
_DEFAULT_PORTS = {"http": "80", "https": "443"}

TRACKING_PARAMETERS = frozenset(
    ["gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid", "twclid",
     "ttclid", "igshid", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok",
     "phpsessid", "jsessionid", "aspsessionid"]
)  # fmt: skip
"""Query parameters (lower case) that are left out, beside all that begin with ``utm_``."""


def canonical_url(url: str) -> str:
    """The shared spelling of `url`; pure, ASCII for any input with a host.

    White space at the ends and tabs and line ends inside are removed, as browsers do. A text
    without scheme, or without a host that is one, comes back with only that done.
    """
    text = re.sub(r"[\t\r\n]", "", url).strip(_ENDS)
    match = _PARTS.fullmatch(text)
    host = _HOST.fullmatch(_lower(match[2] or "")) if match is not None else None
    if match is None or match[1] is None or host is None:
        return text
    scheme = _lower(match[1])
    port = (host[2] or "").lstrip("0")
    if port == _DEFAULT_PORTS.get(scheme, ""):
        port = ""
    name = host[1] if host[1].startswith("[") else _escape(host[1])
    path = _without_dots(_SESSION_PATH.sub("", _escape(match[3]))) or "/"
    pairs = [pair for pair in _escape(match[4] or "").split("&") if _matters(pair)]
    fragment = _escape(match[5] or "")
    route = f"#{fragment}" if fragment.startswith(("!", "/")) else ""
    return (
        f"{'https' if scheme == 'http' else scheme}://{name}{':' if port else ''}{port}"
        f"{path}{'?' if pairs else ''}{'&'.join(pairs)}{route}"
    )


def _lower(text: str) -> str:
    """ASCII lower case only: full case mapping differs between Pythons."""
    return re.sub(r"[A-Z]+", lambda m: m[0].lower(), text)


def _matters(pair: str) -> bool:
    name = _lower(pair.partition("=")[0])
    return bool(pair) and name not in TRACKING_PARAMETERS and not name.startswith("utm_")


def _escape(text: str) -> str:
    """Percent-encoding in one spelling: only where needed, with upper-case digits."""

    def one(match: re.Match[bytes]) -> bytes:
        if match[1] is None:
            return b"%25"
        value = int(match[1], 16)
        return bytes([value]) if value in _UNRESERVED else b"%" + match[1].upper()

    raw = _ESCAPE.sub(one, text.encode("utf-8", "surrogatepass"))
    if not raw.translate(None, _AS_IS_BYTES):
        return raw.decode("ascii")
    return "".join(chr(byte) if byte in _AS_IS or byte == 0x25 else f"%{byte:02X}" for byte in raw)


def _without_dots(path: str) -> str:
    """RFC 3986, section 5.2.4."""
    if "." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(kept) > 1:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)
