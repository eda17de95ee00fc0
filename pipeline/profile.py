"""The Slurm profile: one strict YAML file that says how jobs are asked for on a cluster.

    schema: corpusmill/slurm-profile/1
    partition: cpu
    time: "02:00:00"
    memory: 4G
    cpus: 4
    setup:
      - module load python/3.12

A profile never changes the bytes of a product: neither how tasks are grouped, nor how many run
at once, nor how often one is tried.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .errors import ConfigError
from .params import decode_dataclass, shown
from .strict_yaml import read_yaml

SCHEMA = "corpusmill/slurm-profile/1"
_WORD = re.compile(r"[A-Za-z0-9_.,@+-]+")
_MEMORY = re.compile(r"([1-9][0-9]*)([KMGT]?)")
_TIME = re.compile(r"(?:([0-9]+)-)?([0-9]+)(?::([0-9]+))?(?::([0-9]+))?")
_OPTION = re.compile(r"--([a-z][a-z0-9-]*)(?:=[^\s'\"\\%#]+)?")
_SCRATCH = re.compile(r"[A-Za-z0-9_./${}@+-]+")
OURS = frozenset({
    "account", "array", "chdir", "cpus-per-task", "dependency", "error", "export", "hold",
    "job-name", "kill-on-invalid-dep", "mem", "mem-per-cpu", "no-requeue", "nodes", "ntasks",
    "open-mode", "output", "parsable", "partition", "qos", "quiet", "requeue", "signal",
    "test-only", "time", "wait", "wrap",
})  # fmt: skip
"""Options of ``sbatch`` that Corpusmill sets itself, or that would break the graph of jobs."""
_KILOBYTES = {"K": 1, "": 1 << 10, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30}


def memory_kilobytes(text: str) -> int:
    """``4G`` as kilobytes; a plain number is megabytes, as in Slurm. Raises ConfigError."""
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise ConfigError(f"{shown(text)} is not an amount of memory", hint="write 4G or 500M")
    return int(match[1]) * _KILOBYTES[match[2]]


def memory_text(kilobytes: int) -> str:
    """Kilobytes as Slurm reads them, in the largest unit that says it exactly."""
    for unit, size in (("T", 1 << 30), ("G", 1 << 20), ("M", 1 << 10)):
        if kilobytes % size == 0:
            return f"{kilobytes // size}{unit}"
    return f"{kilobytes}K"


def time_seconds(text: str) -> int:
    """``MM``, ``MM:SS``, ``HH:MM:SS``, ``D-HH``, ``D-HH:MM`` or ``D-HH:MM:SS`` as seconds.

    Raises ConfigError for other spellings, and below Slurm's smallest limit of a minute.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise ConfigError(
            f"{shown(text)} is not a time limit", hint='write "02:00:00" or "1-12:00:00", in quotes'
        )
    parts = [int(p) for p in match.groups()[1:] if p is not None]
    if match[1] is not None:
        hours, minutes, seconds = [*parts, 0, 0][:3]
    elif len(parts) == 3:
        hours, minutes, seconds = parts
    else:
        hours, (minutes, seconds) = 0, [*parts, 0][:2]
    total = ((int(match[1] or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    if total < 60:
        raise ConfigError(f"{shown(text)} is less than a minute: Slurm knows no shorter limit")
    return total


def time_text(seconds: int) -> str:
    """Seconds as ``D-HH:MM:SS`` or ``HH:MM:SS``."""
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


@dataclass(frozen=True, slots=True)
class PhaseProfile:
    """What one phase needs that others do not; an unset key falls back to the profile's."""

    time: str | None = None
    memory: str | None = None
    cpus: int | None = None
    tasks_per_element: int | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """How jobs are asked for. `time` and `memory` are those of one array element."""

    schema: str
    time: str
    """Time limit of an element: ``HH:MM:SS`` or ``D-HH:MM:SS``."""
    memory: str
    """Memory of an element, all its workers together: ``4G``, ``500M``."""
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    cpus: int = 1
    """Cores of an element: so many worker processes run its tasks."""
    tasks_per_element: int = 1
    """Tasks that one element runs. An element should have minutes of work, starting one costs
    seconds."""
    array_limit: int = 1000
    """Most elements of one array; cut further to the cluster's ``MaxArraySize``."""
    max_running: int | None = None
    """Most elements of one array that run at the same time."""
    stop_seconds: int = 60
    """So long before the time limit an element is told to stop: what it has not finished it
    leaves cleanly."""
    seal_wait: int = 90
    """Seconds that the job which closes a phase waits for records that no failure explains:
    longer than a network file system caches a folder."""
    max_attempts: int = 3
    """Elements of so many rounds may have tried a task; after that `retry` needs ``--force``."""
    max_memory: str | None = None
    """`retry` doubles the memory of a phase whose tasks ran out of it, up to this. Default: not
    at all."""
    max_time: str | None = None
    """`retry` doubles the time of a phase whose tasks ran out of it, up to this. Default: not at
    all."""
    python: str | None = None
    """Python of the nodes, an absolute path. Default: the one that submits."""
    scratch: str | None = None
    """A folder of the node for temporary files (``TMPDIR``); it must exist there. May name
    variables of the job, as in ``/scratch/$SLURM_JOB_ID``."""
    setup: tuple[str, ...] = ()
    """Lines of shell that run before the worker; one that fails fails the job."""
    sbatch: tuple[str, ...] = ()
    """Further options of ``sbatch``, as in ``--constraint=avx2``, for every job."""
    phases: Mapping[str, PhaseProfile] = field(default_factory=dict)
    """Other values for phases by name, as `corpusmill plan` lists them."""

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise ConfigError(f"schema {shown(self.schema)} is unknown, known is {SCHEMA}")
        for name in ("partition", "account", "qos"):
            value = getattr(self, name)
            if value is not None and not _WORD.fullmatch(value):
                raise ConfigError(f"{name}: {shown(value)} is not a name that Slurm can have")
        seconds = time_seconds(self.time)
        amount = memory_kilobytes(self.memory)
        if self.max_time is not None and time_seconds(self.max_time) < seconds:
            raise ConfigError(f"max_time {self.max_time} is below time {self.time}")
        if self.max_memory is not None and memory_kilobytes(self.max_memory) < amount:
            raise ConfigError(f"max_memory {self.max_memory} is below memory {self.memory}")
        _at_least("cpus", self.cpus, 1)
        _at_least("tasks_per_element", self.tasks_per_element, 1)
        _at_least("array_limit", self.array_limit, 1)
        _at_least("max_attempts", self.max_attempts, 1)
        _at_least("stop_seconds", self.stop_seconds, 0)
        _at_least("seal_wait", self.seal_wait, 0)
        if self.max_running is not None:
            _at_least("max_running", self.max_running, 1)
        for name, phase in self.phases.items():
            self._check_phase(name, phase)
        shortest = min(self.seconds(name) for name in ("", *self.phases))
        if self.stop_seconds * 2 > shortest:
            raise ConfigError(
                f"stop_seconds {self.stop_seconds} is more than half of the time limit",
                hint="an element must have time to work before it is told to stop",
            )
        self._check_shell()

    def _check_phase(self, name: str, phase: PhaseProfile) -> None:
        try:
            if phase.time is not None:
                time_seconds(phase.time)
            if phase.memory is not None:
                memory_kilobytes(phase.memory)
            if phase.cpus is not None:
                _at_least("cpus", phase.cpus, 1)
            if phase.tasks_per_element is not None:
                _at_least("tasks_per_element", phase.tasks_per_element, 1)
        except ConfigError as error:
            raise ConfigError(f"phases.{name}: {error.message}", hint=error.hint) from None

    def _check_shell(self) -> None:
        if self.python is not None and not self.python.startswith("/"):
            raise ConfigError(f"python: {shown(self.python)} is not an absolute path")
        if self.scratch is not None and not _SCRATCH.fullmatch(self.scratch):
            raise ConfigError(f"scratch: {shown(self.scratch)} is not a plain path")
        for line in self.setup:
            if "\n" in line or "\0" in line or not line.strip():
                raise ConfigError(f"setup: {shown(line)} is not one line of shell")
        for option in self.sbatch:
            match = _OPTION.fullmatch(option)
            if match is None:
                raise ConfigError(
                    f"sbatch: {shown(option)} is not one long option", hint="write --name=value"
                )
            if match[1] in OURS:
                raise ConfigError(
                    f"sbatch: --{match[1]} is set by Corpusmill",
                    hint="partition, account, qos, time, memory and cpus are keys of the profile",
                )

    def seconds(self, phase: str) -> int:
        """Time limit of a phase's elements."""
        own = self.phases.get(phase, PhaseProfile())
        return time_seconds(own.time or self.time)

    def kilobytes(self, phase: str) -> int:
        """Memory of a phase's elements."""
        own = self.phases.get(phase, PhaseProfile())
        return memory_kilobytes(own.memory or self.memory)

    def workers(self, phase: str) -> int:
        """Cores, and so workers, of a phase's elements."""
        own = self.phases.get(phase, PhaseProfile())
        return own.cpus or self.cpus

    def group(self, phase: str) -> int:
        """Tasks of one element of a phase."""
        own = self.phases.get(phase, PhaseProfile())
        return own.tasks_per_element or self.tasks_per_element


def _at_least(name: str, value: int, low: int) -> None:
    if value < low:
        raise ConfigError(f"{name}: {value} is below {low}")


def load_profile(path: Path | str) -> Profile:
    """Reads a profile. Raises ConfigError with the file, the key and the value at fault."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the profile {path}: {error.strerror}") from None
    except ValueError as error:  # not UTF-8, or a path that no file can have
        raise ConfigError(f"cannot read the profile {str(path)!r}: {error}") from None
    made: Profile = decode_dataclass(Profile, read_yaml(text, str(path)), str(path))
    return made
