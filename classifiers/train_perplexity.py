"""Trains a perplexity model and writes what a user must know about it.

The same texts and configuration give the same bytes: pieces by sentencepiece in one thread on
lines in sorted order, then counts, which no order changes.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import numpy as np

from corpusmill.pipeline.errors import ConfigError

from .metrics import auc
from .ngram_model import fit_ngrams
from .perplexity import Judge, load_judge
from .perplexity_text import MAX_CHARS, cutter, plain_lines
from .train import LabelledText, licences_of, read_label_files
from .train_config import read_config

SCHEMA = "corpusmill/perplexity-card/1"


@dataclass(frozen=True, slots=True)
class PerplexityConfig:
    """A training run.

    `labels`: label files as for a quality classifier; the texts labelled `good` are trained on,
    except those of the groups in `holdout`, on which the model is judged. `reference`: label files
    whose texts, of any label, stand for the web: the cutoffs are the terciles of those not
    trained on; none: the model has no buckets. `pieces`: sentencepiece vocabulary (CCNet: 65,536,
    trained on gigabytes; a small text wants a small one). `order` as in CCNet. `prune`: n-grams of
    three pieces or more seen at most so often are left out.
    """

    name: str
    language: str
    labels: tuple[str, ...]
    holdout: tuple[str, ...]
    good: str = "high"
    reference: tuple[str, ...] = ()
    pieces: int = 8_000
    piece_model: Literal["bpe", "unigram"] = "unigram"
    order: int = 5
    prune: int = 0
    max_chars: int = MAX_CHARS
    known_failures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.labels or not self.holdout:
            raise ConfigError(
                "labels or holdout is empty", hint="a model needs texts held out to be judged"
            )
        if not 2 <= self.order <= 8:
            raise ConfigError(f"order is {self.order}", hint="give 2 to 8")
        if not 300 <= self.pieces < 1 << 16 or self.prune < 0:
            raise ConfigError(f"pieces is {self.pieces}, prune {self.prune}",
                              hint="give 300 to 65,535 pieces; prune is 0 or more")  # fmt: skip


def _fit(texts: list[str], config: PerplexityConfig) -> tuple[bytes, int]:
    """The sentencepiece model and the number of its pieces."""
    from corpusmill.tokenizers.spm import SpmParams, train_spm

    lines = sorted({line for text in texts for line in plain_lines(text, config.max_chars)})
    params = SpmParams(
        vocab_size=config.pieces, model_type=config.piece_model, newline_runs=(1,), space_runs=(),
        allow_smaller=True,
    )  # fmt: skip
    raw = train_spm(lines, params)
    return raw, cutter(raw).vocabulary


def _cutoffs(judge: Judge, texts: list[str], config: PerplexityConfig) -> list[float]:
    values = sorted(v for v in judge.perplexities(texts, config.max_chars) if v is not None)
    if len(values) < 3:
        raise ConfigError("reference has fewer than 3 texts to be judged")
    return [values[len(values) // 3], values[2 * len(values) // 3]]


def train_perplexity(config: PerplexityConfig, base: Path, out: Path) -> dict[str, Any]:
    """Trains, judges and writes ``model.ngram`` and ``card.json`` to `out`; returns the card.

    Raises ConfigError, InputError (a label file) or StageError (sentencepiece gave up).
    """
    rows, data = read_label_files(config.labels, base)
    reference, reference_data = read_label_files(config.reference, base)
    groups = {r.group for r in rows}
    for group in config.holdout:
        if group not in groups:
            raise ConfigError(
                f"holdout group {group!r} is in no label file", hint=f"groups: {sorted(groups)}"
            )
    held = [r for r in rows if r.group in config.holdout]
    seen = {r.text for r in held}
    learn = sorted({
        r.text for r in rows
        if r.label == config.good and r.group not in config.holdout and r.text not in seen
    })  # fmt: skip
    good = [r for r in held if r.label == config.good]
    if not learn or not good:
        raise ConfigError(f"no text labelled {config.good!r} is left to train on, or to judge with")
    raw, vocabulary = _fit(learn, config)
    cut = cutter(raw)
    lines = [line for text in learn for line in plain_lines(text, config.max_chars)]
    pieces = [row.astype(np.int64) for row in cut.cut(lines)]
    head: dict[str, Any] = {"language": config.language, "name": config.name}
    model = fit_ngrams(pieces, vocabulary, config.order, config.prune, head, raw)
    out.mkdir(parents=True, exist_ok=True)
    target = out / "model.ngram"
    partial = target.with_name(target.name + ".partial")
    if reference:
        judge = Judge(model, cut, ())
        trained = set(learn)
        web = [r.text for r in reference if r.text not in trained]
        head = {**head, "cutoffs": _cutoffs(judge, web, config)}
        model = fit_ngrams(pieces, vocabulary, config.order, config.prune, head, raw)
    partial.write_bytes(model.to_bytes())
    os.replace(partial, target)
    everything = {r.text: r for r in [*rows, *reference]}.values()
    card: dict[str, Any] = {
        "schema": SCHEMA,
        "name": config.name,
        "language": config.language,
        "model": {
            "file": target.name, "size": target.stat().st_size,
            "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
            "order": model.order, "ngrams": len(model.last), "pieces": vocabulary - 1,
        },
        "library": {"name": "sentencepiece", "version": metadata.version("sentencepiece")},
        "params": {
            key: value for key, value in asdict(config).items()
            if key in ("pieces", "piece_model", "order", "prune", "max_chars", "good")
        },
        "cutoffs": head.get("cutoffs", []),
        "data": data,
        "reference": reference_data,
        "licences": licences_of(everything),
        "training": {"texts": len(learn), "pieces": int(sum(map(len, pieces)))},
        "heldout": _figures(load_judge(str(target)), held, config),
        "known_failures": list(config.known_failures),
    }  # fmt: skip
    text = json.dumps(card, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    (out / "card.json").write_text(text, encoding="utf-8", newline="\n")
    return card


def _figures(judge: Judge, held: list[LabelledText], config: PerplexityConfig) -> dict[str, Any]:
    values = judge.perplexities([r.text for r in held], config.max_chars)
    pairs = [(v, r.label == config.good, r.group) for r, v in zip(held, values, strict=True)
             if v is not None]  # fmt: skip
    middle = {}
    for name in sorted({group for _, _, group in pairs}):
        mine = sorted(v for v, _, group in pairs if group == name)
        middle[name] = {"texts": len(mine), "median": mine[len(mine) // 2]}
    both = len({good for _, good, _ in pairs}) == 2
    return {
        "texts": len(pairs), "groups": middle,
        "auc": auc([-v for v, _, _ in pairs], [g for _, g, _ in pairs]) if both else None,
    }  # fmt: skip


def train_perplexity_file(path: Path, out: Path) -> dict[str, Any]:
    """`train_perplexity` with the configuration in a YAML file."""
    return train_perplexity(read_config(path, PerplexityConfig), path.resolve().parent, out)
