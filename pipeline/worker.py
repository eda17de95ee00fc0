"""The worker: runs tasks of a plan, and nothing else starts work.

``corpusmill run-tasks PLAN PHASE I..J`` loads the plan, checks that this installation is the one
it was made for, and runs the tasks. A task that fails leaves a failure record and does not stop
its neighbours.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from .accounts import check_errors
from .attempt import Attempt
from .commits import PhaseFolder, put_failure, read_commit
from .context import hash_of_ids
from .document import Document, Drop, Failure, Page
from .engine import SEAL_WAIT_SECONDS, RunFolder, run_aux
from .errors import CorpusmillError, IntegrityError, StageError, TaskError
from .flow import Chain, Live, batches, weight
from .identity import SUM_MODULUS, hex128
from .input_files import opened
from .planning import Phase, Plan
from .recipe import Step
from .registry import build, room_module
from .stage import InputFile, Sink, Stage
from .stopping import Stopped
from .tables import document_table, documents, reject_table
from .upstream import Upstream

READ_STEP = "read"
SAMPLE_STEP = "sample"


def _set_up(made: Any, phase: Phase) -> None:
    made.setup()
    if isinstance(made, Sink):
        made.setup_phase(phase.method or "")


class Worker:
    """Runs tasks of one run folder in this process; stages are set up once per phase."""

    def __init__(self, root: Path, plan: Plan) -> None:
        self.run = RunFolder(root, plan)
        self.plan = plan
        self._phase: Phase | None = None
        self._prepared: Phase | None = None
        """The phase that `prepare` opened, until a task of it or of another comes."""
        self._unready: list[Step] = []
        self._steps: dict[str, Step] = {}
        self._sources: dict[str, Any] = {}
        self._signals: dict[str, dict[str, str]] = {}

    def close(self) -> None:
        """Closes the stages of the current phase."""
        for step in self._steps.values():
            close = getattr(step.made, "close", None)
            if close is not None:
                close()
        self._steps, self._sources, self._phase = {}, {}, None
        self._unready = []

    def prepare(self, phase: Phase) -> bool:
        """Opens a phase for workers that will be forked from this process. Returns whether there
        is something that they cannot have in common, so that each opens it itself. Raises what the
        stages' `setup` raises."""
        self.close()
        self._signal_types(phase)
        for step in self._load(phase):
            self._steps[step.id] = step
            if isinstance(step.made, Stage):
                if not step.made.prepare():
                    self._unready.append(step)
            else:
                _set_up(step.made, phase)
            self.plan.check_assets(step.made.params)
        room_module("stages.compiled").load_imported()
        self._prepared = phase
        return bool(self._unready)

    def _load(self, phase: Phase) -> list[Step]:
        wanted = [*phase.steps, *(s for s in (phase.decide, phase.emit, phase.step) if s)]
        return self.plan.load_steps(wanted)

    def _open(self, phase: Phase) -> None:
        if self._phase is phase:
            return
        if self._prepared is phase:
            unready, self._prepared = self._unready, None
        else:
            self.close()
            unready = self._load(phase)
        for step in unready:
            self._steps[step.id] = step
            if isinstance(step.made, Stage):
                step.made.begin()
        for step in unready:
            _set_up(step.made, phase)
            self.plan.check_assets(step.made.params)
        self._phase = phase  # last: where a setup failed, the next task must try it again

    def run_task(self, phase: Phase, task: int) -> bool:
        """Runs one task to its commit; False if it had been committed before."""
        if not 0 <= task < phase.tasks:
            raise TaskError(f"phase {phase.name} has tasks 0 to {phase.tasks - 1}, not {task}")
        folder = self.run.phase_folder(phase)
        if read_commit(folder, task, phase.key) is not None:
            return False
        self._open(phase)
        if phase.kind == "aux":
            method = getattr(self._steps[phase.step or ""].made, phase.method or "")
            return run_aux(self.run, phase, task, method)
        return self._run_docs(phase, task, folder)

    def try_task(self, phase: Phase, task: int) -> str | None:
        """`run_task`, with a failure record instead of an exception; returns the error text."""
        try:
            self.run_task(phase, task)
        except Exception as error:  # noqa: BLE001 - recorded with its class; neighbours go on
            text = f"{type(error).__name__}: {error}"
            code = error.exit_code if isinstance(error, CorpusmillError) else 1
            folder = self.run.phase_folder(phase)
            lost = put_failure(
                folder, phase.name, task, type(error).__name__, str(error), code=code,
                trace=traceback.format_exc(),
            )  # fmt: skip
            return text if lost is None else f"{text} (and no failure record: {lost})"
        except Stopped as stop:
            put_failure(self.run.phase_folder(phase), phase.name, task, stop.kind, str(stop))
            raise
        return None

    def _signal_types(self, phase: Phase) -> dict[str, str]:
        """`signal_types`, once a process: it builds every stage of the recipe."""
        if phase.name not in self._signals:
            self._signals[phase.name] = signal_types(self.plan, phase)
        return self._signals[phase.name]

    # -- document phases ---------------------------------------------------------------------

    def _run_docs(self, phase: Phase, task: int, folder: PhaseFolder) -> bool:
        plan = self.plan
        chain = Chain([self._steps[s] for s in phase.steps])
        signals = self._signal_types(phase)
        emit = self._steps[phase.emit] if phase.emit else None
        kept: list[Document] = []
        hosts = _Hosts()
        with Attempt(folder, phase.name, phase.key, task, plan.partitions) as attempt:
            first = not phase.upstream
            inputs = self._read_inputs(task, chain, attempt) if first else None
            before = Upstream(self.run, phase, task, SEAL_WAIT_SECONDS)
            attempt.commit.upstream = before.content()
            source = inputs if inputs is not None else self._read_partition(phase, before, chain)
            for group in batches(source, int(plan.data["layout"]["batch_bytes"])):
                live = chain.run(group)
                docs = []
                for item, _ in live:
                    if not isinstance(item, Document):
                        raise StageError(
                            f"{item.id} is still a raw page at the end of phase {phase.name}",
                            hint="add an extract step before the first barrier",
                        )
                    docs.append(item)
                hosts.add(docs)
                if emit is not None and docs:
                    started = time.process_time()
                    self._emit(emit, docs, attempt)
                    chain.spend(emit.id, started)
                kept.extend(docs)
            chain.account.check(f"{phase.name}, task {task}")
            counts = {**chain.account.plain(), **_totals(kept)}
            check_errors(
                counts, plan.recipe["guards"]["max_error_share"], f"{phase.name}, task {task}"
            )
            if emit is not None and not kept:
                self._emit(emit, [], attempt)
            kept.sort(key=lambda d: d.id)
            table, content = document_table(kept, signals)
            attempt.write("docs", table, hash_of_ids([d.id for d in kept]))
            attempt.describe("docs", content=hex128(content))
            attempt.write("rejects", reject_table(sorted(chain.rejects)))
            attempt.commit.counts = counts
            attempt.commit.distinct = hosts.plain()
            return attempt.finish()

    def _emit(self, step: Step, docs: list[Document], attempt: Attempt) -> None:
        for name, (table, hashes) in step.made.emit(docs).items():
            attempt.write(f"{step.id}.{name}", table, hashes)

    def _read_partition(self, phase: Phase, before: Upstream, chain: Chain) -> Iterator[Live]:
        import pyarrow as pa

        upstream = phase.upstream[0]
        signals = self._signal_types(self.plan.phase(upstream))
        pieces = before.pieces(upstream, "docs", before.task, None)
        whole = pa.concat_tables(list(pieces)).sort_by([("id", "ascending")])
        live = ((d, int(d.id, 16)) for d in documents(whole, signals))
        if phase.decide is None:
            yield from live
            return
        step = self._steps[phase.decide]
        verdicts = self._verdicts(phase, phase.decide, before)
        for group in batches(live, int(self.plan.data["layout"]["batch_bytes"])):
            yield from chain.decide(group, step, verdicts)

    def _verdicts(self, phase: Phase, step: str, before: Upstream) -> dict[str, dict[str, Any]]:
        own = self.plan.needs[phase.name].own
        names = (own,) if own is not None else reversed(phase.upstream)
        for name in names:
            if self.plan.phase(name).step != step or not before.has(name, f"{step}.verdicts"):
                continue
            found: dict[str, dict[str, Any]] = {}
            for piece in before.pieces(name, f"{step}.verdicts", before.task, None):
                for row in piece.to_pylist():
                    if row["id"] in found:
                        raise StageError(f"step {step} gave two verdicts for {row['id']}")
                    found[row["id"]] = row
            return found
        raise StageError(f"the phases of step {step} wrote no table of verdicts")

    def _read_inputs(self, task: int, chain: Chain, attempt: Attempt) -> Iterator[Live]:
        share = self.plan.recipe["sample"]
        limit = None if share is None else int(Decimal(share) * (1 << 64))
        for file in self.plan.task_files(task):
            with ExitStack() as stack:
                local, digests = self._opened(file, stack)
                attempt.commit.inputs.extend(digests)
                yield from self._read_file(file, local, chain, limit)

    def _opened(self, file: InputFile, stack: ExitStack) -> tuple[InputFile, list[dict[str, Any]]]:
        """The file and what lies beside it, to be read; what the commit says of them."""
        others, said = [], []
        for one in (*file.beside, file):
            token = self.plan.file_token(one.source, one.relative)
            local, digest = stack.enter_context(opened(one, token))
            if (known := self.plan.known_digest(one.source, one.relative)) not in (None, digest):
                raise IntegrityError(
                    f"{one.relative} of source {one.source} is not the file that its run "
                    f"committed: sha256 {digest[:12]}…, committed {str(known)[:12]}…"
                )
            others.append(local)
            said.append({
                "source": one.source, "path": one.relative, "bytes": one.size, "sha256": digest,
            })  # fmt: skip
        return replace(others.pop(), beside=tuple(others)), said

    def _read_file(
        self, file: InputFile, local: InputFile, chain: Chain, limit: int | None
    ) -> Iterator[Live]:
        reader = self._sources.get(file.source)
        if reader is None:
            reader = self.plan.load_source(file.source)
            reader.setup()
            self._sources[file.source] = reader
        seen: set[int] = set()
        started = time.process_time()
        for record in reader.read(local):
            number = int(record.id, 16)
            if number in seen:
                raise StageError(f"{file.relative}: two records have the id {record.id}")
            seen.add(number)
            outcome = record.outcome
            flow = chain.account.flow(READ_STEP, file.source)
            size = weight(outcome) if isinstance(outcome, Page | Document) else record.length
            flow.enter(number, size)
            if isinstance(outcome, Drop | Failure):
                dropped = isinstance(outcome, Drop)
                code = outcome.reason if isinstance(outcome, Drop) else outcome.type
                if code not in (reader.reasons if dropped else reader.errors):
                    raise StageError(
                        f"source {file.source} ended {record.id} by the undeclared {code!r}"
                    )
                flow.lose(number, flow.dropped if dropped else flow.errors, code)
                chain.reject_row(
                    record.id, file.source, record.url, READ_STEP, outcome, file.relative,
                    record.offset, record.length,
                )  # fmt: skip
                continue
            flow.keep(number, size)
            if limit is not None and not _in_sample(chain, outcome, number, limit, self.plan.seed):
                continue
            spent = time.process_time() - started
            chain.account.cpu[READ_STEP] = chain.account.cpu.get(READ_STEP, 0.0) + spent
            yield outcome, number
            started = time.process_time()


