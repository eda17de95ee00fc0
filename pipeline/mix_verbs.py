"""`mix plan` and `mix diff`: what a mix takes before it is made, and what another one changes."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .errors import ConfigError
from .licences import refused_sources
from .lock import Lock
from .mix import MixParams, MixPlan, assign, plan_mix
from .overlaps import overlap_lines, overlaps
from .planning import Plan
from .registry import build


@dataclass(frozen=True)
class Forecast:
    """What a mix would take of a run's documents. `left_out` counts those that are in no
    domain, by why."""

    params: MixParams
    plan: MixPlan
    left_out: Mapping[str, int]

    @property
    def short(self) -> bool:
        """Whether making it would stop for want of tokens."""
        return self.params.shortfall == "error" and any(s.shortfall > 0 for s in self.plan.shares)


def forecast(root: Path, other: Any = None) -> Forecast:
    """The plan of the mix of a run whose documents are encoded: its own, or that of the shards
    step `other` (made from a recipe). Shortfalls are in the result, not raised.

    Raises ConfigError if the tokens are not counted yet, or were removed.
    """
    plan = Plan.load(root / "plan.json")
    folder = RunFolder(root, plan)
    own = _shards_step(plan)
    encode = next(p for p in plan.phases if p.step == "shards" and p.aux == "encode")
    place = folder.phase_folder(encode)
    if not place.seal().exists() or place.cleaned().exists():
        raise ConfigError(
            f"{root} has no token counts: its documents are not encoded yet, or that was removed",
            hint="run the recipe; it may stop at the mix, the counts are kept",
        )
    step = own if other is None else other
    params: MixParams = step.params.mix
    import numpy as np

    ids: list[str] = []
    domains: list[str] = []
    counts = [np.zeros(0, dtype=np.int64)]
    for piece in folder.pieces(encode.name, "shards.tokens", None, ("id", "domain", "n_tokens")):
        ids += piece.column("id").to_pylist()
        domains += piece.column("domain").to_pylist()
        counts.append(piece.column("n_tokens").to_numpy())
    n_tokens = np.concatenate(counts)
    left_out: dict[str, int] = {}
    if step.encoding() == own.encoding():
        for note in folder.seal(encode.name).notes():
            for key, value in note["counts"].items():
                left_out[key] = left_out.get(key, 0) + value
    else:
        found, left_out = _assigned(folder, step)
        unknown = sum(d is not None for d in found.values()) - sum(
            found.get(i) is not None for i in ids
        )
        if unknown:
            raise ConfigError(
                f"{unknown} documents of this mix were not counted in {root}",
                hint="its own mix leaves them out; run the recipe",
            )
        keep = np.array([found.get(i) is not None for i in ids], dtype=np.bool_)
        domains = [str(found[i]) for i in ids if found.get(i) is not None]
        ids = [i for i, k in zip(ids, keep.tolist(), strict=True) if k]
        n_tokens = n_tokens[keep]
    left_out.pop("kept", None)
    lenient = replace(params, shortfall="renormalise")
    made = plan_mix(lenient, domains, ids, n_tokens, seed=plan.seed)
    return Forecast(params, made, left_out)


def _shards_step(plan: Plan) -> Any:
    entry = next((p for p in plan.recipe["products"] if p["id"] == "shards"), None)
    if entry is None:
        raise ConfigError("the recipe writes no shards", hint="add the sections mix: and shards:")
    return build(entry["stage"], entry["params"], "step shards")


def _assigned(folder: RunFolder, step: Any) -> tuple[dict[str, str | None], dict[str, int]]:
    """The domain of every kept document by other rules than the run's own."""
    import pyarrow.parquet as pq

    phase = [p for p in folder.plan.phases if p.kind == "docs"][-1]
    if folder.phase_folder(phase).cleaned().exists():
        raise ConfigError("the documents were removed by `clean`; other rules need them")
    mix: MixParams = step.params.mix
    entry = folder.seal(phase.name).tables("docs")[0]
    there = set(pq.read_schema(folder.phase_folder(phase).root / entry["path"]).names)
    wanted = {"id", "source", "split"} | {c for d in mix.domains for c in d.match}
    sources = {s["name"]: s for s in folder.plan.recipe["sources"]}
    refused = refused_sources(sources, mix.licences)
    result: dict[str, str | None] = {}
    counts: dict[str, int] = {}
    for piece in folder.pieces(phase.name, "docs", None, sorted(wanted & there)):
        columns = {n: piece.column(n).to_pylist() for n in piece.column_names}
        domains, more = assign(
            columns, mix.domains, piece.num_rows, refused=refused, heldout=step.params.heldout
        )
        result |= dict(zip(columns["id"], domains, strict=True))
        for key, value in more.items():
            counts[key] = counts.get(key, 0) + value
    return result, counts


def plan_lines(found: Forecast) -> Iterator[str]:
    """A forecast for people."""
    from .report import table

    header = ["stream", "documents", "available", "wanted", "taken", "epochs", "shortfall"]
    rows = []
    for s in found.plan.shares:
        numbers = (s.copies, s.available, s.wanted, s.taken)
        rows.append([s.stream, *map(str, numbers), s.epochs, str(max(0, s.shortfall))])
    yield from table(header, rows)
    yield ""
    for key, count in sorted(found.left_out.items()):
        if count:
            yield f"left out: {count} documents ({key.replace('_', ' ')})"
    for warning in found.plan.warnings:
        yield f"warning: {warning}"
    yield f"{found.plan.tokens} tokens in all"
    if found.short:
        yield "it cannot be made: lower the budget, raise max_epochs, or set shortfall: renormalise"


