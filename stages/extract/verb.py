"""``corpusmill extract``: the extractor alone, on one page or on a JSONL file of pages."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, Literal

from corpusmill.pipeline.errors import InputError, StageError
from corpusmill.stages.json_rows import RowWriter, open_bytes

from . import extract
from .policy import Tier
from .tiers import TiersParams
from .worker import Request, Worker

_BATCH_ROWS = 64
_BATCH_BYTES = 32 * 1024 * 1024

OutputFormat = Literal["text", "markdown", "json"]


def extract_file(
    path: str | os.PathLike[str],
    url: str | None = None,
    tier: Tier = "default",
    format: OutputFormat = "text",
) -> str:
    """The text of the page in the file `path`.

    As JSON: an object with ``text``, ``title``, ``path``, ``words``, ``all_words``, ``charset``.
    Raises InputError if the file cannot be read or the page is over budget.
    """
    try:
        body = Path(path).read_bytes()
    except OSError as err:
        raise InputError(f"cannot read {os.fspath(path)}: {err.strerror}") from err
    found = extract(body, url=url, tier=tier, format="markdown" if format == "markdown" else "text")
    if format != "json":
        return found.text
    row = {
        "text": found.text,
        "title": found.title,
        "path": found.path,
        "words": found.words,
        "all_words": found.all_words,
        "charset": found.charset,
    }
    if found.page_state:
        row["page_state"] = found.page_state
    if found.confidence is not None:
        row.update(confidence=found.confidence, page_type=found.page_type)
    return json.dumps(row, ensure_ascii=False)


def extract_jsonl(
    in_path: str | os.PathLike[str],
    out_path: str | os.PathLike[str],
    tier: Tier = "default",
    *,
    url_field: str = "url",
) -> dict[str, Any]:
    """Extracts the field ``html`` of every line of `in_path` (which may be ``.gz``).

    One line out for each line in, in order: ``html`` is replaced by ``text`` and ``signals``, all
    other fields are passed through. A page that gives no text or is over budget has an empty
    ``text`` and a ``reason``; a page that failed, or a line that is no JSON object with a string
    ``html``, an ``error`` (``type`` and ``message``; ``line``, counted from 1, for the latter).

    Returns the counts: ``in``, ``kept``, ``dropped`` by reason, ``errors`` by type. `out_path`
    appears when it is complete. Raises InputError if `in_path` cannot be read, StageError if
    every line failed.
    """
    params = TiersParams(tier=tier)
    target = Path(out_path)
    dropped: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    total = kept = 0
    with closing(Worker(params.page_config(), params.worker)) as worker:
        worker.start()
        try:
            source = open_bytes(Path(in_path))
        except OSError as err:
            raise InputError(f"cannot read {os.fspath(in_path)}: {err.strerror}") from err
        with source, RowWriter(target) as out:
            for batch in _batches(source, url_field):
                for row in _extract(worker, batch):
                    total += 1
                    if "error" in row:
                        errors[row["error"]["type"]] += 1
                    elif "reason" in row:
                        dropped[row["reason"]] += 1
                    else:
                        kept += 1
                    out.write(row)
    if total and sum(errors.values()) == total:
        raise StageError(
            f"all {total} lines of {os.fspath(in_path)} failed: {dict(sorted(errors.items()))}",
            hint=f"the first lines of {target} say why",
        )
    return {
        "in": total,
        "kept": kept,
        "dropped": dict(sorted(dropped.items())),
        "errors": dict(sorted(errors.items())),
    }


_Line = tuple[dict[str, Any], Request | None]
"""A row without ``html`` and its request; none if the row is an error already."""


def _batches(source: BinaryIO, url_field: str) -> Iterator[list[_Line]]:
    batch: list[_Line] = []
    size = 0
    for number, line in enumerate(source, start=1):
        batch.append(_read_line(line, number, url_field))
        size += len(line)
        if len(batch) >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _read_line(line: bytes, number: int, url_field: str) -> _Line:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as err:
        return _bad_line({}, number, f"no JSON: {err}"), None
    if not isinstance(row, dict):
        return _bad_line({}, number, f"a JSON {type(row).__name__}, not an object"), None
    html = row.pop("html", None)
    if not isinstance(html, str):
        return _bad_line(row, number, "no string in the field 'html'"), None
    head: dict[str, Any] = {"decoded": True}
    if isinstance(row.get(url_field), str):
        head["url"] = row[url_field]
    return row, Request(head, html.encode("utf-8", "surrogatepass"))


def _bad_line(row: dict[str, Any], number: int, message: str) -> dict[str, Any]:
    return {**row, "line": number, "error": {"type": "bad_line", "message": message}}


def _extract(worker: Worker, batch: list[_Line]) -> Iterator[dict[str, Any]]:
    requests = [request for _, request in batch if request is not None]
    answers = iter(worker.run(requests))
    for row, request in batch:
        if request is None:
            yield row
            continue
        answer = next(answers)
        if "error" in answer:
            error = {"type": answer["error"], "message": answer.get("message", "")}
            yield {**row, "text": "", "error": error}
        elif "drop" in answer:
            yield {**row, "text": "", "reason": answer["drop"], "value": answer["value"]}
        else:
            signals = row.get("signals")
            measured = {
                "extract_path": answer["path"],
                "extract_words": answer["words"],
                "extract_all_words": answer["all_words"],
                "extract_fffd": answer["fffd"],
                "html_bytes": answer["html_bytes"],
            }
            if "state" in answer:
                measured["page_state"] = answer["state"]
            if "confidence" in answer:
                measured["extract_confidence"] = answer["confidence"]
                row["page_type"] = answer["page_type"]
            row["text"] = answer["text"]
            row["signals"] = {**(signals if isinstance(signals, dict) else {}), **measured}
            if not answer["text"]:
                row["reason"], row["value"] = "empty_text", 0
            yield row
