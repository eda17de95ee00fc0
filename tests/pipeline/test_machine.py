"""A bad machine: full or read-only disks, killed workers, missing modules, no network, a mad
clock, little memory. The run ends with a clear error and a code, and what it did is not lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import verify

from . import sites
from .conftest import PRODUCTS, RECIPE, text_of, write_corpus
from .mill import (
    Ended,
    Mill,
    commits,
    finish,
    kept,
    launch,
    launched,
    members,
    no_half_files,
    outputs,
    truth,
    wait_for,
)


@pytest.fixture(scope="module")
def good(mill: Mill) -> Any:
    """What a run on a good machine makes."""
    return outputs(mill.ran("good", RECIPE))


@pytest.fixture
def base(mill: Mill, tmp_path: Path) -> Path:
    """A folder of its own with the mill's inputs (a link) and a recipe."""
    (tmp_path / "input").symlink_to(mill.base / "input")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def clean_error(ended: Ended, code: int, *said: str) -> None:
    """The run failed with this code and a message without a traceback."""
    assert ended.code == code, ended.said
    assert "Traceback" not in ended.said
    for words in said:
        assert words in ended.said
    assert "hint: " in ended.said


def resumes(mill: Mill, base: Path, out: str, good: Any) -> None:
    """The same run on a good machine gives what an undisturbed one gives."""
    mill.ran(base / out, RECIPE, base=base)
    assert outputs(base / out) == good


# -- disks -------------------------------------------------------------------------------------


@contextmanager
def memory_disk(place: Path, size: str) -> Iterator[None]:
    """A file system of its own at `place`; needs the right to mount. Without it the test is
    skipped, or fails where CI is set, since there it must be possible."""
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        reason = (
            f"NOT TESTED: full and read-only disks need the right to mount ({done.stderr.strip()})"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def remount(place: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)


@pytest.mark.parametrize(
    "size",
    [pytest.param("8k", marks=pytest.mark.slow), pytest.param("60k", marks=pytest.mark.slow),
     "120k", pytest.param("260k", marks=pytest.mark.slow)],
)  # fmt: skip
def test_a_full_disk(mill: Mill, base: Path, good: Any, size: str) -> None:
    with memory_disk(base / "disk", size):
        ended = launched(base, "disk/run", workers=1)
        clean_error(ended, 1, "No space left on device")
        if size != "8k":  # the worker told which task it was, it did not fall over the full disk
            assert " of 4 tasks of " in ended.said
            assert "died" not in ended.said
        no_half_files(base / "disk" / "run")
        assert not list((base / "disk").glob("run/*.lock.json"))
        done = commits(base / "disk" / "run")
        remount(base / "disk", "size=20m")
        resumes(mill, base, "disk/run", good)
        assert commits(base / "disk" / "run") > done
        assert verify(base / "disk" / "run").faults == []


@pytest.mark.slow
def test_a_disk_that_can_only_be_read(mill: Mill, base: Path, good: Any) -> None:
    with memory_disk(base / "disk", "20m"):
        remount(base / "disk", "ro")
        clean_error(launched(base, "disk/run"), 1, "Read-only file system", "disk/run")
        remount(base / "disk", "rw")
        resumes(mill, base, "disk/run", good)
        remount(base / "disk", "ro")
        assert verify(base / "disk" / "run").faults == []  # reading needs no right to write
        clean_error(launched(base, "disk/run", workers=1), 1, "Read-only file system")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write where nobody else may")
def test_a_folder_that_one_may_not_write_to(base: Path) -> None:
    (base / "shut").mkdir(mode=0o555)
    clean_error(launched(base, "shut/run"), 1, "Permission denied")


def test_an_output_that_is_a_file(base: Path) -> None:
    (base / "run").write_text("not a folder")
    clean_error(launched(base, "run"), 1, "cannot be used")
    assert (base / "run").read_text() == "not a folder"


# -- workers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_task_whose_worker_is_killed_once_is_run_again(
    base: Path, good: Any, workers: int
) -> None:
    site = sites.put(base, sites.KILLED_ONCE)
    ended = launched(base, "run", workers=workers, site=site)
    assert ended.code == 0, ended.said
    assert (site / "died").exists()
    assert outputs(base / "run") == good


