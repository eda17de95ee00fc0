"""The last job of a submission sends the products to an object store; what waits for somebody."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from .conftest import Site

pytestmark = pytest.mark.slow

ENGINES = (
    Path(__file__).parents[2]
    / f".venv-peers/engines-{sys.version_info.major}.{sys.version_info.minor}"
)
"""What `.ci/engines` installs for this Python: boto3, among others."""


def test_the_last_job_sends_what_was_made(site: Site, moto: str) -> None:
    """The bucket is looked for before anything is submitted, the jobs have the credentials from the
    environment; a job that is held says how it is let go, and `verify` reads the store."""
    site.write(files=1)
    site.extra = {
        "AWS_ENDPOINT_URL_S3": moto, "AWS_ACCESS_KEY_ID": "who", "AWS_REGION": "us-east-1",
        "AWS_SECRET_ACCESS_KEY": "very-secret",
        "PYTHONPATH": os.pathsep.join([str(ENGINES), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip
    submit = (
        "submit", "recipe.yaml", "--out", "run", "--profile", "profile.yaml", "--upload",
        "s3://submitted/mine",
    )  # fmt: skip
    assert "submitted" in site.refused(2, *submit)
    assert site.cluster.empty()

    import pyarrow.fs as fs

    store = fs.S3FileSystem(
        region="us-east-1", endpoint_override=moto, access_key="who", secret_key="very-secret",
        allow_bucket_creation=True,
    )  # fmt: skip
    store.create_dir("submitted")
    for node in ("n1", "n2"):
        site.cluster.call("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
    site.ok(*submit)
    first = site.record()["rounds"][0]["jobs"][0]["id"]
    site.cluster.call("scontrol", "hold", first)
    assert f"held until `scontrol release {first}`, once the cause is gone" in (
        site.ok("status", "run").splitlines()
    )
    for node in ("n1", "n2"):
        site.cluster.call("scontrol", "update", f"NodeName={node}", "State=RESUME")
    site.cluster.call("scontrol", "release", first)
    site.settle()
    assert site.status()["finished"] is True
    with store.open_input_stream("submitted/mine/small.lock.json") as lock:
        there = json.loads(lock.read())
    assert there == json.loads((site.base / "run" / "small.lock.json").read_text())
    assert site.ok("verify", "s3://submitted/mine").endswith("all as locked\n")
