"""Answers one page after another: the working side of `bench.extract`, in whatever interpreter.

A page is a line of JSON on standard input, ``{"html": …, "url": …}``; its answer a line on what
was standard output when the process began: ``{"text": …, "cpu": seconds, "error": …,
"peak_mib": …}``. What an extractor itself prints goes to standard error. The first line is
``{"ready": NAME}``, after the known page was read, so that imports and first calls are in no
page's time. A page that takes longer than the limit ends the process by a signal that nothing can
catch: who asked sees the end, and begins another one.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable

Extract = Callable[[str, str], str]
"""From a page's markup and address to its main text."""

KNOWN_PAGE = (
    "<!doctype html><html><head><title>Quarry</title></head><body><div><div><div><article>"
    "<h1>The slate quarry</h1><p>The quarry above the village was opened in 1811 and gave blue "
    "slate for roofs as far away as the coast, carried down by mules along the old pass road, and "
    "for a hundred years there was no family in the valley that did not live by it in one way or "
    "another, by cutting it, by splitting it or by keeping the inns on the road.</p>"
    "<p>When the railway came, the mules were sold and the quarry hired two hundred men, who "
    "lived in long stone barracks that still stand beside the upper pond, with one stove for each "
    "of the rooms and a bell on the roof that was rung at five in the morning and at eight in the "
    "evening, and that the owner of the inn below has bought since.</p>"
    "<p>Today the pond is a place to swim, and the barracks hold a museum of tools, letters and "
    "photographs, which the people of the village keep open on every day of the week but one, so "
    "that those who come up by the pass road in the summer can see what it was that they and "
    "their parents and the parents of those lived by.</p>"
    "</article></div></div></div></body></html>"
)
KNOWN_WORDS = ("mules", "stove")
WALL_FOR_CPU = 20
"""A page may take so many times its limit by the clock on the wall: a busy machine, no network."""


def missing_words(extract: Extract) -> list[str]:
    """Those of the known words that do not come out of the known page."""
    text = extract(KNOWN_PAGE, "https://quarry.example/history")
    return [word for word in KNOWN_WORDS if word not in text]


def cpu_seconds() -> float:
    """Seconds of this process, user and system, by the microsecond. (While a timer of CPU time
    is set, as it is here, Linux moves the clock of `time.process_time` by its ticks only.)"""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_mib() -> int:
    """Largest resident set of this process so far. (That of `resource` has its parent's in it.)"""
    with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
        found = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(found[0]) // 1024 if found else 0


def serve(name: str, extract: Extract, limit: float) -> int:
    """Answers until standard input ends. `limit`: CPU seconds a page."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)
    missing = missing_words(extract)
    with contextlib.suppress(Exception):  # what little text sets going is not the next page's time
        extract("<html><body><p>A few words.</p></body></html>", "https://quarry.example/")
    if missing:
        print(f"{name} does not find {', '.join(missing)} on a known page", file=sys.stderr)
        return 1
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    print(json.dumps({"ready": name}), file=answers, flush=True)
    for line in sys.stdin:
        page = json.loads(line)
        text = error = ""
        began = cpu_seconds()
        signal.setitimer(signal.ITIMER_PROF, limit)
        signal.setitimer(signal.ITIMER_REAL, limit * WALL_FOR_CPU)
        try:
            text = extract(page["html"], page["url"])
        except Exception as err:  # noqa: BLE001 - whatever a library raises is its answer
            error = f"{type(err).__name__}: {err}"[:200]
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        took = cpu_seconds() - began
        answer = {
            "text": text or "",
            "cpu": round(took, 6),
            "error": error,
            "peak_mib": peak_mib(),
        }
        print(json.dumps(answer), file=answers, flush=True)
    return 0
