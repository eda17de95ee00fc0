"""Readers, decoders and the page model fed with damaged input, and how much of their code it ran.

    python -m bench.fuzz [--quick] [--json] [--seconds N] [--quiet N] [--seed N] [--only TARGET]
                         [--keep FOLDER]

Each input is a seed (small archives of the tests, bodies, pages, and what earlier runs kept) with
some of it changed: bits, cuts, insertions, words of the format, pieces of another seed; lengths and
header lines written in another way; archives packed anew in a way drawn at random (members and
frames with borders anywhere, rare fields of their headers, wrong ends, dictionaries), bodies under
codings drawn at random; and sometimes damaged behind that. The same seed number gives the same
inputs. What must hold of each stands in `bench.fuzz_checks`; else it is a fault.

The targets take turns. One rests when it had `--seconds` of CPU time, or when `--quiet` of them
brought no new line; an interrupt ends all with the report. Lines are those that Python can execute
in the modules named in `TARGETS`. An input that runs a line for the first time is a new seed.
`--keep` writes those, and the inputs with a fault: what of them is worth it goes to `KEPT`.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.stages.extract.blocks import passes

from . import fuzz_checks as checks
from .fuzz_inputs import (
    BODY_WORDS,
    INDEX_WORDS,
    PAGE_WORDS,
    WARC_WORDS,
    WAT_WORDS,
    changed,
    coded,
    large,
    packed,
    seeds,
)
from .harness import ROOT, Bar, Report, finish, parser

SECONDS, QUICK_SECONDS, TURN = 100, 8, 10
_SLOW = 5.0
"""CPU seconds that no input of this size may take."""
_LONG = 20_000
"""Bytes from which on an input is no seed."""


@dataclass
class Target:
    """What is fed, and the lines of it that have been run."""

    check: Callable[[bytes], str]
    modules: tuple[str, ...]
    words: tuple[bytes, ...]
    wrap: Callable[[random.Random, bytes], bytes] | None = None
    """What is done to a changed input."""
    lines: dict[str, set[int]] = field(default_factory=dict)
    seen: dict[str, set[int]] = field(default_factory=dict)
    inputs: int = 0
    faults: int = 0
    seconds: float = 0.0
    last_new: float = 0.0
    slowest: float = 0.0

    def prepare(self) -> None:
        self.lines = {m: executable(ROOT / m) for m in self.modules}
        self.seen = {m: set() for m in self.modules}


def _sources(*names: str) -> tuple[str, ...]:
    return tuple(f"stages/sources/{name}.py" for name in names)


_MODEL = ("model", "passes", "decision", "render", "complete", "surround", "groups")
TARGETS: dict[str, Target] = {
    "records": Target(
        checks.records, _sources("records", "packing", "frames", "alone", "raw"), WARC_WORDS, packed
    ),
    "bodies": Target(checks.bodies, _sources("bodies"), BODY_WORDS, coded),
    "responses": Target(checks.responses, _sources("http", "page_meta"), PAGE_WORDS),
    "pages": Target(
        checks.pages, tuple(f"stages/extract/blocks/{name}.py" for name in _MODEL), PAGE_WORDS
    ),
    "sources": Target(checks.sources, _sources("warc", "wet", "archive"), WARC_WORDS, packed),
    "wat": Target(checks.wat, _sources("wat"), WAT_WORDS),
    "index": Target(checks.index, _sources("cdx"), INDEX_WORDS),
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
    """Notes the lines that run in the modules of a target; `fresh` is set by a new one. A function
    all of whose lines have been run is not traced any more."""

    def __init__(self, target: Target) -> None:
        self.fresh = False
        self._target = target
        self._modules = {str((ROOT / m).resolve()): m for m in target.modules}
        self._left: dict[CodeType, set[int]] = {}

    def start(self) -> None:
        sys.settrace(self._call)

    def stop(self) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            left = self._left[code] = self._lines_of(code)
        if not left:
            return None
        seen = self._target.seen[self._modules[str(Path(code.co_filename).resolve())]]

        def line(frame: FrameType, event: str, arg: Any) -> Any:
            number = frame.f_lineno
            if number in left:
                left.discard(number)
                if number not in seen:
                    seen.add(number)
                    self.fresh = True
            return line if left else None

        return line

    def _lines_of(self, code: CodeType) -> set[int]:
        module = self._modules.get(str(Path(code.co_filename).resolve()))
        if module is None:
            return set()
        return {n for _, _, n in code.co_lines() if n} & self._target.lines[module]


class Feeder:
    """Feeds one target, a turn at a time."""

    def __init__(self, name: str, target: Target, seed: int, keep: Path | None) -> None:
        target.prepare()
        if name == "pages":
            passes.warm()  # no input is to blame for what compiling takes
        self.name, self.target = name, target
        self._keep = keep / name if keep is not None else None
        self._pool = seeds(name)
        self._tracer = Tracer(target)
        self._inputs = self._drawn(random.Random(f"{name} {seed}"))

    def turn(self, seconds: float) -> None:
        """Feeds inputs for so many CPU seconds."""
        began = time.process_time()
        while (took := time.process_time() - began) < seconds:
            self.feed(next(self._inputs), self.target.seconds + took)
        self.target.seconds += took

    def _drawn(self, draw: random.Random) -> Iterator[bytes]:
        yield from [*self._pool, *large(self.name)]
        while True:
            data = changed(draw, draw.choice(self._pool), self.target.words, self._pool)
            wrap = self.target.wrap
            yield wrap(draw, data) if wrap is not None else data

    def feed(self, data: bytes, now: float = 0.0) -> None:
        """Feeds one input; `now` are the target's CPU seconds until here."""
        target, tracer = self.target, self._tracer
        tracer.fresh = False
        at = time.process_time()
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
            target.faults += 1
            say(f"{self.name}: {wrong}")
            self._write(f"fault-{target.faults}", data)
        if tracer.fresh:
            target.last_new = now
            if len(data) < _LONG and data not in self._pool:
                self._write(f"line-{target.inputs}", data)
                self._pool.append(data)

    def _write(self, name: str, data: bytes) -> None:
        if self._keep is not None:
            self._keep.mkdir(parents=True, exist_ok=True)
            (self._keep / name).write_bytes(data)


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--seconds", type=float, help=f"CPU seconds a target (default {SECONDS})")
    options.add_argument("--quiet", type=float, help="rest after so many without a new line")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", choices=sorted(TARGETS))
    options.add_argument("--keep", type=Path, metavar="FOLDER")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def measure(args: Any) -> Report:
    seconds = args.seconds or (QUICK_SECONDS if args.quick else SECONDS)
    fed = {
        name: Feeder(name, target, args.seed, args.keep)
        for name, target in TARGETS.items()
        if args.only in (None, name)
    }
    try:
        _take_turns(fed, seconds, args.quiet or seconds)
    except KeyboardInterrupt:
        say("interrupted: this is what was fed until now")
    rows = [_row(name, TARGETS[name]) for name in fed]
    bars = {
        f"share of lines run, {row['target']}": Bar(row["run"] / row["lines"], 0.95)
        for row in rows
        if row["target"] in ("records", "bodies")
    }
    bars["inputs without a fault"] = Bar(float(all(not row["faults"] for row in rows)), 1.0)
    columns = (
        "target", "seconds", "inputs", "lines", "run", "last new line s", "slowest s", "faults",
        "not run",
    )  # fmt: skip
    return Report(bench="fuzz", versions={}, rows=rows, bars=bars, columns=columns)


def _take_turns(fed: Mapping[str, Feeder], seconds: float, quiet: float) -> None:
    active = list(fed)
    while active:
        for name in active:
            fed[name].turn(min(TURN, seconds))
            t = TARGETS[name]
            say(f"{name}: {t.inputs} inputs in {t.seconds:.0f} s, a new line at {t.last_new:.0f} s")
        active = [
            name
            for name in active
            if (t := TARGETS[name]).seconds < seconds and t.seconds - t.last_new < quiet
        ]


def _row(name: str, target: Target) -> dict[str, Any]:
    missed = [
        f"{m.rpartition('/')[2]}:{n}"
        for m in target.modules
        for n in sorted(target.lines[m] - target.seen[m])
    ]
    return {
        "target": name, "seconds": target.seconds, "inputs": target.inputs,
        "lines": sum(map(len, target.lines.values())), "run": sum(map(len, target.seen.values())),
        "last new line s": target.last_new, "slowest s": target.slowest, "faults": target.faults,
        "not run": " ".join(missed[:40]),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
