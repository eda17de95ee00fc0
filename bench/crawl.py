"""The input of `bench.end_to_end`: one language's pages of a crawl, and pages with known main text.

Both systems read the same WARC files, made here. `select` copies records of a labelled crawl byte
for byte; whole families of near-duplicates together, in the order of a keyed hash, so that there
is something to deduplicate at any size. `labelled` makes small archives of pages whose main text
is known.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .harness import ROOT, BenchError

LANGUAGE = "en"
DOCS_PAGES = 150
WCXB_PAGES = 100
TESTS = ROOT / "tests" / "data"


@dataclass(frozen=True, slots=True)
class Crawl:
    """A folder of WARC files, and what is known of each response, by WARC-Record-ID."""

    folder: Path
    pages: Mapping[str, Mapping[str, str]]
    """``url`` and ``family`` (cluster of near-duplicates as labelled)."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Pages with known main text, by WARC-Record-ID."""

    name: str
    folder: Path
    gold: Mapping[str, str]


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a JSON Lines file, plain, gzip or xz by its name."""
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
    try:
        with openers.get(path.suffix, open)(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)
    except FileNotFoundError:
        raise BenchError(
            f"{path} is missing", hint="CORPUSMILL_DATA must name the full data folder", exit_code=2
        ) from None


def keyed(text: str) -> bytes:
    """The place of `text` in our order of choice."""
    return hashlib.blake2b(text.encode(), digest_size=8, key=b"corpusmill bench").digest()


def choose(rows: Sequence[dict[str, Any]], pages: int) -> list[dict[str, Any]]:
    """Whole families of rows (`near_cluster`) until there are at least `pages`, in crawl order."""
    families: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        families.setdefault(row["near_cluster"] or row["url"], []).append(row)
    chosen: list[dict[str, Any]] = []
    for name in sorted(families, key=keyed):
        if len(chosen) >= pages:
            break
        chosen.extend(families[name])
    return sorted(chosen, key=lambda r: (r["file"], r["offset"]))


def member(path: Path, offset: int, length: int) -> bytes:
    """The compressed bytes of one record."""
    with open(path, "rb") as file:
        file.seek(offset)
        raw = file.read(length)
    if len(raw) != length:
        raise BenchError(f"{path} ends within the record at {offset}")
    return raw


def bare(record: str) -> str:
    """A WARC-Record-ID without its angle brackets, as our documents hold it."""
    return record.strip().removeprefix("<").removesuffix(">")


def record_id(raw: bytes) -> str:
    """The WARC-Record-ID of one compressed response. Raises BenchError for another record."""
    head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(raw, 16384).split(b"\r\n\r\n", 1)[0]
    fields = {
        k.strip().lower(): v.strip()
        for k, _, v in (line.partition(b":") for line in head.split(b"\r\n")[1:])
    }
    if fields.get(b"warc-type") != b"response":
        raise BenchError(f"a response was expected, not {fields.get(b'warc-type')!r}")
    return bare(fields[b"warc-record-id"].decode("latin-1"))


def language(row: Mapping[str, Any]) -> str:
    return str(row.get("lang_checked") or row["lang"])


def select(crawl: Path, manifest: Path, pages: int, folder: Path) -> Crawl:
    """Copies `pages` responses in `LANGUAGE` or some more; one file for each file of the crawl."""
    rows = [row for row in read_jsonl(manifest) if language(row) == LANGUAGE]
    known: dict[str, dict[str, str]] = {}
    folder.mkdir(parents=True)
    for row in choose(rows, pages):
        raw = member(crawl / row["file"], row["offset"], row["length"])
        known[record_id(raw)] = {
            "url": row["url"],
            "family": row["near_cluster"] or row["url"],
        }
        with open(folder / Path(row["file"]).name, "ab") as out:
            out.write(raw)
    return Crawl(folder, known)


def response(number: int, url: str, html: str) -> tuple[str, bytes]:
    """The id and the compressed record of a page served as UTF-8."""
    body = html.encode("utf-8", "replace")
    http = (
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    name = f"urn:uuid:00000000-0000-4000-8000-{number:012d}"
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"WARC-Record-ID: <{name}>\r\nWARC-Target-URI: {url}\r\n"
        "WARC-Identified-Payload-Type: text/html\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(http) + len(body)}\r\n\r\n"
    ).encode()
    return name, gzip.compress(head + http + body + b"\r\n\r\n", 6, mtime=0)


def of_html(name: str, rows: Iterable[tuple[str, str, str]], folder: Path) -> Labelled:
    """An archive of pages given as ``(url, html, main text)``."""
    gold: dict[str, str] = {}
    folder.mkdir(parents=True)
    with open(folder / "pages.warc.gz", "wb") as out:
        for number, (url, html, text) in enumerate(rows):
            key, raw = response(number, url, html)
            gold[key] = text
            out.write(raw)
    return Labelled(name, folder, gold)


def of_records(
    name: str, crawl: Path, rows: Iterable[tuple[str, int, int, str]], folder: Path
) -> Labelled:
    """An archive of records of a crawl given as ``(file, offset, length, main text)``."""
    gold: dict[str, str] = {}
    folder.mkdir(parents=True)
    with open(folder / "pages.warc.gz", "wb") as out:
        for file, offset, length, text in rows:
            raw = member(crawl / file, offset, length)
            gold[record_id(raw)] = text
            out.write(raw)
    return Labelled(name, folder, gold)


def full_labels(data: Path, folder: Path) -> list[Labelled]:
    """``docs``: `DOCS_PAGES` English manual pages of the crawl, their main text taken from the
    container that their generator makes; ``news``: half of the article-extraction-benchmark;
    ``wcxb``: `WCXB_PAGES` of WCXB's development split."""
    manuals = [
        r for r in read_jsonl(data / "html_gold/doc_containers.jsonl.gz") if r["lang"] == LANGUAGE
    ]
    manuals.sort(key=lambda r: keyed(f"{r['crawl_file']} {r['offset']}"))
    docs = ((r["crawl_file"], r["offset"], r["length"], r["text"]) for r in manuals[:DOCS_PAGES])
    news = (
        (r["url"], r["html"], r["gold_text"])
        for r in read_jsonl(data / "aeb_half/pages.jsonl.xz")
        if r["gold_text"]
    )
    rows = [r for r in read_jsonl(data / "wcxb_dev/pages.jsonl.xz") if r["gold_text"]]
    rows.sort(key=lambda r: keyed(r["id"]))
    wcxb = ((r["url"], r["html"], r["gold_text"]) for r in rows[:WCXB_PAGES])
    return [
        of_records("docs", data / "crawl", docs, folder / "docs"),
        of_html("news", news, folder / "news"),
        of_html("wcxb", wcxb, folder / "wcxb"),
    ]


def sample_labels(crawl: Path, folder: Path) -> list[Labelled]:
    """``own``: the English pages written for the sample; ``docs``: English manual pages."""
    main = {
        r["url"]: r["text"]
        for r in read_jsonl(TESTS / "crawl_gold/own_main_text.jsonl.gz")
        if r["lang"] == LANGUAGE
    }
    places: dict[str, tuple[str, int, int, str]] = {}
    for row in read_jsonl(TESTS / "crawl_gold/manifest.jsonl.gz"):
        if row["url"] in main:
            places[row["url"]] = (row["file"], row["offset"], row["length"], main[row["url"]])
    docs = (
        (f"https://docs.example/{r['id'].replace(':', '/')}", r["html"], r["text"])
        for r in read_jsonl(TESTS / "html/gold_pages.jsonl")
        if r["lang"] == LANGUAGE
    )
    return [
        of_records("own", crawl, places.values(), folder / "own"),
        of_html("docs", docs, folder / "docs"),
    ]
