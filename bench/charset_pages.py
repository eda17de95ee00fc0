"""Real pages written anew in the encodings that their language has, for `bench.charset`.

A page keeps its markup and text; its own declarations of a charset go. Characters that an encoding
cannot write become character references, as authors and editors write them; a page of which more
than one in fifty non-ASCII characters would is not taken for that encoding.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpusmill.pipeline.document import Page
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.extract.data.build_charset import vietnamese
from corpusmill.stages.sources.warc import Warc, WarcParams

WEST = "ca da de en es fi fr id it nb nl pt sv"
SHORTEST = 20
"""Letters of another alphabet than ASCII that a page of a non-Latin language must have."""
_GOLD = {"iso-8859-1": "cp1252", "shift_jis": "cp932", "euc-kr": "cp949", "gb2312": "gb18030",
         "gbk": "gb18030", "big5": "big5hkscs", "iso-8859-9": "cp1254", "": "utf-8"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding, the Python codec that writes it, languages, and a label that a page in it may
    well have by mistake: of the other common encoding of its language, or of a neighbour."""

    name: str
    codec: str
    languages: str
    wrong: str


ENCODINGS = (
    Encoding("windows-1252", "cp1252", WEST, "windows-1251"),
    Encoding("iso-8859-15", "iso-8859-15", WEST, "windows-1250"),
    Encoding("macintosh", "mac_roman", WEST, "windows-1252"),
    Encoding("windows-1250", "cp1250", "cs hr hu pl ro sl", "iso-8859-2"),
    Encoding("iso-8859-2", "iso-8859-2", "cs hr hu pl ro sl", "windows-1250"),
    Encoding("windows-1254", "cp1254", "tr", "iso-8859-2"),
    Encoding("windows-1257", "cp1257", "et lt", "windows-1250"),
    Encoding("iso-8859-13", "iso8859_13", "et lt", "windows-1257"),
    Encoding("windows-1258", "cp1258", "vi", "windows-1250"),
    Encoding("windows-1251", "cp1251", "ru", "koi8-r"),
    Encoding("koi8-r", "koi8-r", "ru", "windows-1251"),
    Encoding("iso-8859-5", "iso-8859-5", "ru", "windows-1251"),
    Encoding("ibm866", "cp866", "ru", "windows-1251"),
    Encoding("x-mac-cyrillic", "mac_cyrillic", "ru", "windows-1251"),
    Encoding("koi8-u", "koi8_u", "uk", "koi8-r"),
    Encoding("windows-1253", "cp1253", "el", "iso-8859-7"),
    Encoding("iso-8859-7", "iso-8859-7", "el", "windows-1253"),
    Encoding("windows-1256", "cp1256", "ar", "iso-8859-6"),
    Encoding("iso-8859-6", "iso-8859-6", "ar", "windows-1256"),
    Encoding("windows-1255", "cp1255", "he", "windows-1256"),
    Encoding("windows-874", "cp874", "th", "windows-1252"),
    Encoding("shift_jis", "cp932", "ja", "euc-jp"),
    Encoding("euc-jp", "euc_jp", "ja", "shift_jis"),
    Encoding("iso-2022-jp", "iso2022_jp", "ja", "shift_jis"),
    Encoding("gb18030", "gb18030", "zh", "big5"),
    Encoding("big5", "cp950", "zh-Hant", "gb2312"),
    Encoding("euc-kr", "cp949", "ko", "gb2312"),
    Encoding("iso-2022-kr", "iso2022_kr", "ko", "euc-kr"),
    Encoding("utf-16le", "utf-16-le", "ar el fr ja ko ru tr zh", "windows-1252"),
    Encoding("utf-16be", "utf-16-be", "ar el fr ja ko ru tr zh", "windows-1252"),
    Encoding("utf-8", "utf-8", "ar cs de el fr hi ja ko ru vi zh", "windows-1251"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """A page as its author meant it, without declarations of a charset."""

    text: str
    language: str
    host: str
    url: str


def reported(host: str) -> bool:
    """Whether a host is of the half that is reported (the rules were written with the other)."""
    return hashlib.sha256(b"charset-bench\0" + host.encode()).digest()[0] % 2 == 1


_DECLARED = re.compile(
    r"<meta\b[^>]{0,512}?charset\s*=[^>]*>|<\?xml[^>]{0,256}?\bencoding\s*=[^>]*\?>", re.I
)
_HEAD = re.compile(r"<head\b[^>]*>", re.I)


def undeclared(text: str) -> str:
    return _DECLARED.sub("", text.removeprefix("\ufeff"))


def declared(text: str, label: str) -> str:
    """`text` with a declaration where its head begins (or in front)."""
    meta = f'<meta http-equiv="Content-Type" content="text/html; charset={label}">'
    m = _HEAD.search(text, 0, 900)
    at = m.end() if m is not None else 0
    return text[:at] + meta + text[at:]


def written(text: str, codec: str) -> tuple[bytes, str] | None:
    """(bytes, text) of a page in a codec; None if it cannot say the text."""
    if codec == "cp1258":
        text = vietnamese(text)
    body = text.encode(codec, "xmlcharrefreplace")
    back = body.decode(codec)
    others = len(back) - len(back.encode("ascii", "ignore"))
    lost = len(text) - len(text.encode("ascii", "ignore")) - others
    return None if not others or lost * 50 > others else (body, back)


def crawled(root: Path, manifest: Path) -> Iterator[Source]:
    """Natural pages of the sample crawl whose language was checked, one of each near-duplicate
    family in a language."""
    source = Warc(WarcParams())
    seen: set[tuple[str, str]] = set()
    with gzip.open(manifest) as lines:
        for line in lines:
            row = json.loads(line)
            family = (row["near_cluster"], row["lang"])
            if (
                row["kind"] not in ("natural", "natural-recoded") or row["status"] != 200
                or row["lang"] != row["lang_checked"] or family in seen
                or (row["lang"] == "en" and row["offset"] % 8)
            ):  # fmt: skip
                continue
            path = root / row["file"]
            file = InputFile("crawl", str(path), row["file"], path.stat().st_size)
            record = source.read_one(file, row["offset"])
            if record is None or not isinstance(record.outcome, Page):
                continue
            try:
                text = record.outcome.body.decode(_GOLD.get(row["charset"], row["charset"]))
            except UnicodeDecodeError:
                continue
            seen.add(family)
            yield Source(undeclared(text), row["lang"], row["host"], row["url"])


def more(folder: Path) -> Iterator[Source]:
    """Pages in UTF-8 below folders named by language: FOLDER/hu/….html."""
    for path in sorted(folder.glob("*/**/*.html")):
        language = path.relative_to(folder).parts[0]
        text = undeclared(path.read_bytes().decode("utf-8"))
        yield Source(text, language, f"{folder.name}/{language}", str(path))


def chosen(sources: list[Source], encoding: Encoding, most: int) -> list[Source]:
    """Up to `most` pages for an encoding, languages taking turns, in the order of a keyed hash."""
    queues: list[list[Source]] = []
    for language in encoding.languages.split():
        mine = [s for s in sources if s.language == language and _says(s, encoding)]
        mine.sort(key=lambda s: hashlib.sha256(s.url.encode()).digest(), reverse=True)
        queues.append(mine)
    found: list[Source] = []
    while len(found) < most and any(queues):
        for queue in queues:
            if queue and len(found) < most:
                found.append(queue.pop())
    return found


def _says(source: Source, encoding: Encoding) -> bool:
    made = written(source.text, encoding.codec)
    if made is None:
        return False
    latin = set(encoding.languages.split()) & {*WEST.split(), "cs", "et", "tr", "vi"}
    others = len(made[1]) - len(made[1].encode("ascii", "ignore"))
    return bool(latin) or others >= SHORTEST
