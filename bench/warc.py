"""Speed of the record reader beside FastWARC and warcio, and what each loses of damaged files.

    python -m bench.warc [--quick] [--json] [--megabytes N] [--rounds N]

Two files, each plain, gzip and zstd with a member for each record: ``short`` has the records of
the sample crawl over and over (10 kB on average), ``long`` real pages (WCXB, 270 kB on average,
each with a request and a metadata record), which crawls of today are nearer to. Both readers give
every record, its headers and its block; neither parses HTTP. CPU seconds of this process, the
least of the rounds, the readers taking turns. ``source`` is all that ``sources.warc`` does: HTTP,
codings, ids, outcomes. warcio is read once, in the environment of ``make peers``; it knows no zstd.

Damage: ten records with one of them damaged. `lost` counts whole records that a reader does not
give, `silent` whether it said nothing of what is missing or broken.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.sources.archive import open_file
from corpusmill.stages.sources.records import read_records
from corpusmill.stages.sources.warc import Warc, WarcParams

from . import texts
from .harness import PEERS, ROOT, Bar, BenchError, Report, finish, parser

BYTES, QUICK_BYTES = 110_000_000, 15_000_000
ROUNDS, QUICK_ROUNDS = 3, 1
_MAX = 32 << 20


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--megabytes", type=int, help="size of each file, not packed")
    options.add_argument("--rounds", type=int, help=f"runs of each reader (default {ROUNDS})")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def installed(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def record(kind: str, url: str, block: bytes, *, length: int | None = None) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n"
        "WARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{abs(len(block)):012d}>\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(block) if length is None else length}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def short_records(folder: Path) -> Iterator[bytes]:
    for path in sorted((folder / "crawl").rglob("*.warc.gz")):
        for raw in read_records(open_file(str(path)), _MAX):
            if raw.block is not None:
                names = "".join(f"{_cased(n)}: {v}\r\n" for n, v in raw.headers.items())
                yield f"WARC/1.0\r\n{names}\r\n".encode() + raw.block + b"\r\n\r\n"


def _cased(name: str) -> str:
    """A header's name as it is written; FastWARC knows no other."""
    name = name.title().replace("Warc-", "WARC-").replace("-Uri", "-URI")
    return name.replace("-Id", "-ID").replace("-Ip-", "-IP-").replace("-IDentified", "-Identified")


def long_records(folder: Path) -> Iterator[bytes]:
    for row in texts.rows(folder / "wcxb_dev" / "pages.jsonl.xz"):
        page = row["html"].encode()
        http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
        yield record("request", row["url"], b"GET / HTTP/1.1\r\nHost: site.example\r\n\r\n")
        yield record("response", row["url"], http + page)
        yield record("metadata", row["url"], b"fetchTimeMs: 100\r\n")


def ours(path: Path) -> tuple[int, int]:
    """(records, bytes of their blocks)."""
    count = size = 0
    for raw in read_records(open_file(str(path)), _MAX):
        count += not raw.error
        size += len(raw.block or b"")
        raw.headers.get("warc-target-uri")
    return count, size


def fastwarc(path: Path) -> tuple[int, int]:
    from fastwarc.warc import ArchiveIterator

    count = size = 0
    with path.open("rb") as file:
        for found in ArchiveIterator(file, parse_http=False, auto_decode="none"):
            found.headers.get("WARC-Target-URI")
            count += 1
            size += len(found.reader.read())
    return count, size


