"""The frozen work of a run: inputs listed once, assets with digests, phases with keys, tasks.

`make_plan` reads no input file, only names and sizes. A phase's key is the hash of everything
that determines its files: steps with parameters, versions and pins, asset digests, upstream keys,
and the cut into tasks and partitions. A changed recipe gets new keys, and so new folders; what did
not change keeps its key and is reused.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .assets import Places, check_asset, placed, ready_assets
from .durable import write_atomic
from .errors import ConfigError, CorpusmillError, InputError, IntegrityError
from .identity import canonical, fingerprint, pretty
from .input_files import place
from .inputs import cut_tasks, list_inputs
from .needs import Needs, needs_of
from .params import encode, list_assets, map_assets
from .recipe import Recipe, Step
from .registry import build, pin_versions
from .stage import InputFile, Reads

SCHEMA = "corpusmill/plan/1"


@dataclass(frozen=True)
class Phase:
    """One phase of a plan."""

    name: str
    kind: str
    """``docs`` (a chain of stages over documents) or ``aux`` (a barrier's or sink's own)."""
    key: str
    tasks: int
    steps: tuple[str, ...] = ()
    """docs: ids of the steps that are applied, in order."""
    decide: str | None = None
    """docs: the barrier whose verdicts are applied first."""
    emit: str | None = None
    """docs: the barrier that is fed at the end."""
    step: str | None = None
    """aux: the step that the phase belongs to."""
    aux: str | None = None
    method: str | None = None
    upstream: tuple[str, ...] = ()
    """Names of the earlier phases that tasks may read."""
    reads: Reads = "anything"
    own_verdicts: bool = False
    """aux: both as in `AuxPhase`."""

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.key[:12]}"


@dataclass(frozen=True)
class Plan:
    """A frozen plan: `data` is its JSON form, `phases` its phases in order."""

    data: dict[str, Any]
    phases: tuple[Phase, ...]

    @property
    def plan_id(self) -> str:
        return str(self.data["plan_id"])

    @property
    def recipe(self) -> dict[str, Any]:
        return dict(self.data["recipe"])

    @property
    def partitions(self) -> int:
        return int(self.data["layout"]["partitions"])

    @property
    def seed(self) -> int:
        return int(self.data["recipe"]["seed"])

    def phase(self, name: str) -> Phase:
        """The phase called `name`. Raises ConfigError if there is none."""
        for phase in self.phases:
            if phase.name == name:
                return phase
        raise ConfigError(f"the plan has no phase {name!r}")

    def step(self, step_id: str) -> dict[str, Any]:
        """The plan's entry of one step (id, stage, version, pins, params)."""
        for step in [*self.recipe["steps"], *self.recipe["products"]]:
            if step["id"] == step_id:
                return dict(step)
        raise ConfigError(f"the plan has no step {step_id!r}")

    def task_files(self, task: int) -> list[InputFile]:
        """The input files of one task of the first phase, in order."""
        files = []
        for source_index, file_index in self.data["layout"]["tasks"][task]:
            source = self.data["inputs"][source_index]
            name, root = source["name"], self.data["places"]["sources"][source["name"]]
            relative, size, _ = source["files"][file_index]
            beside = tuple(
                InputFile(name, place(root, other), other, length)
                for other, length, _ in source.get("beside", {}).get(relative, ())
            )
            files.append(InputFile(name, place(root, relative), relative, size, beside))
        return files

    def file_token(self, source: str, relative: str) -> int:
        """The listed modification time (nanoseconds) of an input file."""
        try:
            return self._tokens[source, relative]
        except KeyError:
            raise InputError(f"{relative} is not an input of source {source!r}") from None

    def known_digest(self, source: str, relative: str) -> str | None:
        """The sha256 that an input file must have, where that was known when it was listed."""
        return self._digests.get((source, relative))

    @cached_property
    def needs(self) -> dict[str, Needs]:
        """What must be there before tasks of each phase begin, by its name."""
        return needs_of(self.phases)

    @cached_property
    def _digests(self) -> dict[tuple[str, str], str]:
        return {
            (entry["name"], name): digest
            for entry in self.data["inputs"]
            for name, digest in entry.get("sha256", {}).items()
        }

    @cached_property
    def _tokens(self) -> dict[tuple[str, str], int]:
        return {
            (entry["name"], name): int(token)
            for entry in self.data["inputs"]
            for files in (entry["files"], *entry.get("beside", {}).values())
            for name, _, token in files
        }

    def save(self, path: Path) -> None:
        write_atomic(
            path, pretty({**self.data, "phases": [dataclasses.asdict(p) for p in self.phases]})
        )

    def renamed(self, old: str, new: str) -> Plan:
        """The plan with `new` wherever the words `old` stand; its phases keep their keys."""
        data = json.loads(json.dumps(self.data).replace(json.dumps(old), json.dumps(new)))
        data["recipe_id"] = fingerprint(data["identity"])
        data["plan_id"] = _plan_id(data, self.phases)
        return Plan(data, self.phases)

    @classmethod
    def load(cls, path: Path) -> Plan:
        """Reads and checks a plan. Raises IntegrityError if it is not what was planned."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"cannot read the plan {path}: {error.strerror}") from None
        except ValueError as error:
            raise IntegrityError(f"the plan {path} is not JSON: {error}") from None
        schema = data.get("schema") if isinstance(data, dict) else None
        if schema != SCHEMA:
            raise ConfigError(
                f"{path}: schema {schema!r} is unknown, this version writes {SCHEMA}",
                hint="use another run folder, or the version that made this one",
            )
        try:
            phases = tuple(_load_phase(p) for p in data.pop("phases"))
            plan = cls(data, phases)
            same = _plan_id(data, phases) == plan.plan_id
        except (KeyError, TypeError, AttributeError, CorpusmillError):
            same = False  # keys missing, or values of another kind
        if not same:
            raise IntegrityError(
                f"{path} was changed after it was planned",
                hint="remove it and run the recipe again: finished phases are found by their keys",
            )
        return plan

    def load_steps(self, ids: tuple[str, ...] | list[str]) -> list[Step]:
        """Stage objects of steps, ready for `setup`: assets resolved to absolute paths.

        Raises ConfigError if this installation has another stage version or library version
        than the plan.
        """
        return [self._load_step(i) for i in ids]

    def _load_step(self, step_id: str) -> Step:
        entry = self.step(step_id)
        made = self._make(entry, f"step {step_id}")
        return Step(step_id, entry["stage"], made.params, made)

    def _make(self, entry: dict[str, Any], what: str) -> Any:
        made = build(entry["stage"], entry["params"], what)
        _same_version(entry, made, what)
        ready = placed(made, self.data["places"]["assets"])
        self.check_assets(ready.params)
        return ready

    def check_assets(self, params: Any) -> None:
        """Raises AssetError if an asset among placed parameters changed since it was planned."""
        places = self.data["places"]
        names = {path: value for value, path in places["assets"].items()}
        for path in map(str, list_assets(params)):
            value = names[path]
            token = places["asset_tokens"][value]
            check_asset(Path(path), value, self.data["assets"][value], token)

    def check_installation(self) -> None:
        """Raises what `load_steps` would for any step or source of the plan."""
        for entry in [*self.recipe["steps"], *self.recipe["products"]]:
            self._load_step(entry["id"])
        for entry in self.recipe["sources"]:
            self.load_source(entry["name"])

    def load_source(self, name: str) -> Any:
        """The source object called `name`, ready for `setup`."""
        for entry in self.recipe["sources"]:
            if entry["name"] == name:
                return self._make(entry, f"source {name}")
        raise ConfigError(f"the plan has no source {name!r}")


def _load_phase(entry: dict[str, Any]) -> Phase:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    return Phase(**values)


def _same_version(entry: dict[str, Any], made: Any, what: str) -> None:
    if made.version != entry["version"]:
        raise ConfigError(
            f"{what}: the plan was made for {entry['stage']} version {entry['version']}, "
            f"installed is {made.version}",
            hint="plan again, or use the installation that planned",
        )
    pins = pin_versions(tuple(made.pins))
    if pins != entry["pins"]:
        raise ConfigError(
            f"{what}: the plan was made with {entry['pins']}, installed is {pins}",
            hint="plan again, or install the planned versions",
        )


def _plan_id(data: dict[str, Any], phases: tuple[Phase, ...]) -> str:
    body = {k: v for k, v in data.items() if k not in ("plan_id", "places")}
    return fingerprint([body, [dataclasses.asdict(p) for p in phases]])


def step_identity(step: Step, digests: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What of a step determines bytes: stage, version, pins, parameters, asset digests."""
    named = map_assets(
        type(step.params), step.params, lambda a: f"sha256:{digests[str(a)]['sha256']}"
    )
    return {
        "id": step.id,
        "stage": step.stage,
        "version": step.made.version,
        "pins": pin_versions(tuple(step.made.pins)),
        "params": encode(named),
    }


