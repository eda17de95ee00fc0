"""What a Ray cluster runs: one process that holds one worker of this machine, a child that runs
the worker entry. A child, for Ray's own process has threads beside which nothing should be forked.
"""

from __future__ import annotations

import os
from pathlib import Path

from .local import LocalBackend
from .planning import Plan
from .work import Lot, Work


class RaySlot:
    """An actor: takes the tasks of one run folder, one at a time."""

    def __init__(self, root: str) -> None:
        self.root = Path(root)
        name = f"worker-ray-{os.uname().nodename}-{os.getpid()}"
        self.backend = LocalBackend(self.root, 1, self.root / "logs" / name)

    def ready(self, plan_id: str) -> str | None:
        """What keeps this machine from working on the plan, or None."""
        where, path = os.uname().nodename, self.root / "plan.json"
        try:
            plan = Plan.load(path)
            plan.check_installation()
        except Exception as error:  # noqa: BLE001 - the driver may lack its class
            return f"on {where}: {type(error).__name__}: {error}"
        if plan.plan_id != plan_id:
            return f"on {where} {path} is another plan, {plan.plan_id[:12]}"
        return None

    def run(self, phase: str, task: int) -> str | None:
        """Runs one task; returns its error text. A child that dies is replaced once."""
        alone = Work([Lot(phase, [task])])
        self.backend.run(alone)
        return alone.errors.get((phase, task))

    def close(self) -> None:
        """Ends the child."""
        self.backend.__exit__()
