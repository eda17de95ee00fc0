"""The engine's `TaskContext`: what a barrier's or sink's phase reads and writes in a run folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .attempt import Attempt, plain_notes
from .commits import PhaseFolder, Seal, read_commit, read_seal, write_seal
from .context import partition_of
from .durable import fault_point
from .errors import IntegrityError, StageError, TaskError
from .planning import Phase, Plan
from .seal_index import Piece, SealIndex
from .tables import each_piece, read_groups
from .upstream import Upstream

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

Found = TypeVar("Found")

SEAL_WAIT_SECONDS = 90.0
"""How long a task waits for an upstream seal: longer than an NFS client caches attributes."""


class RunFolder:
    """A run folder with a plan, and what was read of its seals so far."""

    def __init__(self, root: Path, plan: Plan) -> None:
        self.root = root
        self.plan = plan
        self._seals: dict[str, Seal] = {}
        self._indexes: dict[str, SealIndex] = {}

    def phase_folder(self, phase: Phase) -> PhaseFolder:
        return PhaseFolder(self.root / "phases" / phase.folder)

    def seal(self, name: str, *, wait: float = 0.0) -> Seal:
        """The seal of a phase. Raises TaskError if it is not there after `wait` seconds."""
        if name not in self._seals:
            phase = self.plan.phase(name)
            folder = self.phase_folder(phase)
            found = _patient(
                lambda: read_seal(folder, phase.key), f"phase {name} is not closed", wait
            )
            self._seals[name] = found
        return self._seals[name]

    def index(self, name: str, *, wait: float = 0.0) -> SealIndex:
        """Where a phase's rows lie: what a task needs of its seal, which it does not read. Raises
        TaskError if the phase is not sealed after `wait` seconds."""
        if name not in self._indexes:
            phase = self.plan.phase(name)
            folder = self.phase_folder(phase)
            _patient(lambda: folder.seal().exists() or None, f"phase {name} is not closed", wait)
            self._indexes[name] = SealIndex(folder.root, phase.key)
        return self._indexes[name]

    def commit(self, name: str, task: int, *, wait: float = 0.0) -> dict[str, Any]:
        """The record of one task of a phase. Raises TaskError if it is not there after `wait`
        seconds."""
        phase = self.plan.phase(name)
        folder = self.phase_folder(phase)
        return _patient(
            lambda: read_commit(folder, task, phase.key),
            f"task {task} of phase {name} has not finished", wait,
        )  # fmt: skip

    def stale(self, phase: Phase) -> list[int]:
        """Tasks of a phase whose record does not name the commit that lies there now of the task
        that they began after: it was removed, and may have been made anew."""
        own = self.plan.needs[phase.name].own
        if own is None:
            return []
        before, place = self.plan.phase(own), self.phase_folder(phase)
        found = []
        for task in range(phase.tasks):
            record = read_commit(place, task, phase.key)
            if record is None:
                continue
            there = read_commit(self.phase_folder(before), task, before.key)
            if there is None or record["upstream"] != {own: there["content"]}:
                found.append(task)
        return found

    def close(self, phase: Phase, *, wait: float = 0.0) -> None:
        """Seals a phase of which all tasks have committed, after the one that they began after.
        Raises TaskError if that is not sealed within `wait` seconds; else as `write_seal`."""
        own = self.plan.needs[phase.name].own
        after = None if own is None else self.seal(own, wait=wait)
        fault_point("seal")
        write_seal(self.phase_folder(phase), phase.name, phase.key, phase.tasks, after)

    def pieces(
        self, phase: str, table: str, partition: int | None, columns: Sequence[str] | None
    ) -> Iterator[pa.Table]:
        """Tables of some megabytes, file by file in task order; files without rows of the partition
        give none, but at least one (empty) table is always given."""
        folder = self.phase_folder(self.plan.phase(phase))
        index = self.index(phase, wait=SEAL_WAIT_SECONDS)
        files = index.files(table)
        pieces = files if partition is None else index.pieces(table, partition)
        for piece in pieces:
            path = self._path(folder, piece)
            with _readable(path):
                yield from each_piece(path, piece.first, piece.count, columns)
        if not pieces:
            if not files:
                raise StageError(f"no task of {phase} wrote a table {table!r}")
            yield self.open_table(folder, files[0].no_rows(), columns)

    def open_table(
        self, folder: PhaseFolder, piece: Piece, columns: Sequence[str] | None
    ) -> pa.Table:
        """The rows of a piece. Raises IntegrityError if its file is not as it was committed."""
        path = self._path(folder, piece)
        with _readable(path):
            return read_groups(path, piece.first, piece.count, columns)

    def _path(self, folder: PhaseFolder, piece: Piece) -> Path:
        path = folder.root / piece.path
        _same_size(path, piece.bytes)
        return path


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Raises IntegrityError where a committed file cannot be read."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise IntegrityError(f"{path} cannot be read back: {error}") from None


def _patient(look: Callable[[], Found | None], what: str, wait: float) -> Found:
    """What `look` finds within `wait` seconds. Raises TaskError if it finds nothing."""
    until = time.monotonic() + wait
    while (found := look()) is None:
        if time.monotonic() >= until:
            raise TaskError(
                f"{what}, its results cannot be read",
                hint="run the earlier phases first",
            )
        time.sleep(1.0)
    return found


def _same_size(path: Path, listed: int) -> None:
    hint = f"remove the phase's folder {path.parent.parent.parent} and run again"
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise IntegrityError(f"{path} is missing, a commit names it", hint=hint) from None
    if size != listed:
        raise IntegrityError(f"{path} has {size} bytes, its commit says {listed}", hint=hint)


class EngineContext:
    """See `corpusmill.pipeline.context.TaskContext`."""

    def __init__(self, run: RunFolder, phase: Phase, attempt: Attempt, task: int) -> None:
        self.run = run
        self.phase = phase
        self.attempt = attempt
        self.index = task
        self.upstream = Upstream(run, phase, task, SEAL_WAIT_SECONDS)
        self.partitions = run.plan.partitions
        self.seed = run.plan.seed
        self.memory_bytes = int(run.plan.data["layout"].get("memory_bytes", 0))
        recipe = run.plan.recipe
        self.params: Mapping[str, Any] = {
            "name": recipe["name"],
            "version": recipe["version"],
            "sources": {s["name"]: {"licence": s["licence"]} for s in recipe["sources"]},
        }

    def _where(self, table: str) -> tuple[str, str]:
        """The phase that wrote a table, and the table's name there."""
        own = f"{self.phase.step}.{table}"
        for name in reversed(self.phase.upstream):
            phase = self.run.plan.phase(name)
            if phase.kind == "aux" and phase.step == self.phase.step:
                if self.upstream.has(name, own):
                    return name, own
            elif phase.kind == "docs":
                return name, "docs" if table == "docs" else own
        raise StageError(f"{self.phase.name} asks for a table {table!r} that nobody wrote")

    def read(
        self, table: str, *, partition: int | None = None,
        columns: Sequence[str] | None = None, sort: Sequence[str] = (),
    ) -> pa.Table:  # fmt: skip
        import pyarrow as pa

        whole = pa.concat_tables(list(self.batches(table, partition=partition, columns=columns)))
        if sort:
            return whole.sort_by([(column, "ascending") for column in sort])
        return whole.combine_chunks()

    def _existing(self, columns: Sequence[str]) -> list[str]:
        """Document columns that this recipe's documents have: the others are optional."""
        phase, name = self._where("docs")
        there = self.upstream.no_rows(phase, name).schema.names
        return [c for c in columns if c in there]

    def batches(
        self, table: str, *, partition: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        own_documents = table == "docs" and partition == self.index
        self._declared(self.phase.reads == "own documents" and own_documents, f"table {table!r}")
        phase, name = self._where(table)
        if columns is not None and table == "docs":
            columns = self._existing(columns)
        yield from self.upstream.pieces(phase, name, partition, columns)

    def _declared(self, may_read: bool, what: str) -> None:
        """Holds a phase to what its stage says that it reads."""
        if self.phase.reads != "anything" and not may_read:
            raise StageError(
                f"{self.phase.name} reads {self.phase.reads}, as its stage says, and asks for "
                f"{what}",
                hint="see AuxPhase.reads",
            )

    def write(
        self, table: str, data: pa.Table, hashes: npt.NDArray[np.uint64] | None = None
    ) -> None:
        if self.phase.own_verdicts:
            self._own_rows(table, hashes)
        self.attempt.write(f"{self.phase.step}.{table}", data, hashes)

    def _own_rows(self, table: str, hashes: npt.NDArray[np.uint64] | None) -> None:
        """Holds a phase to writing rows of its own partition."""
        if hashes is None or (partition_of(hashes, self.partitions) != self.index).any():
            raise StageError(
                f"{self.phase.name}, task {self.index}, writes rows of {table!r} that belong to "
                "another partition, although its stage says that it does not",
                hint="see AuxPhase.own_verdicts",
            )

    def new_file(self, name: str) -> Path:
        return self.attempt.new_file(name)

    def _files(self, step: str | None, prefix: str) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for name in self.phase.upstream:
            phase = self.run.plan.phase(name)
            if phase.kind != "aux" or phase.step != step:
                continue
            root = self.run.phase_folder(phase).root
            seal = self.run.seal(name, wait=SEAL_WAIT_SECONDS)
            for file, entry in seal.files(prefix).items():
                found[file] = root / entry["path"]
                _same_size(found[file], entry["bytes"])
        return {n: found[n] for n in sorted(found)}

    def files(self, prefix: str = "") -> dict[str, Path]:
        self._declared(False, "files of its own step")
        return self._files(self.phase.step, prefix)

    def stage_files(self, step: str, prefix: str = "") -> dict[str, Path]:
        self._declared(self.phase.reads == "own documents", f"files of {step}")
        return self._files(step, prefix)

    def note(self, key: str, value: Any) -> None:
        self.attempt.commit.notes[key] = plain_notes(value, key)

    def notes(self, phase: str) -> list[dict[str, Any]]:
        self._declared(False, f"notes of {phase}")
        for name in self.phase.upstream:
            found = self.run.plan.phase(name)
            if found.step == self.phase.step and found.aux == phase:
                return self.run.seal(name, wait=SEAL_WAIT_SECONDS).notes()
        raise StageError(f"{self.phase.name} asks for the notes of an unknown phase {phase!r}")

    def balance(self, equation: str, *, total: int, parts: Mapping[str, int]) -> None:
        if sum(parts.values()) != total:
            raise IntegrityError(
                f"{self.phase.name}, task {self.index}: {equation}: {dict(parts)} sums to "
                f"{sum(parts.values())}, not {total}"
            )
        self.attempt.commit.balances.append(
            {"equation": equation, "total": total, "parts": dict(parts)}
        )


def run_aux(
    run: RunFolder, phase: Phase, task: int, method: Callable[[EngineContext], None]
) -> bool:
    """Runs one task of an auxiliary phase and commits it."""
    folder = run.phase_folder(phase)
    with Attempt(folder, phase.name, phase.key, task, run.plan.partitions) as attempt:
        started = time.process_time()
        context = EngineContext(run, phase, attempt, task)
        attempt.commit.upstream = context.upstream.content()
        method(context)
        spent = format(time.process_time() - started, ".3f")
        attempt.commit.counts = {"cpu": {phase.step: spent}}
        return attempt.finish()
