from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.mix import DomainRule
from corpusmill.tokenizers import sampling
from corpusmill.tokenizers.sampling import SampleParams, capped


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.text(max_size=40), st.integers(4, 30))
def test_capped_is_the_longest_prefix_of_characters(text: str, most: int) -> None:
    text = text.encode("utf-8", "ignore").decode()
    cut = capped(text, most)
    assert text.startswith(cut)
    assert len(cut.encode()) <= most
    if cut != text:
        assert len(text[: len(cut) + 1].encode()) > most


def run(ctx: MemoryContext, p: SampleParams) -> tuple[list[str], dict[str, Any]]:
    for phase, step in (("measure", sampling.measure), ("select", sampling.select),
                        ("collect", sampling.collect)):  # fmt: skip
        ctx.phase = phase
        for index in range(1 if phase == "select" else ctx.partitions):
            ctx.index = index
            step(ctx, p)
    ctx.phase, ctx.index = "train", 0
    return sampling.texts(ctx)


def test_weights_give_bytes_per_domain(tmp_path: Path, helpers: Mapping[str, Any]) -> None:
    ctx = helpers["fill"](MemoryContext(tmp_path, partitions=4), helpers["make_docs"](300))
    p = SampleParams(bytes=20_000, weights={"web": 1.0, "code": 3.0})
    texts, figures = run(ctx, p)
    web, code = figures["domains"]["web"], figures["domains"]["code"]
    assert (web["wanted_bytes"], code["wanted_bytes"]) == (5_000, 15_000)
    assert 4_000 < web["taken_bytes"] <= 5_000
    assert 14_000 < code["taken_bytes"] <= 15_000
    assert sum(len(t.encode()) for t in texts) == web["taken_bytes"] + code["taken_bytes"]


def test_smaller_sample_is_a_subset(tmp_path: Path, helpers: Mapping[str, Any]) -> None:
    docs = helpers["make_docs"](100)
    chosen = []
    for size in (5_000, 9_000):
        ctx = helpers["fill"](MemoryContext(tmp_path / str(size), partitions=2), docs)
        chosen.append(set(run(ctx, SampleParams(bytes=size))[0]))
    assert chosen[0] < chosen[1]


def test_document_cap(tmp_path: Path, helpers: Mapping[str, Any]) -> None:
    ctx = helpers["fill"](MemoryContext(tmp_path), helpers["make_docs"](20))
    texts, figures = run(ctx, SampleParams(document_bytes=50))
    assert max(len(t.encode()) for t in texts) in (48, 49, 50)
    assert figures["documents"] == 18  # two of 20 are held out


def test_rules_and_unmatched(tmp_path: Path, helpers: Mapping[str, Any]) -> None:
    ctx = helpers["fill"](MemoryContext(tmp_path), helpers["make_docs"](40))
    p = SampleParams(domains=(DomainRule("german", {"lang": "de"}),))
    _, figures = run(ctx, p)
    assert list(figures["domains"]) == ["german"]
    assert figures["domains"]["german"]["documents"] == 10  # multiples of 4, none of them 9 mod 10
    assert figures["unmatched_documents"] == 40 - 4 - 10


@pytest.mark.parametrize(
    ("weights", "said"),
    [({"web": 1.0}, "none for the domain 'code'"), ({"web": 1, "code": 1, "x": 1}, "names 'x'")],
)
def test_weights_must_fit_the_domains(
    tmp_path: Path, helpers: Mapping[str, Any], weights: dict[str, float], said: str
) -> None:
    ctx = helpers["fill"](MemoryContext(tmp_path), helpers["make_docs"](10))
    with pytest.raises(ConfigError, match=said):
        run(ctx, SampleParams(weights=weights))
