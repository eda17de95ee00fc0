"""`index RUN`: every document of a run, kept or dropped, ready to be searched and filtered.

    RUN/index/documents.parquet     a row a record: fate, address, all signals, rules broken
    RUN/index/text.sqlite           texts (zstd), and a full-text index (FTS5 of SQLite)
    RUN/index/about.json            of which plan, how much of it, size and cost

Dropped documents are made again (`corpusmill.pipeline.replay`), those of the first phase from the
input and so up to a number only. Texts are masked as the recipe masks them.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .comparing import open_run
from .durable import new_attempt, write_atomic
from .engine import RunFolder
from .errors import ConfigError, TaskError
from .identity import pretty
from .ledger import sealed_docs_phases
from .masking import Masking
from .planning import Phase
from .replay import READERS, Remade, remake

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "corpusmill/index/1"
_CHUNK = 2000
_ARROW = {"int": "int64", "float": "float64", "bool": "bool", "str": "string"}
_OWN = (
    ("n", "int64"), ("id", "string"), ("source", "string"), ("url", "string"), ("host", "string"),
    ("title", "string"), ("date", "string"), ("licence", "string"), ("state", "string"),
    ("phase", "string"), ("step", "string"), ("reason", "string"), ("value", "string"),
    ("characters", "int64"), ("note", "string"), ("complete", "bool"), ("broken", "list"),
    ("file", "string"), ("offset", "int64"), ("length", "int64"),
)  # fmt: skip
FIXED = frozenset(name for name, _ in _OWN)
"""Columns of the index that are no signals."""
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
)


def spaced(text: str) -> str:
    """`text` with a blank on both sides of each character of a script that has no spaces between
    words, so that each is a word of its own to the full-text index."""
    return _UNSPACED.sub(r" \1 ", text)


class IndexWriter:
    """Writes an index into a folder that does not exist yet."""

    def __init__(self, folder: Path, signals: Mapping[str, str]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq
        import zstandard

        folder.mkdir(parents=True)
        self.folder = folder
        own = [pa.field(n, pa.list_(pa.string()) if k == "list" else pa.type_for_alias(k))
               for n, k in _OWN]  # fmt: skip
        more = [pa.field(n, pa.type_for_alias(_ARROW[k])) for n, k in sorted(signals.items())]
        self.schema = pa.schema([*own, *more])
        self.rows = 0
        self._parquet = pq.ParquetWriter(folder / "documents.parquet", self.schema)
        self._zip = zstandard.ZstdCompressor(level=3)
        try:
            self._texts = sqlite3.connect(folder / "text.sqlite", isolation_level=None)
            self._texts.execute("pragma journal_mode = off")
            self._texts.execute("pragma synchronous = off")
            self._texts.execute("create table texts (n integer primary key, zip blob not null)")
            self._texts.execute(
                "create virtual table words using fts5(text, content = '', columnsize = 0, "
                "tokenize = 'unicode61 remove_diacritics 2')"
            )
        except sqlite3.OperationalError as error:
            raise ConfigError(
                f"the SQLite of this Python has no full-text search: {error}",
                hint="use a Python whose sqlite3 was built with FTS5",
            ) from None
        self._texts.execute("begin")

    def add(self, rows: Sequence[Mapping[str, Any]], texts: Sequence[str | None]) -> None:
        """Rows by column name (absent is null; ``n`` is given here), and the text of each."""
        import pyarrow as pa

        columns: dict[str, list[Any]] = {name: [] for name in self.schema.names}
        for row, text in zip(rows, texts, strict=True):
            own = {"n": self.rows, "characters": None if text is None else len(text)}
            for name, values in columns.items():
                values.append(own[name] if name in own else row.get(name))
            if text is not None:
                raw = text.encode("utf-8", "replace")
                self._texts.execute(
                    "insert into texts values (?, ?)", (self.rows, self._zip.compress(raw))
                )
                self._texts.execute(
                    "insert into words (rowid, text) values (?, ?)",
                    (self.rows, spaced(raw.decode("utf-8").replace("\0", " "))),
                )
            self.rows += 1
        arrays = [pa.array(columns[f.name], type=f.type) for f in self.schema]
        self._parquet.write_table(pa.table(arrays, schema=self.schema))

    def close(self) -> None:
        """Ends the files."""
        self._texts.execute("commit")
        self._texts.close()
        self._parquet.close()


def build_index(root: Path, most: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Writes ``RUN/index`` anew and returns what its about.json says. At most `most` documents that
    the first phase dropped are made again, those with the smallest ids.

    Raises TaskError for a run that is not finished.
    """
    run = open_run(root)
    phases = sealed_docs_phases(run)
    partial = root / f"index.{new_attempt()}.partial"
    try:
        return _build(run, phases, partial, most, say)
    finally:
        shutil.rmtree(partial, ignore_errors=True)  # there only if it was not finished


