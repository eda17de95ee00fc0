"""The Ray backend: workers on the machines of a Ray cluster, or of one that lives with the run.

Ray only holds processes (`ray_slot.RaySlot`) on its machines and hands them the names of tasks;
what is done stands in the commits, as everywhere. ``RAY_ADDRESS`` names a cluster; without it one
is started on this machine and ended with the run. A worker that is lost is replaced and its task
given to another, a few times; as each attempt writes under a name of its own, one on a machine
that only seemed lost harms nobody.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from .backends import LOST
from .errors import ConfigError, TaskError
from .local import STOP_SECONDS, usable_cores
from .ray_slot import RaySlot
from .work import Given, Work

ADDRESS_VARIABLE = "RAY_ADDRESS"
TRIES = 3
"""How often a task is given out whose worker is lost."""
START_SECONDS = 600.0
"""How long the first worker may take to start: a cluster may have to find a machine for it."""
OBJECT_STORE_BYTES = 80 << 20
"""Ray's shared memory on a cluster of our own (near its minimum): no data goes through it."""


class RayBackend:
    """Workers of one run folder on a Ray cluster. Use as a context manager."""

    def __init__(self, root: Path, plan_id: str, workers: int | None) -> None:
        if workers is not None and workers < 1:
            raise TaskError(f"{workers} workers cannot run anything")
        self.root = root
        self.plan_id = plan_id
        self.workers = workers
        self._ray = _import_ray()
        self._own: Path | None = None
        """Ray's folder, where the cluster is ours."""
        self._slots: set[Any] = set()
        self._starting: dict[Any, Any] = {}
        """Slots by the answer that says that they are ready."""
        self._refused = ""
        """What the last slot said that could not start."""

    def __enter__(self) -> RayBackend:
        ray = self._ray
        try:
            if os.environ.get(ADDRESS_VARIABLE):
                ray.init(logging_level=logging.ERROR, log_to_driver=False)
                count = self.workers or int(ray.cluster_resources().get("CPU", 0))
            else:
                count = self.workers or usable_cores()
                self._own = Path(tempfile.mkdtemp(prefix="ray-"))
                ray.init(
                    address="local", num_cpus=count, include_dashboard=False,
                    object_store_memory=OBJECT_STORE_BYTES, _node_ip_address="127.0.0.1",
                    _temp_dir=str(self._own), logging_level=logging.ERROR, log_to_driver=False,
                )  # fmt: skip
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            self._end()
            raise ConfigError(
                f"no Ray cluster can be reached or started: {_line(error)}",
                hint=f"{ADDRESS_VARIABLE} names a running cluster; without it one is started here",
            ) from None
        if not count:
            self._end()
            raise ConfigError("the Ray cluster has no CPU", hint="start its nodes first")
        for _ in range(count):
            self._start()
        return self

    def __exit__(self, *_: object) -> None:
        ray = self._ray
        closing = [slot.close.remote() for slot in self._slots]
        if closing:
            ray.wait(closing, num_returns=len(closing), timeout=2 * STOP_SECONDS)
        for slot in [*self._slots, *self._starting.values()]:
            ray.kill(slot)
        self._slots, self._starting = set(), {}
        self._end()

    def _end(self) -> None:
        self._ray.shutdown()
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)

    def _start(self) -> None:
        slot = self._ray.remote(num_cpus=1, max_restarts=0)(RaySlot).remote(str(self.root))
        self._starting[slot.ready.remote(self.plan_id)] = slot

    def run(self, work: Work) -> None:
        """See `Backend.run`. Raises TaskError when no worker is left and none can be started."""
        idle = list(self._slots)
        busy: dict[Any, tuple[Any, Given]] = {}
        tries: Counter[Given] = Counter()
        until = time.monotonic() + START_SECONDS
        while busy or work.more():
            while idle and (given := work.next()) is not None:
                slot = idle.pop()
                tries[given] += 1
                busy[slot.run.remote(*given)] = (slot, given)
            self._need_workers(until)
            heard = self._ray.wait([*busy, *self._starting], num_returns=1, timeout=1.0)[0]
            for answer in heard:
                if answer in self._starting:
                    idle += self._started(answer)
                    continue
                slot, task = busy.pop(answer)
                lost, error = self._answer(answer)
                if not lost:
                    idle.append(slot)
                else:
                    self._slots.remove(slot)
                    self._ray.kill(slot)  # it may only seem lost
                    self._start()
                    if tries[task] < TRIES:
                        work.again(*task)
                        continue
                    error = f"{LOST} {TRIES} times: {error}"
                work.ended(*task, error or None)
            if not heard:
                work.waiting()

    def _started(self, answer: Any) -> list[Any]:
        """The slot of an answer if it is ready for work."""
        slot = self._starting.pop(answer)
        _, refused = self._answer(answer)
        if refused is None:
            self._slots.add(slot)
            return [slot]
        self._refused = refused
        self._ray.kill(slot)
        return []

    def _answer(self, answer: Any) -> tuple[bool, str | None]:
        """Whether the slot was lost, and the error text of its task."""
        try:
            return False, self._ray.get(answer)
        except self._ray.exceptions.RayError as error:
            return True, _line(error)

    def _need_workers(self, until: float) -> None:
        if self._slots:
            return
        if not self._starting:
            raise TaskError(
                f"no worker could be started on the Ray cluster: {self._refused}",
                hint="its machines need this Python environment, and the run folder at its path",
            )
        if time.monotonic() > until:
            raise TaskError(
                f"the Ray cluster has started no worker within {START_SECONDS:.0f} s",
                hint="has it a CPU that is free? `ray status` shows what is taken",
            )


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when it is imported
    try:
        import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ConfigError(
            "the Ray backend needs the package ray", hint="pip install 'corpusmill[ray]'"
        ) from None
    return ray


def _line(error: BaseException) -> str:
    """An error of Ray, which may be pages long, in one line: its beginning and its end."""
    text = " ".join(str(error).split())
    return text if len(text) <= 500 else f"{text[:250]} … {text[-250:]}"
