"""`mix init`: a recipe that mixes finished runs."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from .durable import write_atomic
from .errors import ConfigError
from .finished import Finished, finished_run
from .lock import Lock
from .recipe import Recipe
from .starting import name_from, new_recipe

_SOURCE = """\
  - name: {name}
    stage: sources.run              # {documents} documents kept by {run}
    root: {root}
    paths: {paths}
    licence: {licence}
    params:
{only}      # What a mix may choose by; leave out what a step of this recipe measures itself.
      signals: {signals}
"""

_RECIPE = """\
# Mixes the documents of finished runs. Nothing of them is read again for another weight:
# corpusmill mix plan RUN shows what is there, corpusmill verify follows the runs to their inputs.
schema: corpusmill/recipe/1
name: {name}
version: "1"
seed: 1

sources:
{sources}
steps: []                           # dedup.minhash here finds what the runs share

tokenizer: {{stage: tokenizers.bpe, vocab_size: 32768}}     # tokenizers.given: one that is there

mix:
  # tokens: 1_000_000_000           # with a weight for each domain, or policy: unimax
  domains:                          # without: everything once
{domains}
shards: {{}}
"""


def recipe_of_runs(locks: Sequence[Path], path: Path, name: str) -> str:
    """The text of a recipe, to lie at `path`, that mixes the runs with these locks: a source for
    each run and licence, a domain for each source. Raises what `finished_run` raises."""
    sources, domains = "", ""
    taken: set[str] = set()
    for lock in locks:
        run = finished_run(lock)
        for licence, members in _by_licence(run).items():
            named = _free(lock.name.removesuffix(".lock.json"), taken)
            whole = len(members) == len(run.licences)
            sources += _SOURCE.format(
                name=named, run=run.lock.data["name"], licence=json.dumps(licence),
                documents=run.lock.data["outputs"]["kept"]["documents"],
                root=json.dumps(os.path.relpath(lock.parent.resolve(), path.parent.resolve())),
                paths=json.dumps([lock.name]),
                only="" if whole else f"      only: {json.dumps(members)}\n",
                signals=json.dumps(run.signals),
            )  # fmt: skip
            domains += f"    - {{name: {named}, match: {{source: {named}}}}}\n"
    return _RECIPE.format(name=name, sources=sources, domains=domains)


def _by_licence(run: Finished) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for source, licence in run.licences.items():
        groups.setdefault(licence, []).append(source)
    return groups


def _free(name: str, taken: set[str]) -> str:
    found = next(n for n in (name, *(f"{name}-{i}" for i in range(2, 1000))) if n not in taken)
    taken.add(found)
    return found


def mix_init(options: Namespace) -> int:
    """The verb ``mix init RUN… --out mix.yaml``."""
    if options.out is None:
        raise ConfigError("mix init writes a recipe", hint="name it: --out mix.yaml")
    path = new_recipe(Path(options.out))
    locks = [Lock.load(thing).path for thing in options.things]
    name = name_from(path.stem, "mix")
    text = recipe_of_runs(locks, path, name)
    Recipe.parse(text, path.parent.resolve(), place=str(path))  # what is written is right
    write_atomic(path, text.encode())
    print(f"{path} is written. Next:")
    print(f"  corpusmill run {path} --out runs/{name}")
    print(f"  corpusmill mix plan runs/{name}")
    return 0
