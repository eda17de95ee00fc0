"""The chain of accounts: what a step gives out, the next takes in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Lock, Recipe, run
from corpusmill.pipeline.commits import Commit, read_commit, write_seal
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.errors import IntegrityError
from corpusmill.pipeline.identity import canonical, pretty, sha256_hex
from corpusmill.pipeline.ledger import build_ledger, check_chain
from corpusmill.pipeline.planning import Phase, Plan

from .conftest import PRODUCTS, RECIPE


def entry(step: str, **flow: int) -> dict[str, Any]:
    return {"step": step, "sources": {"web": flow}}


def test_a_whole_chain_gives_its_end() -> None:
    steps = [
        entry("read", **{"in": 5, "in_ids": 50, "out": 3, "out_ids": 20}),
        entry("url", **{"in": 3, "in_ids": 20, "out": 2, "out_ids": 9}),
    ]
    steps[1]["sources"]["rows"] = {"in": 4, "in_ids": 7, "out": 4, "out_ids": 7}
    assert check_chain(steps) == (6, 16)


@pytest.mark.parametrize("took", [{"in": 2, "in_ids": 20}, {"in": 3, "in_ids": 21}])
def test_documents_lost_or_changed_between_steps(took: dict[str, int]) -> None:
    steps = [
        entry("read", **{"in": 5, "in_ids": 50, "out": 3, "out_ids": 20}),
        entry("url", **took, out=0, out_ids=0),
    ]
    with pytest.raises(IntegrityError, match="source web: step read gave out 3 documents and url"):
        check_chain(steps)


def tamper(folder: RunFolder, phase: Phase, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes the record of task 0 so that it still agrees with itself, and seals it again."""
    place = folder.phase_folder(phase)
    path = place.commit(0)
    record = json.loads(path.read_text())
    change(record)
    names = ("phase", "key", "task", "files", "inputs", "upstream", "counts", "balances", "notes")
    record["content"] = Commit(*(record[n] for n in names)).content()
    path.write_bytes(pretty(record))
    assert read_commit(place, 0, phase.key) is not None
    write_seal(place, phase.name, phase.key, phase.tasks)


def test_a_document_exchanged_after_the_last_step_is_seen(finished: Path) -> None:
    """The numbers agree, the checksum of what was written does not."""
    folder = RunFolder(finished, Plan.load(finished / "plan.json"))

    def change(record: dict[str, Any]) -> None:
        counts = record["counts"]
        counts["out_ids"] = f"{int(counts['out_ids'], 16) ^ 1:032x}"

    tamper(folder, [p for p in folder.plan.phases if p.kind == "docs"][-1], change)
    with pytest.raises(IntegrityError, match="came out of the last step and"):
        build_ledger(RunFolder(finished, folder.plan))


@pytest.mark.slow
def test_a_document_that_was_not_encoded_is_seen(
    corpus: Path, small: Callable[..., Recipe]
) -> None:
    root = run(small(text=RECIPE + PRODUCTS), corpus / "run", workers=1).root
    folder = RunFolder(root, Plan.load(root / "plan.json"))

    def change(record: dict[str, Any]) -> None:
        record["notes"]["documents"] -= 1

    tamper(folder, next(p for p in folder.plan.phases if p.aux == "encode"), change)
    with pytest.raises(IntegrityError, match="72 documents were kept and 71 were encoded"):
        build_ledger(RunFolder(root, folder.plan))


def test_a_lock_sealed_again_over_another_identity_is_refused(finished: Path) -> None:
    path = finished / "small.lock.json"
    data = json.loads(path.read_text())
    data["identity"]["seed"] += 1
    del data["seal"]
    path.write_bytes(pretty({**data, "seal": sha256_hex(canonical(data))}))
    with pytest.raises(IntegrityError, match="mix_id is not the digest of its identity"):
        Lock.load(path)
