"""Readers, decoders and the page model fed with damaged input, and how much of their code it ran.

    python -m bench.fuzz [--quick] [--json] [--seconds N] [--seed N] [--only TARGET] [--keep FOLDER]

Each input is a seed (small archives of the tests, records, bodies, pages) with some of it changed:
bits, cuts, insertions, words of the format, pieces of another seed, wrong lengths; archives are
packed again in a way drawn at random, and sometimes damaged behind that. The same seed number gives
the same inputs. What must hold for every input, or it is a fault:

* ``records``: the lengths sum to the file's size, no two records share a place, one that is read
  again alone is the same, the loop over plain records gives what the careful reader gives;
* ``bodies``: nothing is raised but the two errors that a body may end in, nothing is longer than
  the cap, nothing is lost of a body with no coding;
* ``responses``: no exception from the header, the sniffed type, the page's meta;
* ``pages``: the block model reads any bytes as a page, twice the same.

Lines are those that Python can execute in the modules named in `TARGETS`. An input on which a line
was run for the first time is a new seed. `--keep` writes inputs with a fault there.
"""

from __future__ import annotations

import random
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say

from .fuzz_inputs import BODY_WORDS, PAGE_WORDS, WARC_WORDS, changed, packed, seeds
from .harness import Bar, Report, finish, parser

ROOT = Path(__file__).resolve().parents[1]
SECONDS, QUICK_SECONDS = 100, 8
_CAPS = (200_000, 200_000, 1000, 30)
_SLOW = 5.0
"""CPU seconds that no input of this size may take."""

Check = Callable[[bytes], str]
"""What is wrong with an input; empty if nothing is."""


@dataclass
class Target:
    """What is fed, and the lines of it that have been run."""

    check: Check
    modules: tuple[str, ...]
    words: tuple[bytes, ...]
    archive: bool = False
    lines: dict[str, set[int]] = field(default_factory=dict)
    seen: dict[str, set[int]] = field(default_factory=dict)
    inputs: int = 0
    faults: int = 0
    last_new: float = 0.0
    slowest: float = 0.0


def _none(stream: Any, max_block: int) -> Iterator[Any]:
    return iter(())


def check_records(data: bytes) -> str:
    from corpusmill.stages.sources import records
    from corpusmill.stages.sources.packing import Stream

    cap = _cap(data)
    found = list(records.read_records(data, cap))
    if sum(r.length for r in found) != len(data) or any(r.length < 0 for r in found):
        return "the lengths do not sum to the size"
    if len({(r.offset, r.inner) for r in found}) != len(found):
        return "two records share a place"
    if list(records.read_at(data, len(data), cap)) or bool(found) != bool(
        list(records.read_at(data, 0, cap))
    ):
        return "the first record alone, or one behind the last"
    for r in [r for r in found if not r.error][:20]:
        alone = [x for x in records.read_at(data, r.offset, cap) if x.inner == r.inner]
        if alone not in ([r], []) and not alone[0].error:
            return f"the record at {r.offset}, {r.inner} alone is another"
    stream: Any = Stream
    fast, quick = stream.alone, records._quick
    try:
        stream.alone, records._quick = _none, lambda stream, max_block: None
        careful = list(records.read_records(data, cap))
    finally:
        stream.alone, records._quick = fast, quick
    return "" if careful == found else "the careful reader gives other records"


def _cap(data: bytes) -> int:
    """The longest block or body, drawn by the input itself."""
    return _CAPS[zlib.crc32(data) % len(_CAPS)]


_CODINGS = ("", "gzip", "x-gzip", "deflate", "br", "zstd", "identity", "chunked", "gzip, br", "?")


def check_bodies(data: bytes) -> str:
    from corpusmill.stages.sources.bodies import BodyTooLarge, BodyUnreadable, decode_body

    first = data[:1].ljust(1, b"\0")[0]
    headers = {"content-encoding": _CODINGS[first % len(_CODINGS)]}
    if first & 64:
        headers["transfer-encoding"] = "chunked"
    if first & 128:
        headers["content-type"] = "application/gzip"
    body = data[1:]
    try:
        decoded = decode_body(body, headers, _cap(data))
    except (BodyTooLarge, BodyUnreadable):
        return ""
    if len(decoded.data) > _cap(data):
        return "longer than the cap"
    plain = headers["content-encoding"] in ("", "identity", "?") and not first & 64
    return "bytes are lost" if plain and not decoded.repairs and decoded.data != body else ""


def check_responses(data: bytes) -> str:
    from corpusmill.stages.sources.http import parse_response, sniff_mime
    from corpusmill.stages.sources.page_meta import page_meta

    response = parse_response(data)
    if not data.endswith(response.body):
        return "the body is no end of the block"
    sniff_mime(response.body, response.headers.get("content-type", ""))
    meta = page_meta(response.headers, response.body)
    return "" if all(isinstance(v, str) for v in meta.values()) else "a value of another type"


def check_pages(data: bytes) -> str:
    from corpusmill.stages.extract import extract

    text = data.decode("utf-8", "replace")
    first = extract(text, tier="own")
    again = extract(text, tier="own")
    return "" if first == again else "another text the second time"


