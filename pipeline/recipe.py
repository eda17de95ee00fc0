"""The recipe: one strict YAML file that says what to make.

    schema: corpusmill/recipe/1
    name: sample                     # names the lock and the shards
    version: "2026.11.29"
    seed: 1
    sources:
      - name: web
        stage: sources.warc
        root: package:sample/crawl   # or a folder, relative to the recipe
        paths: ["**/*.warc.gz"]
        licence: Apache-2.0
    steps:                           # in order; a name, or a name with its parameters
      - filters.url
      - extract.tiers: {tier: own}
    tokenizer: {stage: tokenizers.bpe, vocab_size: 8192}
    mix: {}
    shards: {tokens_per_shard: 1000000}
    execution: {task_bytes: 67108864, partitions: 16}

`execution` and `guards` never change the bytes of a product and are not part of its identity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from .errors import ConfigError
from .listing import check_pattern
from .object_store import check_address, is_address
from .overrides import apply_override
from .params import decode_dataclass, nearest, shown
from .registry import NOT_STEPS, build, step_name, writers_of
from .stage import Barrier, Sink, Source, Stage
from .strict_yaml import MAX_BYTES, read_yaml

SCHEMA = "corpusmill/recipe/1"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@dataclass(frozen=True)
class Unlicensed:
    """Who accepted a source without a licence, and on what basis; stands in lock and report."""

    basis: str
    by: str
    date: str


@dataclass(frozen=True)
class SourceSpec:
    """One source: where its files are and under which licence they came."""

    name: str
    stage: str
    licence: str
    """An SPDX expression, a ``LicenseRef-…``, or ``NOASSERTION``."""
    paths: tuple[str, ...] = ()
    """Patterns below `root`; each must match a file."""
    paths_from: str | None = None
    """A text file (also .gz) that lists paths below `root`, a line each, as Common Crawl
    publishes them; each must exist."""
    root: str = "."
    """A folder, or an ``s3://BUCKET/PREFIX`` (see `corpusmill.pipeline.object_store`)."""
    exclude: tuple[str, ...] = ()
    """Patterns of files that `paths` match and that must not be read; the ledger names them."""
    params: Mapping[str, Any] = field(default_factory=dict)
    licence_text: str | None = None
    accept_unlicensed: Unlicensed | None = None
    max_loss: float = 1.0
    """The largest share of the source's documents (pages after reading) that may be dropped."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"{shown(self.name)} is not a source name", hint="a-z, 0-9, - and _")
        if not self.paths and self.paths_from is None:
            raise ConfigError(
                f"source {self.name!r} lists no paths", hint="paths: [PATTERN], or paths_from: LIST"
            )
        for key, patterns in (("paths", self.paths), ("exclude", self.exclude)):
            for pattern in patterns:
                try:
                    check_pattern(pattern)
                except ConfigError as error:
                    raise ConfigError(
                        f"{key} of {self.name!r}: {error.message}", hint=error.hint
                    ) from None
        if not self.root or "\0" in self.root:
            raise ConfigError(f"root of {self.name!r} is {shown(self.root)}, which is no path")
        if is_address(self.root):
            check_address(self.root)
        if not self.licence.strip():
            raise ConfigError(f"source {self.name!r} has no licence", hint="NOASSERTION if unknown")
        if not self.licence.isprintable():
            raise ConfigError(f"licence of {self.name!r}: {shown(self.licence)} is not printable")
        if not 0.0 <= self.max_loss <= 1.0:
            raise ConfigError(f"max_loss of {self.name!r} is {self.max_loss}, not in 0..1")


LEAST_MEMORY = 96 << 20
"""Half of it is for what a task is reading and writing."""


@dataclass(frozen=True)
class Execution:
    """How the work is cut. Changes no product."""

    task_bytes: int = 64 << 20
    """Input bytes of one task of the first phase; a file is never cut."""
    partitions: int = 16
    """Partitions of the later phases; a power of two."""
    batch_bytes: int = 16 << 20
    """Bytes of the pages or texts that a stage sees at once."""
    memory_bytes: int = 0
    """What a task may hold of the rows that it compares; 0: all of its partition."""

    def __post_init__(self) -> None:
        if (
            self.partitions < 1
            or self.partitions & (self.partitions - 1)
            or self.partitions > 65536
        ):
            raise ConfigError(
                f"partitions is {self.partitions}: a power of two up to 65536 is needed"
            )
        if self.task_bytes < 1 or self.batch_bytes < 1:
            raise ConfigError("task_bytes and batch_bytes must be positive")
        if self.memory_bytes and self.memory_bytes < LEAST_MEMORY:
            raise ConfigError(
                f"memory_bytes is {self.memory_bytes}",
                hint=f"at least {LEAST_MEMORY}, or 0 for no budget; more partitions take less too",
            )


@dataclass(frozen=True)
class Guards:
    """When a run must stop instead of going on."""

    max_error_share: float = 0.05
    """Share of a task's records that may end as errors; ten errors are always allowed."""
    allow_empty: bool = False
    """Whether a phase may drop every document."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.max_error_share <= 1.0:
            raise ConfigError(f"max_error_share is {self.max_error_share}, not in 0..1")


@dataclass(frozen=True)
class Step:
    """One step: the id used in ledgers and signals' provenance, the stage and its parameters."""

    id: str
    stage: str
    params: Any
    made: Any = field(compare=False, repr=False, default=None)
    """The stage object built from the parameters (nothing loaded)."""

    @property
    def is_barrier(self) -> bool:
        return isinstance(self.made, Barrier)