def _in_sample(chain: Chain, item: Page | Document, number: int, limit: int, seed: int) -> bool:
    """Whether the keyed hash of the id is below the sample's limit; books the outcome."""
    from .order import order_key

    drawn = int.from_bytes(order_key(seed, item.id, 0, "subset")[:8], "big")
    flow = chain.account.flow(SAMPLE_STEP, item.source)
    flow.enter(number, weight(item))
    if drawn < limit:
        flow.keep(number, weight(item))
        return True
    flow.lose(number, flow.dropped, "not_sampled")
    return False


class _Hosts:
    """Distinct hosts and documents per source, as mergeable sketches."""

    def __init__(self) -> None:
        self.hosts: dict[str, set[str]] = {}

    def add(self, docs: list[Document]) -> None:
        for doc in docs:
            self.hosts.setdefault(doc.source, set()).add(str(doc.meta.get("host", "")))

    def plain(self) -> dict[str, Any]:
        distinct = room_module("stages.measure.distinct")
        found = {}
        for source in sorted(self.hosts):
            names = sorted(self.hosts[source] - {""})
            sketch = distinct.Distinct()
            sketch.add(distinct.hash_texts(names))
            found[source] = {"hosts": sketch.to_json()}
        return found


def _totals(kept: list[Document]) -> dict[str, Any]:
    total = sum(int(d.id, 16) for d in kept) % SUM_MODULUS
    return {"out": len(kept), "out_ids": hex128(total)}


