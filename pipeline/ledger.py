"""The whole account of a run, made from the seals of its document phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .accounts import check_errors, merge_found, merge_steps
from .engine import RunFolder
from .errors import IntegrityError, StageError
from .identity import SUM_MODULUS
from .planning import Phase, Plan
from .registry import room_module

SCHEMA = "corpusmill/ledger/1"


def _total(sources: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {
        "in": 0, "out": 0, "dropped": {}, "errors": {}, "bytes_in": 0, "bytes_out": 0,
    }  # fmt: skip
    for flow in sources.values():
        for name in ("in", "out", "bytes_in", "bytes_out"):
            total[name] += flow[name]
        for name in ("dropped", "errors"):
            for code, n in flow[name].items():
                total[name][code] = total[name].get(code, 0) + n
    for name in ("dropped", "errors"):
        total[name] = dict(sorted(total[name].items(), key=lambda e: (-e[1], e[0])))
    return total


def sealed_docs_phases(run: RunFolder) -> list[Phase]:
    """Document phases that are closed, in order, up to the first one that is not."""
    found = []
    for phase in run.plan.phases:
        if phase.kind != "docs":
            continue
        if not run.phase_folder(phase).seal().exists():
            break
        found.append(phase)
    return found


def build_ledger(run: RunFolder) -> dict[str, Any]:
    """Sums the commits and checks that each step took in what the step before gave out.

    Raises IntegrityError if an equation fails, in numbers or in id checksums, for any source.
    """
    plan = run.plan
    phases = sealed_docs_phases(run)
    closed = [p for p in plan.phases if run.phase_folder(p).seal().exists()]
    counts = [c["counts"] for p in closed for c in run.seal(p.name).commits]
    merged = {entry["step"]: entry for entry in merge_steps(counts)}
    products = {s["id"]: merged.pop(s["id"], None) for s in plan.recipe["products"]}
    order = ["read", "sample", *(s["id"] for s in plan.recipe["steps"])]
    entries = [merged[s] for s in order if s in merged and merged[s]["sources"]]
    unknown = merged.keys() - set(order)
    if unknown:
        raise IntegrityError(
            f"the commits name steps that the plan does not have: {sorted(unknown)}"
        )
    kept = _check_end(run, phases, check_chain(entries))
    versions = {s["id"]: s["version"] for s in plan.recipe["steps"]}
    stages: list[dict[str, Any]] = []
    per_source: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        total = _total(entry["sources"])
        stages.append({
            "stage": entry["step"], "version": versions.get(entry["step"], 1), **total,
            "cpu_seconds": entry["cpu"],
        })  # fmt: skip
        for source, flow in entry["sources"].items():
            per_source.setdefault(source, []).append({"stage": entry["step"], **_total({"": flow})})
    records = _records(stages, kept)
    more: dict[str, dict[str, Any]] = {
        i["name"]: {"excluded": i["excluded"]} for i in plan.data["inputs"] if "excluded" in i
    }
    for source, sizes in encoded_sizes(run, closed).items():
        more.setdefault(source, {})["encoded"] = sizes
    return {
        "schema": SCHEMA,
        "balanced": True,
        "complete": len(phases) == sum(p.kind == "docs" for p in plan.phases),
        "records": records,
        "stages": stages,
        "sources": {
            s: {"stages": rows, "distinct": _distinct(run, phases, s), **more.get(s, {})}
            for s, rows in sorted(per_source.items())
        },
        "found": merge_found(counts),
        "products": [
            {"product": step, "cpu_seconds": entry["cpu"]}
            for step, entry in products.items()
            if entry
        ],
        "equations": [
            {"phase": p.name, **b}
            for p in closed
            for c in run.seal(p.name).commits
            for b in c["balances"]
        ],
    }


def encoded_sizes(run: RunFolder, closed: Sequence[Phase]) -> dict[str, dict[str, int]]:
    """By source what was encoded: ``documents``, ``bytes`` of their texts and ``tokens``, the
    end-of-text of each among them."""
    found: dict[str, dict[str, int]] = {}
    for phase in closed:
        if (phase.step, phase.aux) == ("shards", "encode"):
            for note in run.seal(phase.name).notes():
                for source, sizes in note.get("sources", {}).items():
                    mine = found.setdefault(source, dict.fromkeys(sizes, 0))
                    for key, size in sizes.items():
                        mine[key] += size
    return found


def _records(stages: Sequence[Mapping[str, Any]], kept: int) -> dict[str, Any]:
    dropped: dict[str, int] = {}
    errors: dict[str, int] = {}
    for stage in stages:
        for name, into in (("dropped", dropped), ("errors", errors)):
            for code, n in stage[name].items():
                into[f"{stage['stage']}:{code}"] = n
    taken = stages[0]["in"] if stages else 0
    if taken != kept + sum(dropped.values()) + sum(errors.values()):
        raise IntegrityError(
            f"{taken} records were read, {kept} kept, {sum(dropped.values())} dropped and "
            f"{sum(errors.values())} ended as errors: the ledger does not balance"
        )
    return {"in": taken, "kept": kept, "dropped": dropped, "errors": errors}


def check_chain(entries: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Number and id checksum of what the last step gave out, over all sources.

    `entries` are those of `merge_steps` in the order of the steps. Raises IntegrityError where a
    step took in other documents than the step before gave out.
    """
    before: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for entry in entries:
        for source, flow in entry["sources"].items():
            if source in before:
                step, previous = before[source]
                same = (previous["out"], previous["out_ids"]) == (flow["in"], flow["in_ids"])
                if not same:
                    raise IntegrityError(
                        f"source {source}: step {step} gave out {previous['out']} documents and "
                        f"{entry['step']} took in {flow['in']} (or other ones): something was lost "
                        "or doubled between them"
                    )
            before[source] = (entry["step"], flow)
    flows = [flow for _, flow in before.values()]
    return sum(f["out"] for f in flows), sum(f["out_ids"] for f in flows) % SUM_MODULUS


