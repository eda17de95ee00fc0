"""Which tests must share a process when the tests run in several (``make test``)."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
TOGETHER = ("slurm",)
"""Folders whose tests share something costly: one cluster serves them all."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of one file stay together, as fixtures of a module are made once; files that
    share something larger do too."""
    for item in items:
        path = item.path.relative_to(HERE)
        group = path.parts[0] if path.parts[0] in TOGETHER else str(path)
        item.add_marker(pytest.mark.xdist_group(group))
