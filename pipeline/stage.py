"""What a stage is, how its parameters are read, and how it is found by name.

A stage is one file with one class and a line ``STAGE = TheClass`` at its end. Its name is its
place: ``filters.url`` is ``corpusmill.stages.filters.url``; a leading ``classifiers.`` or
``tokenizers.`` names those rooms. Nothing is registered by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from .document import Document, Drop, Outcome, Page, Record, Scalar

if TYPE_CHECKING:
    import pyarrow as pa


Kind = Literal["source", "map", "measure", "decide", "barrier", "sink"]
SignalType = Literal["int", "float", "bool", "str"]
Side = Literal["low", "high"]


class Asset(str):
    """Type of a parameter that names a file or folder (a model, a word list, benchmarks).

    The plan resolves it to size and sha256 before any task starts; in `Stage.setup` the
    parameter holds the absolute path. The identity of a stage holds the digest, not the path.
    ``package:sample/x`` is looked up in ``corpusmill.configs``; other values relative to the
    recipe.
    """

    __slots__ = ()


@dataclass(frozen=True)
class NoParams:
    """Parameters of a stage that has none."""


class Stage:
    """Base of map, measure and decide stages. Subclasses set the class attributes and `apply`.

    `version` rises with every change of output. `pins` names the distributions whose versions
    determine the output. `takes` says whether it works on raw pages, on documents, or on both.
    `reads` and `writes` are signals; `reasons` the codes that `apply` may drop with.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    kind: ClassVar[Kind]
    pins: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[Literal["page", "document", "any"]] = "document"
    edits_text: ClassVar[bool] = False
    Params: ClassVar[type] = NoParams

    reads: tuple[str, ...] = ()
    writes: Mapping[str, SignalType] = {}
    reasons: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    def __init__(self, params: Any) -> None:
        """Cheap and pure: may set `reads`, `writes` and `reasons` from `params`, load nothing."""
        self.params = params

    def check_assets(self) -> None:
        """A quick look at the assets, called when the plan is made: raises AssetError for one of
        the wrong kind. Packages of extras may be missing; `setup` is the thorough look."""

    def begin(self) -> None:
        """Start what goes on beside this process while `setup` of other stages is called."""

    def setup(self) -> None:
        """Load what `apply` needs. Called once a process, before the first batch."""

    def prepare(self) -> bool:
        """Called in place of `setup` in a process that workers will be forked from. Returns
        whether that was all of it; if not, `setup` is called in each of them. By default it is
        `setup`, and nothing for a stage that has something to `close`."""
        if type(self).close is not Stage.close:
            return False
        self.setup()
        return True

    def apply(self, batch: Sequence[Any]) -> list[Outcome]:
        """One outcome for each page or document, in order. Kept ones may be changed in place.

        A measure stage returns the documents themselves with `writes` filled in. Raising fails
        the whole task; what is wrong with one document is a `Failure` in its place.
        """
        raise NotImplementedError

    def child_cpu(self) -> float:
        """CPU seconds of processes that the stage runs beside this one, so far."""
        return 0.0

    def thresholds(self) -> Sequence[tuple[str, str, float, Side]]:
        """(reason, signal, bound, side) of what the stage decides by numbers, for reports: with
        "low" a value under the bound is dropped, with "high" one over it."""
        return ()

    def broken(self, batch: Sequence[Any]) -> list[list[Drop]]:
        """All drops that each document earns, not only the first, which is the one that `apply`
        gives. Changes nothing. A stage with one rule need not write it."""
        return [[o] if isinstance(o, Drop) else [] for o in self.apply(batch)]

    def spans(self, document: Document) -> Sequence[tuple[int, int, str]]:
        """(start, end, what it is) of the pieces of a text that made the stage drop it, for
        reports; nothing where no piece can be named."""
        return ()

    def findings(self, outcomes: Sequence[Outcome]) -> Sequence[tuple[str, str]]:
        """(what, what was done) of the outcomes of a batch, to be counted in the account beside the
        reasons: for contamination, the evaluation set whose item a document held and "dropped"."""
        return ()

    def hidden(self, text: str) -> str:
        """`text` without what the stage was given in confidence, for reports. Works before `setup`.
        Raises AssetError where what that is cannot be read."""
        return text

    def close(self) -> None:
        """Release what `setup` took (worker processes, files)."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """One input of a source: `path` to open, `relative` to the source's root, size in bytes, and
    the files `beside` it that its source asked for (`Source.beside`)."""

    source: str
    path: str
    relative: str
    size: int
    beside: tuple[InputFile, ...] = ()


class Source:
    """Base of readers. `read` yields every record of one file, in file order."""

    name: ClassVar[str]
    version: ClassVar[int]
    kind: ClassVar[Kind] = "source"
    pins: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[Literal["page", "document"]] = "page"
    beside: ClassVar[tuple[str, ...]] = ()
    """Endings of files that, lying beside an input under the same name, say what is in it."""
    finished: ClassVar[bool] = False
    """Whether it reads the documents of a finished run (`corpusmill.pipeline.finished`); it then
    has a method `taken_of`, see `corpusmill.stages.sources.run`."""
    Params: ClassVar[type] = NoParams

    writes: Mapping[str, SignalType] = {}
    reasons: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    def __init__(self, params: Any) -> None:
        self.params = params

    def check_assets(self) -> None:
        """As `Stage.check_assets`."""

    def setup(self) -> None:
        """Load what `read` needs."""

    def read(self, file: InputFile) -> Iterator[Record]:
        """Every record, the bad ones too. Bytes that belong to no readable record are one
        `Failure` record each. Raises InputError only if the file cannot be opened."""
        raise NotImplementedError

    @property
    def direct(self) -> bool:
        """Whether `read_one` reads a record without those in front of it."""
        return type(self).read_one is not Source.read_one

    def read_one(self, file: InputFile, offset: int, key: str = "") -> Record | None:
        """The record at `offset`, with `key` the one of that id; None if there is none. Here the
        file is read up to it; a source that can go there at once does so."""
        for record in self.read(file):
            if record.offset == offset and key in ("", record.id):
                return record
        return None


Reads = Literal["anything", "own documents", "nothing"]


@dataclass(frozen=True)
class AuxPhase:
    """A phase of a barrier or sink beside the document phases.

    With `tasks` = "partitions" it runs once per partition, with "one" once. `method` names the
    method of the stage that runs it: ``method(ctx)``; see `corpusmill.pipeline.context`.
    `depends` names a method without arguments that gives, as plain values, all of the stage's
    parameters that the phase depends on, so that its result outlives a change of the others;
    without it the phase depends on all of them.

    `reads` says what a task reads, beside the files of other steps (`TaskContext.stage_files`):
    "own documents" are those of its partition, "nothing" also excludes those files. With
    `own_verdicts` a task writes all verdicts on the documents of its own partition, and no other
    rows. By both the engine knows which tasks need not wait for a whole phase; it refuses what
    goes beyond them.
    """

    name: str
    tasks: Literal["partitions", "one"]
    method: str
    depends: str | None = None
    reads: Reads = "anything"
    own_verdicts: bool = False


class Barrier:
    """Base of stages that must see all documents before they decide on one (deduplication).

    `emit` runs at the end of the preceding document phase and returns tables of keys; the
    phases of `phases` turn them into a table named ``verdicts`` with a column ``id`` (partitioned
    by id); `decide` runs at the head of the next document phase with the verdict rows of the
    batch's ids.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    kind: ClassVar[Kind] = "barrier"
    pins: ClassVar[tuple[str, ...]] = ()
    Params: ClassVar[type] = NoParams
    phases: ClassVar[tuple[AuxPhase, ...]] = ()

    reads: tuple[str, ...] = ()
    writes: Mapping[str, SignalType] = {}
    reasons: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    def __init__(self, params: Any) -> None:
        self.params = params

    def check_assets(self) -> None:
        """As `Stage.check_assets`."""

    def setup(self) -> None:
        """Load what `emit`, the phases and `decide` need."""

    def emit(self, batch: Sequence[Document]) -> dict[str, tuple[pa.Table, Any]]:
        """Tables of this batch by name: ``(table, hash)``, `hash` a uint64 array, one value a
        row, whose leading bits choose the partition (`hash_of_ids` for rows that go with their
        document, a key's own hash for rows that meet by key)."""
        raise NotImplementedError

    def decide(
        self, batch: Sequence[Document], verdicts: Mapping[str, Mapping[str, Any]]
    ) -> list[Outcome]:
        """One outcome for each document; `verdicts` maps an id to its row, absent if none."""
        raise NotImplementedError


class Sink:
    """Base of stages that turn the kept documents into products by `phases` of their own."""

    name: ClassVar[str]
    version: ClassVar[int]
    kind: ClassVar[Kind] = "sink"
    pins: ClassVar[tuple[str, ...]] = ()
    Params: ClassVar[type] = NoParams
    phases: ClassVar[tuple[AuxPhase, ...]] = ()

    def __init__(self, params: Any) -> None:
        self.params = params

    def check_assets(self) -> None:
        """As `Stage.check_assets`."""

    def setup(self) -> None:
        """Load what the phases need."""

    def setup_phase(self, method: str) -> None:
        """Load what only the phase of that `method` needs, after `setup`: once a process, and
        before workers are forked from it."""


AnyStage = Stage | Source | Barrier | Sink

__all__ = [
    "AnyStage", "Asset", "AuxPhase", "Barrier", "Document", "InputFile", "Kind", "NoParams",
    "Outcome", "Page", "Reads", "Record", "Scalar", "Side", "SignalType", "Sink", "Source", "Stage",
]  # fmt: skip
