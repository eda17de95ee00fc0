"""What three readers say of a folder of crawl archives, file by file, for ``docs/reading.md``.

    python -m bench.warc_counts FOLDER --warcio PYTHON [--write docs/reading.md]

PYTHON is an interpreter that has warcio; FastWARC is read with this one. Both are used as their
manuals show: iterate, read each body. ``--write`` replaces the table between the two marks of the
file; a row in which the readers differ, or in which we report an error, must have its reason in
`WHY`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- table: bench.warc_counts -->", "<!-- end of table -->"

WHY = {
    "derived/bit-rot-in-second-member.warc.gz":
        "one member is corrupt: both lose it and all behind it, here only it is lost",
    "derived/cut-mid-member.warc.gz":
        "the file ends inside the last member: warcio gives five and does not say so, FastWARC "
        "gives the cut record as a whole one",
    "derived/frame-per-record.warc.zst": "warcio reads no zstd",
    "derived/garbage-between-members.warc.gz":
        "bytes between two members: both stop there",
    "derived/lf-only-line-ends.warc":
        "line ends were changed, so no block has its Content-Length: FastWARC gives one empty "
        "record and ends without an error",
    "derived/one-gzip-stream.warc.gz": "all records in one member: warcio stops after the first",
    "gowarc/corrupted-mid-record.warc.gz":
        "all records in one member, one of them without a header; we go on at the next record",
    "gowarc/corrupted-trailing-bytes.warc.gz":
        "all records in one member, bytes behind the last one",
    "gowarc/empty.warc.gz": "an empty member, accounted for as padding",
    "gowarc/good.warc.gz": "all records in one member: warcio stops after the first",
    "gowarc/skip-non-open.warc.gz": "all records in one member: warcio stops after the first",
    "node_warc/books.toscrape.warc.gz":
        "all records in one member: warcio stops after the first",
    "pywb/bad.arc":
        "three headers without a usable length, one of them the file's own: no block can be told "
        "from what follows; FastWARC reads no ARC",
    "warcio/bad.arc": "the same file as pywb/bad.arc",
    "pywb/example.arc.gz": "FastWARC reads no ARC",
    "resiliparse/block-sized-records.warc.lz4":
        "lz4 is refused with the way to unpack it; warcio does not read it either",
    "warcio/example-bad-non-chunked.warc.gz":
        "all records in one member: warcio stops after the first",
    "warcio/example-space-in-url.arc":
        "the last block is 12 bytes short: warcio gives it as whole; FastWARC reads no ARC",
    "warcio/example-trunc.warc":
        "a block goes on 2 bytes behind its Content-Length: warcio warns, gives it cut and goes "
        "on; FastWARC gives it cut and stops at what follows",
    "warcio/example-wrong-chunks.warc.gz":
        "a record goes over three members: warcio takes the second one for a record",
    "warcio/example.arc": "FastWARC reads no ARC",
    "warcio/example.arc.gz": "FastWARC reads no ARC",
    "warcio_js/example-bad-length.warc":
        "the same with 1 byte",
    "webarchive_commons/abcd.gz": "no archive inside",
    "webarchive_commons/double-single-inflate-error.gz": "a corrupt member",
    "webarchive_commons/empty.gz": "an empty member, accounted for as padding",
    "webarchive_commons/hi-2.gz": "no archive inside",
    "webarchive_commons/hi.gz": "no archive inside",
}  # fmt: skip
"""Why the readers differ, or why a record is an error, by file."""


def files_of(folder: Path) -> list[str]:
    """Relative names of the files below `folder`, sorted."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def ours(folder: Path, name: str) -> dict[str, Any]:
    """``{"kept": n, "dropped": {reason: n}, "errors": {type: n}, "bytes": n}`` of one file, or
    ``{"refused": message}``. WET and WAT files are read as such."""
    from corpusmill.pipeline.document import Drop, Failure
    from corpusmill.pipeline.errors import InputError
    from corpusmill.pipeline.registry import build
    from corpusmill.pipeline.stage import InputFile

    path = folder / name
    kind = next((k for k in ("wet", "wat") if f".{k}" in name), "warc")
    reader = build(f"sources.{kind}", {}, name)
    reader.setup()
    kept, told = 0, 0
    dropped: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    try:
        for record in reader.read(InputFile("real", str(path), name, path.stat().st_size)):
            told += record.length
            if isinstance(record.outcome, Drop):
                dropped[record.outcome.reason] += 1
            elif isinstance(record.outcome, Failure):
                errors[record.outcome.type] += 1
            else:
                kept += 1
    except InputError as error:
        return {"refused": error.message}
    return {"kept": kept, "dropped": dict(dropped), "errors": dict(errors), "bytes": told}


