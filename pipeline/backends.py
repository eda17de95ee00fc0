"""What starts workers, as a run sees it: this machine, or a Ray cluster. (Slurm runs on its own
clock, see `corpusmill.pipeline.slurm`; inside its jobs the workers are local ones.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self

BackendName = Literal["local", "ray"]

DIED_TWICE = "its worker died twice"
"""How the error of a task begins whose process ended before it could leave a record."""
LOST = "its worker was lost"
"""The same for one whose machine went away."""


class Backend(Protocol):
    """Workers for one run folder, as a context manager that leaves none behind."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...  # fmt: skip

    def run(
        self, phase: str, tasks: Sequence[int], progress: Callable[[int, int], None]
    ) -> dict[int, str]:
        """Runs tasks; returns the error text of those that failed. `progress` is told how many
        have ended, and of how many."""
        ...


def left_no_record(error: str) -> bool:
    """Whether the task of this error text ended without writing its own failure record."""
    return error.startswith((DIED_TWICE, LOST))


def workers_on(backend: BackendName, root: Path, plan_id: str, workers: int | None) -> Backend:
    """The workers of a backend, not yet started; `workers` is their number (by default the cores
    of this machine, or of the Ray cluster)."""
    if backend == "ray":
        from .ray_backend import RayBackend

        return RayBackend(root, plan_id, workers)
    from .local import LocalBackend, usable_cores

    return LocalBackend(root, workers or usable_cores())