@dataclass
class Moved:
    """How one stream differs between two results: documents (copies) and tokens."""

    documents: tuple[int, int] = (0, 0)
    tokens: tuple[int, int] = (0, 0)
    gone: int = 0
    new: int = 0
    recut: int = 0
    """Documents in both, of which another number of tokens is taken."""
    gone_tokens: int = 0
    new_tokens: int = 0

    @property
    def same(self) -> bool:
        return not (self.gone or self.new or self.recut)


def compare(a: Path, b: Path) -> dict[str, Moved]:
    """What moves between the shards of two results, by stream, from their own side files."""
    left, right = _streams(a), _streams(b)
    result = {}
    for name in sorted(left.keys() | right.keys()):
        one = _documents(a, left.get(name, []))
        two = _documents(b, right.get(name, []))
        gone, new = one.keys() - two.keys(), two.keys() - one.keys()
        result[name] = Moved(
            (len(one), len(two)), (sum(one.values()), sum(two.values())), len(gone), len(new),
            sum(one[k] != two[k] for k in one.keys() & two.keys()),
            sum(one[k] for k in gone), sum(two[k] for k in new),
        )  # fmt: skip
    return result


def _streams(root: Path) -> dict[str, list[str]]:
    """Shards by stream, from the manifest."""
    path = root / "shards/manifest.json"
    try:
        manifest = json.loads(path.read_bytes())
    except OSError:
        raise ConfigError(f"{root} has no shards: {path.name} is not there") from None
    result: dict[str, list[str]] = {s["stream"]: [] for s in manifest["domains"]}
    for shard in manifest["shards"]:
        result[shard["stream"]].append(shard["name"])
    return result


def _documents(root: Path, shards: Sequence[str]) -> dict[tuple[str, int], int]:
    """Tokens by id and copy number of the documents that begin in these shards."""
    import pyarrow.parquet as pq

    found: dict[tuple[str, int], int] = {}
    for name in shards:
        rows = pq.read_table(
            root / f"{name}.docs.parquet", columns=["id", "copy", "doc_tokens"],
            filters=[("doc_offset", "=", 0)], use_threads=False, partitioning=None,
        )  # fmt: skip
        keys = zip(rows["id"].to_pylist(), rows["copy"].to_pylist(), strict=True)
        found |= dict(zip(keys, rows["doc_tokens"].to_pylist(), strict=True))
    return found


def diff_lines(a: Path, b: Path, moved: Mapping[str, Moved]) -> Iterator[str]:
    """What another mix changes, for people: the parameters, then the streams that differ."""
    from .lock import diff

    locks = [Lock.load(p) for p in (a, b)]
    yield from (line for line in diff(*locks) if line.startswith("product "))
    for name, m in moved.items():
        if m.same:
            yield f"{name}: the same {m.documents[0]} documents, {m.tokens[0]} tokens"
            continue
        yield (
            f"{name}: {m.documents[0]} -> {m.documents[1]} documents, "
            f"{m.tokens[0]} -> {m.tokens[1]} tokens; {m.gone} go ({m.gone_tokens} tokens), "
            f"{m.new} come ({m.new_tokens}), {m.recut} are cut elsewhere"
        )


def mix(options: Namespace) -> int:
    """The verb: `mix init RUN…`, `mix plan RUN`, `mix plan RECIPE --run RUN`, `mix diff A B`."""
    from .verbs import show_json, show_lines

    words = options.things
    if options.what == "init":
        from .mix_starting import mix_init

        return mix_init(options)
    if options.what == "import":
        from .mix_importing import mix_import

        return mix_import(options)
    if options.what == "diff":
        if len(words) != 2:
            raise ConfigError("mix diff needs two run folders", hint="corpusmill mix diff A B")
        a, b = (Path(w) for w in words)
        moved = compare(a, b)
        if options.json:
            show_json({n: vars(m) for n, m in moved.items()})
        else:
            show_lines(diff_lines(a, b, moved))
        return 0
    if len(words) != 1:
        raise ConfigError("mix plan needs one run folder or recipe")
    found = _forecast_of(words[0], options.run)
    shared = _shared(words[0], options)
    if options.json:
        show_json({
            "shares": [s.to_json() for s in found.plan.shares], "tokens": found.plan.tokens,
            "warnings": list(found.plan.warnings), "left_out": dict(found.left_out),
            "possible": not found.short, "overlap": shared,
        })  # fmt: skip
    else:
        show_lines(plan_lines(found))
        if shared is not None:
            show_lines(["", *overlap_lines(shared)])
    return 1 if found.short else 0


def _shared(word: str, options: Namespace) -> list[dict[str, Any]] | None:
    """The overlaps that were asked for."""
    if not options.overlap:
        if options.benchmarks is not None:
            raise ConfigError("--benchmarks goes with --overlap")
        return None
    root = Path(word) if options.run is None else Path(options.run)
    return overlaps(root, None if options.benchmarks is None else Path(options.benchmarks))


def _forecast_of(word: str, run: str | None) -> Forecast:
    from .recipe import Recipe

    if Path(word).is_dir():
        return forecast(Path(word))
    step = next((p.made for p in Recipe.load(word).products if p.id == "shards"), None)
    if step is None:
        raise ConfigError(f"{word} writes no shards", hint="add the sections mix: and shards:")
    if run is None:
        raise ConfigError(
            "a recipe alone knows no token counts",
            hint="name a run that has encoded the same documents: --run RUN",
        )
    return forecast(Path(run), step)


VERBS = {"mix": mix}