def signal_types(plan: Plan, phase: Phase) -> dict[str, str]:
    """Types of all signals that documents can carry at the end of a phase."""
    types: dict[str, str] = {}
    for entry in plan.recipe["sources"]:
        types |= dict(build(entry["stage"], entry["params"], entry["name"]).writes)
    done: set[str] = set()
    for other in plan.phases:
        if other.kind == "docs":
            done |= {*other.steps, *([other.decide] if other.decide else [])}
        if other.name == phase.name:
            break
    for entry in plan.recipe["steps"]:
        if entry["id"] in done:
            types |= dict(build(entry["stage"], entry["params"], entry["id"]).writes)
    return {name: types[name] for name in sorted(types)}


def parse_tasks(spec: str, total: int) -> list[int]:
    """``0..3,7`` as task numbers (both ends included). Raises TaskError beyond `total`."""
    tasks: list[int] = []
    for part in spec.split(","):
        low, sep, high = part.partition("..")
        if not low.isdigit() or (sep and not high.isdigit()):
            raise TaskError(f"{spec!r} is not a list of tasks", hint="write 0..3,7")
        tasks.extend(range(int(low), int(high if sep else low) + 1))
    if tasks and max(tasks) >= total:
        raise TaskError(f"task {max(tasks)} does not exist: there are {total}")
    return tasks
