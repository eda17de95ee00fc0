"""The embedded sample: what it holds, what it may hold, and that its parts agree."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "configs" / "sample"
CRAWL = SAMPLE / "crawl"
GOLD = ROOT / "tests" / "data" / "crawl_gold"

ALLOWED = {
    "Apache-2.0",
    "BSL-1.0",
    "CC0-1.0",
    "CC0-1.0 with an MIT benchmark item",
    "MIT",
    "PSF-2.0",
    "PostgreSQL",
    "public domain",
}


def rows(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    return [json.loads(line) for line in text.splitlines()]


@cache
def records() -> list[tuple[str, int, int, dict[str, str], bytes]]:
    """Every record: file, offset, length of the member, WARC fields in lower case, block."""
    out = []
    for path in sorted(CRAWL.rglob("*.warc.gz")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            assert data[at : at + 3] == b"\x1f\x8b\x08"
            assert data[at + 4 : at + 8] == b"\0\0\0\0", "gzip time stamp"
            unzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
            record = unzip.decompress(data[at:])
            assert unzip.eof
            end = len(data) - len(unzip.unused_data)
            head, block = record.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            assert lines[0] == "WARC/1.0"
            fields = {k.lower(): v.strip() for k, _, v in (x.partition(":") for x in lines[1:])}
            assert block[int(fields["content-length"]) :] == b"\r\n\r\n"
            name = path.relative_to(CRAWL).as_posix()
            out.append((name, at, end - at, fields, block[:-4]))
            at = end
    return out


def responses() -> list[tuple[str, int, int, dict[str, str], bytes]]:
    return [r for r in records() if r[3]["warc-type"] == "response"]


def sha1(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()


def test_the_sample_is_small() -> None:
    size = sum(p.stat().st_size for p in SAMPLE.rglob("*") if p.is_file() and p.suffix != ".pyc")
    assert size <= 8_000_000


def test_layout_of_two_crawls() -> None:
    files = sorted({r[0] for r in records()})
    assert len(files) >= 4
    assert {f.split("/")[0] for f in files} == {"CC-SAMPLE-2026-10", "CC-SAMPLE-2026-14"}
    shape = re.compile(
        r"(CC-SAMPLE-2026-\d\d)/segments/\d{10}\.\d\d/warc/\1-\d{14}-\d{5}\.warc\.gz"
    )
    assert all(shape.fullmatch(f) for f in files)


@pytest.mark.parametrize("name", ["-00000.warc.gz", "-00002.warc.gz"])
def test_triples_in_the_first_files_only(name: str) -> None:
    kinds = Counter(r[3]["warc-type"] for r in records() if r[0].endswith(name))
    assert kinds["warcinfo"] == 2
    assert kinds["response"] > 100
    expected = kinds["response"] if name == "-00000.warc.gz" else 0
    assert kinds["request"] == kinds["metadata"] == expected


def test_every_record_has_a_licence_that_allows_it() -> None:
    licences = rows(SAMPLE / "LICENCES.jsonl")
    assert {r["licence"] for r in licences} <= ALLOWED
    assert all(r["origin"] for r in licences)
    listed = {(r["file"], r["offset"], r["url"]) for r in licences}
    assert len(listed) == len(licences)
    assert listed == {(f, at, head["warc-target-uri"]) for f, at, _, head, _ in responses()}


def test_notices_of_every_origin() -> None:
    notices = {p.stem for p in (SAMPLE / "notices").iterdir()}
    origins = {r["origin"] for r in rows(SAMPLE / "LICENCES.jsonl")} - {"own", "synthetic"}
    assert origins
    assert origins <= notices
    assert {"gsm8k", "humaneval", "mmlu", "CC-BY-4.0", "Apache-2.0"} <= notices
    for path in (SAMPLE / "notices").iterdir():
        assert re.search(r"licen[sc]e|public domain", path.read_text("utf-8"), re.I), path.name


def test_no_address_outside_the_reserved_domains() -> None:
    address = re.compile(
        rb"[A-Za-z0-9._%+-](?:@|%40|&#64;|&#x40;|&commat;)([A-Za-z0-9.-]+\.[A-Za-z]{2,})"
    )
    reserved = re.compile(
        rb"(?:.*\.)?(?:example\.(?:com|net|org)|[a-z0-9-]+\.(?:example|test|invalid))", re.I
    )
    seen = 0
    for name, at, _, head, block in responses():
        for domain in address.findall(block):
            seen += 1
            assert reserved.fullmatch(domain), (name, at, head["warc-target-uri"], domain)
    assert seen > 400  # the invented ones of the pages with personal data are there


def test_digests_are_right() -> None:
    checked = changed = 0
    for _, _, _, head, block in responses():
        assert head["warc-block-digest"] == sha1(block)
        http, body = block.split(b"\r\n\r\n", 1)
        assert head["warc-payload-digest"] == sha1(body)
        if "corpusmill-changes" in head:
            changed += 1
            assert f"\r\ncontent-length: {len(body)}".encode() in http.lower()
        checked += 1
    assert checked > 1500
    assert changed > 100


def test_gold_is_of_this_crawl() -> None:
    gold = rows(GOLD / "manifest.jsonl.gz")
    places = {(f, at): (length, head) for f, at, length, head, _ in responses()}
    assert len(gold) == len(places)
    for row in gold:
        length, head = places[row["file"], row["offset"]]
        assert row["length"] == length
        assert row["url"] == head["warc-target-uri"]
        assert row["payload_digest"] == head["warc-payload-digest"]
    synthetic = rows(GOLD / "synthetic_gold.jsonl.gz")
    assert {r["url"] for r in synthetic} <= {r["url"] for r in gold}
    kinds = Counter(r["kind"] for r in synthetic)
    assert kinds == {"synthetic-pii": 140, "synthetic-contaminated": 162}


def test_what_the_crawl_is_made_of() -> None:
    gold = rows(GOLD / "manifest.jsonl.gz")
    kinds = Counter(r["kind"] for r in gold)
    for kind in (
        "natural", "natural-mutated", "natural-recoded", "own-ar", "own-forum", "own-news",
        "own-product", "own-zh", "synthetic-cookie-wall", "synthetic-http-error",
        "synthetic-js-only", "synthetic-link-list", "synthetic-lorem-ipsum", "synthetic-mirror",
        "synthetic-pdf", "synthetic-repetition", "synthetic-seo-spam", "synthetic-soft-404",
        "synthetic-word-salad",
    ):  # fmt: skip
        assert kinds[kind] >= 10, kind
    assert sum(n for kind, n in kinds.items() if kind.startswith("synthetic-nasty")) >= 25
    languages = Counter(r["lang_checked"] for r in gold if r["kind"].startswith(("natural", "own")))
    assert len([n for n in languages.values() if n >= 9]) >= 6
    assert len({r["charset"] for r in gold}) >= 10
    # Copies of three kinds: crawled twice unchanged, crawled twice changed, mirrored.
    by_url: dict[str, set[str]] = {}
    for r in gold:
        by_url.setdefault(r["url"], set()).add(r["crawl"] + r["payload_digest"])
    twice = [{d[17:] for d in ds} for ds in by_url.values() if len(ds) == 2]
    assert sum(len(digests) == 1 for digests in twice) >= 50
    assert sum(len(digests) == 2 for digests in twice) >= 20
    originals = {r["near_cluster"] for r in gold if r["kind"].startswith("natural")}
    mirrors = [r["near_cluster"] for r in gold if r["kind"] == "synthetic-mirror"]
    assert sum(m in originals for m in mirrors) >= 0.9 * len(mirrors) >= 40


def test_own_pages() -> None:
    pages = json.loads((SAMPLE / "own" / "pages.json").read_text("utf-8"))
    files = {p.name for p in (SAMPLE / "own").glob("*.html")}
    assert {p["file"] for p in pages} == files
    assert Counter(p["kind"] for p in pages) == dict.fromkeys(
        ("own-forum", "own-news", "own-product", "own-zh", "own-ar"), 8
    )
    text_of = {r["url"]: r["text"] for r in rows(GOLD / "own_main_text.jsonl.gz")}
    blocks = {h["warc-target-uri"]: b for _, _, _, h, b in responses()}
    for page in pages:
        html = (SAMPLE / "own" / page["file"]).read_text("utf-8")
        assert blocks[page["url"]].endswith(b"\r\n\r\n" + html.encode(page["charset"]))
        text = text_of[page["url"]]
        units = len(text) if page["lang"] == "zh" else len(text.split())
        assert 120 <= units <= 500, (page["file"], units)
        for paragraph in text.split("\n\n")[:3]:
            words = re.findall(r"\w{4,}", paragraph)
            assert all(word in html for word in words), page["file"]


def test_labels() -> None:
    size = 0
    used = {r["url"] for r in rows(SAMPLE / "LICENCES.jsonl")}
    spam = {u.split("/")[2] for u in used if "spam-farm" in u}
    seen: dict[str, str] = {}
    for name in ("high", "low"):
        path = SAMPLE / "labels" / f"{name}.jsonl.gz"
        size += path.stat().st_size
        for row in rows(path):
            assert set(row) == {"text", "label", "source", "licence", "group"}
            assert row["label"] == name
            assert row["licence"] in ALLOWED | {"CC-BY-4.0"}
            assert row["group"] not in spam
            assert seen.setdefault(row["text"], name) == name
    assert size <= 900_000
    assert Counter(seen.values())["low"] >= 250
    assert Counter(seen.values())["high"] >= 1000


@pytest.mark.slow
@pytest.mark.fulldata
def test_the_build_gives_the_same_bytes(tmp_path: Path) -> None:
    data = os.environ.get("CORPUSMILL_DATA")
    if not data:
        pytest.skip("CORPUSMILL_DATA is not set")
    copy = tmp_path / "configs" / "sample"
    shutil.copytree(SAMPLE / "own", copy / "own")
    (copy / "labels").mkdir()
    shutil.copy(SAMPLE / "labels" / "own_low.txt", copy / "labels")
    for script in ("build_sample.py", "build_labels.py"):
        shutil.copy(SAMPLE / script, copy)
        subprocess.run([sys.executable, str(copy / script)], check=True, cwd=tmp_path)
    made = [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".pyc"]
    assert len(made) > 60
    for path in made:
        original = ROOT / path.relative_to(tmp_path)
        assert original.read_bytes() == path.read_bytes(), original
