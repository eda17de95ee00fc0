"""`tokenizer train`, `cut`, `ranks`, `pairs`, `audit` and `compare`: tokenizers without a run."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .context import MemoryContext, hash_of_ids
from .document import document_id
from .errors import ConfigError
from .listing import list_files
from .params import decode_dataclass, shown
from .registry import build, room_module
from .stage import Sink
from .strict_yaml import read_yaml

SCHEMA = "corpusmill/tokenizer-config/1"
COMPARED = (
    "vocabulary", "unreachable", "never_produced", "rare", "of_one_text", "partial_utf8",
    "lossy_texts", "renyi_efficiency",
)  # fmt: skip
"""Figures that `compare` shows; `audit` shows all."""


@dataclass(frozen=True)
class Config:
    """What to train, and on which files (``.txt``, ``.jsonl``, ``.parquet``), by source."""

    schema: str
    inputs: Mapping[str, tuple[str, ...]]
    """Patterns of files below `root`, by the name of their source."""
    tokenizer: Mapping[str, Any]
    """``stage`` and its parameters, as in a recipe."""
    root: str = "."
    seed: int = 1
    columns: tuple[str, ...] = field(default_factory=tuple)
    """Columns besides ``text`` that the sample's domains match on."""


def train(config: Path, out: Path) -> dict[str, Any]:
    """Trains the tokenizer that a config file describes and writes its folder `out`. What a run
    would do, on files: the same sample by keyed hashes of the documents' ids. Returns its card."""
    if out.exists() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty", hint="name a new folder")
    made, sink = read_config(config)
    root = config.parent / made.root
    context = MemoryContext(out.parent / f".{out.name}.tmp", seed=made.seed)
    context.scratch.mkdir(parents=True, exist_ok=True)
    for name, patterns in made.inputs.items():
        for pattern in patterns:
            _read(context, root, name, pattern, made.columns)
    sink.setup()
    context.run_phases(sink)
    out.mkdir(parents=True, exist_ok=True)
    for name, path in context.files("tokenizer/").items():
        path.replace(out / name.split("/")[-1])
    for folder in (context.scratch / "tokenizer", context.scratch):
        folder.rmdir()
    card: dict[str, Any] = json.loads((out / "card.json").read_bytes())
    return card


def read_config(config: Path) -> tuple[Config, Sink]:
    """A config file, and the stage that it names. Raises ConfigError where anything is unknown."""
    try:
        text = config.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {config}: {error}") from None
    made = decode_dataclass(Config, read_yaml(text, str(config)), str(config))
    if made.schema != SCHEMA:
        raise ConfigError(f"{config}: schema {shown(made.schema)} is unknown, known: {SCHEMA}")
    params = {k: v for k, v in made.tokenizer.items() if k != "stage"}
    if "stage" not in made.tokenizer:
        raise ConfigError(f"{config}: tokenizer has no stage", hint="tokenizers.bpe")
    sink = build(str(made.tokenizer["stage"]), params, f"{config}: tokenizer")
    if not isinstance(sink, Sink):
        raise ConfigError(f"{config}: {made.tokenizer['stage']} trains no tokenizer")
    return made, sink


def _read(
    context: MemoryContext, root: Path, source: str, pattern: str, columns: tuple[str, ...]
) -> None:
    """The files of one pattern as rows of table ``docs``."""
    import pyarrow as pa

    found = list_files(root, pattern)
    if not found:
        raise ConfigError(f"nothing matches {shown(pattern)} in {root}")
    rows_of = room_module("tokenizers.checkup").rows_of
    for name, size, _ in found:
        rows = list(rows_of(root / name))
        ids = [document_id(source, name, size, i) for i in range(len(rows))]
        table = {
            "id": pa.array(ids, pa.string()),
            "source": pa.array([source] * len(rows), pa.string()),
            "text": pa.array([str(r["text"]) for r in rows], pa.large_string()),
        }
        for column in columns:
            values = [None if r.get(column) is None else str(r[column]) for r in rows]
            table[column] = pa.array(values, pa.string())
        context.write("docs", pa.table(table), hash_of_ids(ids))


def audit_lines(found: Any) -> Iterator[str]:
    """A checkup for people."""
    from .report import table

    for name, value in found.figures.items():
        yield f"{name.replace('_', ' '):<22} {_in_words(value)}"
    yield ""
    keys = ["texts", "bytes", "tokens", "bytes_per_token", "tokens_per_word"]
    yield from table(
        ["group", *keys], [[n, *(g[k] for k in keys)] for n, g in found.groups.items()]
    )
    for name, examples in found.examples.items():
        if examples:
            yield f"{name.replace('_', ' ')}: {'  '.join(examples)}"
    yield ""
    for fault in found.faults:
        yield f"FAULT  {fault}"
    if not found.faults:
        yield "nothing is wrong with it on these texts"


