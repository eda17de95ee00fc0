"""Texts for the measurements of single stages: from ``CORPUSMILL_DATA``, else the sample."""

from __future__ import annotations

import gzip
import html
import json
import lzma
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .harness import ROOT

SAMPLE = ROOT / "configs" / "sample"
GOLD = ROOT / "tests" / "data" / "crawl_gold"
_CODE = re.compile(r"(?is)<(script|style)[^>]*>.*?</\1>")
_TAG = re.compile(r"<[^>]*>")
_LONGEST = 300_000


def data(quick: bool) -> Path | None:
    """The full data folder, unless it is not named or `quick`."""
    named = os.environ.get("CORPUSMILL_DATA")
    return Path(named) if named and not quick else None


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSON Lines file, gzip, xz or plain."""
    opener: Any = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def write(path: Path, content: Iterable[Mapping[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in content)
    return path


def crawl(folder: Path) -> Iterator[tuple[str, str]]:
    """URL and text without tags, scripts and styles, of every response below `folder`."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    for path in sorted(folder.rglob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response):
                body = record.reader.read().decode("utf-8", "replace")[:_LONGEST]
                text = html.unescape(_TAG.sub("", _CODE.sub(" ", body)))
                yield record.headers["WARC-Target-URI"], text


def extracted(folder: Path) -> Iterator[tuple[str, str]]:
    """URL and text, by the tier ``fast``, of every response below `folder` that has one."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    from corpusmill.pipeline.errors import CorpusmillError
    from corpusmill.stages.extract import extract

    for path in sorted(folder.rglob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response):
                url = record.headers["WARC-Target-URI"]
                try:
                    text = extract(record.reader.read(), url=url, tier="fast").text
                except CorpusmillError:  # over a budget
                    continue
                if text:
                    yield url, text


def clean(folder: Path | None, every: int = 1) -> dict[str, dict[str, str]]:
    """Set → id → text, of texts that were not made to hold benchmark items; one of `every`."""
    whole = _clean(folder)
    return {name: dict(list(found.items())[::every]) for name, found in whole.items()}


def _clean(folder: Path | None) -> dict[str, dict[str, str]]:
    if folder is None:
        found = {
            name: {str(n): row["text"] for n, row in enumerate(rows(path))}
            for name in ("high", "low")
            for path in [SAMPLE / "labels" / f"{name}.jsonl.gz"]
        }
        pages, labels = SAMPLE / "crawl", GOLD / "synthetic_gold.jsonl.gz"
    else:
        found = {}
        for group in ("text_high", "text_low"):
            for path in sorted((folder / group).glob("*.jsonl.gz")):
                found[path.name.partition(".")[0]] = {
                    str(n): row["text"] for n, row in enumerate(rows(path))
                }
        found["doc_containers"] = {
            row["url"] + str(n): row["text"]
            for n, row in enumerate(rows(folder / "html_gold" / "doc_containers.jsonl.gz"))
        }
        found["labelled_pages"] = {
            f"{name}/{row['id']}": row["gold_text"]
            for name in ("wcxb_dev", "aeb_half")
            for row in rows(folder / name / "pages.jsonl.xz")
        }
        pages, labels = folder / "crawl", folder / "crawl" / "synthetic_gold.jsonl.gz"
    planted = {row["url"] for row in rows(labels) if "item" in row}
    found["crawl"] = {
        f"{n} {url}": text for n, (url, text) in enumerate(crawl(pages)) if url not in planted
    }
    return found
