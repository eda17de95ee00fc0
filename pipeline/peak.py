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
    return _told()[0]


def own_peak_bytes() -> int | None:
    """`peak_bytes` without the pages of files that the process maps, which other processes share:
    what comparisons need. How many of them count as resident hangs on how the kernel happens to
    keep the files: of one library 50 to 120 MB. Files mapped after the peak are taken off too."""
    peak, mapped = _told()
    return None if peak is None or mapped is None else peak - mapped


def _told() -> tuple[int | None, int | None]:
    """The peak of the resident set and what is resident of files, in bytes."""
    try:
        text = _STATUS.read_text()
    except OSError:
        return None, None
    kilobytes = {
        name: int(rest.split()[0])
        for name, _, rest in (line.partition(":") for line in text.splitlines())
        if name in ("VmHWM", "RssFile")
    }
    peak, mapped = kilobytes.get("VmHWM"), kilobytes.get("RssFile")
    return None if peak is None else peak * 1024, None if mapped is None else mapped * 1024