def _check_end(run: RunFolder, phases: Sequence[Phase], given: tuple[int, int]) -> int:
    """Documents in the tables of the last closed phase, which must be those that its last step
    gave out, and those that were encoded where that was done."""
    if not phases:
        return 0
    counts = [c["counts"] for c in run.seal(phases[-1].name).commits]
    written = (
        sum(int(c["out"]) for c in counts),
        sum(int(c["out_ids"], 16) for c in counts) % SUM_MODULUS,
    )
    if written != given:
        raise IntegrityError(
            f"{given[0]} documents came out of the last step and {written[0]} (or other ones) were "
            f"written by {phases[-1].name}"
        )
    for phase in run.plan.phases:
        if (
            phase.step == "shards"
            and phase.aux == "encode"
            and run.phase_folder(phase).seal().exists()
        ):
            encoded = sum(int(n["documents"]) for n in run.seal(phase.name).notes())
            if encoded != written[0]:
                raise IntegrityError(f"{written[0]} documents were kept and {encoded} were encoded")
    return written[0]


def _distinct(run: RunFolder, phases: Sequence[Phase], source: str) -> dict[str, Any]:
    distinct = room_module("stages.measure.distinct")
    found = {}
    for phase in phases:
        sketches = [
            c["distinct"][source]["hosts"]
            for c in run.seal(phase.name).commits
            if source in c["distinct"]
        ]
        if sketches:
            whole = distinct.Distinct.from_json(sketches[0])
            for sketch in sketches[1:]:
                whole.merge(distinct.Distinct.from_json(sketch))
            found[phase.name] = {"hosts": whole.estimate()}
    return found


def guard_phase(run: RunFolder, phase: Phase) -> None:
    """Stops a run in which a step dropped or failed everything, or a task failed too much: a
    phase that is reused may have been made under wider guards. Raises StageError."""
    if phase.kind != "docs":
        return
    guards = run.plan.recipe["guards"]
    for commit in run.seal(phase.name).commits:
        place = f"{phase.name}, task {commit['task']}"
        check_errors(commit["counts"], guards["max_error_share"], place)
    if guards["allow_empty"]:
        return
    for entry in merge_steps([c["counts"] for c in run.seal(phase.name).commits]):
        total = _total(entry["sources"])
        if total["in"] and not total["out"]:
            why = {**total["dropped"], **{f"error {k}": v for k, v in total["errors"].items()}}
            worst = ", ".join(f"{k} {v}" for k, v in list(why.items())[:5])
            raise StageError(
                f"step {entry['step']} left none of {total['in']} documents ({worst})",
                hint="check its parameters with `corpusmill why`; guards.allow_empty permits it",
            )


def guard_sources(plan: Plan, ledger: Mapping[str, Any]) -> None:
    """Stops a run that lost more of a source than the recipe allows. Raises StageError."""
    for entry in plan.recipe["sources"]:
        rows = ledger["sources"].get(entry["name"], {}).get("stages", [])
        if not rows or not rows[0]["out"]:
            continue
        start, end = rows[0]["out"], rows[-1]["out"]
        if start - end > float(entry["max_loss"]) * start:
            worst = max(rows[1:], key=lambda r: r["in"] - r["out"])
            raise StageError(
                f"source {entry['name']} lost {start - end} of {start} documents, more than "
                f"max_loss {entry['max_loss']}; most in step {worst['stage']}",
                hint="look at its rejects, or raise max_loss of the source",
            )
