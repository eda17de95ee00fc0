"""How fast the tasks of a phase end, from the times at which their records were written."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .commits import PhaseFolder

NEWEST = 200
"""Records that are reckoned with: what was long ago says little of what comes."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Tasks that end in a minute, and the seconds that those left take at that pace."""

    per_minute: float
    seconds_left: float


def pace(place: PhaseFolder, left: int) -> Pace | None:
    """The pace of the newest records of a phase; None where there are too few to tell."""
    times = sorted(_newest(place))[-NEWEST:]
    if len(times) < 2 or times[-1] == times[0]:
        return None
    each = (times[-1] - times[0]) / (len(times) - 1)
    return Pace(60 / each, left * each)


def _newest(place: PhaseFolder) -> list[float]:
    """Times of enough records, of the folders that changed last: not a look at each of 100,000."""
    root = place.commit(0).parent.parent
    if not root.is_dir():
        return []
    with os.scandir(root) as found:
        folders = sorted((e for e in found), key=lambda e: e.stat().st_mtime, reverse=True)
    times: list[float] = []
    for folder in folders:
        with os.scandir(folder) as found:
            times += [e.stat().st_mtime for e in found if e.name.endswith(".json")]
        if len(times) > NEWEST:
            break
    return times


def time_left(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3 h 5 min``, ``2 d 4 h``: two units at most."""
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if minutes < 60:
        return f"{minutes} min"
    if hours < 48:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{hours // 24} d {hours % 24} h"
