"""A whole run from an object store, of another maker than the tests' own, beside one from a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline import Recipe, object_store, run, verify
from corpusmill.pipeline.errors import InputError
from corpusmill.pipeline.object_store import Store
from corpusmill.pipeline.story import story_lines, why

SAMPLE = Path(__file__).resolve().parents[2] / "configs" / "sample" / "crawl"
RECIPE = """
schema: corpusmill/recipe/1
name: far
version: "1"
sources:
  - {name: web, stage: sources.warc, root: ROOT, paths: ["**/*.warc.gz"], licence: CC0-1.0}
steps: [{extract.tiers: {tier: fast}}, {dedup.exact: {by: content}}]
execution: {task_bytes: 1000000, partitions: 2}
"""


@pytest.fixture
def bucket(moto: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A file system that may write, with the bucket ``crawls``; the environment points to it."""
    import pyarrow.fs as fs

    for name, value in (
        ("AWS_ENDPOINT_URL_S3", moto), ("AWS_ACCESS_KEY_ID", "who"),
        ("AWS_SECRET_ACCESS_KEY", "very-secret"), ("AWS_REGION", "us-east-1"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    for cached in (object_store.store, object_store._file_system):
        cached.cache_clear()
    made = fs.S3FileSystem(
        region="us-east-1", endpoint_override=moto, access_key="who", secret_key="very-secret",
        allow_bucket_creation=True, allow_bucket_deletion=True,
    )  # fmt: skip
    made.create_dir("crawls")
    yield made
    made.delete_dir("crawls")
    for cached in (object_store.store, object_store._file_system):
        cached.cache_clear()


def put(bucket: Any, key: str, data: bytes) -> None:
    with bucket.open_output_stream(f"crawls/{key}", compression=None) as f:
        f.write(data)


@pytest.mark.slow
def test_large_objects_uploaded_in_parts(bucket: Any, tmp_path: Path) -> None:
    data = bytes(range(256)) * (12 << 12)  # 12 MiB
    put(bucket, "x/big", data)
    ((_, found),) = Store("s3://crawls/x").entries("")
    assert found is not None
    with open(tmp_path / "copy", "wb", buffering=0) as into:
        Store("s3://crawls/x").fetch("big", found[1], found[2], into)
    assert (tmp_path / "copy").read_bytes() == data
    with pytest.raises(InputError, match="not the object that was planned"):
        Store("s3://crawls/x").fetch("big", found[1], found[2] + 10**9)


@pytest.mark.slow
def test_a_run_gives_the_same_as_from_a_folder(bucket: Any, tmp_path: Path) -> None:
    files = sorted(SAMPLE.rglob("*.warc.gz"))[:1]
    for path in files:
        put(bucket, f"a/{path.name}", path.read_bytes())
        (tmp_path / "here").mkdir(exist_ok=True)
        (tmp_path / "here" / path.name).write_bytes(path.read_bytes())
    near = run(Recipe.parse(RECIPE.replace("ROOT", "here"), tmp_path), tmp_path / "near", workers=1)
    far = run(
        Recipe.parse(RECIPE.replace("ROOT", "s3://crawls/a"), tmp_path), tmp_path / "far", workers=2
    )
    locks = [json.loads(r.lock_path.read_text()) for r in (near, far)]
    assert locks[0]["mix_id"] == locks[1]["mix_id"]
    assert locks[0]["outputs"] == locks[1]["outputs"]
    assert locks[0]["outputs"]["kept"]["documents"] > 100
    for name in ("very-secret", "127.0.0.1", "us-east-1"):
        assert not [p for p in (tmp_path / "far").rglob("*.json*") if name in p.read_text()]
    verdict = verify(tmp_path / "far")
    assert (verdict.faults, verdict.skipped) == ([], [])
    first = next(
        row
        for p in (tmp_path / "far").glob("phases/*/rejects/*/*.parquet")
        for row in pq.read_table(p).to_pylist()
        if row["file"]
    )
    (story,) = why(tmp_path / "far", first["id"])
    assert f"record  s3://crawls/a/{first['file']} at {first['offset']}" in "\n".join(
        story_lines(tmp_path / "far", story)
    )
    data = files[0].read_bytes()
    put(bucket, f"a/{files[0].name}", data[:-1] + bytes([data[-1] ^ 1]))
    assert any("sha256" in fault for fault in verify(tmp_path / "far").faults)
    bucket.delete_file(f"crawls/a/{files[0].name}")
    assert any("no longer" in word for word in verify(tmp_path / "far").skipped)
