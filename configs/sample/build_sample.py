"""Builds the embedded sample crawl from the full data folder. Run by maintainers only.

    CORPUSMILL_DATA=/path/to/data python configs/sample/build_sample.py

What it does, in order:

1. Reads every record of ``$CORPUSMILL_DATA/crawl`` and keeps a response if its licence is one of
   `ALLOWED` and `selected` says so: whole hosts where they are small; where a host is large,
   whole ``near_cluster`` groups (all versions, crawls and mirrors of one page together), in the
   order of a keyed hash, up to a number of compressed bytes.
2. Replaces e-mail addresses that are not in a reserved domain by ``name-<number>@example.org``
   (the same address always gets the same number) and corrects ``Content-Length`` and both digests
   of such a record; the record then carries the WARC field ``Corpusmill-Changes``. All other
   records are copied member by member, byte for byte, so that broken pages stay broken.
3. Adds the pages of ``own/`` (written for this project, CC0-1.0).
4. Writes ``crawl/``, ``LICENCES.jsonl``, ``notices/``, and the gold labels of what was kept to
   ``tests/data/crawl_gold/``.

The result is a function of the data folder and of ``own/``; on another zlib the compressed bytes
of rewritten records may differ, the records not.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
import shutil
import struct
import sys
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
GOLD = HERE.parent.parent / "tests" / "data" / "crawl_gold"

ALLOWED = (
    "Apache-2.0", "BSL-1.0", "CC0-1.0", "CC0-1.0 with an MIT benchmark item", "MIT", "PSF-2.0",
    "PostgreSQL", "public domain",
)  # fmt: skip
BUDGET = {
    "docs.elephantdb.example": 480_000,
    "docs.snake-lang.example": 560_000,
    "eventloop.example": 250_000,
    "httpd-manual.example": 1_500_000,
    "shell-guide.example": 300_000,
    "www.cpp-libs.example": 300_000,
}
"""Compressed bytes taken from a host that is too large to take whole (its mirrors count too)."""
ALWAYS = ("httpd:ko:programs/httpd.html",)
"""Clusters taken first: EUC-KR by a meta element only, with a second charset named in the text."""
NEVER = {
    "https://shell-guide.example/abs/networkprogramming.html": "holds a script under the GPL",
    "https://shell-guide.example/abs/randomvar.html": "holds a script under the GPL",
}
WHOLE = {
    "app0.example", "app1.example", "app2.example", "best.spam-farm0.example",
    "best.spam-farm1.example", "blog.co.uk.example", "content-mill.example", "directory.example",
    "files.example", "forum.example", "homework-help.example", "news0.example", "news1.example",
    "news2.example", "news3.example", "shop.spam-farm0.example", "theme-demo.example",
    "www.distro-project.example", "www.spam-farm0.example", "xn--bcher-kva.example",
}  # fmt: skip
"""Hosts taken whole, as far as the licence allows: of www.distro-project.example only its
HTTP errors. Of the nine spam hosts five stay out: the quality model is trained on them."""
MULTIBYTE = {"big5", "euc-jp", "euc-kr", "gb18030", "gb2312", "gbk", "iso-2022-jp", "shift_jis"}
CHANGED = "e-mail addresses replaced by reserved ones"

ADDRESS = re.compile(
    r"(?:[A-Za-z0-9._%+-]|&#43;)+(?:@|&#64;|&#x40;|&commat;|%40)"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}",
)
RESERVED = re.compile(
    r"(?:^|[.@;])(?:example\.(?:com|net|org)|[a-z0-9-]+\.(?:example|test|invalid|localhost))$",
    re.IGNORECASE,
)


def replace_addresses(text: str) -> str:
    """`text` with every e-mail address outside the reserved domains replaced."""

    def one(match: re.Match[str]) -> str:
        address = match.group()
        domain = re.split(r"@|&#64;|&#x40;|&commat;|%40", address)[-1]
        if RESERVED.search("@" + domain):
            return address
        digest = hashlib.blake2b(address.lower().encode(), digest_size=4).digest()
        return f"name-{int.from_bytes(digest, 'big') % 1_000_000}@example.org"

    return ADDRESS.sub(one, text)


def clean_body(body: bytes, charset: str) -> bytes:
    """The body with its addresses replaced, at the level of bytes. Charsets whose characters may
    hold ASCII bytes are decoded first, if that loses nothing."""
    if charset in MULTIBYTE:
        try:
            text = body.decode(charset)
            if text.encode(charset) == body:
                return replace_addresses(text).encode(charset)
        except UnicodeError:
            pass
    return replace_addresses(body.decode("latin-1")).encode("latin-1")


@dataclass(frozen=True, slots=True)
class Member:
    """One gzip member of a WARC file, which holds one record."""

    offset: int
    raw: bytes
    record: bytes

    @property
    def head(self) -> dict[str, str]:
        lines = self.record.split(b"\r\n\r\n", 1)[0].decode("latin-1").split("\r\n")[1:]
        return {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}


def members(path: Path) -> Iterator[Member]:
    """Every member of a file, in order."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        unzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
        record = unzip.decompress(data[at:])
        end = len(data) - len(unzip.unused_data)
        yield Member(at, data[at:end], record)
        at = end


