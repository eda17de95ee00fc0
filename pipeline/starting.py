"""`init`: a commented recipe for a folder of one's own, by what lies in it; and `schema`."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .durable import write_atomic
from .errors import ConfigError
from .params import shown
from .recipe import Recipe

_MOST_FILES = 200_000
_TEXT_NAMES = ("text", "raw_content", "content", "body", "document", "markdown")

KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("crawl", "sources.warc", (".warc.gz", ".warc", ".warc.zst", ".arc.gz", ".arc")),
    ("wet", "sources.wet", (".wet.gz", ".wet")),
    ("pages", "sources.html", (".html", ".htm", ".xhtml")),
    ("rows", "sources.jsonl", (".jsonl", ".jsonl.gz", ".jsonl.zst", ".json.gz", ".ndjson")),
    ("table", "sources.parquet", (".parquet",)),
    ("dataset", "sources.arrow", (".arrow",)),
)
"""Name of the source, its stage, and how the names of its files end."""


@dataclass(frozen=True, slots=True)
class Found:
    """The files of one kind in a folder."""

    name: str
    stage: str
    patterns: tuple[str, ...]
    files: int
    bytes: int
    params: dict[str, Any]


def look(folder: Path) -> tuple[list[Found], list[ConfigError]]:
    """What can be read in `folder` and below, and why other files of known kinds cannot. Raises
    ConfigError if it is no folder or nothing can be read."""
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder")
    sizes: dict[str, dict[str, list[int]]] = {}
    example: dict[str, Path] = {}
    for path in _files(folder):
        match = _kind(path.name)
        if match is None:
            continue
        name, suffix = match
        sizes.setdefault(name, {}).setdefault(suffix, []).append(path.stat().st_size)
        example.setdefault(name, path)
    found: list[Found] = []
    left_out: list[ConfigError] = []
    for name, stage, _ in KINDS:
        if name not in sizes:
            continue
        head = "data-*" if name == "dataset" else "*"
        try:
            params = _params(stage, example[name])
        except ConfigError as error:
            left_out.append(error)
            continue
        every = [size for of_suffix in sizes[name].values() for size in of_suffix]
        found.append(
            Found(
                name, stage, tuple(f"**/{head}{suffix}" for suffix in sorted(sizes[name])),
                len(every), sum(every), params,
            )
        )  # fmt: skip
    if not found and left_out:
        raise left_out[0]
    if not found:
        raise ConfigError(
            f"nothing in {folder} can be read",
            hint="files are known by their ends: " + " ".join(k[2][0] for k in KINDS),
        )
    return found, left_out


def _files(folder: Path) -> Iterator[Path]:
    """Files in a fixed order: those that ``**/*`` matches."""
    count = 0
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place) / name
            if path.is_file():
                yield path
                count += 1
                if count >= _MOST_FILES:
                    return


def _kind(name: str) -> tuple[str, str] | None:
    for kind, _, suffixes in KINDS:
        for suffix in sorted(suffixes, key=len, reverse=True):
            if name.endswith(suffix) and (kind != "dataset" or name.startswith("data-")):
                return kind, suffix
    return None


def _params(stage: str, example: Path) -> dict[str, Any]:
    """Parameters that the example asks for: the name of the text's column."""
    if stage == "sources.parquet":
        import pyarrow.parquet as pq

        columns = _strings(pq.read_schema(example))
    elif stage == "sources.arrow":
        import pyarrow as pa

        with pa.memory_map(str(example)) as source:
            footed = source.read(6) == b"ARROW1"
            source.seek(0)
            reader = pa.ipc.open_file(source) if footed else pa.ipc.open_stream(source)
            columns = _strings(reader.schema)
    elif stage == "sources.jsonl":
        return _fields(example)
    else:
        return {}
    known = [name for name in _TEXT_NAMES if name in columns]
    if not known:
        raise ConfigError(
            f"no column of {example} looks like the text",
            hint=f"its columns of text are {', '.join(columns) or '(none)'}: set text_column",
        )
    return {} if known[0] == "text" else {"text_column": known[0]}


def _strings(schema: Any) -> list[str]:
    return [f.name for f in schema if str(f.type) in ("string", "large_string", "string_view")]


def _fields(example: Path) -> dict[str, Any]:
    from .document import Document
    from .registry import build
    from .stage import InputFile

    file = InputFile("rows", str(example), example.name, example.stat().st_size)
    made = build("sources.jsonl", {"text_fields": list(_TEXT_NAMES)}, "init")
    record = next(iter(made.read(file)), None)
    if record is not None and isinstance(record.outcome, Document):
        plain = next(iter(build("sources.jsonl", {}, "init").read(file)), None)
        if plain is not None and isinstance(plain.outcome, Document):
            return {}
        return {"text_fields": list(_TEXT_NAMES)}
    raise ConfigError(
        f"the first row of {example} has no text that is known",
        hint=f"looked for {', '.join(_TEXT_NAMES)}: write text_fields: [NAME] yourself",
    )


_SOURCE = """\
  - name: {name}                    # enters every document's id
    stage: {stage}                  # {files} files, {bytes} bytes
    root: {root}
    paths: {paths}
    licence: NOASSERTION            # an SPDX expression, if you know it: CC-BY-4.0
"""

_RECIPE = """\
# What becomes of the files in {folder}. corpusmill validate {path} checks it.
schema: corpusmill/recipe/1
name: {name}
version: "1"
seed: 1                             # keys every selection

sources:
{sources}
steps:
  - filters.url                     # words and lists of domains; block: [FILE] for your own list
{extract}  - dedup.exact: {{as: same_url, by: url, keep: newest}}
  - dedup.exact: {{as: same_text, by: content}}
  - measure.language
  # Which languages stay; without `keep` all that are told with some certainty.
  - filters.language: {{as: language_score, min_score: 0.5}}
  - measure.gopher
  - measure.repetition
  - measure.c4
  - filters.gopher_quality: {{min_alpha_words: 0.6}}   # .6 is milder than the paper's .8
  - filters.gopher_repetition
  - filters.c4: {{as: c4_rules, curly_bracket: false, min_sentences: 3}}
  - dedup.minhash                   # near-duplicates, every pair verified
  # - decontaminate.ngram: {{benchmarks: FOLDER}}       # your evaluation sets
  - clean.pii                       # e-mail, telephone numbers, cards … become tags
  - measure.split: {{heldout: "0.01"}}

# Token shards: take the marks away when the documents are as you want them.
# tokenizer: {{stage: tokenizers.bpe, vocab_size: 32768}}
# mix: {{}}
# shards: {{}}

execution: {{task_bytes: 67108864, partitions: 16}}     # changes no result
"""


def recipe_for(folder: Path, path: Path, found: list[Found], name: str) -> str:
    """The text of a recipe that is to lie at `path`."""
    root = os.path.relpath(folder.resolve(), path.parent.resolve())
    sources = "".join(
        _SOURCE.format(
            name=f.name, stage=f.stage, files=f.files, bytes=f.bytes, root=json.dumps(root),
            paths=json.dumps(list(f.patterns)),
        )
        + (f"    params: {json.dumps(f.params)}\n" if f.params else "")
        for f in found
    )  # fmt: skip
    pages = any(f.stage in ("sources.warc", "sources.html") for f in found)
    extract = "  - extract.tiers: {tier: own}  # or fast, default, quality\n" if pages else ""
    return _RECIPE.format(
        folder=shown(str(folder)), path=path.name, name=name, sources=sources, extract=extract
    )


def new_recipe(path: Path) -> Path:
    """`path`, where no file is yet. Raises ConfigError if there is one."""
    if path.exists():
        raise ConfigError(f"{path} exists already", hint="another name with --out")
    return path


def name_from(words: str, otherwise: str) -> str:
    """The name of a recipe, made of the name of a folder or file."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in words.lower())
    return plain.strip("-")[:60] or otherwise


def init(options: Namespace) -> int:
    """The verb ``init FOLDER``."""
    folder, path = Path(options.folder), new_recipe(Path(options.out))
    found, left_out = look(folder)
    text = recipe_for(folder, path, found, name_from(folder.resolve().name, "corpus"))
    Recipe.parse(text, path.parent.resolve(), place=str(path))  # what is written is right
    write_atomic(path, text.encode())
    for f in found:
        print(f"{f.stage:<16} {f.files} files, {f.bytes} bytes")
    for error in left_out:
        print(f"left out: {error.message}")
    print(f"\n{path} is written. Next:")
    print(f"  corpusmill run {path} --out runs/first --sample 1000")
    print("  corpusmill report runs/first --html")
    return 0


def schema(options: Namespace) -> int:
    """The verb ``schema``."""
    from .recipe_schema import recipe_schema

    print(json.dumps(recipe_schema(), ensure_ascii=False, indent=None if options.json else 1))
    return 0


VERBS = {"init": init, "schema": schema}