def make_plan(recipe: Recipe) -> Plan:
    """Plans a recipe. Raises ConfigError, AssetError or InputError before any work is done."""
    places = Places()
    inputs, roots = list_inputs(recipe)
    sources, source_ids = [], []
    for spec in recipe.sources:
        made = build(spec.stage, spec.params, f"source {spec.name}")
        digests = ready_assets(made, f"source {spec.name}", recipe.base, places)
        as_step = Step(spec.name, spec.stage, made.params, made)
        identity = step_identity(as_step, digests)
        source_ids.append({**identity, "licence": spec.licence})
        sources.append({
            "name": spec.name, "stage": spec.stage, "version": made.version,
            "pins": identity["pins"], "params": encode(made.params), "licence": spec.licence,
            "licence_text": spec.licence_text, "max_loss": encode(spec.max_loss),
            "accept_unlicensed": encode(spec.accept_unlicensed) if spec.accept_unlicensed else None,
        })  # fmt: skip
    entries: dict[str, list[dict[str, Any]]] = {"steps": [], "products": []}
    identities: dict[str, dict[str, Any]] = {}
    for group, steps in (("steps", recipe.steps), ("products", recipe.products)):
        for step in steps:
            digests = ready_assets(step.made, f"step {step.id}", recipe.base, places)
            identities[step.id] = step_identity(step, digests)
            entries[group].append({**identities[step.id], "params": encode(step.params)})
    layout = {
        "task_bytes": recipe.execution.task_bytes, "partitions": recipe.execution.partitions,
        "batch_bytes": recipe.execution.batch_bytes,
        "memory_bytes": recipe.execution.memory_bytes,
        "tasks": cut_tasks(inputs, recipe.execution.task_bytes),
    }  # fmt: skip
    identity = {
        "name": recipe.name, "version": recipe.version, "seed": recipe.seed,
        "sample": recipe.sample_share, "sources": source_ids,
        "steps": [identities[s.id] for s in recipe.steps],
        "products": [identities[s.id] for s in recipe.products],
    }  # fmt: skip
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "recipe_id": fingerprint(identity),
        "identity": identity,
        "recipe": {
            "name": recipe.name, "version": recipe.version, "seed": recipe.seed,
            "sample": recipe.sample_share, "sources": sources, **entries,
            "guards": encode(recipe.guards),
        },
        "assets": places.digests,
        "inputs": inputs,
        "layout": layout,
        "places": {
            "sources": roots, "assets": places.paths, "asset_tokens": places.tokens,
        },
    }  # fmt: skip
    phases = _phases(recipe, identities, source_ids, data)
    data["plan_id"] = _plan_id(data, phases)
    canonical(data)  # refuses what has no single spelling before anything is written
    return Plan(data, phases)


