"""Trains a quality classifier, fastText or linear, and writes what a user must know about it.

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
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.places import resolve_path

from .baselines import ablation
from .card_text import as_markdown
from .fasttext_models import DISTRIBUTION, fasttext_module, load_model
from .linear_model import LinearModel, calibrated, calibration, fit_linear
from .metrics import auc, calibration_error, keep_threshold, precision_recall, reliability
from .quality_text import normalise, scores
from .telling_words import telling_words
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
    language: str = ""
    url: str = ""
    """These two of the fields `language` and `url`, where the row has them."""


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
            more = {key: row[key] for key in ("language", "url") if key in row}
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path.name} line {number}: {error!r}", hint=f"every row needs {list(_FIELDS)}"
            ) from error
        if not all(isinstance(v, str) and v for v in (*values, *more.values())):
            raise InputError(f"{path.name} line {number}: a field is empty or no string")
        rows.append(LabelledText(*values, **more))
    return rows


def read_label_files(
    names: Sequence[str], base: Path
) -> tuple[list[LabelledText], list[dict[str, Any]]]:
    """The rows of label files relative to `base`, and what a card says of each file."""
    rows: list[LabelledText] = []
    data = []
    for name in names:
        path = resolve_path(name, base)
        mine = read_labels(path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        data.append({"file": name, "sha256": digest, "texts": len(mine)})
        rows += mine
    return rows, data


def licences_of(rows: Iterable[LabelledText]) -> dict[str, int]:
    """How many of the rows have each licence."""
    return dict(sorted(Counter(r.licence for r in rows).items()))


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


FOLDS = 5
"""Parts of the training groups, each scored by a linear model of the others, for calibration."""


def _fit_linear(learn: list[LabelledText], config: TrainConfig, target: Path) -> LinearModel:
    """Trains a linear model, calibrates it on groups that the model of their fold has not seen,
    and writes it to `target`."""

    def fitted(rows: list[LabelledText]) -> LinearModel:
        lines = [line.split(" ", 1) for line in _lines(rows, config).splitlines()]
        good = [label == f"__label__{config.good}" for label, _ in lines]
        texts = [text for _, text in lines]
        return fit_linear(texts, good, config.good, config.linear, config.seed)

    logits: list[float] = []
    good: list[bool] = []
    groups = sorted({r.group for r in learn})
    for fold in range(FOLDS):
        aside = set(groups[fold::FOLDS])
        rest = [r for r in learn if r.group not in aside]
        if len({r.label == config.good for r in rest}) < 2:
            continue
        mine = [r for r in learn if r.group in aside]
        found = fitted(rest).logits([normalise(r.text, config.max_chars) for r in mine])
        for row, logit in zip(mine, found, strict=True):
            if logit is not None:
                logits.append(logit)
                good.append(row.label == config.good)
    model = calibrated(fitted(learn), *calibration(logits, good))
    partial = target.with_name(target.name + ".partial")
    partial.write_bytes(model.to_bytes())
    os.replace(partial, target)
    return model


def _by_language(
    held: list[LabelledText], values: list[float], config: TrainConfig
) -> dict[str, dict[str, Any]]:
    """Texts, good ones and the threshold of `keep_rate`, by the rows' language."""
    made: dict[str, dict[str, Any]] = {}
    for name in sorted({r.language for r in held} - {""}):
        mine = [(v, r.label == config.good) for r, v in zip(held, values, strict=True)
                if r.language == name]  # fmt: skip
        made[name] = {
            "texts": len(mine), "good": sum(g for _, g in mine),
            "threshold": keep_threshold([v for v, _ in mine], config.keep_rate),
        }  # fmt: skip
    return made


def _figures(
    held: list[LabelledText], values: list[float], learn: list[LabelledText], config: TrainConfig
) -> dict[str, Any]:
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
        "reliability": reliability(values, good),
        "calibration_error": calibration_error(values, good), "groups": groups,
        "languages": _by_language(held, values, config),
        "ablation": ablation(
            values,
            [(r.text, r.source, r.label == config.good) for r in held],
            [(r.text, r.source, r.label == config.good) for r in learn],
        ),
    }  # fmt: skip


def train(config: TrainConfig, base: Path, out: Path) -> dict[str, Any]:
    """Trains, judges and writes ``model.ftz`` (``.bin``, ``.lin``), ``card.json`` and ``CARD.md``
    to `out`; returns the card. Label files are relative to `base`.

    Raises ConfigError, InputError (a label file) or AssetError (fastText itself).
    """
    rows, data = read_label_files(config.labels, base)
    learn, held = _split(rows, config)
    out.mkdir(parents=True, exist_ok=True)
    if config.kind == "linear":
        target = out / "model.lin"
        linear = _fit_linear(learn, config, target)
        library, hyper = "numpy", asdict(config.linear)
    else:
        target = out / ("model.ftz" if config.model.quantise else "model.bin")
        _fit(_lines(learn, config), config, target)
        model = load_model(target, config.good)
        library, hyper = DISTRIBUTION, asdict(config.model)

    def score(texts: Sequence[str]) -> list[float]:
        if config.kind == "linear":
            return linear.scores(texts, config.max_chars)
        return scores(model, texts, config.good, config.max_chars)

    lines = [normalise(r.text, config.max_chars) for r in learn]
    card: dict[str, Any] = {
        "schema": SCHEMA,
        "name": config.name,
        "model": {
            "file": target.name, "size": target.stat().st_size,
            "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
        },
        "label": config.good,
        "languages": list(config.languages),
        "kind": config.kind,
        "library": {"name": library, "version": metadata.version(library)},
        "params": hyper | {
            "seed": config.seed, "max_chars": config.max_chars, "balance": config.balance,
            "threads": 1,
        },
        "data": data,
        "licences": licences_of(rows),
        "training": {
            "texts": len(learn), "good": sum(r.label == config.good for r in learn),
            "groups": sorted({r.group for r in learn}),
        },
        "heldout": _figures(held, score([r.text for r in held]), learn, config),
        "telling_words": telling_words(score, lines),
        "known_failures": list(config.known_failures),
    }  # fmt: skip
    text = json.dumps(card, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    (out / "card.json").write_text(text, encoding="utf-8", newline="\n")
    (out / "CARD.md").write_text(as_markdown(card), encoding="utf-8", newline="\n")
    return card


def train_classifier(config: Path, out: Path) -> dict[str, Any]:
    """`train` with the configuration in a YAML file."""
    return train(read_config(config, TrainConfig), config.resolve().parent, out)
