"""Which tasks need not wait for a whole phase: the relation, worked out by hand on small plans."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.needs import Needs, groups_of, needs_of
from corpusmill.pipeline.planning import Phase, make_plan

from .conftest import PRODUCTS, RECIPE, write_corpus


def docs(name: str, *upstream: str, decide: str | None = None) -> Phase:
    return Phase(name, "docs", "k", 4, decide=decide, upstream=upstream)


def aux(name: str, *upstream: str, **more: Any) -> Phase:
    """``STEP.PHASE``; four tasks, or as many as `tasks` says."""
    step, _, phase = name.partition(".")
    given = {"tasks": 4, **more}
    return Phase(name, "aux", "k", step=step, aux=phase, method=phase, upstream=upstream, **given)


def grouped(phases: Sequence[Phase]) -> list[list[str]]:
    return [[p.name for p in group] for group in groups_of(phases, needs_of(phases))]


READ = docs("read")
LINES = (
    READ, aux("lines.count", "read"),
    aux("lines.mark", "read", "lines.count", own_verdicts=True),
    aux("lines.tally", "read", "lines.count", "lines.mark", tasks=1),
    docs("docs", "read", "lines.count", "lines.mark", "lines.tally", decide="lines"),
)  # fmt: skip
MEASURE = aux("tok.measure", "docs", reads="own documents")
TAKE = aux("tok.take", "docs", tasks=1, reads="nothing")
ENCODE = aux("shards.encode", "docs", "tok.take", reads="own documents")


def test_documents_after_the_verdicts_on_their_partition() -> None:
    """The tally between them is not waited for; all else waits for the phase before."""
    assert needs_of(LINES) == {
        "read": Needs(),
        "lines.count": Needs(sealed=("read",)),
        "lines.mark": Needs(sealed=("lines.count",)),
        "lines.tally": Needs(sealed=("lines.mark",)),
        "docs": Needs("lines.mark"),
    }
    assert grouped(LINES) == [
        ["read"], ["lines.count"], ["lines.mark", "lines.tally", "docs"],
    ]  # fmt: skip


def test_a_chain_is_one_group() -> None:
    phases = (*LINES, MEASURE, aux("tok.select", "docs", "tok.measure", tasks=1))
    assert needs_of(phases)["tok.measure"] == Needs("docs")
    assert needs_of(phases)["tok.select"] == Needs(sealed=("tok.measure",))
    assert grouped(phases)[2:] == [
        ["lines.mark", "lines.tally", "docs", "tok.measure"], ["tok.select"],
    ]  # fmt: skip


def test_encoding_with_a_tokenizer_that_is_given() -> None:
    found = needs_of((*LINES, TAKE, ENCODE))
    assert (found["tok.take"], found["shards.encode"]) == (Needs(), Needs("docs", ("tok.take",)))
    assert grouped((*LINES, TAKE, ENCODE))[-1][-3:] == ["docs", "tok.take", "shards.encode"]


def test_encoding_with_a_tokenizer_that_is_trained() -> None:
    """Training has seen all documents, so nothing is gained."""
    encode = aux("shards.encode", "docs", "tok.measure", reads="own documents")
    assert needs_of((*LINES, MEASURE, encode))["shards.encode"] == Needs(sealed=("tok.measure",))


def test_the_first_phase_writes_to_all_partitions() -> None:
    """Whatever its number of tasks."""
    measure = aux("tok.measure", "read", reads="own documents")
    assert needs_of((READ, measure))["tok.measure"] == Needs(sealed=("read",))


def test_another_number_of_tasks_and_verdicts_by_key() -> None:
    one = aux("x.all", "docs", tasks=1, reads="own documents")
    assert needs_of((*LINES, one))["x.all"] == Needs(sealed=("docs",))
    by_key = (READ, aux("exact.group", "read"), docs("docs", "read", "exact.group", decide="exact"))
    assert needs_of(by_key)["docs"] == Needs(sealed=("exact.group",))
    alone = aux("x.mark", "docs", own_verdicts=True, reads="own documents")
    early = needs_of((*LINES, alone, docs("more", "docs", "x.mark", decide="x")))
    assert (early["x.mark"], early["more"]) == (Needs("docs"), Needs(sealed=("x.mark",))), (
        "the documents themselves are not sealed when they are marked"
    )
    other = (*LINES[:-1], docs("docs", *LINES[-1].upstream, decide="exact"))
    assert needs_of(other)["docs"] == Needs(sealed=("lines.tally",))


def test_the_plan_of_a_recipe(tmp_path: Path) -> None:
    """What the stages say of themselves comes to the plan."""
    write_corpus(tmp_path / "input")
    text = RECIPE.replace("- dedup.exact", "- dedup.exact\n  - dedup.lines") + PRODUCTS
    plan = make_plan(Recipe.parse(text, tmp_path))
    early = {name: n.own for name, n in plan.needs.items() if n.own is not None}
    assert early == {"09-docs": "07-lines.mark", "10-tokenizer.measure": "09-docs"}
    assert [len(g) for g in groups_of(plan.phases, plan.needs)] == [1] * 6 + [4] + [1] * 9
