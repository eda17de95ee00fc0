"""Tasks of phases that may run at the same time, given out as what they need comes to be there.

An earlier phase goes first: only workers that would be idle begin a later one. After an error no
task of a later phase begins. Pure: what runs tasks asks here for the next one and tells how it
ended, and the caller is told when a phase can be closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from .needs import Needs

Given = tuple[str, int]
"""A phase's name and a task's number."""
Tick = Callable[[str, int, int], None]
"""Is told a phase, how many of its tasks have ended, and of how many."""


@dataclass
class Lot:
    """The tasks of one phase that are to be run."""

    phase: str
    tasks: Sequence[int]
    needs: Needs = field(default_factory=Needs)
    ready: list[int] = field(init=False)
    """Those that may begin as far as the phase `needs.own` goes: a heap."""
    held: set[int] = field(init=False, default_factory=set)
    """Those whose task of the same number has not committed yet."""
    ended: int = field(init=False, default=0)
    begun: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.ready = sorted(self.tasks)

    def hold(self, tasks: Iterable[int]) -> None:
        """Lets tasks wait for those of the same number of another lot."""
        self.held = set(tasks).intersection(self.tasks)
        self.ready = [task for task in self.ready if task not in self.held]

    def let_go(self, task: int) -> None:
        """The task of the same number of the other lot has committed."""
        if task in self.held:
            self.held.remove(task)
            heappush(self.ready, task)


def nothing(*_: object) -> None:
    """For who need not be told."""


class Work:
    """The tasks of some lots, in the order of their phases.

    `close` is called with the name of a phase of which all tasks have committed, in the process of
    whoever calls `start` and `ended`; what it raises ends the work. `failed` is told of every task
    that ended with an error text, `tick` how far a phase is.
    """

    def __init__(
        self, lots: Sequence[Lot], *, close: Callable[[str], None] = nothing,
        failed: Callable[[str, int, str], None] = nothing, tick: Tick = nothing,
    ) -> None:  # fmt: skip
        self.errors: dict[Given, str] = {}
        self._lots = {lot.phase: lot for lot in lots}
        self._open = dict(self._lots)
        """Those that are not closed yet."""
        self._failing: set[str] = set()
        self._close = close
        self._failed = failed
        self._tick = tick
        for lot in lots:
            if lot.needs.own in self._lots:
                lot.hold(self._lots[lot.needs.own].tasks)

    def start(self) -> None:
        """Closes phases of which nothing is left to do. To be called first."""
        self._close_all()

    def more(self) -> bool:
        """Whether there is a task that may begin now."""
        return self._first() is not None

    def next(self) -> Given | None:
        """A task that may begin now, None if there is none before another one has ended."""
        lot = self._first()
        if lot is None:
            return None
        if not lot.begun:
            lot.begun = True
            self._tick(lot.phase, 0, len(lot.tasks))
        return lot.phase, heappop(lot.ready)

    def _first(self) -> Lot | None:
        """The earliest phase of which a task may begin now."""
        for lot in self._open.values():
            if lot.ready and not any(name in self._open for name in lot.needs.sealed):
                return lot
            if lot.phase in self._failing:
                return None
        return None

    def again(self, phase: str, task: int) -> None:
        """Takes a task back that was given out and has not ended."""
        heappush(self._lots[phase].ready, task)

    def ended(self, phase: str, task: int, error: str | None) -> None:
        """A task that was given out has committed, or has failed for good."""
        lot = self._lots[phase]
        lot.ended += 1
        if error is not None:
            self.errors[phase, task] = error
            self._failing.add(phase)
            self._failed(phase, task, error)
        self._tick(phase, lot.ended, len(lot.tasks))
        if error is None:
            for other in self._lots.values():
                if other.needs.own == phase:
                    other.let_go(task)
            self._close_all()

    def waiting(self) -> None:
        """To be called now and then while no task ends: tells how far the phases are."""
        for lot in self._open.values():
            if lot.begun:
                self._tick(lot.phase, lot.ended, len(lot.tasks))

    def _close_all(self) -> None:
        """Closes phases in their order, so that nothing is sealed behind a guard or a task that
        stops the run; one that needs nothing is not held back."""
        earlier_open = False
        for lot in list(self._open.values()):
            done = lot.ended == len(lot.tasks) and lot.phase not in self._failing
            if done and (lot.needs == Needs() or not earlier_open):
                self._close(lot.phase)
                del self._open[lot.phase]
            else:
                earlier_open = True
