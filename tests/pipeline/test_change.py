"""The world changes under a run: the right result or a clear refusal, never a stale one.

After each change the run folder must hold what a fresh run of the changed recipe gives, and the
kept documents must be those that the input files themselves demand, each exactly once.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Lock, Plan, Recipe, diff, plan, verify
from corpusmill.pipeline.order import order_key
from corpusmill.pipeline.planning import _plan_id

from .conftest import PRODUCTS, RECIPE, text_of, write_corpus
from .mill import (
    PYTHON,
    Mill,
    commits,
    finish,
    in_shards,
    kept,
    launch,
    launched,
    members,
    no_half_files,
    outputs,
    temporaries,
    truth,
    wait_for,
)

CHANGEABLE = RECIPE.replace(
    "  - dedup.exact\n",
    "  - filters.url: {block: [block.txt], words: none}\n"
    "  - dedup.exact\n"
    "  - filters.threshold: {signal: exact_copies, max: 5}\n",
)
"""Two steps that decide nothing yet, so that changes of them can be told by the kept ids."""


def fill(base: Path) -> None:
    """The inputs and the block list as they were, times included; all run folders go."""
    for path in base.glob("*"):
        if path.is_dir():
            shutil.rmtree(path)
    write_corpus(base / "input", files=4, rows=10)
    (base / "block.txt").write_text("nowhere.example\n")
    for path in (base / "block.txt", *(base / "input").iterdir()):
        os.utime(path, (1.7e9, 1.7e9))


@pytest.fixture
def base(mill: Mill) -> Path:
    """The mill's folder, as new."""
    fill(mill.base)
    return mill.base


@pytest.fixture(scope="module")
def finished(mill: Mill, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, to be copied."""
    fill(mill.base)
    return Path(shutil.move(mill.ran("run", CHANGEABLE), tmp_path_factory.mktemp("finished")))


@pytest.fixture
def root(base: Path, finished: Path) -> Path:
    """A finished run of one's own, with its inputs as new."""
    return Path(shutil.copytree(finished, base / "run"))


# -- what may change ---------------------------------------------------------------------------

Change = Callable[[Path], tuple[str, tuple[str, ...], str]]
"""Changes files below the base; gives the recipe's text, overrides and hook of the second run."""


def overrides(*given: str) -> Change:
    return lambda base: (CHANGEABLE, given, "")


def text(old: str, new: str) -> Change:
    assert old in CHANGEABLE
    return lambda base: (CHANGEABLE.replace(old, new), (), "")


def files(change: Callable[[Path], None]) -> Change:
    def apply(base: Path) -> tuple[str, tuple[str, ...], str]:
        change(base)
        return CHANGEABLE, (), ""

    return apply


def hook(name: str) -> Change:
    return lambda base: (CHANGEABLE, (), name)


def add_file(base: Path) -> None:
    """A file that sorts first, so that every later one would move to another task."""
    rows = [{"text": text_of(1000 + i), "url": f"https://new.example/{i}"} for i in range(5)]
    lines = "".join(json.dumps(r) + "\n" for r in rows)
    (base / "input" / "new.jsonl").write_text(lines)


def cut_file(base: Path) -> None:
    path = base / "input" / "part-1.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))


def replace_file(base: Path) -> None:
    """Other words, same size."""
    path = base / "input" / "part-2.jsonl"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"river", b"rover"))
    assert path.stat().st_size == len(before)
    assert path.read_bytes() != before


def touch_file(base: Path) -> None:
    os.utime(base / "input" / "part-0.jsonl", (4e9, 4e9))  # in the year 2096


def in_half(document: str) -> bool:
    """Whether a sample of half the documents has this one."""
    return order_key(7, document, 0, "subset") < b"\x80"


def block_a_host(base: Path) -> None:
    (base / "block.txt").write_text("h2.example\n")


