"""Trains the block model and measures it: ``python -m corpusmill.stages.extract.blocks.train``.

Data: pages with gold main text, JSON lines (``.xz`` or ``.gz``) with ``id``, ``url``, ``html``,
``gold_text`` and ``page_type``. Targets are the shares of `labels`; the loss is cross-entropy on
them, a page's blocks weighted by the square root of their words, pages alike. Trees by LightGBM
(the extra ``train``), then turned into integers; every figure is measured with the integers.

``--folds 5`` measures by cross-validation, the pages of one site all in one fold. ``--out DIR``
trains on all pages and writes ``blocks.bin`` and its digest. LightGBM's result may differ
between versions and machines: the weights are an asset with a digest, never made again in a run.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import lzma
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from corpusmill.pipeline.errors import InputError
from corpusmill.stages.extract.scoring import Score, macro, shingles, word_bag

from .forest import LEAF_SCALE, SCORE_ONE, TABLE_SIZE, Forest, Weights, decode, encode
from .model import decide
from .passes import Blocks, analyse, page_markup
from .render import render

if TYPE_CHECKING:
    import numpy.typing as npt

PAGE_TYPES = (
    "article", "collection", "documentation", "forum", "listing", "product", "service",
)  # fmt: skip
SEEDS = 1, 2
"""The forest is the mean of one learnt with each of these seeds."""
TREES = 150
"""For each seed."""
RATE = 0.1
SURROUNDED_WEIGHT = 0.5
"""Of a page with made sections (see `surround`), where a page as it is has 1."""
_MODEL = {
    "objective": "cross_entropy",
    "num_leaves": 40,
    "max_depth": 7,
    "learning_rate": RATE,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.5,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "min_data_in_leaf": 20,
    "max_bin": 63,
    "verbose": -1,
    "deterministic": True,
    "force_row_wise": True,
}
_TYPE_MODEL = {
    "objective": "multiclass",
    "num_class": len(PAGE_TYPES),
    "num_leaves": 7,
    "learning_rate": 0.1,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "min_data_in_leaf": 10,
    "max_bin": 63,
    "seed": 1,
    "verbose": -1,
    "deterministic": True,
    "force_row_wise": True,
}
TYPE_TREES = 60


@dataclass(frozen=True, slots=True)
class Example:
    """A page to learn from."""

    id: str
    site: str
    page_type: str
    gold: str
    page: Blocks
    target: npt.NDArray[np.float64]
    made: bool = False
    """A page with made sections: to learn from, never to measure."""


def site_of(url: str) -> str:
    """The registrable domain, roughly: pages of one site must not be in two folds."""
    host = (urlsplit(url).hostname or url).split(".")
    short = len(host) > 2 and host[-2] in ("co", "com", "org", "ac", "gov", "net", "edu")
    return ".".join(host[-3:] if short else host[-2:])


def fold_of(site: str, folds: int) -> int:
    """The fold of a site, by its hash."""
    return int(hashlib.sha256(site.encode()).hexdigest(), 16) % folds


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON lines file. Raises InputError if it cannot be read."""
    openers: dict[str, Any] = {".xz": lzma.open, ".gz": gzip.open}
    try:
        with openers.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except (OSError, ValueError, lzma.LZMAError) as err:
        raise InputError(f"{path}: cannot read: {err}") from err


def block_texts(page: Blocks) -> list[str]:
    """The text of every block, without code marks."""
    marks = bytes((1, 2))
    return [
        page.text[a:b].translate(None, marks).decode("utf-8", "replace")
        for a, b in page.blocks[:, 1:3].tolist()
    ]


def page_of(html: str) -> Blocks:
    """The blocks of a page, prepared as the tier does it."""
    return analyse(page_markup(html))


def examples(rows: Iterable[dict[str, Any]]) -> list[Example]:
    """Pages with their targets; pages without gold words are left out."""
    from .labels import shares

    made = []
    for row in rows:
        if not row["gold_text"].strip():
            continue
        page = page_of(row["html"])
        target = shares(block_texts(page), row["gold_text"])
        made.append(
            Example(
                row["id"], site_of(row["url"]), row.get("page_type", ""), row["gold_text"], page,
                target,
            )
        )  # fmt: skip
    return made