def _build(
    run: RunFolder, phases: Sequence[Phase], partial: Path, most: int, say: Callable[[str], None]
) -> dict[str, Any]:
    from .worker import signal_types

    target = run.root / "index"
    started, spent = time.monotonic(), time.process_time()
    writer = IndexWriter(partial, signal_types(run.plan, phases[-1]))
    mask = Masking(run.plan)
    without = 0
    for piece in run.pieces(phases[-1].name, "docs", None, None):
        _add_kept(writer, piece)
    say(f"{writer.rows} kept documents")
    for number, phase in enumerate(phases):
        for partition, rows in _rejects(run, phase, first=number == 0):
            chosen = _chosen(rows, most if number == 0 else len(rows))
            without += sum(row["step"] not in READERS for row in rows) - len(chosen)
            for start in range(0, len(rows), _CHUNK):
                chunk = rows[start : start + _CHUNK]
                again = [row for row in chunk if row["id"] in chosen or row["step"] in READERS]
                made = remake(run, phase, again, partition)
                _add_dropped(writer, chunk, made, phase, mask)
                say(f"{writer.rows} records, {phase.name}")
    writer.close()
    about = {
        "schema": SCHEMA, "plan_id": run.plan.plan_id, "records": writer.rows,
        "without_text": without, "seconds": format(time.monotonic() - started, ".1f"),
        "cpu_seconds": format(time.process_time() - spent, ".1f"),
        "bytes": {p.name: p.stat().st_size for p in sorted(partial.iterdir())},
    }  # fmt: skip
    write_atomic(partial / "about.json", pretty(about))
    if target.exists():
        shutil.rmtree(target)
    partial.rename(target)
    return about


def read_about(root: Path, plan_id: str) -> dict[str, Any]:
    """What the index of a run says of itself. Raises TaskError where there is none, or one of
    another plan."""
    path = root / "index" / "about.json"
    try:
        about: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        raise TaskError(f"{root} has no index", hint=f"make it: corpusmill index {root}") from None
    if about.get("schema") != SCHEMA or about.get("plan_id") != plan_id:
        raise TaskError(
            f"the index of {root} is of another plan or version",
            hint=f"make it again: corpusmill index {root}",
        )
    return about


def _add_kept(writer: IndexWriter, piece: pa.Table) -> None:
    for batch in piece.to_batches(max_chunksize=_CHUNK):
        rows = batch.to_pylist()
        texts = [row.pop("text") for row in rows]
        writer.add([row | {"state": "kept", "broken": [], "complete": True} for row in rows], texts)


def _rejects(
    run: RunFolder, phase: Phase, *, first: bool
) -> Iterator[tuple[int | None, list[dict[str, Any]]]]:
    """The rejected rows of a phase by partition of the phase before. The task of a later phase is
    its partition."""
    if first:
        rows = [r for p in run.pieces(phase.name, "rejects", None, None) for r in p.to_pylist()]
        yield None, rows
        return
    folder = run.phase_folder(phase)
    for piece in run.index(phase.name).files("rejects"):
        yield piece.task, run.open_table(folder, piece, None).to_pylist()


def _chosen(rows: Iterable[Mapping[str, Any]], most: int) -> set[str]:
    ids = sorted(row["id"] for row in rows if row["step"] not in READERS)
    return set(ids[:most])


def _add_dropped(
    writer: IndexWriter, rows: Sequence[Mapping[str, Any]], made: Mapping[str, Remade],
    phase: Phase, mask: Callable[[str], str],
) -> None:  # fmt: skip
    whole, texts = [], []
    for row in rows:
        one = made.get(row["id"], Remade(note="not made again: beyond the number asked for"))
        known = {k: v for k, v in {**one.meta, **one.signals}.items() if k in writer.schema.names}
        rule = f"{row['step']}:{row['reason']}"
        broken = one.broken if rule in one.broken else [rule, *one.broken]
        url = row["url"] or ""
        host = known.get("host") or url.partition("://")[2].partition("/")[0].lower() or None
        state = "dropped" if row["outcome"] == "dropped" else "error"
        whole.append({
            **known, **row, "host": host, "phase": phase.name, "state": state, "note": one.note,
            "complete": one.complete, "broken": broken,
        })  # fmt: skip
        texts.append(None if one.text is None else mask(one.text))
    writer.add(whole, texts)


def index(options: Namespace) -> int:
    """The verb ``index RUN``."""
    import sys

    from .progress import quiet, to_stderr
    from .verbs import show_json

    root = Path(options.run)
    if options.remake < 0:
        raise ConfigError(f"--remake {options.remake} is below 0")
    say = to_stderr if sys.stderr.isatty() and not options.json else quiet
    about = build_index(root, options.remake, say)
    if options.json:
        show_json(about)
        return 0
    size = sum(about["bytes"].values())
    print(f"{about['records']} records in {root / 'index'}, {size} bytes, {about['cpu_seconds']} "
          "CPU seconds")  # fmt: skip
    if about["without_text"]:
        print(f"{about['without_text']} of them without text; --remake N makes more again")
    print(f"next: corpusmill browse {root}")
    return 0


VERBS = {"index": index}

__all__ = ["FIXED", "VERBS", "IndexWriter", "build_index", "read_about", "spaced"]
