"""Runs one command and writes what its whole process tree used. Started by `bench.harness` only.

    python -I tree.py REPORT COMMAND…

This process becomes the reaper of orphans (PR_SET_CHILD_SUBREAPER) and waits for every descendant,
so that its RUSAGE_CHILDREN holds the CPU time of grandchildren too, also of those whose parent
never waited for them. Memory is the sum of the proportional set sizes of all descendants (pages
that processes share count once), looked at every `EVERY_SECONDS`; the largest sum is the peak, so
one that is shorter may be missed. The cost of looking is not counted.

REPORT is JSON: ``exit_code``, ``cpu_seconds`` (user and system), ``wall_seconds``, ``peak_bytes``.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import threading
import time

EVERY_SECONDS = 0.25
_PR_SET_CHILD_SUBREAPER = 36


def descendants(root: int) -> set[int]:
    """All processes below `root`, without it."""
    found: set[int] = set()
    waiting = [root]
    while waiting:
        process = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{process}/task")
        except OSError:  # it ended while we looked
            continue
        for thread in threads:
            try:
                with open(f"/proc/{process}/task/{thread}/children", "rb") as file:
                    children = [int(word) for word in file.read().split()]
            except OSError:
                continue
            waiting.extend(c for c in children if c not in found)
            found.update(children)
    return found


def memory(process: int) -> int:
    """The proportional set size of a process in bytes, 0 if it has ended."""
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return 0
    return 0


class _Watch(threading.Thread):
    """Looks at the memory of all descendants until told to end."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._end = threading.Event()

    def run(self) -> None:
        me = os.getpid()
        while not self._end.wait(EVERY_SECONDS):
            self.peak = max(self.peak, sum(map(memory, descendants(me))))

    def end(self) -> None:
        self._end.set()
        self.join()


def main(report: str, command: list[str]) -> int:
    """Runs `command` to the end of its last descendant; returns its exit code."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        print("error: this kernel knows no PR_SET_CHILD_SUBREAPER", file=sys.stderr)
        return 1
    watch = _Watch()
    started = time.monotonic()
    process = subprocess.Popen(command)
    watch.start()
    code = process.wait()
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    wall = time.monotonic() - started
    watch.end()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(report, "w", encoding="utf-8") as file:
        json.dump(
            {
                "exit_code": code,
                "cpu_seconds": usage.ru_utime + usage.ru_stime,
                "wall_seconds": wall,
                "peak_bytes": watch.peak,
            },
            file,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
