"""Evaluation sets, read from a folder into one small schema.

A folder with a ``registry.json`` is read by it::

    {"schema": "corpusmill/benchmarks/1",
     "benchmarks": [{"name": "gsm8k", "version": "test", "licence": "MIT", "source": "…",
                     "notice": "…", "files": ["gsm8k.jsonl"]}]}

``source`` and ``notice`` may be left out. Without a registry every file is taken, by the layout
that its first row shows; the benchmark is named after its folder (or, for several files in a
folder, ``folder.stem``; at the top, the stem), its version is the digest of its file, its licence
NOASSERTION. Layouts: the small schema itself (``id, question, answer?, options?, split?``), GSM8K,
HumanEval, MBPP, MMLU, ARC (as published, and as prompts), HellaSwag, PIQA (with its
``-labels.lst``), WinoGrande prompts, TruthfulQA (CSV). Files may be gzipped. Whatever cannot be
read in full is an AssetError: an item that was skipped would be an item that is never found.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from corpusmill.pipeline.errors import AssetError

SCHEMA: Final = "corpusmill/benchmarks/1"
_IGNORED: Final = ("readme", "licence", "license", "notice", "copying", "sha256sums", ".")


@dataclass(frozen=True, slots=True)
class Item:
    """One question. `options` are the answers to choose from, the right one among them."""

    id: str
    question: str
    answer: str = ""
    options: tuple[str, ...] = ()
    split: str = ""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """An evaluation set. `digest` is the sha256 over the sha256 of its files, in order."""

    name: str
    version: str
    licence: str
    digest: str
    items: tuple[Item, ...]


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
    by_digest: dict[str, str] = {}
    for benchmark in loaded:
        other = by_digest.setdefault(benchmark.digest, benchmark.name)
        if other != benchmark.name:
            raise AssetError(
                f"{root}: {benchmark.name!r} and {other!r} are the same file",
                hint="remove one: its items would be counted twice",
            )


def _registered(registry: Path) -> list[Benchmark]:
    try:
        content = json.loads(registry.read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            raise AssetError(f"{registry}: schema {content['schema']!r}, not {SCHEMA!r}")
        entries = [_entry(entry) for entry in content["benchmarks"]]
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise AssetError(f"{registry}: malformed: {e!r}") from e
    listed = {file for _, files in entries for file in files}
    for path in _files(registry.parent):
        relative = path.relative_to(registry.parent).as_posix()
        if relative not in listed and relative != registry.name:
            raise AssetError(f"{path}: not in {registry.name}", hint="list it there or remove it")
    return [
        _read(
            [registry.parent / file for file in files],
            head["name"], head["version"], head["licence"],
        )
        for head, files in entries
    ]  # fmt: skip


def _entry(entry: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    unknown = set(entry) - {"name", "version", "licence", "source", "notice", "files"}
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)}")
    head = {key: str(entry[key]) for key in ("name", "version", "licence")}
    if not head["name"] or "/" in head["name"] or not entry["files"]:
        raise ValueError(f"benchmark {head['name']!r}: needs a name without / and files")
    return head, [str(file) for file in entry["files"]]


def _discovered(root: Path) -> list[Benchmark]:
    paths = [p for p in _files(root) if not p.name.endswith("-labels.lst")]
    loaded = []
    for path in paths:
        stem = path.name.partition(".")[0]
        if path.parent == root:
            name = stem
        else:
            alone = sum(p.parent == path.parent for p in paths) == 1
            name = path.parent.relative_to(root).as_posix().replace("/", ".")
            name = name if alone else f"{name}.{stem}"
        loaded.append(_read([path], name, "", "NOASSERTION"))
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
    for path in paths:
        try:
            raw = path.read_bytes()
            digest.update(hashlib.sha256(raw).digest())
            content = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
        except (OSError, EOFError, UnicodeDecodeError) as e:
            raise AssetError(f"{path}: unreadable: {e}") from e
        items += _items(path, content)
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise AssetError(f"{paths[0]}: item {item.id!r} is there twice")
        seen.add(item.id)
    hexadecimal = digest.hexdigest()
    return Benchmark(
        name, version or f"sha256:{hexadecimal[:16]}", licence, hexadecimal, tuple(items)
    )


def _items(path: Path, content: str) -> list[Item]:
    rows = _csv(path, content) if ".csv" in path.suffixes else _jsonl(path, content)
    if not rows:
        raise AssetError(f"{path}: holds no item")
    reader = next((read for keys, read in LAYOUTS if keys <= set(rows[0])), None)
    if reader is None:
        raise AssetError(
            f"{path}: unknown layout, its first row has the keys {sorted(rows[0])}",
            hint="write rows with id, question and, where there are, answer and options",
        )
    labels = _labels(path, len(rows))
    items = []
    for number, row in enumerate(rows):
        try:
            item = reader(row if labels is None else {**row, "label": labels[number]}, number)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as e:
            raise AssetError(f"{path}: row {number + 1} is malformed: {e!r}") from e
        if not item.question.strip() or not item.id:
            raise AssetError(f"{path}: row {number + 1} has no question or no id")
        items.append(item)
    return items


def _jsonl(path: Path, content: str) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as e:
            raise AssetError(f"{path}:{number}: not JSON: {e}") from e
        if not isinstance(row, dict):
            raise AssetError(f"{path}:{number}: not an object")
        rows.append(row)
    return rows


def _csv(path: Path, content: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(content, newline="")))
    for number, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise AssetError(f"{path}: row {number} has another number of fields than the head")
    return rows


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


Row = Mapping[str, Any]


def _small(row: Row, number: int) -> Item:
    unknown = set(row) - {"id", "question", "answer", "options", "split"}
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)}")
    return Item(
        str(row["id"]), _text(row["question"]), _text(row.get("answer", "")),
        tuple(_text(o) for o in row.get("options", ())), str(row.get("split", "")),
    )  # fmt: skip


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _gsm8k(row: Row, number: int) -> Item:
    return Item(str(number), _text(row["question"]), _text(row["answer"]))


def _humaneval(row: Row, number: int) -> Item:
    return Item(_text(row["task_id"]), _text(row["prompt"]), _text(row["canonical_solution"]))


def _mbpp(row: Row, number: int) -> Item:
    return Item(str(row["task_id"]), _text(row["text"]), _text(row["code"]))


def _mmlu(row: Row, number: int) -> Item:
    options = tuple(_text(o) for o in row["choices"])
    return Item(str(row["index"]), _text(row["question"]), _text(row["answer"]), options)


def _arc(row: Row, number: int) -> Item:
    choices = {c["label"]: _text(c["text"]) for c in row["question"]["choices"]}
    stem = _text(row["question"]["stem"])
    return Item(str(row["id"]), stem, choices[row["answerKey"]], tuple(choices.values()))


def _prompt(row: Row, number: int) -> Item:
    options = tuple(_text(o) for o in row["choices"])
    question = _text(row["query"]).removeprefix("Question: ")
    return Item(str(number), question, options[row["gold"]], options)


def _hellaswag(row: Row, number: int) -> Item:
    options = tuple(_text(o) for o in row["endings"])
    return Item(str(row["ind"]), _text(row["ctx"]), options[int(row["label"])], options)


def _piqa(row: Row, number: int) -> Item:
    options = (_text(row["sol1"]), _text(row["sol2"]))
    answer = options[row["label"]] if "label" in row else ""
    return Item(str(number), _text(row["goal"]), answer, options)


def _winogrande(row: Row, number: int) -> Item:
    contexts = [_text(c) for c in row["context_options"]]
    return Item(str(number), f"{contexts[row['gold']]} {_text(row['continuation'])}")


def _truthfulqa(row: Row, number: int) -> Item:
    both = (row["Correct Answers"], row["Incorrect Answers"])
    options = tuple(o.strip() for text in both for o in _text(text).split(";") if o.strip())
    return Item(str(number), _text(row["Question"]), _text(row["Best Answer"]), options)


LAYOUTS: Final[tuple[tuple[set[str], Callable[[Row, int], Item]], ...]] = (
    ({"task_id", "prompt", "canonical_solution"}, _humaneval),
    ({"task_id", "text", "code"}, _mbpp),
    ({"index", "question", "choices", "answer"}, _mmlu),
    ({"id", "question", "answerKey"}, _arc),
    ({"query", "choices", "gold"}, _prompt),
    ({"ctx", "endings", "ind"}, _hellaswag),
    ({"goal", "sol1", "sol2"}, _piqa),
    ({"context_options", "continuation", "gold"}, _winogrande),
    ({"Question", "Best Answer", "Correct Answers", "Incorrect Answers"}, _truthfulqa),
    ({"id", "question"}, _small),
    ({"question", "answer"}, _gsm8k),
)
"""Keys that a first row must have, and the reader of such rows. The first that fits is taken."""
