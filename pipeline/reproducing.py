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
from .unkeyed import check_texts_are_there, compare_texts, missing_key, stand_in, without_letters


@dataclass(frozen=True)
class Replay:
    """A result made again. `differences` is empty if inputs and products are those of the lock.
    `unchecked`: None, or how many pseudonyms were compared but for their letters, since their key
    was missing; products were then compared as texts."""

    root: Path
    differences: tuple[str, ...]
    files: int
    unchecked: int | None = None

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
    (with `overrides`, as for inputs that lie elsewhere now), and compares. Where the plan needs a
    key of pseudonyms that is not there, see `corpusmill.pipeline.unkeyed`.

    Raises ConfigError, before any work, if the plan is not the one that the lock was made by, or
    if the key is missing and the lock's shards are not beside it.
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
    commitment = missing_key(plan)
    if commitment is not None:
        return _without_key(lock, plan, commitment, out.resolve(), workers, say)
    again = _make(plan, out.resolve(), workers, say)
    lines = list(diff(lock, again))
    if again.files_sha256 != lock.files_sha256 or again.mix_id != lock.mix_id:
        lines += _files_that_differ(lock, again)
    return Replay(again.path.parent, tuple(lines), len(again.rows()))


def _make(plan: Plan, root: Path, workers: int | None, say: Callable[[str], None]) -> Lock:
    with run_lock(root):
        put_plan(root, plan, say)
        here = workers_on("local", root, plan.plan_id, workers)
        made: RunResult = run_plan(root, plan, here, Progress(say, None))
    return Lock.load(made.lock_path)


def _without_key(
    lock: Lock, plan: Plan, commitment: str, root: Path, workers: int | None,
    say: Callable[[str], None],
) -> Replay:  # fmt: skip
    check_texts_are_there(lock)
    say(f"the key of the pseudonyms, {commitment[:19]}…, is not there: another takes its place")
    with stand_in(plan, commitment) as keyed:
        again = _make(keyed, root, workers, say)
    lines = diff(lock, without_letters(lock, again))
    texts, seen = compare_texts(lock, again)
    return Replay(root, tuple(lines + texts), len(again.rows()), seen)


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
            "run": str(result.root), "unchecked_pseudonyms": result.unchecked,
        })  # fmt: skip
    else:
        show_lines(result.differences)
        state = "all as locked" if result.same else "not reproduced"
        print(f"{result.files} files made again: {state}{_but(result.unchecked)}")
    return 0 if result.same else 3


def _but(unchecked: int | None) -> str:
    if unchecked is None:
        return ""
    return (
        f", compared as texts: without their key the letters of {unchecked} pseudonyms, and with "
        "them the tokenizer and the ids of tokens, could not be checked"
    )


VERBS = {"reproduce": reproduce_verb}
