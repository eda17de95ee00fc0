"""The index of a run, opened for reading: DuckDB for signals and fates, SQLite for texts."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpusmill.pipeline.errors import ConfigError, TaskError
from corpusmill.pipeline.indexing import FIXED, spaced

from .filters import NUMBERS, Query, condition, order, quoted

MOST_HITS = 10_000_000
"""Texts with the words of a search that are taken into account."""
MOST_IN_MEMORY = 3_000_000
"""Records whose signals are held in memory; of more they are read from the file each time."""
FACETS = ("state", "source", "step", "reason", "lang", "host")
_MOST_VALUES = 30
_AROUND = 90
_WORD = re.compile(r'"[^"]*"|\S+')


def _duckdb() -> Any:
    try:
        import duckdb
    except ModuleNotFoundError:
        raise ConfigError(
            "browse needs the package duckdb, which is not installed",
            hint="pip install 'corpusmill[browse]'",
        ) from None
    return duckdb


class Store:
    """An opened index. One thread at a time may use it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        folder = root / "index"
        table = folder / "documents.parquet"
        if not table.is_file():
            raise TaskError(f"{root} has no index", hint=f"make it: corpusmill index {root}")
        self.db = _duckdb().connect(":memory:")
        for setting in (
            "autoinstall_known_extensions = false", "autoload_known_extensions = false",
            "threads = 2", "preserve_insertion_order = true",
        ):  # fmt: skip
            self.db.execute(f"SET {setting}")
        name = str(table).replace("'", "''")
        rows = self.db.execute(f"SELECT count(*) FROM read_parquet('{name}')").fetchall()[0][0]
        kind = "TABLE" if rows <= MOST_IN_MEMORY else "VIEW"
        self.db.execute(f"CREATE {kind} documents AS SELECT * FROM read_parquet('{name}')")
        self.db.execute("SET lock_configuration = true")
        self._count = int(rows)
        self._marked: tuple[str, bool] | None = None
        described = self.db.execute("DESCRIBE documents").fetchall()
        self.columns: dict[str, str] = {row[0]: row[1] for row in described}
        # Requests come from threads of the server, one at a time behind its lock.
        self.texts = sqlite3.connect(
            f"file:{folder / 'text.sqlite'}?mode=ro", uri=True, check_same_thread=False
        )

    def close(self) -> None:
        """Closes both engines."""
        self.texts.close()
        self.db.close()

    def signals(self) -> list[str]:
        """Names of the signals that are numbers."""
        return [n for n, kind in self.columns.items() if n not in FIXED and kind in NUMBERS]

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """The rows of one statement, by column name."""
        done = self.db.execute(sql, list(values))
        names = [d[0] for d in done.description]
        return [dict(zip(names, row, strict=True)) for row in done.fetchall()]

    # -- searching ---------------------------------------------------------------------------

    def _from(self, query: Query) -> tuple[str, list[Any], bool]:
        """FROM and WHERE of a query; whether not all hits were taken into account."""
        where, values = condition(query)
        if not query.words:
            return f"FROM documents WHERE {where}", values, False
        more = self._mark(match_of(query.words))
        return f"FROM documents POSITIONAL JOIN hits WHERE hit AND ({where})", values, more

    def _mark(self, match: str) -> bool:
        """Has a table ``hits`` say of each document, in their order, whether its text matches;
        whether there are more than `MOST_HITS`. It stays for the next page, or another order."""
        import numpy as np
        import pyarrow as pa

        if self._marked is None or self._marked[0] != match:
            # As one text: a row each would take three times as long to fetch.
            (listed,) = self.texts.execute(
                "select json_group_array(rowid) from (select rowid from words where words match ? "
                "limit ?)", (match, MOST_HITS + 1),
            ).fetchone()  # fmt: skip
            found = json.loads(listed)
            hit = np.zeros(self._count, dtype=bool)
            hit[found[:MOST_HITS]] = True
            self.db.register("hits", pa.table({"hit": hit}))
            self._marked = match, len(found) > MOST_HITS
        return self._marked[1]

    def search(self, query: Query) -> dict[str, Any]:
        """Documents of a query: ``total``, ``rows`` of one page, ``facets`` (values of some
        columns with their counts among all that were found)."""
        tail, values, more = self._from(query)
        shown = ["n", "id", "url", "state", "step", "reason", "value", "characters"]
        if query.sort and query.sort not in shown:
            shown.append(query.sort)
        names = ", ".join(map(quoted, shown))
        rows = self.rows(
            f"SELECT {names} {tail} ORDER BY {order(query)} LIMIT {query.limit} "
            f"OFFSET {query.offset}", values,
        )  # fmt: skip
        for row in rows:
            row["snippet"] = snippet(self.text(row["n"]) or "", query.words)
        total = self.rows(f"SELECT count(*) AS c {tail}", values)[0]["c"]
        return {"total": total, "cut": more, "rows": rows, "facets": self._facets(tail, values)}

    def _facets(self, tail: str, values: Sequence[Any]) -> dict[str, list[list[Any]]]:
        found = {}
        for name in FACETS:
            if name in self.columns:
                rows = self.rows(
                    f"SELECT {quoted(name)} AS v, count(*) AS c {tail} AND {quoted(name)} IS NOT "
                    f"NULL GROUP BY 1 ORDER BY c DESC, v LIMIT {_MOST_VALUES}", values,
                )  # fmt: skip
                found[name] = [[row["v"], row["c"]] for row in rows]
        return found

    def histogram(self, query: Query, signal: str, bins: int = 40) -> dict[str, Any]:
        """How a signal is distributed among the kept and the others of a query: edges and two
        lists of counts. Values beyond the 1st and 99th percentile are in the outermost bins."""
        if self.columns.get(signal) not in NUMBERS:
            raise ConfigError(f"{signal!r} is no signal with numbers")
        tail, values, _ = self._from(query)
        column = f"{quoted(signal)}::DOUBLE"
        ends = self.rows(
            f"SELECT quantile_cont({column}, 0.01) AS low, quantile_cont({column}, 0.99) AS high, "
            f"count({column}) AS c {tail}", values,
        )[0]  # fmt: skip
        if not ends["c"]:
            return {"low": 0.0, "high": 0.0, "kept": [], "others": [], "documents": 0}
        low, high = ends["low"], ends["high"]
        if high <= low:
            low, high = low - 0.5, high + 0.5
        rows = self.rows(
            f"SELECT greatest(0, least({bins - 1}, floor(({column} - ?) / ? * {bins})))::INT AS b, "
            f"state = 'kept' AS k, count(*) AS c {tail} AND {column} IS NOT NULL GROUP BY ALL",
            [low, high - low, *values],
        )
        counts = {True: [0] * bins, False: [0] * bins}
        for row in rows:
            counts[bool(row["k"])][row["b"]] = row["c"]
        return {
            "low": low, "high": high, "kept": counts[True], "others": counts[False],
            "documents": ends["c"],
        }  # fmt: skip

    # -- one document --------------------------------------------------------------------------

    def document(self, word: str) -> dict[str, Any] | None:
        """The row with this id, its text and the documents dropped as its duplicates."""
        rows = self.rows("SELECT * FROM documents WHERE id = ? LIMIT 1", [word])
        if not rows:
            return None
        row = {k: v for k, v in rows[0].items() if v is not None}
        copies = self.rows(
            "SELECT id, url, step, reason FROM documents WHERE value = ? AND state = 'dropped' "
            "ORDER BY n LIMIT 50", [word],
        )  # fmt: skip
        return {"row": row, "text": self.text(row["n"]), "copies": copies}

    def text(self, number: int) -> str | None:
        """The text of a row, None if the index has none."""
        import zstandard

        found = self.texts.execute("select zip from texts where n = ?", (number,)).fetchone()
        if found is None:
            return None
        raw: bytes = zstandard.ZstdDecompressor().decompress(found[0])
        return raw.decode("utf-8")


