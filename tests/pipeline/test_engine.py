"""Runs of a small recipe: sameness, resuming, change, corruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from corpusmill.pipeline import Lock, Recipe, diff, run, verify
from corpusmill.pipeline.durable import FAULT_VARIABLE
from corpusmill.pipeline.errors import ConfigError, IntegrityError, StageError, TaskError
from corpusmill.pipeline.story import trace_position, why

from .conftest import PRODUCTS, RECIPE, text_of, write_corpus

Make = Callable[..., Recipe]


def outputs(root: Path) -> tuple[str, str, dict[str, object]]:
    """What must not change: mix id, digest of the listed files, kept set."""
    lock = Lock.load(root)
    return lock.mix_id, lock.files_sha256, lock.data["outputs"]["kept"]


def test_the_account_of_a_run(finished: Path) -> None:
    ledger = json.loads((finished / "ledger.json").read_text())
    assert ledger["records"] == {
        "in": 80, "kept": 72, "dropped": {"exact:duplicate_content": 8}, "errors": {},
    }  # fmt: skip
    assert ledger["balanced"] is True
    assert verify(finished).faults == []


@pytest.mark.slow
def test_products_do_not_depend_on_layout_or_workers(corpus: Path, small: Make) -> None:
    text = RECIPE + PRODUCTS
    found = {}
    for name, overrides, workers in (
        ("a", (), 1),
        ("b", ("execution.partitions=1", "execution.task_bytes=1000000"), 1),
        (
            "c",
            (
                "execution.partitions=16",
                "execution.task_bytes=1",
                "execution.batch_bytes=900",
                "execution.memory_bytes=200000000",
            ),
            2,
        ),
    ):
        root = run(small(*overrides, text=text), corpus / name, workers=workers).root
        found[name] = outputs(root)
        assert verify(root).faults == []
    assert found["a"] == found["b"] == found["c"]
    assert diff(Lock.load(corpus / "a"), Lock.load(corpus / "c")) == []


@pytest.mark.slow
def test_why_and_trace_follow_a_document_into_the_shards(corpus: Path, small: Make) -> None:
    root = run(small(text=RECIPE + PRODUCTS), corpus / "run", workers=2).root
    (source,) = json.loads((root / "ledger.json").read_bytes())["sources"].values()
    assert source["encoded"] == {
        "documents": 72, "bytes": source["stages"][-1]["bytes_out"],
        "tokens": Lock.load(root).data["outputs"]["tokens"],
    }  # fmt: skip
    kept = next(s for s in why(root, "https://h1.example/1") if s["text"])
    assert kept["text"] == text_of(1)
    place = kept["tokens"][0]
    row = trace_position(root, place["shard"], place["start"])
    assert row["id"] == kept["id"]
    assert (row["record_file"], row["record_offset"]) == (
        kept["record"]["file"], kept["record"]["offset"],
    )  # fmt: skip
    assert text_of(1).startswith(row["around"])
    middle = trace_position(root, place["shard"], place["end"] - 40)["around"]
    assert 20 < len(middle) < len(text_of(1))
    assert middle in text_of(1)
    dropped = why(root, "https://h4.example/9")[0]
    assert dropped["events"][-1]["reason"] == "duplicate_content" or dropped["text"]
    with pytest.raises(ConfigError, match="read no record with the url"):
        why(root, "https://nowhere.example/")


def test_running_again_does_nothing_and_a_second_launch_is_refused(
    corpus: Path, small: Make, finished: Path
) -> None:
    before = {p: p.stat().st_mtime_ns for p in finished.glob("phases/*/commits/*/*.json")}
    assert before
    run(small(), finished)
    assert {p: p.stat().st_mtime_ns for p in finished.glob("phases/*/commits/*/*.json")} == before
    from corpusmill.pipeline.running import run_lock

    with run_lock(finished), pytest.raises(ConfigError, match="another run is working"):
        run(small(), finished)


def test_a_changed_threshold_reuses_what_it_does_not_touch(
    corpus: Path, small: Make, finished: Path
) -> None:
    said: list[str] = []
    run(small("steps.split.heldout='0.5'"), finished, say=said.append, workers=1)
    assert any("3 of 4 phases keep their key" in line for line in said)
    assert sum("done before" in line for line in said) == 3
    fresh = run(small("steps.split.heldout='0.5'"), corpus / "fresh", workers=1).root
    assert outputs(finished) == outputs(fresh)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["grow", "same size", "add", "remove"])
def test_changed_inputs_are_read_again(
    corpus: Path, small: Make, finished: Path, change: str
) -> None:
    part = corpus / "input" / "part-1.jsonl"
    if change == "grow":
        part.write_text(part.read_text() + json.dumps({"id": "x", "text": "new words here"}) + "\n")
    elif change == "same size":
        part.write_text(part.read_text().replace("river", "rover"))
    elif change == "add":
        write_corpus(corpus / "more", files=1, rows=3)
        (corpus / "more" / "part-0.jsonl").rename(corpus / "input" / "part-9.jsonl")
    else:
        part.unlink()
    run(small(), finished, workers=1)
    fresh = run(small(), corpus / "fresh", workers=1).root
    assert outputs(finished) == outputs(fresh)
    assert verify(finished).faults == []


def test_an_input_that_changes_after_planning_fails_the_task(corpus: Path, small: Make) -> None:
    from corpusmill.pipeline import plan

    made = plan(small())
    root = corpus / "run"
    root.mkdir()
    made.save(root / "plan.json")
    (corpus / "input" / "part-0.jsonl").write_text("{}\n")
    command = [
        sys.executable,
        "-P",
        "-m",
        "corpusmill.pipeline",
        "run-tasks",
        str(root / "plan.json"),
    ]
    done = subprocess.run([*command, "01-read", "0..0"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "is not the file that was planned" in done.stdout
    failures = list(root.glob("phases/01-read-*/failures/*.json"))
    assert json.loads(failures[0].read_text())["class"] == "InputError"


@pytest.mark.slow  # tests of crashes in test_crash.py have one point of each kind
@pytest.mark.parametrize("kind", ["commit", "open", "write", "fsync", "rename"])
def test_killed_at_a_fault_point_then_resumed(
    corpus: Path, small: Make, finished: Path, kind: str
) -> None:
    """Every worker process dies at its n-th fault point, twice a task; then a clean resume."""
    for number in (1, 2):
        root = corpus / f"killed-{kind}-{number}"
        code = (
            "import sys\n"
            "from pathlib import Path\n"
            "from corpusmill.pipeline import Recipe, run\n"
            "base, out = map(Path, sys.argv[1:])\n"
            "run(Recipe.parse((base / 'recipe.yaml').read_text(), base), out, workers=1)\n"
        )
        (corpus / "recipe.yaml").write_text(RECIPE)
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, str(corpus), str(root)],
            env={**os.environ, FAULT_VARIABLE: f"{kind}:{number}"}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode in (1, -signal.SIGKILL), done.stderr
        run(small(), root, workers=1)
        assert outputs(root) == outputs(finished)
        assert not list(root.glob("phases/*/tmp/*"))


def test_verify_names_the_file_with_a_flipped_byte(finished: Path) -> None:
    for pattern in ("phases/*docs*/data/*/*.parquet", "phases/*read*/rejects/*/*.parquet",
                    "*.lock.json", "*.files.jsonl", "ledger.json"):  # fmt: skip
        path = sorted(finished.glob(pattern))[0]
        good = path.read_bytes()
        bad = bytearray(good)
        where = good.find(b'"kept": 72') + 8 if path.name == "ledger.json" else len(good) // 2
        bad[where] ^= 1
        path.write_bytes(bytes(bad))
        faults = verify(finished).faults
        assert any(path.name in fault for fault in faults), (pattern, faults)
        path.write_bytes(good)
    assert verify(finished).faults == []


def test_a_lock_edited_by_hand_is_refused(finished: Path) -> None:
    path = finished / "small.lock.json"
    path.write_text(path.read_text().replace('"version": "1"', '"version": "2"'))
    with pytest.raises(IntegrityError, match="was changed after it was written"):
        Lock.load(path)


def test_dropping_everything_stops_the_run(corpus: Path, small: Make) -> None:
    text = RECIPE.replace(
        "  - measure.split",
        "  - filters.threshold: {signal: exact_copies, min: 99}\n  - measure.split",
    )
    with pytest.raises(StageError, match="step threshold left none of 72 documents"):
        run(small(text=text), corpus / "run", workers=1)


@pytest.mark.slow
def test_a_source_that_loses_too_much_stops_the_run(corpus: Path, small: Make) -> None:
    with pytest.raises(StageError, match="source rows lost 8 of 80 documents"):
        run(small("sources.rows.max_loss=0.05"), corpus / "run", workers=1)


@pytest.mark.slow
def test_a_damaged_commit_is_an_integrity_error(corpus: Path, small: Make, finished: Path) -> None:
    commit = sorted(finished.glob("phases/04-docs-*/commits/*/*.json"))[0]
    commit.write_text(commit.read_text().replace('"out": ', '"out": 1'))
    next(finished.glob("phases/04-docs-*/sealed.json")).unlink()
    with pytest.raises(IntegrityError, match="was changed after it was written"):
        run(small(), finished, workers=1)


@pytest.mark.slow
def test_clean_removes_intermediates_and_a_change_makes_them_again(
    corpus: Path, small: Make, finished: Path
) -> None:
    from corpusmill.pipeline.cleaning import clean_run

    removed = clean_run(finished, intermediates=True)
    assert any(r.startswith("phases/01-read-") and r.endswith("/data") for r in removed)
    verdict = verify(finished)
    assert verdict.faults == []
    assert any("01-read" in s for s in verdict.skipped)
    run(small("steps.split.heldout='0.5'"), finished, workers=1)
    fresh = run(small("steps.split.heldout='0.5'"), corpus / "fresh", workers=1).root
    assert outputs(finished) == outputs(fresh)


@pytest.mark.slow
def test_a_sample_is_the_same_for_any_layout(corpus: Path, small: Make) -> None:
    a = run(small("sample=0.5"), corpus / "a", workers=1)
    b = run(small("sample=0.5", "execution.task_bytes=1"), corpus / "b", workers=2)
    assert a.ledger["records"] == b.ledger["records"]
    assert 20 < a.ledger["records"]["dropped"]["sample:not_sampled"] < 60
    assert outputs(a.root) == outputs(b.root)


def test_a_task_that_fails_names_itself_and_its_neighbours_finish(
    corpus: Path, small: Make
) -> None:
    (corpus / "input" / "part-2.jsonl").write_bytes(b"not json\n" * 40)
    with pytest.raises(TaskError, match=r"1 of 4 tasks of 01-read failed; task 2: StageError"):
        run(small(), corpus / "run", workers=2)
    assert len(list((corpus / "run").glob("phases/01-read-*/commits/*/*.json"))) == 3
