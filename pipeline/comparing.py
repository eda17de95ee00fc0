"""`report A --against B`: what became of the same records in two runs, and why.

Records are the same where their ids are: the same place in the same file of a source of the same
name. A is the run that is looked at, B the one before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .engine import RunFolder
from .errors import TaskError
from .ledger import sealed_docs_phases
from .lock import identity_changes
from .planning import Plan
from .report import table
from .terminal import printable

if TYPE_CHECKING:
    import pyarrow as pa

KEPT, ABSENT = "kept", "not read"
_KINDS = ("came in", "went out", "another text", "another reason", "not in both")
EXAMPLES = 5
"""Documents shown of each change: those with the smallest ids, which are a sample by hash."""


@dataclass(frozen=True, slots=True)
class Example:
    """One document of a change, with the values that decided, where there are any."""

    id: str
    url: str
    value_before: str
    value_now: str


@dataclass(frozen=True, slots=True)
class Change:
    """Documents of one source with the same fate in B (`before`) and in A (`now`): kept, not read,
    or ``step:reason``. `text` says that they are kept in both with another text."""

    source: str
    before: str
    now: str
    text: bool
    documents: int
    examples: tuple[Example, ...]

    @property
    def kind(self) -> str:
        """One of `_KINDS`."""
        if ABSENT in (self.before, self.now):
            return "not in both"
        if self.text:
            return "another text"
        if self.now == KEPT:
            return "came in"
        return "went out" if self.before == KEPT else "another reason"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs: `recipe` holds the differences of their recipes in words, `sources` the numbers of
    records before, now, in both, and kept before and now, by source."""

    recipe: tuple[str, ...]
    sources: Mapping[str, Mapping[str, int]]
    changes: tuple[Change, ...]

    def total(self, kind: str) -> int:
        """Documents of all changes of a kind."""
        return sum(c.documents for c in self.changes if c.kind == kind)

    def plain(self) -> dict[str, Any]:
        """The same facts as plain values."""
        return {
            "recipe": list(self.recipe), "sources": {k: dict(v) for k, v in self.sources.items()},
            "changes": [{"kind": c.kind, **asdict(c)} for c in self.changes],
        }  # fmt: skip


def open_run(root: Path) -> RunFolder:
    """A run folder whose document phases are all closed. Raises TaskError for another one."""
    plan = Plan.load(root / "plan.json")
    run = RunFolder(root, plan)
    if len(sealed_docs_phases(run)) < sum(p.kind == "docs" for p in plan.phases):
        raise TaskError(f"the run in {root} is not finished", hint="run its recipe to the end")
    return run


def compare(now: RunFolder, before: RunFolder) -> Comparison:
    """What changed from `before` to `now`."""
    import pyarrow.compute as pc

    recipe = identity_changes(before.plan.data["identity"], now.plan.data["identity"])
    both = _fates(before, "_before").join(
        _fates(now, "_now"), keys="id", join_type="full outer", use_threads=False
    )
    for side in ("_before", "_now"):
        at = both.schema.get_field_index(f"fate{side}")
        both = both.set_column(at, f"fate{side}", pc.fill_null(both[f"fate{side}"], ABSENT))
    source = pc.coalesce(both["source_now"], both["source_before"])
    same_text = pc.fill_null(pc.equal(both["text_before"], both["text_now"]), True)
    both = both.append_column("source", source).append_column("other", pc.invert(same_text))
    groups = both.group_by(["source", "fate_before", "fate_now", "other"], use_threads=False)
    rows = groups.aggregate([("id", "count")]).to_pylist()
    rows.sort(key=lambda r: (-r["id_count"], r["source"], r["fate_before"], r["fate_now"]))
    sources: dict[str, dict[str, int]] = {}
    changes = []
    for row in rows:
        was, is_, count = row["fate_before"], row["fate_now"], int(row["id_count"])
        _count(sources.setdefault(row["source"], {}), was, is_, count)
        if was != is_ or row["other"]:
            examples = tuple(_examples(both, row))
            changes.append(Change(row["source"], was, is_, bool(row["other"]), count, examples))
    changes.sort(key=lambda c: _KINDS.index(c.kind))  # stable: the largest of each kind first
    return Comparison(tuple(recipe), dict(sorted(sources.items())), tuple(changes))