@dataclass(frozen=True)
class Recipe:
    """A checked recipe. Build one with `Recipe.load` or `Recipe.parse`."""

    name: str
    version: str
    seed: int
    sources: tuple[SourceSpec, ...]
    steps: tuple[Step, ...]
    products: tuple[Step, ...]
    """Sinks in order: step ids ``tokenizer`` and ``shards``."""
    execution: Execution
    guards: Guards
    base: Path
    """Folder that relative paths start from."""
    sample_share: str | None = None
    """Decimal share of the documents kept by ``--sample``, by keyed hash of the id."""

    @classmethod
    def load(cls, path: Path | str, overrides: tuple[str, ...] = ()) -> Recipe:
        """Reads a YAML file; ``key.sub=value`` overrides are applied before checking."""
        path = Path(path)
        try:
            with open(path, "rb") as f:
                raw = f.read(MAX_BYTES + 1)
            text = raw.decode("utf-8", "strict" if len(raw) <= MAX_BYTES else "replace")
        except OSError as error:
            raise ConfigError(f"cannot read the recipe {path}: {error.strerror}") from None
        except ValueError as error:  # not UTF-8, or a path that no file can have
            raise ConfigError(f"cannot read the recipe {str(path)!r}: {error}") from None
        return cls.parse(text, path.parent.resolve(), place=str(path), overrides=overrides)

    @classmethod
    def parse(
        cls, text: str, base: Path, *, place: str = "recipe", overrides: tuple[str, ...] = ()
    ) -> Recipe:
        """Checks the text of a recipe; paths in it are relative to `base`."""
        data = read_yaml(text, place)
        for override in overrides:
            apply_override(data, override)
        return _from_mapping(data, base, place)


_TOP = (
    "schema", "name", "version", "seed", "sources", "steps", "tokenizer", "mix", "shards",
    "execution", "guards", "sample",
)  # fmt: skip


def _from_mapping(data: Mapping[str, Any], base: Path, place: str) -> Recipe:
    for key in data:
        if key not in _TOP:
            raise ConfigError(f"{place}: unknown key {shown(key)}", hint=nearest(key, _TOP))
    for key in ("schema", "name", "version", "sources", "steps"):
        if key not in data:
            raise ConfigError(f"{place}: the key {shown(key)} is missing")
    if data["schema"] != SCHEMA:
        raise ConfigError(
            f"{place}: schema {shown(data['schema'])} is unknown", hint=f"known: {SCHEMA}"
        )
    name, version, seed = data["name"], data["version"], data.get("seed", 1)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(f"{place}.name: {shown(name)} is not a name", hint="a-z, 0-9, - and _")
    if not isinstance(version, str):
        raise ConfigError(
            f"{place}.version: {shown(version)} is not text", hint="put quotes around it"
        )
    if not version.isprintable() or not 0 < len(version) <= 100:
        raise ConfigError(f"{place}.version: {shown(version)} is not 1 to 100 printable characters")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 63:
        raise ConfigError(f"{place}.seed: {shown(seed)} is not a whole number of 63 bits")
    if not isinstance(data["sources"], list) or not data["sources"]:
        raise ConfigError(f"{place}.sources: a list with at least one source is needed")
    sources = tuple(
        decode_dataclass(SourceSpec, s, f"{place}.sources[{i}]")
        for i, s in enumerate(data["sources"])
    )
    names = [s.name for s in sources]
    for n in names:
        if names.count(n) > 1:
            raise ConfigError(f"{place}.sources: two sources are called {n!r}")
    for i, s in enumerate(sources):
        made = build(s.stage, s.params, f"{place}.sources[{i}].params")
        if not isinstance(made, Source):
            raise ConfigError(f"{place}.sources[{i}]: {shown(s.stage)} is not a source")
    steps = _steps(data["steps"], f"{place}.steps")
    products = _products(data, place)
    sample = data.get("sample")
    recipe = Recipe(
        name=name, version=version, seed=seed, sources=sources, steps=steps, products=products,
        execution=decode_dataclass(Execution, data.get("execution"), f"{place}.execution"),
        guards=decode_dataclass(Guards, data.get("guards"), f"{place}.guards"), base=base,
        sample_share=None if sample is None else _share(sample, f"{place}.sample"),
    )  # fmt: skip
    _check_signals(recipe, place)
    return recipe


