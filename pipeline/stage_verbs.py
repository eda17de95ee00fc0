"""The verbs that run one stage over a plain file, and the one that trains."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .errors import ConfigError
from .registry import room_module
from .verbs import show_json


def _stage_verb(options: Namespace, result: Mapping[str, Any]) -> int:
    print(
        json.dumps(result, ensure_ascii=False, sort_keys=True),
        file=sys.stdout if options.json else sys.stderr,
    )
    return 0


def extract(options: Namespace) -> int:
    module = room_module("stages.extract.verb")
    if options.jsonl:
        return _stage_verb(options, module.extract_jsonl(*map(Path, options.jsonl), options.tier))
    if options.file is None:
        raise ConfigError("extract needs an HTML file, or --jsonl IN OUT")
    form = "json" if options.json else options.format
    print(module.extract_file(Path(options.file), options.url, options.tier, form))
    return 0


def filter_rows(options: Namespace) -> int:
    module = room_module("stages.filters.verb")
    return _stage_verb(options, module.filter_jsonl(*map(Path, options.jsonl)))


def pii(options: Namespace) -> int:
    asked = [options.jsonl, options.new_key, options.spans]
    if sum(given is not None for given in asked) != 1:
        raise ConfigError("pii needs one of --jsonl IN OUT, --spans RUN OUT and --new-key FILE")
    if options.new_key:
        print(room_module("stages.clean.pseudonyms").make_key(options.new_key))
        return 0
    if options.spans:
        from .pii_audit import write_spans

        return _stage_verb(options, write_spans(*map(Path, options.spans)))
    done = room_module("stages.clean.verb").pii_jsonl(
        *map(Path, options.jsonl), options.policy, options.key, options.audit
    )
    return _stage_verb(options, done)


def dedup(options: Namespace) -> int:
    if options.what:
        from .nearby import clusters, index, near

        verbs = {"clusters": clusters, "index": index}
        return verbs.get(options.what[0], near)(options)
    if options.jsonl is None:
        raise ConfigError("dedup needs --jsonl IN OUT, near TEXT, clusters or index OUT, --run RUN")
    module = room_module("stages.dedup.verb")
    removed = Path(options.removed) if options.removed else None
    return _stage_verb(options, module.dedup_jsonl(*map(Path, options.jsonl), removed))


def contamination(options: Namespace) -> int:
    module = room_module("stages.decontaminate.verb")
    folder = Path(options.benchmarks)
    source, target = map(Path, options.jsonl)
    return _stage_verb(
        options, module.contamination_jsonl(source, target, folder, options.half_anywhere)
    )


def canary(options: Namespace) -> int:
    module = room_module("stages.decontaminate.canaries")
    if options.what == "test":
        if options.folder is None or options.scores is None:
            raise ConfigError("canary test needs the folder of the set and the file of scores")
        return _stage_verb(
            options, asdict(module.read_scores(Path(options.folder), Path(options.scores)))
        )
    if options.folder is None or options.scores is not None or options.key is None:
        raise ConfigError("canary make needs a folder that does not exist, and --key FILE")
    keys = room_module("stages.clean.pseudonyms")
    if not Path(options.key).exists():
        keys.make_key(options.key)
    params = module.CanaryParams(options.shards, options.items, options.orders)
    return _stage_verb(
        options, module.make(keys.read_key("", options.key), Path(options.folder), params)
    )


TRAINERS = {
    "classifier": ("classifiers.train", "train_classifier"),
    "clusters": ("classifiers.train_clusters", "train_clusters_file"),
    "grade": ("classifiers.train_grade", "train_grade_file"),
    "perplexity": ("classifiers.train_perplexity", "train_perplexity_file"),
    "topics": ("classifiers.train_topics", "train_topics_file"),
}
"""Module and function of what `train` can train."""


def train(options: Namespace) -> int:
    room, function = TRAINERS[options.what]
    out = Path(options.out)
    card = getattr(room_module(room), function)(Path(options.config), out)
    held, size = card.get("heldout", {}), card["model"]["size"]
    told = ", ".join(
        f"{name} {held[key]}" for key, name in (("auc", "AUC"), ("accuracy", "accuracy"))
        if held.get(key) is not None
    )  # fmt: skip
    said = f", {told} on {held['texts']} texts held out" if told else ""
    show_json(card) if options.json else print(
        f"{out}: {card['model']['file']}, {size} bytes{said}"
    )
    return 0


VERBS: Mapping[str, Callable[[Namespace], int]] = {
    "extract": extract, "filter": filter_rows, "pii": pii, "dedup": dedup,
    "contamination": contamination, "canary": canary, "train": train,
}  # fmt: skip