CHANGES: dict[str, Change] = {
    "threshold": overrides("steps.threshold.max=1"),
    "share held out": overrides("steps.split.heldout='0.5'"),
    "seed": overrides("seed=8"),
    "sample": overrides("sample=0.5"),
    "name": text("name: small", "name: renamed"),
    "step added": text("  - measure.split", "  - measure.repetition\n  - measure.split"),
    "step removed": text("  - filters.threshold: {signal: exact_copies, max: 5}\n", ""),
    "steps reordered": text(
        "  - filters.url: {block: [block.txt], words: none}\n  - dedup.exact\n",
        "  - dedup.exact\n  - filters.url: {block: [block.txt], words: none}\n",
    ),
    "larger tasks": overrides("execution.task_bytes=30000"),
    "one partition": overrides("execution.partitions=1"),
    "eight partitions": overrides("execution.partitions=8"),
    "batch size": overrides("execution.batch_bytes=100"),
    "stage version": hook("other_stage_version"),
    "library version": hook("other_library"),
    "asset": files(block_a_host),
    "input added": files(add_file),
    "input removed": files(lambda base: (base / "input" / "part-3.jsonl").unlink()),
    "input cut": files(cut_file),
    "input replaced": files(replace_file),
    "input touched": files(touch_file),
}
SAME_KEPT = {
    "share held out", "name", "step added", "step removed", "steps reordered",
    "larger tasks",
    "one partition", "eight partitions", "batch size", "stage version", "library version", "seed",
    "input replaced", "input touched",
}  # fmt: skip
"""Changes that must not change the kept documents, though some change what is known of them."""
SAME_MIX = {"larger tasks", "one partition", "eight partitions", "batch size", "input touched"}
"""Changes that must change nothing at all."""


STATES = {"reading": "commit:3", "halfway": "commit:6", "finished": ""}
"""Where the first run was when the change came: two of its four files read, some barrier phase
done, or all."""
QUICK = {
    ("larger tasks", "reading"), ("input added", "reading"), ("threshold", "halfway"),
    ("step removed", "halfway"), ("stage version", "halfway"), ("asset", "finished"),
    ("input replaced", "finished"), ("one partition", "finished"),
}  # fmt: skip
CASES = [
    pytest.param(n, s, marks=() if (n, s) in QUICK else pytest.mark.slow)
    for n in CHANGES
    for s in STATES
]


@pytest.mark.parametrize(("name", "state"), CASES)
def test_a_change_under_way(mill: Mill, base: Path, finished: Path, name: str, state: str) -> None:
    before, old = truth(base / "input"), outputs(finished)
    if state == "finished":
        shutil.copytree(finished, base / "run")
    else:
        ended = mill.run("run", CHANGEABLE, fault=STATES[state])
        assert ended.code == -signal.SIGKILL, ended.said
    changed, given, world = CHANGES[name](base)

    root = mill.ran("run", changed, *given, hook=world)
    fresh = mill.ran("fresh", changed, *given, hook=world)

    assert outputs(root) == outputs(fresh)
    assert diff(Lock.load(root), Lock.load(fresh)) == []
    assert verify(root).faults == [] or world
    found = kept(root)
    assert set(found.values()) == {1}
    if name == "sample":  # a copy takes the place of one that is not read
        assert found == truth(base / "input", in_half)
    elif name in ("threshold", "asset"):
        assert set(found) < set(before)
    else:
        assert found == truth(base / "input")
    assert (found == before) == (name in SAME_KEPT)
    assert (outputs(root) == old) == (name in SAME_MIX)
    assert [p.name for p in root.glob("*.files.jsonl")] == [
        f"{'renamed' if name == 'name' else 'small'}.files.jsonl"
    ]