@pytest.mark.slow
def test_what_takes_long_to_set_up_is_set_up_in_the_nursery_alone(base: Path, good: Any) -> None:
    site = sites.put(base, sites.SLOW_SETUP)
    ended = launched(base, "run", workers=2, site=site)
    assert ended.code == 0, ended.said
    processes = (site / "setups").read_text().split()
    assert len(processes) > 1  # in several phases
    assert len(set(processes)) == 1
    assert outputs(base / "run") == good


@pytest.mark.slow
def test_the_run_goes_on_when_the_nursery_is_killed(base: Path, good: Any) -> None:
    """Its workers die with it; others start from nothing and run their tasks again."""
    site = sites.put(base, sites.KILLS_THE_NURSERY_ONCE)
    ended = launched(base, "run", workers=2, site=site)
    assert ended.code == 0, ended.said
    assert (site / "died").exists()
    assert outputs(base / "run") == good


def test_a_task_whose_worker_is_always_killed_is_named(mill: Mill, base: Path, good: Any) -> None:
    site = sites.put(base, sites.KILLED_WITH_TASK_2)
    ended = launched(base, "run", workers=2, site=site)
    clean_error(ended, 1, "1 of 4 tasks of 01-read failed; task 2: its worker died twice",
                "killed by SIGKILL")  # fmt: skip
    assert commits(base / "run") == 3  # its neighbours are done
    (record,) = (base / "run").glob("phases/01-read-*/failures/000002.*.json")
    assert json.loads(record.read_text())["class"] == "WorkerDied"
    resumes(mill, base, "run", good)


@pytest.mark.slow
def test_a_worker_that_runs_out_of_memory(tmp_path: Path) -> None:
    """One document is too large for the worker; the other tasks are done, the error names it."""
    write_corpus(tmp_path / "input", files=3, rows=10)
    with open(tmp_path / "input" / "part-9.jsonl", "w") as f:
        f.write(json.dumps({"text": " ".join(text_of(n) for n in range(60_000))}) + "\n")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    site = sites.put(tmp_path, sites.LITTLE_MEMORY)
    ended = launched(tmp_path, "run", workers=1, site=site)
    clean_error(ended, 1, "1 of 4 tasks of 01-read failed; task 3:", "MemoryError")
    assert commits(tmp_path / "run") == 3
    assert launched(tmp_path, "run", workers=1).code == 0
    assert kept(tmp_path / "run") == truth(tmp_path / "input")


@pytest.mark.slow
def test_what_a_library_prints_is_no_report(mill: Mill, base: Path, good: Any) -> None:
    ended = launched(base, "run", workers=1, site=sites.put(base, sites.NOISY_LIBRARY))
    assert ended.code == 0, ended.said
    assert outputs(base / "run") == good
    logs = "".join(p.read_text() for p in (base / "run" / "logs").iterdir())
    assert "a native library is talkative" in logs


# -- the installation --------------------------------------------------------------------------


def test_a_module_is_missing_in_the_workers(mill: Mill, base: Path, good: Any) -> None:
    site = sites.put(base, sites.missing("pyarrow"))
    clean_error(launched(base, "run", workers=1, site=site), 1,
                "4 of 4 tasks of 01-read failed", "No module named 'pyarrow'")  # fmt: skip
    assert commits(base / "run") == 0
    resumes(mill, base, "run", good)


@pytest.mark.parametrize("module", ["yaml", pytest.param("numpy", marks=pytest.mark.slow)])
def test_a_module_is_missing_in_the_driver(base: Path, module: str) -> None:
    site = sites.put(base, sites.missing(module, driver=True))
    ended = launched(base, "run", workers=1, site=site)
    assert ended.code in (1, 2), ended.said
    assert "Traceback" not in ended.said
    assert module in ended.said
    assert not list((base / "run").glob("*.lock.json"))