def zip_bytes(raw: bytes) -> bytes:
    """One gzip member with no time stamp. (`gzip.compress` writes another operating-system byte
    in Python 3.13 than in 3.11.)"""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    tail = struct.pack("<2I", zlib.crc32(raw), len(raw) & 0xFFFFFFFF)
    return b"\x1f\x8b\x08\0\0\0\0\0\x02\xff" + squeeze.compress(raw) + squeeze.flush() + tail


def sha1(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()


def rewrite(member: Member, charset: str) -> tuple[bytes, bytes] | None:
    """The record and its payload with addresses replaced, or None if there is none to replace."""
    head, block = member.record.split(b"\r\n\r\n", 1)
    block = block[: int(member.head["content-length"])]
    http, body = block.split(b"\r\n\r\n", 1)
    clean = clean_body(body, charset)
    if clean == body:
        return None
    http = re.sub(rb"(?i)(\r\ncontent-length: )\d+", rb"\g<1>%d" % len(clean), http)
    block = http + b"\r\n\r\n" + clean
    head = re.sub(rb"(\r\nContent-Length: )\d+", rb"\g<1>%d" % len(block), head)
    head = re.sub(rb"(\r\nWARC-Payload-Digest: )\S+", rb"\g<1>" + sha1(clean).encode(), head)
    head = re.sub(rb"(\r\nWARC-Block-Digest: )\S+", rb"\g<1>" + sha1(block).encode(), head)
    head += f"\r\nCorpusmill-Changes: {CHANGED}".encode()
    return head + b"\r\n\r\n" + block + b"\r\n\r\n", clean


def order_key(cluster: str) -> bytes:
    return hashlib.blake2b(cluster.encode(), digest_size=8, key=b"corpusmill sample").digest()


def selected(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the manifest that belong to the sample, in the manifest's order."""
    allowed = [r for r in rows if r["licence"] in ALLOWED and r["url"] not in NEVER]
    home = {r["near_cluster"]: r["host"] for r in allowed if r["host"] in BUDGET}
    mirrored = {r["near_cluster"] for r in allowed if r["kind"] == "synthetic-mirror"}
    size: dict[str, int] = {}
    for r in allowed:
        size[r["near_cluster"]] = size.get(r["near_cluster"], 0) + r["length"]
    kept: set[str] = set()
    for host, budget in BUDGET.items():
        # Mirrored pages get a third of the budget first: copies without their original are rare.
        clusters = sorted((c for c, h in home.items() if h == host), key=order_key)
        clusters.sort(key=lambda c: c not in ALWAYS)
        for share, pool in ((budget // 3, [c for c in clusters if c in mirrored or c in ALWAYS]),
                            (budget, clusters)):  # fmt: skip
            for cluster in pool:
                used = sum(size[c] for c in kept if home[c] == host)
                if cluster not in kept and used + size[cluster] <= share:
                    kept.add(cluster)
    return [r for r in allowed if r["host"] in WHOLE or r["near_cluster"] in kept]


def own_rows() -> list[dict[str, Any]]:
    pages: list[dict[str, Any]] = json.loads((HERE / "own" / "pages.json").read_text("utf-8"))
    return pages


def own_records(page: dict[str, Any], crawl: str, date: str, triple: bool) -> list[bytes]:
    """The records of one page of our own: the response, with request and metadata if `triple`."""
    text = (HERE / "own" / page["file"]).read_text("utf-8")
    body = text.encode(page["charset"])
    host, _, path = page["url"].removeprefix("https://").partition("/")
    ids = [uuid.uuid5(uuid.NAMESPACE_URL, f"{crawl} {page['url']} {n}") for n in range(3)]
    charset = f"; charset={page['header']}" if page["header"] else ""
    http = (
        f"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html{charset}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    common = f"WARC-Target-URI: {page['url']}\r\nWARC-IP-Address: 192.0.2.{len(host)}\r\n"

    def record(kind: str, n: int, block: bytes, extra: str, content: str) -> bytes:
        head = (
            f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Date: {date}\r\n"
            f"WARC-Record-ID: <urn:uuid:{ids[n]}>\r\nContent-Length: {len(block)}\r\n"
            f"{common}{extra}Content-Type: {content}\r\n\r\n"
        )
        return head.encode() + block + b"\r\n\r\n"

    linked = f"WARC-Concurrent-To: <urn:uuid:{ids[1]}>\r\n"
    digests = (
        f"WARC-Payload-Digest: {sha1(body)}\r\nWARC-Block-Digest: {sha1(http + body)}\r\n"
        "WARC-Identified-Payload-Type: text/html\r\n"
    )
    request = f"GET /{path} HTTP/1.1\r\nUser-Agent: SampleBot/1.0\r\nHost: {host}\r\n\r\n".encode()
    response = record("response", 1, http + body, digests, "application/http; msgtype=response")
    if not triple:
        return [response]
    return [
        record("request", 0, request, linked, "application/http; msgtype=request"),
        response,
        record("metadata", 2, b"fetchTimeMs: 20\r\n", linked, "application/warc-fields"),
    ]


def own_gold(page: dict[str, Any], crawl: str, date: str) -> dict[str, Any]:
    body = (HERE / "own" / page["file"]).read_text("utf-8").encode(page["charset"])
    return {
        "charset": page["charset"], "charset_header": page["header"], "crawl": crawl,
        "charset_meta": None if page["charset"] == "windows-1256" else page["charset"],
        "date": date, "host": page["url"].split("/")[2], "kind": page["kind"],
        "lang": page["lang"], "lang_checked": page["lang"], "licence": "CC0-1.0",
        "near_cluster": f"own:{page['file']}", "note": "", "package": "own",
        "payload_digest": sha1(body), "payload_length": len(body), "status": 200,
        "truncated": None, "url": page["url"],
    }  # fmt: skip


def write_file(
    name: str, source: Path, chosen: dict[int, dict[str, Any]], own: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Writes one WARC of the sample, and returns its gold rows with their new places."""
    target = HERE / "crawl" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    crawl = name.split("/")[0]
    triples = name.endswith("-00000.warc.gz")
    with target.open("wb") as out:
        request: Member | None = None
        last = ""
        for member in members(source):
            head = member.head
            kind = head["warc-type"]
            if kind == "warcinfo":
                out.write(
                    zip_bytes(
                        member.record.replace(b"build_sample_crawl.py", b"build_sample.py      ")
                    )
                )
            elif kind == "request":
                request = member
            elif kind == "metadata":
                if head["warc-concurrent-to"] == last:
                    out.write(member.raw)
            elif member.offset in chosen:
                row = dict(chosen[member.offset])
                if (
                    request is not None
                    and head.get("warc-concurrent-to") == request.head["warc-record-id"]
                ):
                    out.write(request.raw)
                changed = rewrite(member, row["charset"] or "")
                raw = zip_bytes(changed[0]) if changed else member.raw
                if changed:
                    row["payload_digest"], row["payload_length"] = sha1(changed[1]), len(changed[1])
                    row["changes"] = CHANGED
                row["file"], row["offset"], row["length"] = name, out.tell(), len(raw)
                out.write(raw)
                rows.append(row)
                last = head["warc-record-id"]
        for n, page in enumerate(own):
            date = f"{'2026-03-09' if crawl.endswith('10') else '2026-04-13'}T06:{n:02d}:00Z"
            for record in own_records(page, crawl, date, triples):
                raw = zip_bytes(record)
                if b"\r\nWARC-Type: response\r\n" in record[:60]:
                    place = {"file": name, "offset": out.tell(), "length": len(raw)}
                    rows.append(own_gold(page, crawl, date) | place)
                out.write(raw)
    return rows


def write_notices(data: Path, packages: set[str]) -> None:
    """The licence texts and copyright notices that the rows need."""
    folder = HERE / "notices"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    index = dict(
        line.split("\t")[:2]
        for line in (data / "notices/debian/INDEX.tsv").read_text("utf-8").splitlines()
    )
    for package in sorted(packages & set(index)):
        text = gzip.decompress((data / "notices/debian" / index[package]).read_bytes())
        if package.startswith("libboost"):  # two megabytes, of which one paragraph applies
            start = text.index(b"\nLicense: BSL-1.0\n Boost Software License") + 1
            text = text[start : text.index(b"\n\n", start) + 1]
        (folder / f"{package}.txt").write_bytes(text)
    for name, source in (
        ("Apache-2.0.txt", "yizhongw__self-instruct__LICENSE.txt"),
        ("CC-BY-4.0.txt", "openstax__CC-BY-4.0.txt"),
        ("gsm8k.txt", "openai__grade-school-math__LICENSE.txt"),
        ("humaneval.txt", "openai__human-eval__LICENSE.txt"),
        ("mmlu.txt", "hendrycks__test__LICENSE.txt"),
        ("tldr.txt", "tldr-pages__tldr__LICENSE.txt"),
    ):
        (folder / name).write_bytes((data / "notices/repos" / source).read_bytes())


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(r, ensure_ascii=False, sort_keys=True) + "\n" for r in rows)
    raw = text.encode("utf-8")
    path.write_bytes(zip_bytes(raw) if path.suffix == ".gz" else raw)


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main() -> int:
    folder = os.environ.get("CORPUSMILL_DATA")
    if not folder:
        print("CORPUSMILL_DATA is not set\nhint: set it to the full data folder", file=sys.stderr)
        return 2
    data = Path(folder)
    rows = selected(read_jsonl(data / "crawl/manifest.jsonl.gz"))
    shutil.rmtree(HERE / "crawl", ignore_errors=True)
    own = own_rows()
    gold: list[dict[str, Any]] = []
    names = sorted({r["file"] for r in rows})
    for number, name in enumerate(names):
        chosen = {r["offset"]: r for r in rows if r["file"] == name}
        # Pages of our own: four in each file of the second crawl in turn, so that a host is spread
        # over files; every second one was there, unchanged, in the first crawl.
        first = name.startswith("CC-SAMPLE-2026-10")
        mine = [
            p for n, p in enumerate(own) if n % 4 == number % 4 and (not first or n // 4 % 2 == 0)
        ]
        gold += write_file(name, data / "crawl" / name, chosen, mine)
    write_jsonl(HERE / "LICENCES.jsonl", [
        {k: r[k] for k in ("file", "offset", "url", "licence")}
        | {"origin": r["package"] or "synthetic"}
        | ({"changes": r["changes"]} if "changes" in r else {})
        for r in gold
    ])  # fmt: skip
    write_notices(data, {r["package"] for r in gold})
    GOLD.mkdir(parents=True, exist_ok=True)
    write_jsonl(GOLD / "manifest.jsonl.gz", gold)
    urls = {r["url"] for r in gold}
    synthetic = read_jsonl(data / "crawl/synthetic_gold.jsonl.gz")
    write_jsonl(GOLD / "synthetic_gold.jsonl.gz", [r for r in synthetic if r["url"] in urls])
    size = sum(f.stat().st_size for f in (HERE / "crawl").rglob("*.gz"))
    print(f"{len(gold)} responses, {size} bytes in {len(names)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
