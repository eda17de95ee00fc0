"""The account balances or raises."""

from __future__ import annotations

import pytest

from corpusmill.pipeline.accounts import Account, merge_steps
from corpusmill.pipeline.errors import IntegrityError


def _flow(keep: list[int], drop: list[int]) -> Account:
    account = Account()
    flow = account.flow("step", "web")
    for number in range(10):
        flow.enter(number, 100)
    for number in keep:
        flow.keep(number, 50)
    for number in drop:
        flow.lose(number, flow.dropped, "short")
    return account


def test_a_balanced_account_passes_and_merges() -> None:
    account = _flow([0, 1, 2, 3, 4, 5, 6], [7, 8, 9])
    account.check("here")
    merged = merge_steps([account.plain(), account.plain()])
    assert merged[0]["sources"]["web"] == {
        "in": 20, "in_ids": 90, "out": 14, "out_ids": 42, "bytes_in": 2000, "bytes_out": 700,
        "dropped": {"short": 6}, "errors": {},
    }  # fmt: skip


def test_a_lost_document_is_seen() -> None:
    with pytest.raises(IntegrityError, match="does not balance"):
        _flow([0, 1, 2, 3, 4, 5, 6], [7, 8]).check("here")


def test_one_lost_and_one_doubled_do_not_cancel() -> None:
    with pytest.raises(IntegrityError, match="checksums"):
        _flow([0, 1, 2, 3, 4, 5, 5], [7, 8, 9]).check("here")
