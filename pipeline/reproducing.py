"""`reproduce`: makes a result again from its inputs and compares it with what its lock claims."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .backends import workers_on
from .errors import ConfigError
from .lock import Lock, diff
from .planning import Plan, make_plan
from .progress import Progress, quiet
from .running import RunResult, put_plan, run_lock, run_plan


@dataclass(frozen=True)
class Replay:
    """A result made again. `differences` is empty if inputs and products are those of the lock."""

    root: Path
    differences: tuple[str, ...]
    files: int

    @property
    def same(self) -> bool:
        return not self.differences


def reproduce(
    target: Path,
    out: Path,
    *,
    recipe: Path | None = None,
    overrides: tuple[str, ...] = (),
    workers: int | None = None,
    say: Callable[[str], None] = quiet,
) -> Replay:
    """Runs, in the new folder `out`, the plan that lies beside the lock `target`, or `recipe`
    (with `overrides`, as for inputs that lie elsewhere now), and compares.

    Raises ConfigError, before any work, if the plan is not the one that the lock was made by.
    """
    lock = Lock.load(target)
    if "forget" in lock.data["identity"]:
        raise ConfigError(
            f"{lock.path} was made by `forget` from another result",
            hint=f"reproduce {lock.data['identity']['forget']['lock']}, and forget again",
        )
    if out.exists() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty", hint="name a new folder: nothing is reused")
    plan = _plan(lock, recipe, overrides)
    if plan.data["recipe_id"] != lock.data["recipe_id"]:
        raise ConfigError(
            "this is not the recipe that the lock was made by: "
            + "; ".join(_identity_changes(lock, plan.data["identity"])[:5]),
            hint="take the recipe, models and version of corpusmill that the lock names",
        )
    root = out.resolve()
    with run_lock(root):
        put_plan(root, plan, say)
        here = workers_on("local", root, plan.plan_id, workers)
        made: RunResult = run_plan(root, plan, here, Progress(say, None))
    again = Lock.load(made.lock_path)
    lines = list(diff(lock, again))
    if again.files_sha256 != lock.files_sha256 or again.mix_id != lock.mix_id:
        lines += _files_that_differ(lock, again)
    return Replay(root, tuple(lines), len(again.rows()))


def _plan(lock: Lock, recipe: Path | None, overrides: tuple[str, ...]) -> Plan:
    if recipe is not None:
        from .recipe import Recipe

        return make_plan(Recipe.load(recipe, overrides))
    beside = lock.path.parent / "plan.json"
    if not beside.exists():
        raise ConfigError(
            f"there is no plan beside {lock.path}", hint="name the recipe: --recipe RECIPE"
        )
    return Plan.load(beside)


def _identity_changes(lock: Lock, identity: dict[str, Any]) -> list[str]:
    """What of the plan's identity is not the lock's, in a reviewer's words."""
    other = {**lock.data, "identity": {**identity, "inputs": lock.data["identity"]["inputs"]}}
    return diff(lock, Lock(lock.path, other)) or ["their identities differ"]


def _files_that_differ(lock: Lock, again: Lock) -> list[str]:
    one = {(r["role"], r["path"]): r["sha256"] for r in lock.rows()}
    two = {(r["role"], r["path"]): r["sha256"] for r in again.rows()}
    lines = []
    for key in sorted(one.keys() | two.keys()):
        if one.get(key) != two.get(key):
            what = "is new" if key not in one else "is missing" if key not in two else "differs"
            lines.append(f"{key[0]} {key[1]} {what}")
    return lines


def reproduce_verb(options: Namespace) -> int:
    from .progress import to_stderr
    from .verbs import show_json, show_lines

    recipe = None if options.recipe is None else Path(options.recipe)
    if recipe is None and options.overrides:
        raise ConfigError("--set changes a recipe", hint="name it: --recipe RECIPE")
    result = reproduce(
        Path(options.target), Path(options.out), recipe=recipe,
        overrides=tuple(options.overrides), workers=options.workers, say=to_stderr,
    )  # fmt: skip
    if options.json:
        show_json({
            "same": result.same, "differences": list(result.differences), "files": result.files,
            "run": str(result.root),
        })  # fmt: skip
    else:
        show_lines(result.differences)
        state = "all as locked" if result.same else "not reproduced"
        print(f"{result.files} files made again: {state}")
    return 0 if result.same else 3


VERBS = {"reproduce": reproduce_verb}
