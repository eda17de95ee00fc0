"""The files in which evaluation sets lie: rows out of JSON, JSON Lines, CSV, Parquet and Arrow."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from corpusmill.pipeline.errors import AssetError

Rows = list[dict[str, Any]]

TABLES: Final = (".parquet", ".arrow")
_TEMPLATE: Final = re.compile(r"\{\{-?\s*(?:doc\.)?([A-Za-z_][A-Za-z0-9_]*)\s*-?\}\}")


def rows_of(path: Path, raw: bytes) -> Rows:
    """The rows of a file with the content `raw`. Raises AssetError for one that is not whole."""
    try:
        raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as e:
        raise AssetError(f"{path}: unreadable: {e}", hint="fetch it again") from e
    if path.suffix in TABLES:
        return _table(path, raw)
    try:
        content = raw.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = raw.count(b"\n", 0, e.start) + 1
        raise AssetError(
            f"{path}:{line}: unreadable: the byte {raw[e.start]:#04x} is not UTF-8",
            hint="save the file as UTF-8, or remove it where it is no benchmark",
        ) from e
    if ".csv" in path.suffixes:
        return _csv(path, content)
    if ".json" in path.suffixes:
        return _json(path, content)
    return _jsonl(path, content)


def _table(path: Path, raw: bytes) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.suffix == ".parquet":
            return list(pq.read_table(io.BytesIO(raw)).to_pylist())
        try:
            return list(pa.ipc.open_stream(raw).read_all().to_pylist())
        except pa.ArrowInvalid:
            return list(pa.ipc.open_file(raw).read_all().to_pylist())
    except (pa.ArrowException, OSError) as e:
        raise AssetError(f"{path}: unreadable: {e}") from e


def _json(path: Path, content: str) -> Rows:
    """A list of rows, or a task of BIG-bench with its ``examples``, or JSON Lines after all."""
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError) as e:
        if _begins_with_a_row(content):
            return _jsonl(path, content)
        line = e.lineno if isinstance(e, json.JSONDecodeError) else 1
        raise AssetError(f"{path}:{line}: not JSON: {e}") from e
    rows = whole.get("examples", [whole]) if isinstance(whole, dict) else whole
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise AssetError(f"{path}: holds no list of rows", hint="or put one row a line")
    return rows


def _begins_with_a_row(content: str) -> bool:
    try:
        return isinstance(json.loads(content.lstrip().partition("\n")[0]), dict)
    except (ValueError, RecursionError):
        return False


def _jsonl(path: Path, content: str) -> Rows:
    rows = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as e:
            raise AssetError(f"{path}:{number}: not JSON: {e}") from e
        if not isinstance(row, dict):
            raise AssetError(f"{path}:{number}: not an object")
        rows.append(row)
    return rows


def _csv(path: Path, content: str) -> Rows:
    """Rows by the names in the first one; or MMLU as its authors have it, which has none:
    question, four options, and the letter of the right one."""
    try:
        lines = [line for line in csv.reader(io.StringIO(content, newline="")) if line]
        rows: Rows = list(csv.DictReader(io.StringIO(content, newline="")))
    except csv.Error as e:
        raise AssetError(f"{path}: no CSV: {e}") from e
    if all(len(line) == 6 and line[5] in ("A", "B", "C", "D") for line in lines):
        return [
            {"question": line[0], "choices": line[1:5], "answer": "ABCD".index(line[5])}
            for line in lines
        ]
    for number, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise AssetError(f"{path}: row {number} has another number of fields than the head")
    return rows


def is_task(path: Path) -> bool:
    """Is `path` a task file of lm-evaluation-harness?"""
    return path.suffix in (".yaml", ".yml")


def task_rows(path: Path, raw: bytes) -> tuple[list[Path], list[Rows]]:
    """Of a task file of lm-evaluation-harness whose data lie on disk (``dataset_kwargs:
    data_files``): these files, and their rows in the small schema, made by ``doc_to_text``,
    ``doc_to_target`` and ``doc_to_choice``, which name a field or fill ``{{fields}}`` in.

    Raises AssetError for a task whose data lie elsewhere, or that needs code to be read.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: None)
    try:
        task = yaml.load(raw, Loader)  # a SafeLoader, which makes plain values only
        named = (task.get("dataset_kwargs") or {}).get("data_files")
    except (yaml.YAMLError, AttributeError, UnicodeDecodeError, RecursionError) as e:
        raise AssetError(f"{path}: no task file: {e}") from e
    groups = named.values() if isinstance(named, dict) else [named]
    files = [f for group in groups for f in (group if isinstance(group, list) else [group]) if f]
    if not files:
        raise AssetError(
            f"{path}: its data are not on disk",
            hint="a task with dataset_kwargs: {data_files: …}, or put the data here themselves",
        )
    found, places = [], []
    for name in files:
        place = path.parent / str(name)
        try:
            rows = rows_of(place, place.read_bytes())
        except OSError as e:
            raise AssetError(f"{place}: named in {path.name}, but unreadable: {e}") from e
        places.append(place)
        found.append([_filled(path, task, row) for row in rows])
    return places, found


def _filled(path: Path, task: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    said = task.get("doc_to_text")
    if (
        isinstance(said, str) and "}}" in said and "{%" not in said
    ):  # the rest is the prompt's, like "Answer:"
        said = said[max(0, said.find("{{")) : said.rfind("}}") + 2]
    question = _value(path, said, row)
    target = _value(path, task.get("doc_to_target"), row) if task.get("doc_to_target") else ""
    choices = _value(path, task["doc_to_choice"], row) if task.get("doc_to_choice") else []
    if isinstance(choices, str) or not all(isinstance(c, str) for c in choices):
        raise AssetError(f"{path}: doc_to_choice gives no list of texts")
    if choices and str(target).isdigit() and int(target) < len(choices):
        target = choices[int(target)]
    return {"question": str(question), "answer": str(target), "options": list(choices)}


def _value(path: Path, said: Any, row: Mapping[str, Any]) -> Any:
    if isinstance(said, list):
        return said
    if not isinstance(said, str):
        raise AssetError(f"{path}: a field is made by code", hint="write rows of the small schema")
    if said in row:
        return row[said]
    whole = _TEMPLATE.fullmatch(said.strip())
    if whole and whole[1] in row:
        return row[whole[1]]
    filled = _TEMPLATE.sub(lambda m: str(row.get(m[1], m[0])), said)
    if "{{" in filled or "{%" in filled:
        raise AssetError(
            f"{path}: the template {said!r} has more than fields in it",
            hint="write rows of the small schema",
        )
    return filled
