"""Conservation: counts and id checksums per stage and source, checked as they are made.

For every step and source: ``in = out + dropped + errors``, in numbers and in the order-free sum
of ids, so that one lost and one doubled document cannot cancel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from .errors import IntegrityError, StageError
from .identity import SUM_MODULUS, hex128

ALWAYS_ALLOWED_ERRORS = 10
"""So many errors of one task never stop a run, however small the task."""


@dataclass
class Flow:
    """What went through one step for one source."""

    taken: int = 0
    taken_ids: int = 0
    kept: int = 0
    kept_ids: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    lost_ids: int = 0
    """Sum of the ids of dropped and failed documents."""

    def enter(self, number: int, size: int) -> None:
        self.taken += 1
        self.taken_ids += number
        self.bytes_in += size

    def keep(self, number: int, size: int) -> None:
        self.kept += 1
        self.kept_ids += number
        self.bytes_out += size

    def lose(self, number: int, into: dict[str, int], code: str) -> None:
        into[code] = into.get(code, 0) + 1
        self.lost_ids += number

    def check(self, where: str) -> None:
        """Raises IntegrityError unless nothing was lost or doubled."""
        gone = sum(self.dropped.values()) + sum(self.errors.values())
        if self.taken != self.kept + gone:
            raise IntegrityError(
                f"{where}: {self.taken} went in, {self.kept} came out and {gone} were dropped or "
                "failed: the account does not balance"
            )
        if (self.taken_ids - self.kept_ids - self.lost_ids) % SUM_MODULUS:
            raise IntegrityError(
                f"{where}: the numbers agree but the id checksums do not: a document was lost and "
                "another doubled"
            )

    def plain(self) -> dict[str, Any]:
        return {
            "in": self.taken, "in_ids": hex128(self.taken_ids), "out": self.kept,
            "out_ids": hex128(self.kept_ids), "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out, "dropped": self.dropped, "errors": self.errors,
        }  # fmt: skip


@dataclass
class Account:
    """Flows of one task: by step, then by source, in the order of the steps."""

    flows: dict[str, dict[str, Flow]] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    found: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)
    """By step, what it found and what was done (`Stage.findings`)."""

    def flow(self, step: str, source: str) -> Flow:
        by_source = self.flows.setdefault(step, {})
        found = by_source.get(source)
        if found is None:
            found = by_source[source] = Flow()
        return found

    def check(self, place: str) -> None:
        for step, by_source in self.flows.items():
            for source, flow in by_source.items():
                flow.check(f"{place}, step {step}, source {source}")

    def plain(self) -> dict[str, Any]:
        return {
            "steps": [
                {"step": step, "sources": {s: by_source[s].plain() for s in sorted(by_source)}}
                for step, by_source in self.flows.items()
            ],
            "cpu": {step: format(seconds, ".3f") for step, seconds in self.cpu.items()},
            **({"found": {s: _by_what(f) for s, f in self.found.items()}} if self.found else {}),
        }


def _by_what(found: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    """What → what was done → number."""
    result: dict[str, dict[str, int]] = {}
    for (what, done), n in sorted(found.items()):
        result.setdefault(what, {})[done] = n
    return result


def merge_found(counts: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, dict[str, int]]]:
    """Sums of what tasks found: step → what → what was done → number."""
    merged: dict[str, Counter[tuple[str, str]]] = {}
    for count in counts:
        for step, found in count.get("found", {}).items():
            into = merged.setdefault(step, Counter())
            for what, numbers in found.items():
                into.update({(what, done): n for done, n in numbers.items()})
    return {step: _by_what(merged[step]) for step in sorted(merged)}


def merge_steps(counts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sums of tasks' step tables: ``[{"step", "sources": {name: flow}, "cpu"}]`` in step order."""
    merged: dict[str, dict[str, dict[str, Any]]] = {}
    cpu: dict[str, float] = {}
    for count in counts:
        for entry in count.get("steps", ()):
            for source, flow in entry["sources"].items():
                into = merged.setdefault(entry["step"], {}).setdefault(source, {
                    "in": 0, "in_ids": 0, "out": 0, "out_ids": 0, "bytes_in": 0, "bytes_out": 0,
                    "dropped": {}, "errors": {},
                })  # fmt: skip
                for name in ("in", "out", "bytes_in", "bytes_out"):
                    into[name] += flow[name]
                for name in ("in_ids", "out_ids"):
                    into[name] = (into[name] + int(flow[name], 16)) % SUM_MODULUS
                for name in ("dropped", "errors"):
                    for code, n in flow[name].items():
                        into[name][code] = into[name].get(code, 0) + n
        for step, seconds in count.get("cpu", {}).items():
            cpu[step] = cpu.get(step, 0.0) + float(seconds)
    order = [*_step_order(counts), *sorted(cpu.keys() - merged.keys())]
    return [
        {"step": step, "sources": merged.get(step, {}), "cpu": format(cpu.get(step, 0.0), ".3f")}
        for step in order
    ]


def check_errors(counts: Mapping[str, Any], share: Any, place: str) -> None:
    """Raises StageError where more of a task's records ended as errors than the share allows."""
    errors: dict[str, int] = {}
    taken = 0
    for entry in merge_steps([counts]):
        flows = entry["sources"].values()
        taken = max(taken, sum(f["in"] for f in flows))
        for flow in flows:
            for code, n in flow["errors"].items():
                name = f"{entry['step']}:{code}"
                errors[name] = errors.get(name, 0) + n
    bad = sum(errors.values())
    if bad > ALWAYS_ALLOWED_ERRORS and bad > Decimal(str(share)) * taken:
        worst = ", ".join(f"{k} {v}" for k, v in sorted(errors.items(), key=lambda e: -e[1])[:3])
        raise StageError(
            f"{place}: {bad} of {taken} records ended as errors ({worst}), more than the allowed "
            f"share of {share}",
            hint="look at the rejects of an earlier run, or raise guards.max_error_share",
        )


def _step_order(counts: Sequence[Mapping[str, Any]]) -> list[str]:
    order: list[str] = []
    for count in counts:
        for entry in count.get("steps", ()):
            if entry["step"] not in order:
                order.append(entry["step"])
    return order
