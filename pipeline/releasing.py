"""What a result must have, beyond being what its lock says, before it is given to others."""

from __future__ import annotations

from .errors import ConfigError
from .licences import NOASSERTION, licence_ids
from .lock import Lock

TIMEOUTS = 10_000
"""A release has at most one timeout or crash in so many records."""


def _timeouts(lock: Lock) -> list[str]:
    funnel = lock.data["funnel"]
    ends = ("_timeout", "_crash")
    count = sum(n for kind, n in funnel["errors"].items() if kind.endswith(ends))
    if count * TIMEOUTS <= funnel["in"]:
        return []
    return [f"{count} of {funnel['in']} records ended as timeouts or crashes"]


def release_faults(lock: Lock) -> list[str]:
    """Reasons against a release, a line each; empty if there are none.

    Every source has a licence that SPDX can say, the text of one of its own, or somebody who
    accepted that it has none; the whole was taken, no sample; the shards were searched for
    benchmark items; at most one record in `TIMEOUTS` ended as a timeout or crash, which another
    machine may not repeat; and corpusmill was a version that others can install, without changes
    that are in no commit.
    """
    faults = []
    for source in lock.data["licences"]:
        name, licence = source["name"], str(source["licence"])
        try:
            ids = licence_ids(licence)
        except ConfigError as error:
            faults.append(f"source {name}: {error.message}")
            continue
        if NOASSERTION in ids and not source.get("accept_unlicensed"):
            faults.append(f"source {name} has no licence, and nobody accepted that")
        own = [i for i in ids if i.startswith("LicenseRef-")]
        if own and not source.get("licence_text"):
            faults.append(f"source {name}: {own[0]} has no text")
    if lock.data["identity"].get("sample") is not None:
        faults.append(f"it is made of a sample ({lock.data['identity']['sample']} of the records)")
    for source in lock.data["identity"]["inputs"]:
        if source.get("run", {}).get("sample") is not None:
            share = source["run"]["sample"]
            faults.append(
                f"source {source['source']} is a run of a sample ({share} of the records)"
            )
    searched = any(note.get("contamination") for note in lock.data["checks"])
    if lock.data["outputs"]["shards"] and not searched:
        faults.append("its shards were not searched for benchmark items (shards.benchmarks)")
    faults += _timeouts(lock)
    if lock.data["provenance"].get("dirty"):
        faults.append("it was made by files of corpusmill that are in no commit")
    version = str(lock.data["provenance"]["package"])
    if "dev" in version or "+" in version:
        faults.append(f"it was made by corpusmill {version}, which is no release")
    return faults
