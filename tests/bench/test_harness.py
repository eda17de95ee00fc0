from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.harness import (
    PEERS,
    ROOT,
    Bar,
    BenchError,
    Report,
    Side,
    Usage,
    alternate,
    finish,
    jaccard,
    median,
    peer_python,
    shown,
    table,
    timed,
    wilson,
)

BURN = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass\n"
ORPHAN = f"""
import os, subprocess, sys
if os.fork() == 0:  # a child that is left behind with a grandchild
    subprocess.Popen([sys.executable, "-I", "-c", {BURN!r}])
    os._exit(0)
"""


def test_cpu_of_an_orphaned_grandchild_is_counted(tmp_path: Path) -> None:
    before = time.process_time()
    usage = timed([sys.executable, "-I", "-c", ORPHAN], tmp_path / "log")
    assert 0.4 <= usage.cpu_seconds < 3.0
    assert usage.wall_seconds >= 0.4
    assert time.process_time() - before < 0.4  # what was burnt was not burnt here


def test_memory_of_a_child_is_seen(tmp_path: Path) -> None:
    hold = "import time\nheld = b'x' * 80_000_000\ntime.sleep(1.2)\n"
    child = f"import subprocess, sys\nsubprocess.run([sys.executable, '-I', '-c', {hold!r}])\n"
    usage = timed([sys.executable, "-I", "-c", child], tmp_path / "log")
    assert 80_000_000 < usage.peak_bytes < 200_000_000


def test_command_that_fails_is_an_error_with_its_reason(tmp_path: Path) -> None:
    code = "import sys; print('error: no such thing'); print('hint: try'); sys.exit(3)"
    with pytest.raises(BenchError, match="exit code 3: error: no such thing") as caught:
        timed([sys.executable, "-I", "-c", code], tmp_path / "deep" / "log")
    assert str(tmp_path / "deep" / "log") in caught.value.hint


def side(name: str, ran: list[str], *, good: bool = True) -> Side:
    def command(folder: Path) -> Sequence[str]:
        ran.append(f"{name}/{folder.name}")
        return ["touch", str(folder / "done")]

    def check(folder: Path) -> None:
        if not (good and (folder / "done").exists()):
            raise BenchError(f"{name} did nothing")

    return Side(name, command, check)


def test_sides_alternate_and_each_round_begins_with_the_next(tmp_path: Path) -> None:
    ran: list[str] = []
    told: list[str] = []
    usages = alternate([side("a", ran), side("b c", ran)], 3, tmp_path, told.append)
    assert ran == ["a/0", "b c/0", "b c/1", "a/1", "a/2", "b c/2"]
    assert {name: len(runs) for name, runs in usages.items()} == {"a": 3, "b c": 3}
    assert sorted(p.parent.name for p in tmp_path.rglob("done")) == ["0", "0", "1", "1", "2", "2"]
    assert len(told) == 6


def test_a_side_that_did_not_do_its_work_stops_the_measurement(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="b did nothing"):
        alternate([side("a", []), side("b", [], good=False)], 1, tmp_path, lambda _: None)


def test_median_of_each_figure() -> None:
    runs = [Usage(3.0, 10, 9.0), Usage(1.0, 30, 8.0), Usage(2.0, 20, 7.0)]
    assert median(runs) == Usage(2.0, 20, 8.0)


def test_jaccard() -> None:
    assert jaccard({"a", "b", "c"}, {"b", "c", "d"}) == 0.5
    assert jaccard(set(), set()) == 1.0
    assert jaccard({"a"}, set()) == 0.0


def report() -> Report:
    return Report(
        bench="probe",
        versions={"thing": "1.2"},
        rows=[
            {"row": "ours", "speed": 1234.5, "f1": None, "inner": {"x": 1}},
            {"row": "the peer", "speed": 0.1234, "f1": 0.5, "inner": {}},
        ],
        bars={"speed": Bar(3.0, 2.0), "memory": Bar(0.5, 1.0)},
        columns=("row", "speed", "f1"),
        notes=["a note"],
    )


def test_json_is_one_object_of_the_agreed_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert finish(report, as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(found) == ["bars", "bench", "machine", "notes", "rows", "versions"]
    assert found["bench"] == "probe"
    assert found["bars"] == {
        "speed": {"value": 3.0, "bar": 2.0, "holds": True},
        "memory": {"value": 0.5, "bar": 1.0, "holds": False},
    }
    assert found["rows"][0]["inner"] == {"x": 1}
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["memory_bytes"] > 1 << 28


def test_table_says_what_does_not_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert finish(report, as_json=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:5] == [
        "row       speed   f1",
        "ours       1234    -",
        "the peer  0.123  0.5",
    ]
    assert "speed: 3 (bar 2: holds)" in lines
    assert "memory: 0.5 (bar 1: DOES NOT HOLD)" in lines
    assert lines[-1] == "versions: thing 1.2"


def test_errors_go_to_standard_error_with_their_code(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> Report:
        raise BenchError("it is not there", hint="make peers", exit_code=2)

    assert finish(fail, as_json=True) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "error: it is not there\nhint: make peers\n"


def test_missing_peer_names_the_command() -> None:
    with pytest.raises(BenchError, match="no-such-peer is not installed") as caught:
        peer_python("no-such-peer")
    assert (caught.value.hint, caught.value.exit_code) == ("make peers", 2)
    assert PEERS.parent == ROOT


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0"), (0.956, "0.956"), (52.34, "52.3"), (1234.6, "1235"), (7, "7")],
)
def test_shown(value: object, text: str) -> None:
    assert shown(value) == text


def test_table_of_uneven_cells() -> None:
    assert table([["a", "b"], ["long name", 3]]) == ["a          b", "long name  3"]


def test_wilson() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)  # Brown, Cai and DasGupta (2001)
    assert wilson(0, 0) == (0.0, 1.0)
