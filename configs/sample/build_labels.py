"""Builds the labelled sets for the quality classifier. Run by maintainers after `build_sample.py`.

    CORPUSMILL_DATA=/path/to/data python configs/sample/build_labels.py

Writes ``labels/high.jsonl.gz`` and ``labels/low.jsonl.gz``; a row has `text`, `label`, `source`,
`licence` and `group` (the book, host or kind by which texts are held out together). All of it is
English. Rules:

- Only licences that the sample may hold. No text of a page that is in the sample crawl, and of the
  spam hosts only those that the sample crawl leaves out: a model must not have seen what it sorts.
- Documentation pages stand on both sides, their main text as high, their menus and footers as low,
  so that the words of software manuals alone say nothing.
- Long texts are cut at a paragraph or sentence end, both classes by the same rule.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LABELS = HERE / "labels"
ALLOWED = {
    "Apache-2.0", "BSL-1.0", "CC-BY-4.0", "CC0-1.0", "MIT", "PSF-2.0", "PostgreSQL",
    "public domain",
}  # fmt: skip
CUT = 900
"""Characters that a text is cut to, at the last paragraph or sentence end before."""
SHORTEST = 80
TAKE = {"textbook": 620, "book": 90, "tldr": 170, "self-instruct": 150}
SPAM_HOSTS = {
    "best.spam-farm2.example", "shop.spam-farm1.example", "shop.spam-farm2.example",
    "www.spam-farm1.example", "www.spam-farm2.example",
}  # fmt: skip
JUNK_KINDS = {
    "synthetic-cookie-wall", "synthetic-lorem-ipsum", "synthetic-repetition", "synthetic-soft-404",
}  # fmt: skip
"""Kinds of which a few texts are taken although the sample crawl has their pages: each kind is one
short template, so that the text would be the same wherever it came from."""


def key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8, key=b"corpusmill labels").digest()


def zip_bytes(raw: bytes) -> bytes:
    """One gzip member with no time stamp. (`gzip.compress` writes another operating-system byte
    in Python 3.13 than in 3.11.)"""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    tail = struct.pack("<2I", zlib.crc32(raw), len(raw) & 0xFFFFFFFF)
    return b"\x1f\x8b\x08\0\0\0\0\0\x02\xff" + squeeze.compress(raw) + squeeze.flush() + tail


def cut(text: str) -> str:
    """`text` up to `CUT` characters, ended at a paragraph, a sentence or a word."""
    text = text.strip()
    if len(text) <= CUT:
        return text
    head = text[:CUT]
    for mark, width in (("\n\n", 0), (". ", 1), (" ", 0)):
        at = head.rfind(mark)
        if at >= CUT // 2:
            return head[: at + width].rstrip()
    return head


def read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def row(text: str, label: str, source: str, licence: str, group: str) -> dict[str, str]:
    if licence not in ALLOWED:
        raise SystemExit(f"licence {licence!r} of {group} may not be in the sample")
    return {"text": cut(text), "label": label, "source": source, "licence": licence, "group": group}


def first(rows: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """`count` of the rows by keyed hash of their text, equal texts once."""
    unique = {r["text"]: r for r in rows if len(r["text"]) >= SHORTEST}
    return [unique[t] for t in sorted(unique, key=key)[:count]]


def usable(r: dict[str, Any], used: set[str]) -> bool:
    """Whether a page's text may be a label: not of a mirror, whose original is in another group."""
    here = r["lang"] == "en" and r["licence"] in ALLOWED and r["url"] not in used
    return here and "//mirror" not in r["url"]


def high(data: Path, used: set[str]) -> list[dict[str, str]]:
    rows = []
    for r in first(read(data / "text_high/openstax_sections.jsonl.gz"), TAKE["textbook"]):
        group = r["source"].removeprefix("openstax/osbooks-")
        rows.append(row(r["text"], "high", r["source"], r["licence"], group))
    for r in first(read(data / "text_high/moby_dick_chapters.jsonl.gz"), TAKE["book"]):
        rows.append(row(r["text"], "high", r["source"], r["licence"], "moby-dick"))
    instructions = read(data / "text_high/instruction_like.jsonl.gz")
    for name, count in (("tldr", TAKE["tldr"]), ("self-instruct", TAKE["self-instruct"])):
        for r in first([r for r in instructions if name in r["source"]], count):
            rows.append(row(r["text"], "high", r["source"], r["licence"], name))
    pages = [
        r for r in read(data / "html_gold/doc_containers.jsonl.gz")
        if usable(r, used) and len(r["text"]) >= 400
    ]  # fmt: skip
    for r in first(pages, len(pages)):
        rows.append(row(r["text"], "high", r["package"], r["licence"], f"main {r['host']}"))
    return rows


def low(data: Path, used: set[str]) -> list[dict[str, str]]:
    rows = []
    boilerplate = [
        r for r in read(data / "text_low/boilerplate.jsonl.gz") if usable(r, used)
    ]  # fmt: skip
    for r in first(boilerplate, len(boilerplate)):
        host = r["url"].split("/")[2]
        rows.append(row(r["text"], "low", r["package"], r["licence"], f"menus {host}"))
    junk = [r for r in read(data / "text_low/synthetic_low.jsonl.gz") if r["lang"] in ("en", "la")]
    spam = [r for r in junk if r["url"].split("/")[2] in SPAM_HOSTS]
    for r in first(spam, 150):
        # Texts of this generator open with ten menu words: without them half of the rows.
        text = r["text"] if key(r["url"])[0] % 2 else "\n".join(r["text"].split("\n")[10:])
        rows.append(row(text, "low", "synthetic", r["licence"], r["url"].split("/")[2]))
    for kind in sorted(JUNK_KINDS):
        for r in first([r for r in junk if r["kind"] == kind], 12):
            rows.append(row(r["text"], "low", "synthetic", r["licence"], kind))
    kind = ""
    for line in (LABELS / "own_low.txt").read_text("utf-8").splitlines():
        if line.startswith("== "):
            kind = line[3:]
        else:
            rows.append(row(line, "low", "own", "CC0-1.0", f"own {kind}"))
    return rows


def main() -> int:
    folder = os.environ.get("CORPUSMILL_DATA")
    if not folder:
        print("CORPUSMILL_DATA is not set\nhint: set it to the full data folder", file=sys.stderr)
        return 2
    lines = (HERE / "LICENCES.jsonl").read_text("utf-8").splitlines()
    used = {json.loads(line)["url"] for line in lines}
    for name, rows in (("high", high(Path(folder), used)), ("low", low(Path(folder), used))):
        rows.sort(key=lambda r: (r["group"], r["text"]))
        text = "".join(json.dumps(r, ensure_ascii=False, sort_keys=True) + "\n" for r in rows)
        raw = zip_bytes(text.encode("utf-8"))
        (LABELS / f"{name}.jsonl.gz").write_bytes(raw)
        print(f"{name}: {len(rows)} rows, {len(raw)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
