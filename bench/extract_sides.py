"""The sides of `bench.extract`: one process each, which take turns at ten pages.

So a machine that is busy for a while is busy for all of them. What came out can be kept in a
folder, a file of JSON lines for each side, so that a measurement is stopped and gone on with;
answers of another version are never mixed in.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

from corpusmill.pipeline.progress import to_stderr as say

from .extract_ours import TIERS, UNSEEN
from .extract_pages import Page
from .harness import PEERS, ROOT, BenchError

PEER = "extractors"
TURN = 10
SCRIPT = ROOT / "bench" / "peers" / PEER / "extract.py"
_OURS = "import sys; sys.path.append(sys.argv.pop(1)); from bench.extract_ours import main; main()"
SLOW: Mapping[str, int] = {
    "Readability.js": 4, "goose3": 4, "newspaper4k": 4, "beautifulsoup4": 4, "html2text": 4,
    "markdownify": 4, "trafilaturacore": 20, "domdown": 50,
}  # fmt: skip
"""Sides that read one page in so many: on all of them they would take most of the time."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a side made of a page."""

    text: str
    cpu: float
    """Seconds of its process, user and system."""
    error: str
    """The exception, or what ended the process; empty where all went well."""
    peak_mib: int
    """Largest resident set of the process so far; 0 where it ended."""


@dataclass
class Contestant:
    """A side: a process that answers pages (``bench/peers/extractors/serving.py``)."""

    name: str
    command: Sequence[str]
    version: str
    every: int = 1
    """Reads one page in so many, and all probes."""
    wants: Callable[[Page], bool] = lambda page: True
    answers: dict[str, Answer] = field(default_factory=dict)
    """By the page's key."""
    _process: subprocess.Popen[str] | None = None
    _file: IO[str] | None = None

    def asked(self, number: int, page: Page) -> bool:
        """Whether it reads `page`, which has the number `number`."""
        return self.wants(page) and (page.group == "probe" or number % self.every == 0)

    def recall(self, folder: Path) -> None:
        """Takes up what a folder has of it, and keeps what comes in the same file. Raises
        BenchError where that is of another version."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (self.name.replace(" ", "-").replace(",", "") + ".jsonl")
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                if row["version"] != self.version:
                    raise BenchError(
                        f"{path} is of version {row['version']}, not {self.version}",
                        hint="remove the file",
                    )
                self.answers[row["key"]] = Answer(**row["answer"])
        self._file = path.open("a", encoding="utf-8")

    def read(self, pages: Sequence[Page]) -> None:
        """Asks for `pages`. Raises BenchError where the process cannot begin."""
        left = list(pages)
        while left:
            process = self._process or self.begin()
            if process.stdin is None or process.stdout is None:
                raise BenchError(f"{self.name} has no pipes")
            lines = [json.dumps({"html": page.html, "url": page.url}) for page in left]
            writer = threading.Thread(target=_write, args=(process.stdin, lines))
            writer.start()
            while left and (got := process.stdout.readline()):
                self._keep(left.pop(0), Answer(**json.loads(got)))
            writer.join()
            if left:  # the process ended on this page
                process.stdout.close()
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
                code = process.wait()
                self._process = None
                late = -code in (signal.SIGPROF, signal.SIGALRM)
                why = "over the limit of time" if late else f"ended with exit code {code}"
                self._keep(left.pop(0), Answer("", 0.0, why, 0))

    def _keep(self, page: Page, answer: Answer) -> None:
        self.answers[page.key] = answer
        if self._file is not None:
            row = {"key": page.key, "version": self.version, "answer": asdict(answer)}
            print(json.dumps(row), file=self._file, flush=True)

    def begin(self) -> subprocess.Popen[str]:
        """The process, ready for a page. Raises BenchError where it does not get so far."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            self._process = process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                text=True, encoding="utf-8", cwd=ROOT,
            )  # fmt: skip
            if process.stdout is None or not process.stdout.readline():
                process.kill()
                process.communicate()
                log.seek(0)
                tail = [line for line in log.read().splitlines() if line.strip()][-1:]
                raise BenchError(f"{self.name} does not begin: {tail[0] if tail else 'no word'}")
        return process

    def end(self) -> None:
        """Lets the process end, and closes the file."""
        if self._process is not None:
            self._process.communicate()
            self._process = None
        if self._file is not None:
            self._file.close()


def ours(version: str, weights: Path | None, limit: float) -> list[Contestant]:
    """Our tiers; with `weights` also the tier ``own`` with those of a cross-validation, on the
    pages that it has learnt from."""
    found = []
    for name in (*TIERS, *([UNSEEN] if weights is not None else [])):
        command = [
            sys.executable, "-P", "-c", _OURS, str(ROOT), "--extractor", name, "--limit",
            str(limit), *(["--weights", str(weights.resolve())] if weights is not None else []),
        ]  # fmt: skip
        wants = (lambda page: page.group == "wcxb") if name == UNSEEN else (lambda page: True)
        found.append(Contestant(name, command, version, wants=wants))
    return found


def peers(limit: float) -> tuple[list[Contestant], list[str]]:
    """The other extractors that are installed, and the names of those that are not. Without the
    environment that ``make peers`` makes, those that are among our own dependencies."""
    python = PEERS / PEER / "bin" / "python"
    call = [str(python) if python.exists() else sys.executable, str(SCRIPT)]
    done = subprocess.run([*call, "--list"], capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(call)}: {done.stderr.strip()[-200:]}", hint="make peers")
    versions: dict[str, str | None] = json.loads(done.stdout)
    found = [
        Contestant(
            name, [*call, "--extractor", name, "--limit", str(limit)], number, SLOW.get(name, 1)
        )
        for name, number in versions.items()
        if number is not None
    ]
    return found, [name for name, number in versions.items() if number is None]


def _write(pipe: IO[str], lines: Iterable[str]) -> None:
    with contextlib.suppress(BrokenPipeError):  # the reader sees the end as well
        for line in lines:
            print(line, file=pipe, flush=True)


def ask_all(sides: Sequence[Contestant], pages: Sequence[Page], seconds: float | None) -> int:
    """Gives every page to every side that reads it and has not, `TURN` pages at a time; returns
    how many pages all of them have. Stops after `seconds` of wall time."""
    began = time.monotonic()
    try:
        for at in range(0, len(pages), TURN):
            if seconds is not None and time.monotonic() - began > seconds:
                return at
            turn = at // TURN % len(sides)
            for side in [*sides[turn:], *sides[:turn]]:
                some = enumerate(pages[at : at + TURN], at)
                side.read([
                    page for number, page in some
                    if side.asked(number, page) and page.key not in side.answers
                ])  # fmt: skip
            if at // TURN % 5 == 4:
                say(f"{at + TURN} of {len(pages)} pages")
    finally:
        for side in sides:
            side.end()
    return len(pages)
