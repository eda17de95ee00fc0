"""An index of the small run that everything here looks at."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from corpusmill.pipeline.engine import RunFolder

if TYPE_CHECKING:
    from corpusmill.pipeline.browsing.server import Site


@pytest.fixture(scope="session")
def indexed(seen: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the small run, with its index."""
    from corpusmill.pipeline.indexing import build_index

    root = tmp_path_factory.mktemp("indexed") / "run"
    shutil.copytree(seen.root, root)
    about = build_index(root, 1000, lambda _: None)
    assert about["records"] == 7
    return root


@pytest.fixture(scope="session")
def site(indexed: Path) -> Iterator[Site]:
    from corpusmill.pipeline.browsing.server import Site

    made = Site(indexed)
    yield made
    made.close()