def page_recipe(base: Path) -> None:
    """A recipe over an archive of one page, which is extracted."""
    body = "<html><body><article>" + f"<p>{text_of(1)}</p>" * 5 + "</article></body></html>"
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    content = (head + body).encode()
    (base / "page.warc").write_bytes(
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://a.example/\r\n"
        b"WARC-Date: 2026-01-01T00:00:00Z\r\n"
        b"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\n"
        b"Content-Type: application/http; msgtype=response\r\n"
        b"Content-Length: %d\r\n\r\n" % len(content) + content + b"\r\n\r\n"
    )
    source = 'sources.jsonl, root: input, paths: ["*.jsonl"]'
    assert source in RECIPE
    (base / "recipe.yaml").write_text(
        RECIPE.replace(source, "sources.warc, root: ., paths: [page.warc]")
        .replace("steps:\n", "steps:\n  - extract.tiers: {tier: trafilatura}\n")
    )  # fmt: skip


@pytest.mark.slow
def test_the_extractor_cannot_be_imported(base: Path) -> None:
    """Not a crawl of empty pages: an error that names what is missing."""
    page_recipe(base)
    everywhere = sites.missing("lxml_html_clean").replace("WORKER is not False", "True")
    ended = launched(base, "run", workers=1, site=sites.put(base, everywhere))
    clean_error(ended, 1, "1 of 1 tasks of 01-read failed", "lxml_html_clean")
    assert commits(base / "run") == 0
    assert launched(base, "run", workers=1).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["driver", "worker"])
def test_a_killed_process_takes_the_extractor_with_it(base: Path, killed: str) -> None:
    """The grandchild too: driver, worker and the process that extracts."""
    page_recipe(base)
    site = sites.put(base, sites.SLEEPS_WITH_ITS_TOOLS)
    process = launch(base, "run", workers=1, site=site)
    wait_for("the end of the first task", (site / "asleep").exists)
    alive = members(process.pid)
    assert len(alive) == 3, alive
    worker = next(p for p in alive if parent(p) == process.pid)
    extractor = next(p for p in alive if parent(p) == worker)
    os.kill(process.pid if killed == "driver" else worker, signal.SIGKILL)
    wait_for("the end of the extractor", lambda: extractor not in members(process.pid), 10)
    process.kill()
    finish(process)
    wait_for("the end of all", lambda: not members(process.pid), 10)


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["driver", "nursery", "worker"])
def test_a_killed_process_takes_along_what_was_forked_for_it(base: Path, killed: str) -> None:
    page_recipe(base)
    site = sites.put(base, sites.SLEEPS_WITH_ITS_TOOLS)
    process = launch(base, "run", workers=2, site=site)
    wait_for("the end of the first task", (site / "asleep").exists)
    alive = members(process.pid)
    assert len(alive) == 5, alive

    def children(of: int) -> list[int]:
        return [p for p in alive if parent(p) == of]

    (nursery,) = children(process.pid)
    (maker,) = (p for p in children(nursery) if children(p))
    (worker,) = (p for p in children(nursery) if p != maker)
    (extractor,) = children(maker)
    os.kill({"driver": process.pid, "nursery": nursery, "worker": worker}[killed], signal.SIGKILL)
    wait_for("the end of the extractor", lambda: extractor not in members(process.pid), 10)
    wait_for("the end of the worker", lambda: worker not in members(process.pid), 10)
    process.kill()
    finish(process)
    wait_for("the end of all", lambda: not members(process.pid), 10)


def parent(process: int) -> int:
    """The process that started this one."""
    stat = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
    return int(stat.rpartition(")")[2].split()[1])


# -- network and clock -------------------------------------------------------------------------


@pytest.mark.slow
def test_no_network(mill: Mill, base: Path, good: Any) -> None:
    probe = subprocess.run(["unshare", "-n", "true"], capture_output=True, text=True)
    if probe.returncode:
        reason = f"NOT TESTED: a run without a network needs `unshare -n` ({probe.stderr.strip()})"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    (base / "recipe.yaml").write_text(RECIPE + PRODUCTS)
    ended = launched(base, "run", workers=1, before=("unshare", "-n"))
    assert ended.code == 0, ended.said
    assert kept(base / "run") == kept(mill.base / "good")
    assert verify(base / "run").faults == []


@pytest.mark.slow
def test_a_clock_that_jumps(mill: Mill, base: Path, good: Any) -> None:
    site = sites.put(base, sites.JUMPING_CLOCK)
    assert launched(base, "run", "--set=seed=8", workers=1, site=site).code == 0
    ended = launched(base, "run", workers=2, site=site)
    assert ended.code == 0, ended.said
    assert outputs(base / "run") == good
    assert verify(base / "run").faults == []