def _count(into: dict[str, int], was: str, is_: str, count: int) -> None:
    for name, holds in (
        ("before", was != ABSENT), ("now", is_ != ABSENT), ("in_both", ABSENT not in (was, is_)),
        ("kept_before", was == KEPT), ("kept_now", is_ == KEPT),
    ):  # fmt: skip
        into[name] = into.get(name, 0) + (count if holds else 0)


def _examples(both: pa.Table, row: Mapping[str, Any]) -> Iterator[Example]:
    import pyarrow.compute as pc

    mine = pc.equal(both["other"], row["other"])
    for name in ("source", "fate_before", "fate_now"):
        mine = pc.and_(mine, pc.equal(both[name], row[name]))
    found = both.filter(mine)
    best = pc.select_k_unstable(found, k=EXAMPLES, sort_keys=[("id", "ascending")])
    for one in found.take(best).to_pylist():
        yield Example(
            one["id"], one["url_now"] or one["url_before"] or "", one["value_before"] or "",
            one["value_now"] or "",
        )  # fmt: skip


def _fates(run: RunFolder, side: str) -> pa.Table:
    """Of every record: id, source, url, fate, value, and the hash of its text where it is kept."""
    import pyarrow as pa

    schema = pa.schema([
        ("id", pa.string()), ("source", pa.string()), ("url", pa.string()), ("fate", pa.string()),
        ("value", pa.string()), ("text", pa.int64()),
    ])  # fmt: skip
    pieces: list[pa.Table] = []
    phases = sealed_docs_phases(run)
    for phase in phases:
        for piece in run.pieces(phase.name, "rejects", None, None):
            fate = pa.array([
                f"{step}:{reason}" for step, reason in
                zip(piece["step"].to_pylist(), piece["reason"].to_pylist(), strict=True)
            ], pa.string())  # fmt: skip
            nothing = pa.nulls(piece.num_rows, pa.int64())
            pieces.append(pa.table(
                [piece["id"], piece["source"], piece["url"], fate, piece["value"], nothing],
                schema=schema,
            ))  # fmt: skip
    for piece in run.pieces(phases[-1].name, "docs", None, ("id", "source", "url", "text")):
        hashes = pa.array([_hash(t.as_py()) for t in piece["text"]], pa.int64())
        nothing, kept = pa.nulls(piece.num_rows, pa.string()), pa.array([KEPT] * piece.num_rows)
        pieces.append(pa.table(
            [piece["id"], piece["source"], piece["url"], kept, nothing, hashes], schema=schema
        ))  # fmt: skip
    whole = pa.concat_tables(pieces)
    return whole.rename_columns(["id", *(f"{n}{side}" for n in schema.names[1:])])


def _hash(text: str) -> int:
    raw = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(raw, "little", signed=True)


def comparison_lines(found: Comparison) -> list[str]:
    """A comparison for people."""
    lines = ["recipe:", *(f"  {line}" for line in found.recipe or ("no difference",)), ""]
    header = ["source", "read before", "read now", "in both", "kept before", "kept now"]
    keys = ("before", "now", "in_both", "kept_before", "kept_now")
    lines += table(header, [[n, *(str(f[k]) for k in keys)] for n, f in found.sources.items()])
    lines += ["", ", ".join(f"{kind} {found.total(kind)}" for kind in _KINDS), ""]
    if not found.changes:
        return [*lines, "no document has another fate"]
    rows = [[c.kind, c.before, c.now, str(c.documents), *_shown(c.examples)] for c in found.changes]
    lines += table(["change", "before", "now", "documents", "for example"], rows, left=3)
    return lines


def _shown(examples: Sequence[Example]) -> list[str]:
    if not examples:
        return [""]
    first = examples[0]
    values = [v for v in (first.value_before, first.value_now) if v and len(v) < 20]
    return [printable(first.url or first.id)[:70] + (f" ({' -> '.join(values)})" if values else "")]


__all__ = ["Change", "Comparison", "Example", "compare", "comparison_lines", "open_run"]
