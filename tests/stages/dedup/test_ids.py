"""Packed ids sort and print as the ids do, trailing zeros too."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.dedup.ids import hex_ids, join_ids, split_ids

IDS = st.lists(
    st.one_of(
        st.binary(min_size=16, max_size=16),
        st.binary(min_size=2, max_size=2).map(lambda b: b + bytes(14)),
    ).map(bytes.hex),
    unique=True,
)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(IDS)
def test_round_trip_and_order(ids: list[str]) -> None:
    packed = join_ids(*split_ids(ids))
    assert hex_ids(packed) == ids
    assert hex_ids(np.sort(packed)) == sorted(ids)
    assert hex_ids(np.unique(np.concatenate([packed, packed]))) == sorted(ids)
    assert (np.sort(packed)[np.searchsorted(np.sort(packed), packed)] == packed).all()