_SOURCES = "stages/sources/"
TARGETS: dict[str, Target] = {
    "records": Target(
        check_records,
        tuple(
            _SOURCES + n for n in ("records.py", "packing.py", "frames.py", "alone.py", "raw.py")
        ),
        WARC_WORDS,
        archive=True,
    ),
    "bodies": Target(check_bodies, (_SOURCES + "bodies.py",), BODY_WORDS),
    "responses": Target(
        check_responses, (_SOURCES + "http.py", _SOURCES + "page_meta.py"), PAGE_WORDS
    ),
    "pages": Target(
        check_pages,
        tuple(
            f"stages/extract/blocks/{n}.py"
            for n in ("model", "passes", "decision", "render", "complete", "surround", "groups")
        ),
        PAGE_WORDS,
    ),
}


def executable(path: Path) -> set[int]:
    """The lines of a module's functions that Python can execute."""
    found: set[int] = set()

    def walk(code: CodeType, inside: bool) -> None:
        if inside:
            found.update(line for _, _, line in code.co_lines() if line)
            found.discard(code.co_firstlineno)
        for const in code.co_consts:
            if isinstance(const, CodeType):
                walk(const, inside or bool(const.co_flags & 2) or inside)  # 2: a function's own

    walk(compile(path.read_bytes(), str(path), "exec"), False)
    return found


class Tracer:
    """Notes the lines that run in the modules of a target; `fresh` is set by a new one."""

    def __init__(self, target: Target) -> None:
        self.fresh = False
        self._target = target
        names = {str((ROOT / m).resolve()): m for m in target.modules}
        self._names: dict[str, str | None] = {}
        self._of = names

    def start(self) -> None:
        sys.settrace(self._call)

    def stop(self) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        file = frame.f_code.co_filename
        if file not in self._names:
            self._names[file] = self._of.get(str(Path(file).resolve()))
        name = self._names[file]
        if name is None:
            return None
        seen, wanted = self._target.seen[name], self._target.lines[name]

        def line(frame: FrameType, event: str, arg: Any) -> Any:
            number = frame.f_lineno
            if number not in seen and number in wanted:
                seen.add(number)
                self.fresh = True
            return line

        return line


def feed(name: str, target: Target, seconds: float, seed: int, keep: Path | None) -> None:
    """Feeds a target for so many CPU seconds."""
    target.lines = {m: executable(ROOT / m) for m in target.modules}
    target.seen = {m: set() for m in target.modules}
    pool = seeds(name)
    draw = random.Random(f"{name} {seed}")
    began = time.process_time()
    tracer = Tracer(target)
    for data in _inputs(draw, target, pool):
        at = time.process_time()
        if at - began > seconds:
            return
        tracer.fresh = False
        tracer.start()
        try:
            wrong = target.check(data)
        except Exception as error:  # noqa: BLE001 - any exception is what is looked for
            wrong = f"{type(error).__name__}: {error}"
        finally:
            tracer.stop()
        took = time.process_time() - at
        target.slowest = max(target.slowest, took)
        target.inputs += 1
        if took > _SLOW:
            wrong = wrong or f"{took:.1f} CPU seconds"
        if wrong:
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{name}-{seed}-{target.faults}").write_bytes(data)
            target.faults += 1
            say(f"{name}: {wrong}")
        if tracer.fresh:
            target.last_new = time.process_time() - began
            if len(data) < 20_000 and not target.archive:
                pool.append(data)


def _inputs(draw: random.Random, target: Target, pool: list[bytes]) -> Iterator[bytes]:
    for data in list(pool):
        yield data
    while True:
        data = changed(draw, draw.choice(pool), target.words, pool)
        yield packed(draw, data) if target.archive else data


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--seconds", type=float, help=f"CPU seconds a target (default {SECONDS})")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", choices=sorted(TARGETS))
    options.add_argument("--keep", type=Path, metavar="FOLDER")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def measure(args: Any) -> Report:
    seconds = args.seconds or (QUICK_SECONDS if args.quick else SECONDS)
    rows: list[dict[str, Any]] = []
    bars: dict[str, Bar] = {}
    for name, target in TARGETS.items():
        if args.only not in (None, name):
            continue
        feed(name, target, seconds, args.seed, args.keep)
        lines = sum(map(len, target.lines.values()))
        seen = sum(map(len, target.seen.values()))
        missed = [
            f"{m.rpartition('/')[2]}:{n}"
            for m in target.modules
            for n in sorted(target.lines[m] - target.seen[m])
        ]
        rows.append({
            "target": name, "inputs": target.inputs, "lines": lines, "run": seen,
            "last new line s": target.last_new, "slowest s": target.slowest,
            "faults": target.faults, "not run": " ".join(missed[:12]),
        })  # fmt: skip
        if name in ("records", "bodies"):
            bars[f"share of lines run, {name}"] = Bar(seen / lines, 0.95)
    bars["inputs without a fault"] = Bar(float(all(not row["faults"] for row in rows)), 1.0)
    columns = (
        "target", "inputs", "lines", "run", "last new line s", "slowest s", "faults", "not run",
    )  # fmt: skip
    return Report(bench="fuzz", versions={}, rows=rows, bars=bars, columns=columns)


if __name__ == "__main__":
    sys.exit(main())