def audits_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Several checkups side by side, whole, and what is wrong with each."""
    figures = dict.fromkeys(key for one in found.values() for key in one.figures)
    yield from compare_lines(found, tuple(figures))
    yield ""
    for name, one in found.items():
        for fault in one.faults:
            yield f"FAULT  {name}: {fault}"


def compare_lines(found: Mapping[str, Any], figures: Sequence[str] = COMPARED) -> Iterator[str]:
    """Several checkups side by side."""
    from .report import table

    names = list(found)
    groups = list(next(iter(found.values())).groups)
    rows = []
    for group in groups:
        values = [found[n].groups[group]["bytes_per_token"] for n in names]
        rows.append([f"bytes/token {group}", *values])
    for key in figures:
        cells = (_in_words(found[n].figures.get(key, "-")) for n in names)
        rows.append([key.replace("_", " "), *cells])
    rows.append(["faults", *(str(len(found[n].faults)) for n in names)])
    yield from table(["", *names], rows)


def _in_words(figure: Any) -> str:
    if isinstance(figure, dict):
        return ", ".join(f"{n}: {v}" for n, v in figure.items())
    return str(figure)


def tokenizer(options: Namespace) -> int:
    from .verbs import show_json, show_lines

    if options.what == "train":
        if len(options.things) != 1 or options.out is None:
            raise ConfigError("tokenizer train needs CONFIG and --out DIR")
        card = train(Path(options.things[0]), Path(options.out))
        if options.json:
            show_json(card)
        else:
            print(f"{options.out}: {card['vocab_size']} tokens, {card['digest'][:16]}")
        return 0
    if options.what in ("cut", "ranks"):
        return _derive(options)
    if options.what == "pairs":
        return _pairs(options)
    if not options.texts:
        raise ConfigError("texts are needed to look with", hint="--texts FILE, several times")
    if not options.things:
        raise ConfigError("which tokenizer?", hint="its folder, or a tokenizer.json")
    checkup = room_module("tokenizers.checkup")
    groups = checkup.read_groups([Path(p) for p in options.texts], options.by)
    found = {t: checkup.check(checkup.open_any(Path(t)), groups) for t in options.things}
    if options.json:
        show_json({name: vars(one) for name, one in found.items()})
    elif options.what == "audit" and len(found) == 1:
        show_lines(audit_lines(next(iter(found.values()))))
    elif options.what == "audit":
        show_lines(audits_lines(found))
    else:
        show_lines(compare_lines(found))
    if options.plot:
        _plot(found, Path(options.plot))
    return 1 if options.what == "audit" and any(f.faults for f in found.values()) else 0


def _derive(options: Namespace) -> int:
    """`tokenizer cut` and `tokenizer ranks`."""
    from .verbs import show_json

    if len(options.things) != 1 or options.out is None:
        raise ConfigError(f"tokenizer {options.what} needs TOKENIZER and --out DIR")
    derived = room_module("tokenizers.derived")
    folder, out = Path(options.things[0]), Path(options.out)
    if options.what == "ranks":
        made = derived.write_ranks(folder, out)
    elif options.size is None:
        raise ConfigError("tokenizer cut needs a size", hint="--size 32768")
    else:
        made = derived.cut(folder, options.size, out)
    if options.json:
        show_json(made)
    else:
        print(f"{out}: {', '.join(sorted(p.name for p in out.iterdir()))}")
    return 0


def _pairs(options: Namespace) -> int:
    """`tokenizer pairs`."""
    from .verbs import show_json

    if len(options.things) != 1 or options.out is None:
        raise ConfigError("tokenizer pairs needs TOKENIZER and --out FILE.parquet")
    pairs = room_module("tokenizers.pairs")
    made = pairs.write_pairs(Path(options.things[0]), Path(options.out))
    if options.json:
        show_json(made)
        return 0
    how = "all pairs" if made["exact"] else f"estimated from {made['tried']} second tokens"
    print(f"{options.out}: {100 * float(made['share']):.2f} % can never follow each other ({how})")
    return 0


def _plot(found: Mapping[str, Any], path: Path) -> None:
    """Bytes per token of every tokenizer and group, as bars in a page."""
    from .durable import write_atomic
    from .plots import bars

    rows = [
        (f"{group} {name}", float(figures["bytes_per_token"]), figures["bytes_per_token"])
        for group in next(iter(found.values())).groups
        for name, one in found.items()
        for figures in (one.groups[group],)
    ]
    text = bars(rows, "bytes per token")
    page = f'<!doctype html><meta charset="utf-8"><title>tokenizers</title>{text}\n'
    write_atomic(path, page.encode())


VERBS = {"tokenizer": tokenizer}
