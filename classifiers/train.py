"""Trains a fastText quality classifier, and writes what a user must know about it.

The same labels and configuration give the same bytes: one thread, a seed, an order of the rows that
hangs on a keyed hash of their text only. (Checked with and without AVX2 and FMA; another release of
fastText gives another file. Therefore a recipe names the model as an asset, by digest.)

Texts are held out by whole groups, a book or a host, never row by row: rows of one host share a
template, and a model tested on rows of a host that it has seen is tested on its memory.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.places import resolve_path

from .fasttext_models import DISTRIBUTION, fasttext_module, load_model
from .metrics import auc, keep_threshold, precision_recall, reliability
from .quality_text import normalise, scores
from .train_config import TrainConfig, read_config

SCHEMA = "corpusmill/classifier-card/1"
_FIELDS = ("text", "label", "group", "licence", "source")


@dataclass(frozen=True, slots=True)
class LabelledText:
    """One row of a label file."""

    text: str
    label: str
    group: str
    licence: str
    source: str


def read_labels(path: Path) -> list[LabelledText]:
    """The rows of a JSONL file. Raises InputError, naming file and line of a row that is wrong."""
    try:
        raw = path.read_bytes()
        data = gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError) as error:
        raise InputError(f"label file {path.name} cannot be read: {error}") from error
    rows = []
    for number, line in enumerate(data.decode("utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            values = [row[key] for key in _FIELDS]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path.name} line {number}: {error!r}", hint=f"every row needs {list(_FIELDS)}"
            ) from error
        if not all(isinstance(v, str) and v for v in values):
            raise InputError(f"{path.name} line {number}: a field is empty or no string")
        rows.append(LabelledText(*values))
    return rows


def _order(row: LabelledText, seed: int) -> bytes:
    key = seed.to_bytes(8, "little", signed=True)
    return hashlib.blake2b(f"{row.label}\0{row.text}".encode(), digest_size=16, key=key).digest()


def _split(
    rows: list[LabelledText], config: TrainConfig
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Rows to train on and rows held out, in keyed order. Raises ConfigError on a group that does
    not exist, or on a side that lacks a class."""
    groups = {r.group for r in rows}
    for group in config.holdout:
        if group not in groups:
            raise ConfigError(
                f"holdout group {group!r} is in no label file", hint=f"groups: {sorted(groups)}"
            )
    ordered = sorted(rows, key=lambda r: (_order(r, config.seed), r.group))
    held = [r for r in ordered if r.group in config.holdout]
    texts = {normalise(r.text, config.max_chars) for r in held}
    train = [
        r for r in ordered
        if r.group not in config.holdout and normalise(r.text, config.max_chars) not in texts
    ]  # fmt: skip
    for name, side in (("training", train), ("held-out", held)):
        classes = {r.label == config.good for r in side}
        if len(classes) < 2:
            raise ConfigError(
                f"the {name} texts hold one class only: {sorted({r.label for r in side})}"
            )
    return train, held


def _lines(train: list[LabelledText], config: TrainConfig) -> str:
    """fastText's input: one labelled line a text, the smaller class repeated if `balance`."""
    good = [r for r in train if r.label == config.good]
    poor = [r for r in train if r.label != config.good]
    few, many = (good, poor) if len(good) < len(poor) else (poor, good)
    times = max(1, round(len(many) / len(few))) if config.balance else 1
    rows = [(r, n) for r in few for n in range(times)] + [(r, 0) for r in many]
    # Copies of one text lie apart: each has a key of its own.
    rows.sort(key=lambda x: hashlib.blake2b(_order(x[0], config.seed) + bytes([x[1]])).digest())
    return "".join(f"__label__{r.label} {normalise(r.text, config.max_chars)}\n" for r, _ in rows)


def _fit(lines: str, config: TrainConfig, target: Path) -> None:
    """Trains on `lines` and writes the model to `target`."""
    p = config.model
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "train.txt"
        source.write_text(lines, encoding="utf-8", newline="\n")
        model = fasttext_module().train_supervised(
            str(source), dim=p.dim, epoch=p.epoch, lr=p.lr, wordNgrams=p.word_ngrams,
            bucket=p.bucket, minCount=p.min_count, seed=config.seed, thread=1, verbose=0,
        )  # fmt: skip
        if p.quantise:
            model.quantize(qnorm=False, dsub=2)
        partial = target.with_name(target.name + ".partial")
        model.save_model(str(partial))
        os.replace(partial, target)


