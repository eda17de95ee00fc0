"""What a task waits for: the phase before, or only the task of its own number there.

By default all of a phase waits for all of the phase before. Where a task reads of an earlier phase
only the partition that one task wrote, it may begin when that task has committed; a slow task then
holds back its own partition and no other. Stages say what their phases read and write
(`corpusmill.pipeline.stage.AuxPhase`), and the engine holds them to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .planning import Phase


@dataclass(frozen=True, slots=True)
class Needs:
    """What must be there before a task of a phase begins."""

    own: str | None = None
    """A phase of which the task with the same number must have committed."""
    sealed: tuple[str, ...] = ()
    """Phases that must be sealed. All phases before those are sealed as well."""


def needs_of(phases: Sequence[Phase]) -> dict[str, Needs]:
    """What the tasks of each phase of a plan need, by its name."""
    by_name = {phase.name: phase for phase in phases}
    found: dict[str, Needs] = {}
    before: tuple[str, ...] = ()
    for phase in phases:
        upstream = [by_name[name] for name in phase.upstream]
        early = _after_verdicts if phase.kind == "docs" else _after_documents
        found[phase.name] = early(phase, upstream) or Needs(sealed=before)
        before = (phase.name,)
    return found


def _after_verdicts(phase: Phase, upstream: Sequence[Phase]) -> Needs | None:
    """For a task that applies verdicts which one other task gave. The documents were sealed before
    that one began."""
    for other in reversed(upstream):
        if other.step == phase.decide and other.own_verdicts and other.reads == "anything":
            return Needs(other.name)
    return None


def _after_documents(phase: Phase, upstream: Sequence[Phase]) -> Needs | None:
    """For a task that reads the documents which one other task wrote, and for one that reads
    nothing. None where something else that it reads is made of all documents."""
    if phase.reads == "nothing":
        return Needs()
    documents = [other for other in upstream if other.kind == "docs"]
    if phase.reads != "own documents" or not documents or not documents[-1].upstream:
        return None  # of the first phase, every task writes to all partitions
    rest = [other for other in upstream if other is not documents[-1]]
    if phase.tasks != documents[-1].tasks or any(other.reads != "nothing" for other in rest):
        return None
    return Needs(documents[-1].name, tuple(other.name for other in rest))


def groups_of(phases: Sequence[Phase], needs: Mapping[str, Needs]) -> list[list[Phase]]:
    """Phases in order, those together of which tasks may run at the same time."""
    groups: list[list[Phase]] = []
    for phase in phases:
        group = [phase]
        own = needs[phase.name].own
        while own is not None and own not in [other.name for other in group]:
            group = groups.pop() + group
        groups.append(group)
    return groups
