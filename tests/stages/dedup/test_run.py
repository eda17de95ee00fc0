"""The barriers in a run folder: the same documents whatever the number of partitions."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline import Recipe, run

RECIPE = """
schema: corpusmill/recipe/1
name: small
version: "1"
seed: 7
sources:
  - {name: rows, stage: sources.jsonl, root: input, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - dedup.lines
  - dedup.minhash: {keep: longest}
"""


@pytest.mark.slow
def test_any_partitions(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    r = random.Random(5)
    base = [[f"w{r.randrange(10**6)}" for _ in range(200)] for _ in range(25)]
    for part in range(2):
        with open(tmp_path / "input" / f"{part}.jsonl", "w") as out:
            for n in range(50):
                words = list(base[n % 25])
                words[r.randrange(200)] = "another"
                text = f"{' '.join(words)}\nAll rights are reserved"
                url = f"https://h{n % 3}.example/{part}/{n}"
                out.write(json.dumps({"text": text, "url": url}) + "\n")
    found: list[dict[str, Any]] = []
    for partitions in (1, 4):
        given = (f"execution.partitions={partitions}", "execution.task_bytes=10000")
        recipe = Recipe.parse(RECIPE, tmp_path, overrides=given)
        root = run(recipe, tmp_path / str(partitions), workers=1).root
        last = sorted((root / "phases").glob("*-docs-*"))[-1]
        rows = [
            row for path in last.glob("data/*/*-docs-*") for row in pq.read_table(path).to_pylist()
        ]
        found.append({row["id"]: row for row in rows})
    assert found[0] == found[1]
    rows = list(found[0].values())
    assert 25 <= len(rows) <= 35
    assert {row["lines_removed_chars"] for row in rows} == {len("\nAll rights are reserved")}
    assert sum(row["cluster_size"] for row in rows) == 100
    assert len({row["family"] for row in rows}) == 25