def _figures(held: list[LabelledText], values: list[float], config: TrainConfig) -> dict[str, Any]:
    good = [r.label == config.good for r in held]
    threshold = keep_threshold(values, config.keep_rate)
    precision, recall, kept = precision_recall(values, good, threshold)
    groups = {}
    for name in sorted(config.holdout):
        mine = [(v, g) for r, v, g in zip(held, values, good, strict=True) if r.group == name]
        groups[name] = {
            "texts": len(mine), "good": sum(g for _, g in mine),
            "mean_score": round(sum(v for v, _ in mine) / len(mine), 4),
            "kept": sum(v >= threshold for v, _ in mine),
        }  # fmt: skip
    return {
        "texts": len(held), "good": sum(good), "auc": auc(values, good),
        "keep_rate": config.keep_rate, "threshold": threshold, "share_kept": kept,
        "precision": precision, "recall": recall,
        "reliability": reliability(values, good), "groups": groups,
    }  # fmt: skip


def train(config: TrainConfig, base: Path, out: Path) -> dict[str, Any]:
    """Trains, judges and writes ``model.ftz`` (or ``.bin``), ``card.json`` and ``CARD.md`` to
    `out`; returns the card. Label files are relative to `base`.

    Raises ConfigError, InputError (a label file) or AssetError (fastText itself).
    """
    rows: list[LabelledText] = []
    data = []
    for name in config.labels:
        path = resolve_path(name, base)
        mine = read_labels(path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        data.append({"file": name, "sha256": digest, "texts": len(mine)})
        rows += mine
    learn, held = _split(rows, config)
    out.mkdir(parents=True, exist_ok=True)
    target = out / ("model.ftz" if config.model.quantise else "model.bin")
    _fit(_lines(learn, config), config, target)
    values = scores(
        load_model(target, config.good), [r.text for r in held], config.good, config.max_chars
    )
    licences: dict[str, int] = {}
    for r in sorted(rows, key=lambda r: r.licence):
        licences[r.licence] = licences.get(r.licence, 0) + 1
    card: dict[str, Any] = {
        "schema": SCHEMA,
        "name": config.name,
        "model": {
            "file": target.name, "size": target.stat().st_size,
            "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
        },
        "label": config.good,
        "languages": list(config.languages),
        "library": {"name": DISTRIBUTION, "version": metadata.version(DISTRIBUTION)},
        "params": asdict(config.model) | {
            "seed": config.seed, "max_chars": config.max_chars, "balance": config.balance,
            "threads": 1,
        },
        "data": data,
        "licences": licences,
        "training": {
            "texts": len(learn), "good": sum(r.label == config.good for r in learn),
            "groups": sorted({r.group for r in learn}),
        },
        "heldout": _figures(held, values, config),
        "known_failures": list(config.known_failures),
    }  # fmt: skip
    text = json.dumps(card, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    (out / "card.json").write_text(text, encoding="utf-8", newline="\n")
    (out / "CARD.md").write_text(_markdown(card), encoding="utf-8", newline="\n")
    return card


def _markdown(card: dict[str, Any]) -> str:
    """The card for readers."""
    h = card["heldout"]
    lines = [
        f"# {card['name']}", "",
        f"fastText classifier, class of good texts `{card['label']}`, languages: "
        f"{', '.join(card['languages']) or 'not stated'}.", "",
        f"- File: `{card['model']['file']}`, {card['model']['size']:,} bytes, "
        f"sha256 `{card['model']['sha256']}`",
        f"- Trained with {card['library']['name']} {card['library']['version']} on "
        f"{card['training']['texts']:,} texts ({card['training']['good']:,} good)",
        "- Licences of the texts: "
        + ", ".join(f"{name} ({n:,})" for name, n in card["licences"].items()),
        "", "## On groups held out", "",
        f"{h['texts']:,} texts, {h['good']:,} good. AUC {h['auc']}. Keeping scores of "
        f"{h['threshold']} and above keeps {h['share_kept']} of them "
        f"(asked: {h['keep_rate']}) with precision {h['precision']} and recall {h['recall']}.", "",
        "| group | texts | good | mean score | kept |", "| --- | --- | --- | --- | --- |",
        *(f"| {n} | {g['texts']} | {g['good']} | {g['mean_score']} | {g['kept']} |"
          for n, g in h["groups"].items()),
        "", "| score | texts | mean score | share good |", "| --- | --- | --- | --- |",
        *(f"| {b['low']} to {b['high']} | {b['count']} | {b['mean_score']} | {b['share_good']} |"
          for b in h["reliability"]),
        "", "## Known failures", "", *(f"- {line}" for line in card["known_failures"]),
        "", "## Data", "",
        *(f"- `{d['file']}`: {d['texts']:,} texts, sha256 `{d['sha256']}`" for d in card["data"]),
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def train_classifier(config: Path, out: Path) -> dict[str, Any]:
    """`train` with the configuration in a YAML file."""
    return train(read_config(config), config.resolve().parent, out)
