"""Every public test archive at hand is opened, counted and accounted for to its last byte."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Recipe, run
from corpusmill.pipeline.document import Drop, Failure
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.errors import InputError
from corpusmill.pipeline.registry import build
from corpusmill.pipeline.running import RunResult
from corpusmill.pipeline.stage import InputFile

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reading.md"
LZ4 = "resiliparse/block-sized-records.warc.lz4"


def table() -> dict[str, list[str]]:
    """The rows of the page's table, by file."""
    lines = re.findall(r"^\| (\w+/\S+) \| (.*) \|$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return {name: rest.split(" | ") for name, rest in lines}


@pytest.fixture(scope="module")
def archives() -> Path:
    if "CORPUSMILL_DATA" not in os.environ:
        pytest.skip("CORPUSMILL_DATA is not set")
    return Path(os.environ["CORPUSMILL_DATA"]) / "real_warc"


def test_the_page_has_a_row_for_each_file() -> None:
    rows = table()
    assert len(rows) == 61
    for name, row in rows.items():
        assert len(row) == 7, name
        errors = row[3]
        assert row[6] or errors == "-", f"{name}: an error without its reason"


@pytest.mark.fulldata
def test_every_archive(archives: Path) -> None:
    rows = table()
    files = {str(p.relative_to(archives)): p for p in archives.rglob("*") if p.is_file()}
    assert set(files) == set(rows)
    for name, path in sorted(files.items()):
        kind = next((k for k in ("wet", "wat") if f".{k}" in name), "warc")
        reader = build(f"sources.{kind}", {}, name)
        file = InputFile("real", str(path), name, path.stat().st_size)
        if name == LZ4:
            with pytest.raises(InputError, match="lz4"):
                list(reader.read(file))
            assert rows[name][0] == "refused"
            continue
        records = list(reader.read(file))
        dropped: Counter[str] = Counter()
        errors: Counter[str] = Counter()
        kept = 0
        for record in records:
            if isinstance(record.outcome, Drop):
                dropped[record.outcome.reason] += 1
            elif isinstance(record.outcome, Failure):
                errors[record.outcome.type] += 1
            else:
                kept += 1
            assert 0 <= record.offset < file.size
            assert reader.read_one(file, record.offset, record.id) == record, name
        assert len({r.id for r in records}) == len(records), name
        assert sum(r.length for r in records) == file.size, name
        cells = [", ".join(f"{n} {c}" for c, n in sorted(d.items())) or "-"
                 for d in (dropped, errors)]  # fmt: skip
        assert rows[name][:4] == [str(len(records)), str(kept), *cells], name


RECIPE = """
schema: corpusmill/recipe/1
name: real
version: "1"
sources:
  - name: real
    stage: sources.warc
    paths: [derived/*, gowarc/corrupted-*, pywb/bad.arc, warcio/example-trunc.warc,
            webarchive_commons/*.gz]
    licence: NOASSERTION
steps:
  - extract.tiers: {tier: fast, isolate: false}
guards: {max_error_share: 1, allow_empty: true}
execution: {task_bytes: 1000000, partitions: 1}
"""


def rejects(result: RunResult) -> list[dict[str, Any]]:
    """All rows of the run's table of rejects."""
    folder = RunFolder(result.root, result.plan)
    first = result.plan.phases[0].name
    return [r for piece in folder.pieces(first, "rejects", None, None) for r in piece.to_pylist()]


@pytest.mark.fulldata
def test_broken_archives_through_the_engine(archives: Path, tmp_path: Path) -> None:
    """What the reader finds stands in the rejects of the run, with file, offset and reason."""
    recipe = Recipe.parse(RECIPE.replace("stage:", f"root: {json.dumps(str(archives))}\n    stage:"), tmp_path)  # fmt: skip
    result = run(recipe, tmp_path / "run", workers=1)
    ledger = json.loads((result.root / "ledger.json").read_text("utf-8"))
    assert ledger["balanced"] is True
    found = rejects(result)
    bad = [(r["file"], r["offset"], r["reason"]) for r in found
           if r["outcome"] == "error" and r["step"] == "read"]  # fmt: skip
    reader = build("sources.warc", {}, "real")
    expected = []
    for name in sorted({r["file"] for r in found}):
        path = archives / name
        file = InputFile("real", str(path), name, path.stat().st_size)
        expected += [(name, r.offset, r.outcome.type) for r in reader.read(file)
                     if isinstance(r.outcome, Failure)]  # fmt: skip
    assert sorted(bad) == sorted(expected)
    assert Counter(reason for *_, reason in bad) == Counter({
        "bad_length": 6, "garbage": 6, "bad_header": 3, "corrupt_member": 2, "truncated": 2,
    })  # fmt: skip