def test_shards_hold_each_kept_document_once_after_changes(mill: Mill, base: Path) -> None:
    """Fewer tasks, then more, another threshold, another input: nothing of earlier ones stays."""
    whole = CHANGEABLE + PRODUCTS
    ended = mill.run("run", whole, "execution.task_bytes=30000", fault="commit:2")
    assert ended.code == -signal.SIGKILL, ended.said  # three files of four are in one commit
    ended = mill.run("run", whole, fault="publish:3")
    assert ended.code == -signal.SIGKILL, ended.said
    mill.ran("run", whole, "shards.tokens_per_shard=1000")
    add_file(base)
    root = mill.ran("run", whole)
    assert in_shards(root) == kept(root) == truth(base / "input")
    assert outputs(root) == outputs(mill.ran("fresh", whole))
    assert verify(root).faults == []


def test_a_changed_plan_has_no_lock_until_it_is_done(mill: Mill, base: Path) -> None:
    """The old lock goes with the old plan, to a place where it still can be compared."""
    root = mill.ran("run", CHANGEABLE)
    before = outputs(root)
    ended = mill.run("run", CHANGEABLE, "seed=8", fault="commit:2")
    assert ended.code == -signal.SIGKILL, ended.said
    assert list(root.glob("*.lock.json")) == []
    (kept_lock,) = root.glob("plans/*/small.lock.json")
    lock = Lock.load(kept_lock)
    assert (lock.mix_id, lock.files_sha256) == before[:2]
    assert lock.rows()


def test_inputs_that_moved_are_found_by_a_resumed_run(mill: Mill, base: Path) -> None:
    """The plan is the same, its files lie elsewhere."""
    mill.run("run", CHANGEABLE, fault="commit:2")
    other = base / "elsewhere"
    other.mkdir()
    shutil.move(base / "input", other / "input")
    shutil.move(base / "block.txt", other / "block.txt")
    root = mill.ran("run", CHANGEABLE, base=other)
    assert verify(root).faults == []
    assert verify(root).skipped == []


def test_an_input_of_the_same_size_and_time_is_found_by_verify(base: Path, root: Path) -> None:
    """Planning reads no file: a change that hides from `stat` is for `verify` to find."""
    path = base / "input" / "part-2.jsonl"
    stat = path.stat()
    replace_file(base)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert any("part-2.jsonl" in fault and "sha256" in fault for fault in verify(root).faults)


def test_an_input_that_changes_while_it_is_read_fails_its_task(mill: Mill, base: Path) -> None:
    ended = mill.run("run", CHANGEABLE, hook="input_changes_while_read")
    assert ended.code == 1
    assert (
        "1 of 4 tasks of 01-read failed; task 1: InputError: part-1.jsonl is not the" in ended.said
    )
    root = mill.ran("run", CHANGEABLE)
    assert kept(root) == truth(base / "input")


def test_an_asset_that_changes_after_planning_is_refused(mill: Mill, base: Path) -> None:
    ended = mill.run("run", CHANGEABLE, hook="asset_changes_before_the_tasks")
    assert ended.code == 1
    assert "AssetError: the asset 'block.txt' is not the one that was planned" in ended.said
    assert commits(base / "run") == 0
    root = mill.ran("run", CHANGEABLE)
    assert outputs(root) == outputs(mill.ran("fresh", CHANGEABLE))


def test_an_asset_that_was_only_touched_is_taken(mill: Mill, base: Path) -> None:
    mill.run("run", CHANGEABLE, fault="commit:5")
    before = set((base / "run").glob("phases/*"))
    os.utime(base / "block.txt", (4e9, 4e9))
    root = mill.ran("run", CHANGEABLE)
    assert before < set(root.glob("phases/*"))
    assert len(set(root.glob("phases/01-*"))) == 1


def test_a_narrower_guard_holds_for_what_was_made_under_a_wider_one(mill: Mill, base: Path) -> None:
    path = base / "input" / "part-0.jsonl"
    path.write_bytes(path.read_bytes() + b"not json\n" * 12)
    mill.ran("run", CHANGEABLE, "guards.max_error_share=1.0")
    ended = mill.run("run", CHANGEABLE, "guards.max_error_share=0.1")
    assert ended.code == 1
    assert "01-read, task 0: 12 of 22 records ended as errors" in ended.said
    assert not list((base / "run").glob("*.lock.json"))


