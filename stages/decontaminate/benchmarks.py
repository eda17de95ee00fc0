"""Evaluation sets, read from a folder into one small schema.

A folder with a ``registry.json`` is read by it::

    {"schema": "corpusmill/benchmarks/1",
     "benchmarks": [{"name": "gsm8k", "version": "test", "licence": "MIT", "source": "…",
                     "notice": "…", "files": ["gsm8k.jsonl"]}]}

``source`` and ``notice`` may be left out; of a benchmark with ``"private": true`` reports have ids
and counts, never text. Without a registry every file is taken, by the layout that its first row
shows; the benchmark is named after its folder (or, for several files in a folder,
``folder.stem``; at the top, the stem), its version is the digest of its file, its licence
NOASSERTION. Layouts: the small schema itself (``id, question, answer?, options?, split?``), GSM8K,
HumanEval, MBPP, MMLU, ARC, HellaSwag, PIQA (with its ``-labels.lst`` too), WinoGrande, TruthfulQA,
tasks of BIG-bench; as their authors publish them and as rows of a dataset on a hub. Files: JSON
Lines, lists of rows in JSON, CSV, gzipped or not, Parquet, Arrow (a dataset on disk: its parts are
one benchmark), and task files of lm-evaluation-harness that name data on disk. Whatever cannot be
read in full is an AssetError: an item that was skipped would be an item that is never found.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from corpusmill.pipeline.errors import AssetError

from .benchmark_files import Rows, is_task, rows_of, task_rows
from .layouts import LAYOUTS, Item

SCHEMA: Final = "corpusmill/benchmarks/1"
_IGNORED: Final = (
    "readme", "licence", "license", "notice", "copying", "sha256sums", ".", "dataset_info.json",
    "dataset_infos.json", "dataset_dict.json", "state.json",
)  # fmt: skip
_PART: Final = re.compile(r"-([0-9]{5})-of-([0-9]{5})$")
_KEY: Final = re.compile(r"[\w .()-]{1,40}")
"""What may be the name of a field; what is none may be text of an item."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """An evaluation set. `digest` is the sha256 over the sha256 of its files, in order."""

    name: str
    version: str
    licence: str
    digest: str
    items: tuple[Item, ...]
    private: bool = False
    """Whether no report may show what its items say."""


def shared_items(benchmarks: Sequence[Benchmark]) -> dict[str, dict[str, int]]:
    """By benchmark, and by each other one that has some of its items: how many of them. An item is
    the same if question and answer are, but for case and white space."""
    holders: dict[str, list[str]] = {}
    for benchmark in benchmarks:
        for said in {_said(item) for item in benchmark.items}:
            holders.setdefault(said, []).append(benchmark.name)
    found: dict[str, dict[str, int]] = {}
    for benchmark in benchmarks:
        others = found[benchmark.name] = {}
        for item in benchmark.items:
            for other in holders[_said(item)]:
                if other != benchmark.name:
                    others[other] = others.get(other, 0) + 1
    return found


def _said(item: Item) -> str:
    return "\0".join(" ".join(text.casefold().split()) for text in (item.question, item.answer))


def load(folder: str | Path) -> list[Benchmark]:
    """Every benchmark of `folder`, by name. Raises AssetError for a folder that is missing or
    holds none, and for a file that is malformed, empty, of an unknown layout, or there twice."""
    root = Path(folder)
    if not root.is_dir():
        raise AssetError(f"{root}: no such folder of benchmarks")
    registry = root / "registry.json"
    loaded = _registered(registry) if registry.is_file() else _discovered(root)
    if not loaded:
        raise AssetError(f"{root}: holds no benchmark", hint="put one JSONL file a benchmark there")
    names = [b.name for b in loaded]
    for name in names:
        if names.count(name) > 1:
            raise AssetError(f"{root}: two benchmarks are named {name!r}")
    _refuse_copies(loaded, root)
    return sorted(loaded, key=lambda b: b.name)


def _refuse_copies(loaded: list[Benchmark], root: Path) -> None:
    by_content: dict[str, str] = {}
    for benchmark in loaded:
        said = sorted(map(_said, benchmark.items))
        content = hashlib.sha256("\1".join(said).encode("utf-8", "surrogatepass")).hexdigest()
        other = by_content.setdefault(content, benchmark.name)
        if other != benchmark.name:
            raise AssetError(
                f"{root}: {benchmark.name!r} and {other!r} hold the same items",
                hint="remove one: its items would be counted twice",
            )


def _registered(registry: Path) -> list[Benchmark]:
    try:
        content = json.loads(registry.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            said = content.get("schema") if isinstance(content, dict) else content
            raise AssetError(f"{registry}: schema {said!r}, not {SCHEMA!r}")
        if not isinstance(content.get("benchmarks"), list):
            raise ValueError("it has no list of benchmarks")
        entries = [_entry(entry) for entry in content["benchmarks"]]
    except (OSError, ValueError, TypeError) as e:
        raise AssetError(
            f"{registry}: malformed: {e}",
            hint="an entry has a name, a version, a licence and a list of files",
        ) from e
    listed = {registry.parent / file for _, files in entries for file in files}
    for path in sorted(listed):
        if not path.is_file():
            raise AssetError(f"{path}: named in {registry.name}, but there is no such file")
    listed |= {data for path in sorted(listed) if is_task(path) for data in _data_of(path)}
    for path in _files(registry.parent):
        if path not in listed and path != registry:
            raise AssetError(f"{path}: not in {registry.name}", hint="list it there or remove it")
    return [
        replace(
            _read(
                [registry.parent / file for file in files],
                head["name"], head["version"], head["licence"],
            ),
            private=head["private"] == "True",
        )
        for head, files in entries
    ]  # fmt: skip


def _entry(entry: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    unknown = set(entry) - {"name", "version", "licence", "source", "notice", "files", "private"}
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)}")
    missing = [key for key in ("name", "version", "licence", "files") if key not in entry]
    if missing:
        raise ValueError(f"benchmark {entry.get('name')!r} has no {missing[0]}")
    head = {key: str(entry[key]) for key in ("name", "version", "licence")}
    if not isinstance(entry.get("private", False), bool):
        raise ValueError(f"benchmark {head['name']!r}: private is true or false")
    head["private"] = str(entry.get("private", False))
    if not isinstance(entry["files"], list):
        raise ValueError(f"benchmark {head['name']!r}: files {entry['files']!r} is no list")
    if not head["name"] or "/" in head["name"] or not entry["files"]:
        raise ValueError(f"benchmark {head['name']!r}: needs a name without / and files")
    return head, [str(file) for file in entry["files"]]


def _discovered(root: Path) -> list[Benchmark]:
    paths = [p for p in _files(root) if not p.name.endswith("-labels.lst")]
    data = {place for path in paths if is_task(path) for place in _data_of(path)}
    groups: dict[tuple[Path, str], list[Path]] = {}
    for path in paths:
        if path not in data:
            stem = _PART.sub("", path.name.partition(".")[0])
            key = stem if _PART.search(path.name.partition(".")[0]) else path.name
            groups.setdefault((path.parent, key), []).append(path)
    loaded = []
    for (parent, _), parts in groups.items():
        stem = _PART.sub("", parts[0].name.partition(".")[0])
        if parent == root:
            name = stem
        else:
            alone = sum(p == parent for p, _ in groups) == 1
            name = parent.relative_to(root).as_posix().replace("/", ".")
            name = name if alone else f"{name}.{stem}"
        loaded.append(_read(parts, name, "", "NOASSERTION"))
    return loaded


def _files(root: Path) -> list[Path]:
    return sorted(
        p
        for p in root.rglob("*")
        if p.is_file() and not p.name.lower().startswith(_IGNORED) and p.suffix != ".md"
    )


def _read(paths: list[Path], name: str, version: str, licence: str) -> Benchmark:
    items: list[Item] = []
    digest = hashlib.sha256()
    _refuse_missing_parts(paths)
    for path in paths:
        raw = _bytes(path)
        digest.update(hashlib.sha256(raw).digest())
        if is_task(path):
            places, groups = task_rows(path, raw)
            for place, rows in zip(places, groups, strict=True):
                digest.update(hashlib.sha256(_bytes(place)).digest())
                items += _items(place, rows, len(items))
        else:
            items += _items(path, rows_of(path, raw), len(items))
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise AssetError(f"{paths[0]}: item {item.id!r} is there twice")
        seen.add(item.id)
    hexadecimal = digest.hexdigest()
    return Benchmark(
        name, version or f"sha256:{hexadecimal[:16]}", licence, hexadecimal, tuple(items)
    )


def _refuse_missing_parts(paths: list[Path]) -> None:
    there: dict[tuple[Path, str, int], set[int]] = {}
    for path in paths:
        stem, _, suffix = path.name.partition(".")
        part = _PART.search(stem)
        if part is not None:
            whole = path.parent, f"{stem[: part.start()]}.{suffix}", int(part[2])
            there.setdefault(whole, set()).add(int(part[1]))
    for (folder, name, parts), found in there.items():
        missing = sorted(set(range(parts)) - found)
        if missing:
            raise AssetError(
                f"{folder}: of the {parts} parts of {name!r}, number {missing[0]:05d} is missing",
                hint="put it there: items that are not read are never found",
            )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as e:
        raise AssetError(f"{path}: unreadable: {e}") from e


def _data_of(task: Path) -> list[Path]:
    return task_rows(task, _bytes(task))[0]


def _items(path: Path, rows: Rows, before: int) -> list[Item]:
    """`before`: items of the benchmark in earlier files, for those that are known by their row."""
    if not rows:
        raise AssetError(f"{path}: holds no item", hint="put its rows there, or remove it")
    layout = next((layout for layout in LAYOUTS if layout[0] <= set(rows[0])), None)
    if layout is None:
        named = [k if _KEY.fullmatch(k) else f"({len(k)} characters)" for k in sorted(rows[0])]
        raise AssetError(
            f"{path}: unknown layout, its first row has the keys {named}",
            hint="write rows with id, question and, where there are, answer and options",
        )
    keys, reader = layout
    labels = _labels(path, len(rows))
    items = []
    for number, row in enumerate(rows):
        try:
            row = row if labels is None else {**row, "label": labels[number]}
            item = reader(row, before + number)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as e:
            what = f"there is no {e}" if isinstance(e, KeyError) else str(e)
            raise AssetError(
                f"{path}: row {number + 1} is malformed: {what}",
                hint=f"read by its first row, which has {', '.join(sorted(keys))}",
            ) from e
        if not item.question.strip() or not item.id:
            raise AssetError(f"{path}: row {number + 1} has no question or no id")
        items.append(item)
    return items


def _labels(path: Path, rows: int) -> list[int] | None:
    """The right answers of PIQA, which stand in a file of their own."""
    labels = path.with_name(path.name.partition(".")[0] + "-labels.lst")
    if not labels.is_file():
        return None
    try:
        values = [int(line) for line in labels.read_text(encoding="ascii").split()]
    except (OSError, ValueError) as e:
        raise AssetError(f"{labels}: malformed: {e}") from e
    if len(values) != rows:
        raise AssetError(f"{labels}: {len(values)} labels for {rows} rows")
    return values


__all__ = ["SCHEMA", "Benchmark", "Item", "load", "shared_items"]