def peer(name: str, folder: Path) -> dict[str, list[Any]]:
    """[records read, how it ended] of every file, by one of the peers."""
    if name == "warcio":
        from warcio.archiveiterator import ArchiveIterator
    else:
        from fastwarc.warc import ArchiveIterator
    found: dict[str, list[Any]] = {}
    for file in files_of(folder):
        count, end = 0, ""
        try:
            with open(folder / file, "rb") as stream:
                for record in ArchiveIterator(stream):
                    (record.content_stream() if name == "warcio" else record.reader).read()
                    count += 1
        except Exception as error:  # noqa: BLE001 - what a peer raises is the finding
            end = type(error).__name__
        found[file] = [count, end]
    return found


def ask(python: str, name: str, folder: Path) -> dict[str, list[Any]]:
    """`peer` in an interpreter of its own."""
    done = subprocess.run(
        [python, "-I", __file__, "--peer", name, str(folder)], stdout=subprocess.PIPE, check=True
    )
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


def _codes(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {code}" for code, n in sorted(counts.items())) or "-"


def row(name: str, mine: dict[str, Any], peers: list[list[Any]]) -> list[str]:
    """The cells of one file."""
    theirs = [f"{n}, then {end}" if end else str(n) for n, end in peers]
    if "refused" in mine:
        return [name, "refused", "-", "-", "-", *theirs, WHY[name]]
    lost = sum(mine["errors"].values())
    total = mine["kept"] + sum(mine["dropped"].values()) + lost
    padding = mine["dropped"].get("padding", 0)
    same = not lost and all(n == total - padding and not end for n, end in peers)
    why = WHY.get(name, "") if same else WHY[name]
    return [
        name, str(total), str(mine["kept"]), _codes(mine["dropped"]), _codes(mine["errors"]),
        *theirs, why,
    ]  # fmt: skip


def table(folder: Path, warcio: str) -> list[str]:
    """Lines of the table in Markdown."""
    by_peer = [ask(warcio, "warcio", folder), ask(sys.executable, "fastwarc", folder)]
    head = [
        "file", "records", "kept", "dropped", "errors", "warcio 1.8.1", "FastWARC 2.0.1",
        "why they differ",
    ]  # fmt: skip
    rows = [row(name, ours(folder, name), [p[name] for p in by_peer]) for name in files_of(folder)]
    return [f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows]]


def main(arguments: list[str] | None = None) -> int:
    made = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    made.add_argument("folder", type=Path)
    made.add_argument("--warcio", default=sys.executable, metavar="PYTHON")
    made.add_argument("--write", type=Path, metavar="FILE")
    made.add_argument("--peer", choices=["warcio", "fastwarc"], help=argparse.SUPPRESS)
    options = made.parse_args(arguments)
    if options.peer:
        print(json.dumps(peer(options.peer, options.folder)))
        return 0
    lines = "\n".join(table(options.folder, options.warcio))
    if options.write is None:
        print(lines)
        return 0
    text = options.write.read_text("utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    options.write.write_text(f"{before}{BEGIN}\n{lines}\n{END}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