def warcio(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """What warcio makes of files; empty where it is not installed."""
    python = PEERS / "datatrove" / "bin" / "python"
    if not python.exists():
        return []
    command = [str(python), str(ROOT / "bench" / "peers" / "datatrove" / "records.py")]
    done = subprocess.run([*command, *map(str, paths)], capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"warcio: {done.stderr.strip()[-200:]}", hint="make peers")
    return [json.loads(line) for line in done.stdout.splitlines()]


def source(path: Path) -> tuple[int, int]:
    file = InputFile("bench", str(path), path.name, path.stat().st_size)
    count = sum(1 for _ in Warc(WarcParams()).read(file))
    return count, path.stat().st_size


def packed(records: list[bytes], packing: str, path: Path) -> Path:
    import zstandard

    pack: Callable[[bytes], bytes] = {
        "plain": bytes, "gzip": lambda r: gzip.compress(r, 6, mtime=0),
        "zstd": zstandard.ZstdCompressor(3).compress,
    }[packing]  # fmt: skip
    with path.open("wb") as file:
        for one in records:
            file.write(pack(one))
    return path


def measure(args: Any) -> Report:
    folder = texts.data(args.quick)
    most = QUICK_BYTES if args.quick else BYTES
    if args.megabytes:
        most = args.megabytes * 1_000_000
    rounds = args.rounds or (QUICK_ROUNDS if args.quick else ROUNDS)
    made: dict[str, Iterator[bytes]] = {"short": short_records(folder or texts.SAMPLE)}
    if folder is not None:
        made["long"] = long_records(folder)
    rows: list[dict[str, Any]] = []
    bars: dict[str, Bar] = {}
    with tempfile.TemporaryDirectory(prefix="bench-warc-") as scratch:
        for name, found in made.items():
            records: list[bytes] = []
            size = 0
            for one in found:
                records.append(one)
                size += len(one)
                if size >= most:
                    break
            while size < most and name == "short":
                records += records[: len(records)]
                size *= 2
            for packing in ("plain", "gzip", "zstd"):
                path = packed(records, packing, Path(scratch) / f"{name}-{packing}")
                rows.append(_speed(path, size, rounds))
                bars[f"CPU of FastWARC over ours, {name} {packing}"] = Bar(
                    rows[-1]["FastWARC s"] / rows[-1]["ours s"], 1.0
                )
                path.unlink()
        rows += [_damage(name, data, whole, Path(scratch)) for name, data, whole in damaged()]
    bars["damaged files without a silent loss"] = Bar(
        sum(not row["ours silent"] for row in rows if "ours silent" in row)
        / max(1, sum("ours silent" in row for row in rows)),
        1.0,
    )
    return Report(
        bench="warc",
        versions={n: version(n) for n in ("fastwarc", "zstandard", "deflate") if installed(n)},
        rows=rows,
        bars=bars,
        columns=(
            "what", "records", "MB", "ours s", "FastWARC s", "warcio s", "source s", "ours MB/s",
            "whole", "ours lost", "ours silent", "FastWARC lost", "FastWARC silent",
            "warcio lost", "warcio silent",
        ),
    )  # fmt: skip


def _speed(path: Path, size: int, rounds: int) -> dict[str, Any]:
    best: dict[str, float] = {}
    given: dict[str, tuple[int, int]] = {}
    for _ in range(rounds):
        for name, read in (("ours", ours), ("FastWARC", fastwarc), ("source", source)):
            began = time.process_time()
            given[name] = read(path)
            took = time.process_time() - began
            best[name] = min(took, best.get(name, took))
    for other in warcio([path]):
        if not other["error"]:
            best["warcio"] = other["seconds"]
            given["warcio"] = (other["records"], other["bytes"])
    say(f"{path.name}: {best}")
    return {
        "what": path.name.replace("-", " "), "records": given["ours"][0], "MB": size / 1e6,
        **{f"{name} s": took for name, took in best.items()},
        "ours MB/s": size / 1e6 / best["ours"],
        "same": given["ours"] == given["FastWARC"] == given.get("warcio", given["ours"]),
    }  # fmt: skip


def damaged() -> Iterator[tuple[str, bytes, int]]:
    """(what, file, how many of its records are whole)."""

    def ten(pack: Callable[[bytes], bytes], change: dict[int, bytes] | None = None) -> list[bytes]:
        whole = [
            pack(record("response", f"http://a.example/{i}", bytes(str(i), "ascii") * 999))
            for i in range(10)
        ]
        return [(change or {}).get(i, one) for i, one in enumerate(whole)]

    def member(raw: bytes) -> bytes:
        return gzip.compress(raw, mtime=0)

    broken = bytearray(ten(member)[4])
    broken[len(broken) // 2] ^= 0xFF
    large = record("response", "http://a.example/4", b"4" * 999, length=5000)
    little = record("response", "http://a.example/4", b"4" * 999, length=10)
    none = large.replace(b"Content-Length: 5000\r\n", b"")
    for name, pack in (("plain", bytes), ("gzip", member)):
        parts = ten(pack)
        yield f"{name}: cut in the last record", b"".join(parts)[: -len(parts[-1]) // 2], 9
        yield f"{name}: bytes between two", b"".join([*parts[:4], b"junk" * 9, *parts[4:]]), 10
        yield f"{name}: zeros behind", b"".join(parts) + bytes(512), 10
        yield f"{name}: length too large", b"".join(ten(pack, {4: pack(large)})), 9
        yield f"{name}: length too small", b"".join(ten(pack, {4: pack(little)})), 9
        yield f"{name}: no length", b"".join(ten(pack, {4: pack(none)})), 9
    yield "gzip: a byte of a member", b"".join(ten(member, {4: bytes(broken)})), 9
    yield "gzip: a member's magic", b"".join(ten(member, {4: b"\0\0" + ten(member)[4][2:]})), 9
    yield "gzip: all in one member", member(b"".join(ten(bytes))), 10
    yield "gzip: cut behind a member", b"".join(ten(member)[:9]) + ten(member)[9][:12], 9


def _damage(name: str, data: bytes, whole: int, folder: Path) -> dict[str, Any]:
    from fastwarc.warc import ArchiveIterator

    expected = {str(i).encode() * 999 for i in range(10)}
    records = list(read_records(data, _MAX))
    mine = [r.block for r in records if not r.error and r.block is not None and r.size]
    theirs: list[bytes] = []
    said = ""
    try:
        for found in ArchiveIterator(io.BytesIO(data), parse_http=False, auto_decode="none"):
            theirs.append(found.reader.read())
    except Exception as err:  # noqa: BLE001 - the end of a peer, of whatever kind, is what is counted
        said = type(err).__name__
    path = folder / "damaged"
    path.write_bytes(data)
    others = warcio([path])
    digests = {hashlib.sha256(block).hexdigest() for block in expected}
    broken = whole < 10 or any(r.error or r.kind == "padding" for r in records)
    return {
        "what": name, "whole": whole,
        "ours lost": whole - len(expected.intersection(mine)),
        "ours silent": broken and all(not r.error and r.kind != "padding" for r in records),
        "FastWARC lost": whole - len(expected.intersection(theirs)),
        "FastWARC silent": broken and not said,
        **{
            key: value
            for other in others
            for key, value in (
                ("warcio lost", whole - len(digests.intersection(other["sha256"]))),
                ("warcio silent", broken and not other["error"]),
            )
        },
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