def match_of(words: str) -> str:
    """What a person typed as a search: all words, phrases in double quotes, ``-word`` for texts
    without it. Everything else is taken as it stands; there is no other syntax."""
    want: list[str] = []
    without: list[str] = []
    for part in _WORD.findall(words):
        into = want
        if part.startswith("-") and len(part) > 1:
            part, into = part[1:], without
        bare = spaced(part.replace('"', " ")).strip()
        if any(c.isalnum() for c in bare):
            into.append('"' + " ".join(bare.split()) + '"')
    if not want:
        raise ConfigError(f"{words!r} has no word to search for", hint='a word, or a phrase in ""')
    text = " AND ".join(want)
    return f"({text}) NOT ({' OR '.join(without)})" if without else text


def snippet(text: str, words: str) -> str:
    """A piece of a text around the first word of a search, or its beginning."""
    at = -1
    low = text.lower()
    for part in _WORD.findall(words):
        at = low.find(part.strip('"').lower()) if not part.startswith("-") else -1
        if at >= 0:
            break
    start = max(0, at - _AROUND)
    if start:  # at the beginning of a word
        start = text.find(" ", start, at) + 1 or start
    piece = " ".join(text[start : start + 2 * _AROUND + 20].split())
    return ("… " if start else "") + piece + (" …" if len(text) > start + 2 * _AROUND else "")


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """A row that JSON can hold, without what is absent."""
    return {k: v if isinstance(v, str | int | float | bool | list) else str(v)
            for k, v in value.items() if v is not None}  # fmt: skip


__all__ = ["Store", "match_of", "plain", "snippet"]
