"""The most memory that this process held since a moment: Linux counts it, and can be told to start
again."""

from __future__ import annotations

from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_START_AGAIN = "5"  # proc(5): resets the peak of the resident set


def start_again() -> None:
    """Begins to count anew. Where that is not allowed, the peak stays that of the whole process,
    which is no less."""
    try:
        _CLEAR.write_text(_START_AGAIN)
    except OSError:
        return


def peak_bytes() -> int | None:
    """The peak of the resident set in bytes; None where it is not told."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    found = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), None)
    return None if found is None else int(found) * 1024
