"""Plots as static SVG, drawn from numbers: no script, no library, readable in light and dark."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 420
"""Little more than a telephone shows: what is drawn is hardly made smaller there."""
_ROW = 31
_FAR = 2
"""How many times the values' own span a bound may lie away from them to be taken in."""
_BEHIND = 115
"""Room for what stands behind the longest bar."""


def bars(rows: Sequence[tuple[str, float, str]], title: str) -> str:
    """Horizontal bars, each under its label: (label, length, what stands behind the bar)."""
    if not rows:
        return ""
    longest = max(max(value for _, value, _ in rows), 1e-12)
    parts = []
    for n, (label, value, said) in enumerate(rows):
        top = n * _ROW
        size = max(value / longest * (WIDTH - _BEHIND), 1.0) if value > 0 else 0.0
        parts.append(
            f'<text x="0" y="{top + 11}">{_short(label, 60)}</text>'
            f'<rect class="bar" x="0" y="{top + 15}" width="{size:.1f}" height="11"/>'
            f'<text x="{size + 6:.1f}" y="{top + 25}">{escape(said)}</text>'
        )
    return _svg("".join(parts), len(rows) * _ROW + 4, title)


@dataclass(frozen=True, slots=True)
class Series:
    """Values of one kind in a histogram."""

    name: str
    values: Sequence[float]


def histogram(
    series: Sequence[Series], title: str, bounds: Sequence[float] = (), bins: int = 40
) -> str:
    """Histograms of the series over one axis, which ends at the 1st and 99th percentile of all
    values and takes in the `bounds`, drawn as lines; one so far away that the values would be
    pressed together is named at the end of the axis. Values beyond the ends are counted in the
    outermost bins. Heights are shares of each series."""
    everything = sorted(v for s in series for v in s.values if math.isfinite(v))
    if not everything:
        return ""
    low, high = _quantile(everything, 0.01), _quantile(everything, 0.99)
    far = _FAR * (high - low) if high > low else math.inf
    near = [bound for bound in bounds if low - far <= bound <= high + far]
    low, high = min([low, *near]), max([high, *near])
    if high <= low:
        low, high = low - 0.5, high + 0.5
    height, base = 110, 130
    room = WIDTH - 40
    columns = [_binned(s.values, low, high, bins) for s in series]
    tallest = max((max(c) for c in columns), default=0.0) or 1.0
    parts = []
    for n, (one, column) in enumerate(zip(series, columns, strict=True)):
        step = room / bins
        points = []
        for b, share in enumerate(column):
            y = base - share / tallest * height
            points += [f"{20 + b * step:.1f},{y:.1f}", f"{20 + (b + 1) * step:.1f},{y:.1f}"]
        path = f"20,{base} " + " ".join(points) + f" {20 + room},{base}"
        parts.append(f'<polygon class="series{n}" points="{path}"/>')
        parts.append(
            f'<rect class="series{n}" x="{20 + n * 190}" y="2" width="10" height="10"/>'
            f'<text x="{34 + n * 190}" y="11">{_short(one.name, 22)} ({len(one.values)})</text>'
        )
    for bound in bounds:
        x = 20 + (min(max(bound, low), high) - low) / (high - low) * room
        anchor = "end" if x > WIDTH / 2 else "start"
        said = number(bound)
        if bound in near:
            parts.append(f'<line class="bound" x1="{x:.1f}" x2="{x:.1f}" y1="16" y2="{base}"/>')
        else:
            said = f"← {said}" if bound < low else f"{said} →"
        parts.append(
            f'<text x="{x + (-4 if anchor == "end" else 4):.1f}" y="27" '
            f'text-anchor="{anchor}">{said}</text>'
        )
    parts.append(f'<line class="axis" x1="20" x2="{20 + room}" y1="{base}" y2="{base}"/>')
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        x = 20 + share * room
        parts.append(
            f'<text x="{x:.1f}" y="{base + 15}" text-anchor="{anchor}">'
            f"{number(low + share * (high - low))}</text>"
        )
    return _svg("".join(parts), base + 20, title)


def curve(values: Sequence[float], bound: float, title: str, *, low: bool, points: int = 60) -> str:
    """The share of `values` that a bound lets pass, against the bound: with `low` those at or over
    it, else those at or under it. The line is at `bound`, with its own share."""
    ordered = sorted(v for v in values if math.isfinite(v))
    if not ordered:
        return ""
    left = min(_quantile(ordered, 0.01), bound)
    right = max(_quantile(ordered, 0.99), bound)
    if right <= left:
        left, right = left - 0.5, right + 0.5
    height, base, room = 80, 100, WIDTH - 40

    def share(at: float) -> float:
        below = bisect_left(ordered, at) if low else bisect_right(ordered, at)
        return (len(ordered) - below if low else below) / len(ordered)

    places = [left + (right - left) * n / points for n in range(points + 1)]
    line = " ".join(
        f"{20 + n * room / points:.1f},{base - share(at) * height:.1f}"
        for n, at in enumerate(places)
    )
    x = 20 + (bound - left) / (right - left) * room
    anchor, shift = ("end", -4) if x > WIDTH / 2 else ("start", 4)
    parts = [
        f'<polyline class="curve" points="{line}"/>',
        f'<line class="bound" x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{base}"/>',
        f'<text x="{x + shift:.1f}" y="14" text-anchor="{anchor}">{number(bound)}: '
        f"{share(bound):.1%} kept</text>",
        f'<line class="axis" x1="20" x2="{20 + room}" y1="{base}" y2="{base}"/>',
    ]
    for at, place, ends in ((left, 20, "start"), (right, 20 + room, "end")):
        parts.append(
            f'<text x="{place}" y="{base + 15}" text-anchor="{ends}">{number(at)}: '
            f"{share(at):.0%}</text>"
        )
    return _svg("".join(parts), base + 20, title)


def number(value: float) -> str:
    """A number in at most six characters or so."""
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.3g}"


def _binned(values: Sequence[float], low: float, high: float, bins: int) -> list[float]:
    counts = [0] * bins
    for value in values:
        if math.isfinite(value):
            at = int((value - low) / (high - low) * bins)
            counts[min(max(at, 0), bins - 1)] += 1
    total = sum(counts) or 1
    return [c / total for c in counts]


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def _short(text: str, most: int) -> str:
    return escape(text if len(text) <= most else text[: most - 1] + "…")


def _svg(body: str, height: int, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{body}</svg>"
    )


__all__ = ["Series", "bars", "curve", "histogram", "number"]