def test_a_setup_that_fails_once_is_tried_again_for_the_next_task(mill: Mill, base: Path) -> None:
    """Not skipped: a stage that was never set up must not see a document."""
    ended = mill.run("run", CHANGEABLE, hook="setup_fails_once")
    assert ended.code == 1
    assert "1 of 4 tasks of 01-read failed; task 0: MemoryError: no room" in ended.said
    root = mill.ran("run", CHANGEABLE)
    assert kept(root) == truth(base / "input")


def test_one_lost_and_one_doubled_document_cannot_cancel(mill: Mill, base: Path) -> None:
    ended = mill.run("run", CHANGEABLE, hook="loses_a_document")
    assert ended.code == 1
    assert "changed the id or source of" in ended.said


# -- records of another time or hand -----------------------------------------------------------


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    data = json.loads(path.read_text("utf-8"))
    change(data)
    path.write_text(json.dumps(data))


def edit_plan(root: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Edits a plan and makes its id anew, as somebody would who knows how."""
    made = Plan.load(root / "plan.json")
    change(made.data)
    made.data["plan_id"] = _plan_id(made.data, made.phases)
    made.save(root / "plan.json")


PLANS: dict[str, tuple[Callable[[dict[str, Any]], Any], int, str]] = {
    "older schema": (lambda p: p.update(schema="corpusmill/plan/0"), 2, "'corpusmill/plan/0'"),
    "no schema": (lambda p: p.pop("schema"), 2, "schema None is unknown"),
    "partitions": (lambda p: p["layout"].update(partitions=8), 3, "was changed after it was"),
    "a task": (lambda p: p["layout"]["tasks"].pop(), 3, "was changed after it was planned"),
    "a parameter": (lambda p: p["recipe"].update(seed=9), 3, "was changed after it was planned"),
    "no phases": (lambda p: p.pop("phases"), 3, "was changed after it was planned"),
    "another kind": (lambda p: p.update(recipe=[1.5]), 3, "was changed after it was planned"),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_edited_by_hand_is_refused(mill: Mill, base: Path, name: str) -> None:
    change, code, said = PLANS[name]
    plan(Recipe.parse(CHANGEABLE, base)).save(base / "run" / "plan.json")
    edit(base / "run" / "plan.json", change)
    ended = mill.run("run", CHANGEABLE)
    assert (ended.code, said in ended.said) == (code, True), ended.said
    assert "hint: " in ended.said
    assert commits(base / "run") == 0


def test_without_its_plan_a_folder_goes_on(mill: Mill, base: Path) -> None:
    """As the hint of the refusal says: finished phases are found by their keys."""
    mill.run("run", CHANGEABLE, fault="seal:2")
    done = sorted(p.stat().st_mtime_ns for p in (base / "run").glob("phases/*/commits/*/*"))
    (base / "run" / "plan.json").unlink()
    root = mill.ran("run", CHANGEABLE)
    assert kept(root) == truth(base / "input")
    now = sorted(p.stat().st_mtime_ns for p in root.glob("phases/*/commits/*/*"))
    assert now[: len(done)] == done


@pytest.mark.parametrize(
    "data",
    [b"[]", *(pytest.param(d, marks=pytest.mark.slow)
              for d in (b"", b"{", b"\xff\xfe", b"null", b'{"schema": 3}'))],
)  # fmt: skip
@pytest.mark.parametrize("record", ["plan.json", "sealed.json", "commit", "lock", "ledger.json"])
def test_a_record_that_is_no_record(mill: Mill, root: Path, record: str, data: bytes) -> None:
    """Refused with the file's name, by `run` or, for what `run` writes anew, by `verify`."""
    places = {"sealed.json": "phases/*-docs-*/sealed.json", "commit": "phases/*-docs-*/commits/*/*.json",
              "lock": "*.lock.json"}  # fmt: skip
    path = sorted(root.glob(places.get(record, record)))[0]
    path.write_bytes(data)
    if record == "commit":
        next(root.glob("phases/*-docs-*/sealed.json")).unlink()
    verb = "verify" if record in ("lock", "ledger.json") else "run"
    ended = mill.do(verb, root, recipe=CHANGEABLE, overrides=())
    assert ended.code in (2, 3), ended.said
    assert path.name in ended.said


@pytest.mark.parametrize(
    ("pattern", "said"),
    [("phases/*-docs-*/commits/0000/000001.json", "corpusmill/commit/0"),
     ("phases/*-exact.group-*/sealed.json", "corpusmill/seal/0")],
)  # fmt: skip
def test_a_record_of_an_older_schema(mill: Mill, root: Path, pattern: str, said: str) -> None:
    (path,) = root.glob(pattern)
    edit(path, lambda record: record.update(schema=record["schema"][:-1] + "0"))
    next(root.glob("phases/*-docs-*/sealed.json")).unlink()
    ended = mill.run("run", CHANGEABLE)
    assert ended.code == 3, ended.said
    assert said in ended.said
    assert "hint: " in ended.said


FORGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "library": lambda p: p["recipe"]["sources"][0]["pins"].update(zstandard="0.0.1"),
    "source version": lambda p: p["recipe"]["sources"][0].update(version=99),
    "step version": lambda p: p["recipe"]["steps"][1].update(version=99),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGED)
