"""What starts workers, as a run sees it: this machine, or a Ray cluster. (Slurm runs on its own
clock, see `corpusmill.pipeline.slurm`; inside its jobs the workers are local ones.)
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self

from .work import Work

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

    def run(self, work: Work) -> None:
        """Runs tasks for as long as `work` gives any, and tells it how each has ended."""
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