def surrounded_examples(rows: Iterable[dict[str, Any]], pages: Sequence[Example]) -> list[Example]:
    """Some of `pages`, which come from `rows`, once more with made sections beside their text."""
    from . import surround
    from .labels import shares

    html = {row["id"]: row["html"] for row in rows}
    pool = surround.pool_of(pages)
    made = []
    for e in pages:
        if (
            e.page_type not in ("article", "documentation")
            or len(e.gold.split()) < surround.MIN_WORDS
            or len(e.page) > surround.MAX_BLOCKS
        ):
            continue
        texts = block_texts(e.page)
        wanted = np.flatnonzero((e.target >= 0.7) & (e.page.measures[:, 1] >= 6)).tolist()
        markup = page_markup(html[e.id])
        more = surround.surrounded(markup, texts, wanted, e.id, pool, e.site)
        if more is not None:
            page = analyse(more)
            target = shares(block_texts(page), e.gold)
            made.append(Example(e.id, e.site, e.page_type, e.gold, page, target, made=True))
    return made


def fit(pages: Sequence[Example], threads: int) -> Weights:
    """The weights learnt from `pages`."""
    import lightgbm

    used = [e for e in pages if len(e.page)]
    x = np.concatenate([e.page.rows for e in used]).astype(np.float32)
    y = np.concatenate([e.target for e in used])
    w = np.concatenate(
        [_block_weights(e.page) * (SURROUNDED_WEIGHT if e.made else 1.0) for e in used]
    )
    data = lightgbm.Dataset(x, label=y, weight=w / w.mean())
    boosters = [
        lightgbm.train(
            {**_MODEL, "seed": seed, "num_threads": threads}, data, num_boost_round=TREES
        )
        for seed in SEEDS
    ]
    forests = {"main": mean_of([forest_of(b) for b in boosters])}
    real = [e for e in used if not e.made]
    forests.update(_fit_types(real, threads))
    from .columns import NAMES

    step = 8 * 2 / (TABLE_SIZE - 1)
    table = [
        int(SCORE_ONE / (1 + exp(-(i - TABLE_SIZE // 2) * step)) + 0.5) for i in range(TABLE_SIZE)
    ]
    header = {"features": list(NAMES), "page_types": list(PAGE_TYPES), "pages": len(real)}
    return decode(encode(forests, np.array(table, np.int64), header), "memory")


def _block_weights(page: Blocks) -> npt.NDArray[np.float64]:
    w = np.sqrt(page.measures[:, 1].astype(np.float64))
    total: float = w.sum()
    return w / total if total else w


def _fit_types(used: Sequence[Example], threads: int) -> dict[str, Forest]:
    import lightgbm

    from .pagetype import page_row

    rows, labels = [], []
    for e in used:
        kept = np.flatnonzero(e.target >= 0.5).tolist()
        if e.page_type in PAGE_TYPES and kept:
            rows.append(page_row(e.page, kept)[0])
            labels.append(PAGE_TYPES.index(e.page_type))
    data = lightgbm.Dataset(np.array(rows, np.float32), label=np.array(labels))
    booster = lightgbm.train(
        {**_TYPE_MODEL, "num_threads": threads}, data, num_boost_round=TYPE_TREES
    )
    n = len(PAGE_TYPES)
    return {f"type_{name}": forest_of(booster, k, n) for k, name in enumerate(PAGE_TYPES)}


def forest_of(booster: Any, offset: int = 0, step: int = 1) -> Forest:
    """A LightGBM model's trees `offset`, `offset` + `step`, … as integers."""
    roots: list[int] = []
    nodes: list[tuple[int, int, int, int]] = []
    leaves: list[int] = []

    def add(tree: dict[str, Any]) -> int:
        if "leaf_value" in tree:
            leaves.append(round(tree["leaf_value"] * LEAF_SCALE))
            return ~(len(leaves) - 1)
        at = len(nodes)
        nodes.append((0, 0, 0, 0))
        left, right = add(tree["left_child"]), add(tree["right_child"])
        limit = int(np.floor(tree["threshold"]))
        nodes[at] = (int(tree["split_feature"]), limit, left, right)
        return at

    for info in booster.dump_model()["tree_info"][offset::step]:
        roots.append(add(info["tree_structure"]))
    columns = np.array(nodes, np.int64).reshape(-1, 4)
    return Forest(
        np.array(roots, np.int32),
        columns[:, 0].astype(np.int16),
        columns[:, 1].astype(np.int32),
        columns[:, 2].astype(np.int32),
        columns[:, 3].astype(np.int32),
        np.array(leaves, np.int32),
    )


def mean_of(forests: Sequence[Forest]) -> Forest:
    """One forest whose sums are the means of those of `forests`, but for rounding of leaves."""
    inner = leaf = 0
    roots: list[npt.NDArray[np.int32]] = []
    lefts: list[npt.NDArray[np.int32]] = []
    rights: list[npt.NDArray[np.int32]] = []
    for f in forests:
        for made, some in ((roots, f.roots), (lefts, f.left), (rights, f.right)):
            made.append(np.where(some >= 0, some + inner, some - leaf).astype(np.int32))
        inner, leaf = inner + len(f.feature), leaf + len(f.leaves)
    n = len(forests)
    return Forest(
        np.concatenate(roots),
        np.concatenate([f.feature for f in forests]),
        np.concatenate([f.threshold for f in forests]),
        np.concatenate(lefts),
        np.concatenate(rights),
        np.concatenate([(f.leaves + n // 2) // n for f in forests]).astype(np.int32),
    )


@dataclass(frozen=True, slots=True)
class Measured:
    """One page under some weights."""

    example: Example
    bag: Score
    shingle: Score
    confidence: float
    page_type: str


def measure_pages(pages: Sequence[Example], weights: Weights) -> list[Measured]:
    """Scores `pages` with the production path, from blocks to text."""
    made = []
    for e in pages:
        decision, found = decide(e.page, weights)
        text = render(e.page, decision.kept)
        bag, runs = word_bag(text, e.gold), shingles(text, e.gold)
        made.append(Measured(e, bag, runs, decision.confidence, found))
    return made


def summary(measured: Sequence[Measured]) -> dict[str, Any]:
    """Macro figures of `measured`, in all and by page type."""
    bag = macro(m.bag for m in measured)
    by_type = {}
    for name in PAGE_TYPES:
        some = [m.bag for m in measured if m.example.page_type == name]
        if some:
            by_type[name] = {"pages": len(some), "f1": round(macro(some).f1, 4)}
    typed = [m for m in measured if m.example.page_type]
    right = sum(m.page_type == m.example.page_type for m in typed)
    sure = [m for m in measured if m.confidence >= 0.93]
    return {
        "pages": len(measured),
        "precision": round(bag.precision, 4),
        "recall": round(bag.recall, 4),
        "f1": round(bag.f1, 4),
        "shingle_f1": round(macro(m.shingle for m in measured).f1, 4),
        "by_type": by_type,
        "page_type_right": round(right / len(typed), 4) if typed else None,
        "confident_pages": len(sure),
        "confident_f1": round(macro(m.bag for m in sure).f1, 4) if sure else None,
    }


def cross_validate(pages: Sequence[Example], folds: int, threads: int) -> list[Measured]:
    """Each page measured with weights that no page of its site has shaped. (The words of made
    sections come from all pages.)"""
    measured = []
    for fold in range(folds):
        held = [e for e in pages if fold_of(e.site, folds) == fold and not e.made]
        rest = [e for e in pages if fold_of(e.site, folds) != fold]
        measured.extend(measure_pages(held, fit(rest, threads)))
        print(f"fold {fold}: {summary(measured)['f1']}", file=sys.stderr, flush=True)
    return measured


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; see the module's text."""
    parser = argparse.ArgumentParser(prog="train", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="pages to learn from")
    parser.add_argument("--test", type=Path, help="pages to measure the weights of --out on")
    parser.add_argument("--out", type=Path, help="folder for blocks.bin")
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    rows = read_rows(options.data)
    pages = examples(rows)
    pages += surrounded_examples(rows, pages)
    report: dict[str, Any] = {}
    if options.folds:
        report["cross_validated"] = summary(cross_validate(pages, options.folds, options.threads))
    if options.out:
        weights = fit(pages, options.threads)
        header = {
            key: value for key, value in weights.header.items() if key not in ("schema", "sizes")
        }
        data = encode(weights.forests, weights.logistic, header)
        (options.out / "blocks.bin").write_bytes(data)
        report["sha256"] = hashlib.sha256(data).hexdigest()
        report["bytes"] = len(data)
        if options.test:
            report["test"] = summary(measure_pages(examples(read_rows(options.test)), weights))
    print(json.dumps(report, indent=2))
    return 0


__all__ = ["Example", "cross_validate", "examples", "fit", "forest_of", "main"]

if __name__ == "__main__":
    sys.exit(main())
