"""What a response says of itself, from its headers and the head of its page, without a parser.

Only the first 64 KiB are looked at, as bytes. Comments, scripts and styles are cut out first, so
that a commented-out ``<meta>`` says nothing. The values are evidence, never our assertion: a
``rel=license`` link may belong to one picture on the page.

Sources: robots meta tag and X-Robots-Tag (RFC 9309 companions), TDM Reservation Protocol (W3C
community report, 2024: header ``tdm-reservation``, meta of the same name), ``noai`` and
``noimageai`` (DeviantArt's robots values, since widely used), ``rel=license`` (HTML standard
section 4.6.7), ``license`` of schema.org in JSON-LD and microdata, Dublin Core meta.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from corpusmill.pipeline.document import Scalar

HEAD_BYTES = 65536
_MAX_VALUE = 512

_CUT = re.compile(rb"<!--|<style\b[^>]{0,2048}>|<script\b(?![^>]{0,512}ld\+json)[^>]{0,2048}>")
_CUT_ENDS = {b"<!--": b"-->", b"<sty": b"</style", b"<scr": b"</script"}
_ATTRIBUTE = re.compile(
    rb"([A-Za-z][A-Za-z0-9:_\-]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))"
)
_TAG_END = re.compile(rb"(?:[^>\"']|\"[^\"]{0,4096}\"|'[^']{0,4096}'){0,4096}>")
_JSON_LD = re.compile(
    rb"<script\b[^>]{0,512}ld\+json[^>]{0,512}>(.{0,65536}?)(?:</script|\Z)", re.S
)
_JSON_LICENCE = re.compile(
    rb'"(?:https?://schema\.org/|schema:)?licen[sc]e"\s*:\s*'
    rb'(?:\{[^{}]{0,512}?"(?:@id|url)"\s*:\s*)?(?:\[\s*)?"((?:[^"\\]|\\.){1,512})"',
    re.S,
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")
_LICENCE_META = {
    "dc.rights": "meta dc.rights", "dcterms.rights": "meta dcterms.rights",
    "dcterms.license": "meta dcterms.license", "dc.license": "meta dc.license",
    "license": "meta license", "licence": "meta licence", "copyright": "meta copyright",
}  # fmt: skip
_INTEREST = re.compile(rb"robots|tdm-|content-language|licen[sc]e|rights|copyright|&")
_MAX_TAGS = 512
_TDM_WORDS = ("noai", "noimageai", "noml", "notrain")


def page_meta(headers: Mapping[str, str], body: bytes) -> dict[str, Scalar]:
    """Some of ``content_type``, ``lang_declared``, ``lang_header``, ``lang_html``, ``robots``,
    ``tdm``, ``licence``, ``licence_where``: those that the response states. `headers` have
    lower-case names."""
    meta: dict[str, Scalar] = {}
    if content_type := headers.get("content-type", ""):
        meta["content_type"] = content_type[:_MAX_VALUE]
    head = body[:HEAD_BYTES]
    if head.count(b"\0", 0, 64) > 8:  # UTF-16: the tags are plain once the NULs are out
        head = head.replace(b"\0", b"")
    robots = [headers["x-robots-tag"].lower()] if headers.get("x-robots-tag") else []
    tdm = (
        [f"tdm-reservation={headers['tdm-reservation']}"] if headers.get("tdm-reservation") else []
    )
    licence = _link_header(headers.get("link", ""))
    language = headers.get("content-language", "")
    http_equiv = ""
    low = head.lower()  # ASCII only; same length, so positions carry over
    if b"<!--" in low or b"<script" in low or b"<style" in low:
        # Blanks of the same length in place of what is cut.
        head = _blank(head, low)
        low = head.lower()
    html_lang = ""
    if (at := low.find(b"<html")) >= 0:
        attributes = _attributes(head, at + 5)
        html_lang = attributes.get("lang") or attributes.get("xml:lang", "")
    for at in _all(low, b"<meta"):
        if _of_no_interest(low, at):
            continue
        attributes = _attributes(head, at + 5)
        name = (attributes.get("name") or attributes.get("property", "")).lower()
        content = attributes.get("content", "")
        if name == "robots":
            robots.append(content.lower())
        elif name == "tdm-reservation":
            tdm.append(f"tdm-reservation={content}")
        elif name == "tdm-policy":
            tdm.append("tdm-policy")
        elif attributes.get("http-equiv", "").lower() == "content-language":
            http_equiv = content
        elif name in _LICENCE_META and content and not licence:
            licence = (content, _LICENCE_META[name])
    if not licence or licence[1] in _LICENCE_META.values():
        licence = _rel_license(head, low) or _json_ld(head, low) or licence
    for word in _TDM_WORDS:
        if any(word in re.split(r"[\s,;]+", r) for r in robots):
            tdm.append(word)
    for value in (language, html_lang, http_equiv):
        if m_lang := _LANGUAGE.match(value.strip()):
            meta["lang_declared"] = m_lang[0].replace("_", "-")[:35]
            break
    for column, value in (("lang_header", language), ("lang_html", html_lang)):
        if value.strip():
            meta[column] = " ".join(value.split())[:64]
    if robots:
        meta["robots"] = ", ".join(" ".join(r.split()) for r in robots)[:_MAX_VALUE]
    if tdm:
        meta["tdm"] = ", ".join(dict.fromkeys(tdm))[:_MAX_VALUE]
    if licence and licence[0].strip():
        meta["licence"] = " ".join(licence[0].split())[:_MAX_VALUE]
        meta["licence_where"] = licence[1]
    return meta


def _all(low: bytes, word: bytes) -> list[int]:
    found: list[int] = []
    at = low.find(word)
    while at >= 0 and len(found) < _MAX_TAGS:
        found.append(at)
        at = low.find(word, at + len(word))
    return found


def _blank(head: bytes, low: bytes) -> bytes:
    parts: list[bytes] = []
    last = 0
    while (m := _CUT.search(low, last)) is not None:
        ending = _CUT_ENDS[low[m.start() : m.start() + 4]]
        at = low.find(ending, m.end())
        end = len(low) if at < 0 else at + len(ending)
        parts += [head[last : m.start()], b" " * (end - m.start())]
        last = end
    return b"".join([*parts, head[last:]])


def _of_no_interest(low: bytes, at: int) -> bool:
    """Whether the ``<meta`` at `at` surely says nothing that is looked for, told without taking
    its attributes apart."""
    end = low.find(b">", at, at + 8192)
    tag = low[at:end]
    return (
        end > 0 and b"'" not in tag and tag.count(b'"') % 2 == 0 and _INTEREST.search(tag) is None
    )


def _attributes(head: bytes, at: int) -> dict[str, str]:
    """The attributes of the tag whose name ends at `at`."""
    m_end = _TAG_END.match(head, at, at + 8192)
    found: dict[str, str] = {}
    for m in _ATTRIBUTE.finditer(head, at, m_end.end() if m_end else at):
        value = m[2] if m[2] is not None else m[3] if m[3] is not None else m[4]
        text = value[:4096].decode("utf-8", "replace")
        found.setdefault(m[1].decode("ascii").lower(), html.unescape(text).strip())
    return found


def _rel_license(head: bytes, low: bytes) -> tuple[str, str] | None:
    for at in _all(low, b"license"):
        start = low.rfind(b"<", max(0, at - 2048), at)
        for tag, place in ((b"<link", "head"), (b"<a", "page")):
            end = start + len(tag)
            if start < 0 or not low.startswith(tag, start) or low[end : end + 1].isalnum():
                continue
            attributes = _attributes(head, end)
            if "license" in attributes.get("rel", "").lower().split() and "href" in attributes:
                return attributes["href"], f"rel=license in {place}"
    return None


def _link_header(value: str) -> tuple[str, str] | None:
    m = re.search(
        r"<([^>]{1,512})>\s*;[^,]{0,256}\brel\s*=\s*\"?[^\",;]{0,64}\blicense\b", value, re.I
    )
    return (m[1], "Link header") if m else None


def _json_ld(head: bytes, low: bytes) -> tuple[str, str] | None:
    if b"ld+json" not in low:
        return None
    for block in _JSON_LD.finditer(low):
        if m := _JSON_LICENCE.search(head, block.start(1), block.end(1)):
            return m[1].decode("utf-8", "replace").replace("\\/", "/"), "JSON-LD"
    return None