def _share(value: Any, place: str) -> str:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise ConfigError(f"{place}: {shown(value)} is not a share") from None
    if not number.is_finite() or not 0 < number <= 1:
        raise ConfigError(f"{place}: {shown(value)} is not in (0, 1]")
    return format(number.normalize(), "f")


def _steps(entries: Any, place: str) -> tuple[Step, ...]:
    if not isinstance(entries, list):
        raise ConfigError(f"{place}: a list of steps is needed, [] for none")
    steps = []
    seen: dict[str, str] = {}
    for i, entry in enumerate(entries):
        here = f"{place}[{i}]"
        if isinstance(entry, str):
            stage, params = entry, dict[str, Any]()
        elif isinstance(entry, dict) and len(entry) == 1:
            stage, params = next(iter(entry.items()))
            params = dict(params or {}) if isinstance(params, dict | None) else params
        else:
            raise ConfigError(f"{here}: a stage name, or one stage name with its parameters")
        if not isinstance(params, dict):
            raise ConfigError(f"{here}: a mapping of keys is needed, not {shown(params)}")
        step_id = params.pop("as", step_name(stage, seen))
        if not isinstance(step_id, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", step_id):
            raise ConfigError(f"{here}: {shown(step_id)} is not a step name")
        if step_id in seen or step_id in NOT_STEPS:
            raise ConfigError(
                f"{here}: a step {shown(step_id)} exists already", hint="give it a name with `as:`"
            )
        seen[step_id] = stage
        made = build(stage, params, f"{here} ({stage[:60]})")
        if not isinstance(made, Stage | Barrier):
            raise ConfigError(f"{here}: {shown(stage)} is a {made.kind}, which cannot be a step")
        steps.append(Step(step_id, stage, made.params, made))
    return tuple(steps)


def _products(data: Mapping[str, Any], place: str) -> tuple[Step, ...]:
    products = []
    tokenizer = data.get("tokenizer")
    if tokenizer is not None:
        if not isinstance(tokenizer, dict) or "stage" not in tokenizer:
            raise ConfigError(
                f"{place}.tokenizer: the key 'stage' is missing", hint="tokenizers.bpe"
            )
        params = {k: v for k, v in tokenizer.items() if k != "stage"}
        made = build(tokenizer["stage"], params, f"{place}.tokenizer")
        products.append(Step("tokenizer", tokenizer["stage"], made.params, made))
    if data.get("shards") is not None or data.get("mix") is not None:
        if tokenizer is None:
            raise ConfigError(
                f"{place}: shards need a tokenizer", hint="add the section tokenizer:"
            )
        shards = {} if data.get("shards") is None else data["shards"]
        if not isinstance(shards, dict):
            raise ConfigError(f"{place}.shards: a mapping of keys is needed, not {shown(shards)}")
        params = dict(shards)
        if data.get("mix") is not None:
            if "mix" in params:
                raise ConfigError(f"{place}.shards: the mix stands here and in {place}.mix")
            params["mix"] = data["mix"]
        made = build("tokenizers.shards", params, f"{place}.shards")
        products.append(Step("shards", "tokenizers.shards", made.params, made))
    for product in products:
        if not isinstance(product.made, Sink):
            raise ConfigError(f"{place}.{product.id}: {shown(product.stage)} is not a sink")
    return tuple(products)


def _who_writes(signal: str, known: Mapping[str, object]) -> str | None:
    """The hint for a signal that is read and not written."""
    stages = writers_of(signal)
    if stages:
        return f"put {' or '.join(stages)} before it"
    return nearest(signal, known) if known else None


def _check_signals(recipe: Recipe, place: str) -> None:
    """Refuses a recipe in which a step reads a signal that nobody wrote, or two clash."""
    writers: dict[str, tuple[str, str]] = {}
    pages = True
    for source in recipe.sources:
        for signal, kind in build(source.stage, source.params, source.name).writes.items():
            known = writers.setdefault(signal, (kind, source.stage))
            if known != (kind, source.stage):
                raise ConfigError(
                    f"{place}.sources ({source.name}) gives {signal!r} as {kind} of "
                    f"{source.stage}, another source as {known[0]} of {known[1]}"
                )
    for i, step in enumerate(recipe.steps):
        made = step.made
        here = f"{place}.steps[{i}] ({step.id})"
        for signal in made.reads:
            if signal not in writers:
                raise ConfigError(
                    f"{here} reads the signal {signal!r}, which no earlier step writes",
                    hint=_who_writes(signal, writers),
                )
        for signal, kind in made.writes.items():
            known = writers.setdefault(signal, (kind, step.stage))
            if known != (kind, step.stage):
                raise ConfigError(f"{here} writes {signal!r}, which {known[1]} writes already")
        if isinstance(made, Stage) and made.takes == "page":
            if not pages:
                raise ConfigError(f"{here} takes raw pages, but pages were extracted before it")
            if made.kind == "map":
                pages = False
        if isinstance(made, Barrier):
            pages = False


__all__ = ["Execution", "Guards", "Recipe", "SourceSpec", "Step", "Unlicensed"]