def _phases(
    recipe: Recipe, identities: dict[str, Any], source_ids: list[Any], data: dict[str, Any]
) -> tuple[Phase, ...]:
    layout = data["layout"]
    partitions = layout["partitions"]
    phases: list[Phase] = []

    def key(parts: Any, upstream: list[str]) -> str:
        keys = [p.key for p in phases if p.name in upstream]
        return fingerprint([parts, keys, partitions, recipe.seed])

    def number() -> str:
        return f"{len(phases) + 1:02d}"

    last_docs: str | None = None
    barrier: Step | None = None
    barrier_phases: list[str] = []
    group: list[Step] = []

    def close_group(emit: Step | None) -> None:
        nonlocal last_docs, group
        upstream = ([last_docs] if last_docs else []) + barrier_phases
        parts: list[Any] = ["docs", [identities[s.id] for s in group]]
        parts.append(identities[barrier.id] if barrier else None)
        parts.append(identities[emit.id] if emit else None)
        if last_docs is None:
            parts.append([source_ids, data["inputs"], layout["tasks"], recipe.sample_share])
        name = f"{number()}-read" if last_docs is None else f"{number()}-docs"
        tasks = len(layout["tasks"]) if last_docs is None else partitions
        phases.append(Phase(
            name, "docs", key(parts, upstream), tasks, tuple(s.id for s in group),
            decide=barrier.id if barrier else None, emit=emit.id if emit else None,
            upstream=tuple(upstream),
        ))  # fmt: skip
        last_docs = name
        group = []

    def aux_phases(step: Step, upstream: list[str]) -> list[str]:
        names: list[str] = []
        for aux in step.made.phases:
            name = f"{number()}-{step.id}.{aux.name}"
            count = partitions if aux.tasks == "partitions" else 1
            ups = [*upstream, *names]
            what = identities[step.id]
            if aux.depends is not None:
                what = {**what, "params": getattr(step.made, aux.depends)()}
            phases.append(Phase(
                name, "aux", key(["aux", what, aux.name], ups), count,
                step=step.id, aux=aux.name, method=aux.method, upstream=tuple(ups),
                reads=aux.reads, own_verdicts=aux.own_verdicts,
            ))  # fmt: skip
            names.append(name)
        return names

    for step in recipe.steps:
        if step.is_barrier:
            close_group(step)
            barrier = step
            barrier_phases = aux_phases(step, [last_docs] if last_docs else [])
        else:
            group.append(step)
    if group or barrier is not None or last_docs is None:
        close_group(None)
    product_phases: list[str] = []
    for product in recipe.products:
        product_phases += aux_phases(product, [last_docs or "", *product_phases])
    return tuple(phases)
