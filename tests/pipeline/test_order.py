"""The layout of the input, and who is slow, change nothing but the time."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from corpusmill.pipeline import verify

from . import sites
from .conftest import PRODUCTS, RECIPE, text_of, write_corpus
from .mill import COMMITS, Mill, in_shards, kept, kept_texts, launched, outputs, truth

PATHS = 'paths: ["*.jsonl"]'


def lines(numbers: range) -> list[str]:
    return [
        json.dumps({"text": text_of(n), "url": f"https://h{n % 5}.example/{n}"}) for n in numbers
    ]


def lay_out(folder: Path, files: dict[str, list[str]]) -> Path:
    folder.mkdir()
    for name, rows in files.items():
        (folder / name).write_text("".join(row + "\n" for row in rows))
    return folder


def balanced(root: Path, records: int) -> None:
    """The ledger's equation holds for this many records, by the ledger's own figures."""
    ledger = json.loads((root / "ledger.json").read_text())
    found = ledger["records"]
    assert found["in"] == records
    gone = sum(found["dropped"].values()) + sum(found["errors"].values())
    assert found["kept"] + gone == records
    assert found["kept"] == sum(kept(root).values())


@pytest.mark.parametrize(
    "paths",
    ['["part-3.jsonl", "part-[12].jsonl", "*-0.jsonl"]',
     pytest.param('["*.jsonl", "part-1.jsonl", "part-*.jsonl"]', marks=pytest.mark.slow)],
    ids=["other order", "overlapping"],
)  # fmt: skip
def test_patterns_in_another_order(mill: Mill, paths: str) -> None:
    """Each file is read once, wherever it is named: all products are the same."""
    whole = RECIPE + PRODUCTS
    root = mill.ran("other", whole.replace(PATHS, f"paths: {paths}"))
    assert outputs(root) == outputs(mill.ran("usual", whole))
    assert in_shards(root) == truth(mill.base / "input")
    balanced(root, 40)


def test_the_same_rows_in_other_files(mill: Mill, tmp_path: Path) -> None:
    """Ids name files and offsets, so they change; which texts are kept does not."""
    rows = [
        line for p in sorted((mill.base / "input").iterdir()) for line in p.read_text().splitlines()
    ]
    half, third = len(rows) // 2, len(rows) // 3
    layouts = {
        "one file": {"all.jsonl": rows},
        "backwards": {"a.jsonl": rows[half:][::-1], "b.jsonl": rows[:half][::-1]},
        "with empty files": {
            "0.jsonl": [], "1.jsonl": rows[:third], "2.jsonl": [], "3.jsonl": rows[third:],
            "4.jsonl": [],
        },
    }  # fmt: skip
    expected = Counter({json.loads(row)["text"] for row in rows})
    for name, files in layouts.items():
        folder = lay_out(tmp_path / name, files)
        root = mill.ran("laid out", RECIPE.replace("root: input", f'root: "{folder}"'))
        assert kept_texts(root) == expected, name
        assert kept(root) == truth(folder), name
        balanced(root, 40)
        assert verify(root).faults == [], name
        shutil.rmtree(root)


def test_nothing_but_an_empty_file(mill: Mill, tmp_path: Path) -> None:
    """No record at all: an account of nothing, not a failure, and not a lie."""
    folder = lay_out(tmp_path / "empty", {"none.jsonl": []})
    root = mill.ran("empty", RECIPE.replace("root: input", f'root: "{folder}"'))
    balanced(root, 0)
    assert kept(root) == Counter()
    assert verify(root).faults == []


def test_one_huge_file_does_not_hold_the_others(
    tmp_path: Path, mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers: while one reads the huge file, all seven others are done."""
    files = {f"part-{i}.jsonl": lines(range(i * 5, i * 5 + 5)) for i in (0, *range(2, 8))}
    files["part-1-huge.jsonl"] = lines(range(1000, 1400))
    lay_out(tmp_path / "input", files)
    (tmp_path / "recipe.yaml").write_text(
        RECIPE.replace("10000, partitions: 4", "1, partitions: 1")
    )
    monkeypatch.setenv("WAIT_FOR", str(tmp_path / "run" / COMMITS))
    site = sites.put(tmp_path, sites.WAITS_FOR_THE_OTHERS)
    ended = launched(tmp_path, "run", workers=2, site=site)
    assert ended.code == 0, ended.said
    times = {int(p.stem): p.stat().st_mtime_ns
             for p in (tmp_path / "run").glob("phases/01-read-*/commits/*/*.json")}  # fmt: skip
    assert len(times) == 8
    assert max(times, key=times.__getitem__) == 1  # the huge one came last
    balanced(tmp_path / "run", 435)
    alone = mill.ran("huge", RECIPE.replace("root: input", f'root: "{tmp_path / "input"}"'))
    assert outputs(alone) == outputs(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize(("files", "task_bytes"), [(2_000, 1), (10_000, 1 << 16)])
def test_thousands_of_tiny_files(mill: Mill, tmp_path: Path, files: int, task_bytes: int) -> None:
    """More tasks than a folder of commits holds, or a few tasks of many files."""
    rows = lines(range(files))
    rows[1500] = rows[3]
    folder = lay_out(tmp_path / "tiny", {f"{i:05d}.jsonl": [row] for i, row in enumerate(rows)})
    text = RECIPE.replace("root: input", f'root: "{folder}"')
    root = mill.ran("tiny", text, f"execution.task_bytes={task_bytes}")
    assert kept(root) == truth(folder)
    assert sum(kept(root).values()) == files - 1
    balanced(root, files)
    folders = {p.parent.name for p in root.glob("phases/01-read-*/commits/*/*.json")}
    assert folders == ({"0000", "0001"} if task_bytes == 1 else {"0000"})
    assert verify(root).faults == []
    (whole,) = root.glob("*.lock.json")
    other = mill.ran("fewer", text, "execution.partitions=1", f"execution.task_bytes={1 << 20}")
    assert outputs(other) == outputs(root)
    assert whole.stat().st_size < 20_000  # the lock does not grow with the files
    shutil.rmtree(root)


@pytest.mark.slow
def test_any_number_of_workers_tasks_and_partitions(mill: Mill, tmp_path: Path) -> None:
    """The same bytes of every product, from the real backend as from forks."""
    write_corpus(tmp_path / "input", files=4, rows=10)
    (tmp_path / "recipe.yaml").write_text(RECIPE + PRODUCTS)
    found = {}
    for workers, tasks, partitions in ((1, 1 << 20, 1), (2, 1, 8), (3, 7000, 2), (7, 1, 4)):
        out = f"run-{workers}"
        ended = launched(tmp_path, out, "--partitions", str(partitions), "--task-bytes", str(tasks),
                         workers=workers)  # fmt: skip
        assert ended.code == 0, ended.said
        found[workers] = outputs(tmp_path / out)
        assert in_shards(tmp_path / out) == truth(tmp_path / "input")
    assert len(set(map(str, found.values()))) == 1
    assert outputs(mill.ran("usual", RECIPE + PRODUCTS)) == found[1]


@pytest.mark.slow
def test_forks_are_as_good_as_processes(mill: Mill) -> None:
    """What the other tests rest on: a run in a fork makes the products of a real one."""
    (mill.base / "recipe.yaml").write_text(RECIPE)
    assert launched(mill.base, "real", workers=1).code == 0
    assert outputs(mill.base / "real") == outputs(mill.ran("forked", RECIPE))
