from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.lock import Lock
from corpusmill.pipeline.releasing import release_faults


def lock(**changes: Any) -> Lock:
    """A lock as far as the rules look at it, all in order."""
    data: dict[str, Any] = {
        "licences": [
            {"name": "a", "licence": "MIT OR CC0-1.0"},
            {"name": "b", "licence": "NOASSERTION", "accept_unlicensed": {"by": "A"}},
            {"name": "c", "licence": "LicenseRef-x", "licence_text": "do as you like"},
        ],
        "identity": {"sample": None, "inputs": []},
        "checks": [{}, {"contamination": {"gsm8k": {}}}],
        "outputs": {"shards": 2},
        "funnel": {"in": 20_000, "errors": {"tiers:extractor_timeout": 2, "tiers:bad_utf8": 99}},
        "provenance": {"package": "0.1.0"},
    }
    return Lock(Path("x.lock.json"), {**data, **changes})


def test_all_in_order() -> None:
    assert release_faults(lock()) == []
    assert release_faults(lock(checks=[], outputs={"shards": 0})) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"licences": [{"name": "a", "licence": "NOASSERTION"}]}, "a has no licence"),
        ({"licences": [{"name": "a", "licence": "MIT AND NOASSERTION"}]}, "nobody accepted"),
        ({"licences": [{"name": "a", "licence": "LicenseRef-x"}]}, "LicenseRef-x has no text"),
        ({"licences": [{"name": "a", "licence": "free as air!"}]}, "no licence expression"),
        (
            {"identity": {"inputs": [{"source": "a", "run": {"sample": "0.1"}}]}},
            "source a is a run of a sample (0.1",
        ),
        ({"identity": {"sample": "0.01", "inputs": []}}, "made of a sample (0.01"),
        ({"checks": [{}]}, "not searched for benchmark items"),
        ({"provenance": {"package": "0.2.dev1+g123"}}, "which is no release"),
        ({"provenance": {"package": "0.1.0", "dirty": True}}, "that are in no commit"),
        (
            {
                "funnel": {
                    "in": 20_000,
                    "errors": {"t:extractor_timeout": 2, "t:extractor_crash": 1},
                }
            },
            "3 of 20000 records ended as timeouts or crashes",
        ),
    ],
)
def test_what_stands_against_it(changes: dict[str, Any], said: str) -> None:
    (fault,) = release_faults(lock(**changes))
    assert said in fault
