"""Which tests share a process, as `tests/conftest.py` says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def conftest(pytestconfig: pytest.Config) -> Any:
    return pytestconfig.pluginmanager.get_plugin(str(TESTS / "conftest.py"))


def test_a_file_or_a_folder_that_shares_more(conftest: Any) -> None:
    assert conftest.group_of("tests/slurm/test_live.py::test_a[b::c]") == "slurm"
    assert conftest.group_of("tests/ray/test_live.py::test_a") == "ray/test_live.py"
    assert conftest.group_of("tests/stages/test_words.py::A::b") == "stages/test_words.py"


def test_what_is_first_is_there(conftest: Any) -> None:
    assert [name for name in conftest.LONGEST if not (TESTS / name).exists()] == []


def test_the_tests_are_dealt_out_by_groups(
    conftest: Any, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """By the class that the project's hook changes: each process gets whole groups."""
    monkeypatch.setattr("xdist.scheduler.loadscope.parse_tx_spec_config", lambda config: ["a", "b"])
    scheduler = conftest.pytest_xdist_make_scheduler(pytestconfig, None)
    assert isinstance(scheduler, LoadScopeScheduling)
    monkeypatch.setattr(pytestconfig.option, "loadscopereorder", False, raising=False)
    names = [f"tests/{n}" for n in ("slurm/b.py::x", "slurm/c.py::y", "d.py::z", "d.py::w")]
    nodes = [Node(), Node()]
    for node in nodes:
        scheduler.add_node(node)
        scheduler.add_node_collection(node, names)
    scheduler.schedule()
    assert [node.given for node in nodes] == [[0, 1], [2, 3]]


class Node:
    """A process, as the scheduler sees it."""

    shutting_down = False
    gateway = SimpleNamespace(id="gw")

    def __init__(self) -> None:
        self.given: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += indices

    def shutdown(self) -> None:
        self.shutting_down = True