def test_a_plan_for_another_installation_is_refused_by_the_worker(
    mill: Mill, base: Path, name: str
) -> None:
    """Edited consistently, as if planned elsewhere: `run-tasks` compares with what is here."""
    root = base / "run"
    plan(Recipe.parse(CHANGEABLE, base)).save(root / "plan.json")
    edit_plan(root, FORGED[name])
    command = [*PYTHON, "-m", "corpusmill.pipeline", "run-tasks", str(root / "plan.json")]
    done = subprocess.run([*command, "01-read", "0..3"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("ConfigError") == 4
    assert "the plan was made" in done.stdout
    assert ("0.0.1" if name == "library" else "99") in done.stdout
    assert commits(root) == 0


# -- two at once -------------------------------------------------------------------------------


def test_a_second_launch_while_one_runs_is_refused(mill: Mill, base: Path) -> None:
    (base / "recipe.yaml").write_text(CHANGEABLE)
    first = launch(base, "run", workers=1)
    root = base / "run"
    wait_for("the first commit", lambda: commits(root) >= 1)
    os.killpg(first.pid, signal.SIGSTOP)  # it runs for as long as we like
    try:
        before = commits(root)
        second = launched(base, "run", workers=1)
        assert (second.code, commits(root)) == (2, before)
        assert f"another run is working in {root}" in second.said
        assert "hint: " in second.said
    finally:
        os.killpg(first.pid, signal.SIGCONT)
    assert finish(first).code == 0
    assert members(first.pid) == []
    assert outputs(root) == outputs(mill.ran("fresh", CHANGEABLE))
    assert kept(root) == truth(base / "input")


@pytest.mark.slow
def test_a_stopped_worker_that_wakes_up_after_a_new_run_changes_nothing(
    mill: Mill, base: Path
) -> None:
    """A zombie attempt: a task runs on, unseen, beside the run that replaced it."""
    mill.run("run", CHANGEABLE, fault="commit:5")
    root = base / "run"
    command = [*PYTHON, "-m", "corpusmill.pipeline", "run-tasks", str(root / "plan.json")]
    zombie = subprocess.Popen(
        [*command, "01-read", "0..3"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    missing = subprocess.Popen(
        [*command, "02-exact.group", "1..3"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    mill.ran("run", CHANGEABLE)
    assert zombie.communicate(timeout=60)[1] == b""
    missing.communicate(timeout=60)
    no_half_files(root)
    assert outputs(root) == outputs(mill.ran("fresh", CHANGEABLE))
    assert mill.do("clean", root).code == 0
    assert temporaries(root) == []
