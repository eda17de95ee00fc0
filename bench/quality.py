"""The quality models on groups that they were not trained on, beside guesses that read no word.

    python -m bench.quality [--quick] [--json] [--rounds N]

Both models are trained anew on the sample's labels (`configs/classifiers`), without the held-out
groups. ``matched`` compares only good and poor texts of one source. With ``CORPUSMILL_DATA`` there
are texts of kinds that are in no label: encyclopedia sections (good) against spam and ordinary SMS
messages and the menus of manuals that are not in the labels (poor). Speed is texts per CPU second
of one process, after loading; sides alternate, medians of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from corpusmill.classifiers.baselines import Ablation, ablation
from corpusmill.classifiers.fasttext_models import load_model
from corpusmill.classifiers.grade import features, signal_names
from corpusmill.classifiers.linear_model import load_linear
from corpusmill.classifiers.metrics import auc, keep_threshold, precision_recall, spearman
from corpusmill.classifiers.quality_text import scores
from corpusmill.classifiers.train import train_classifier
from corpusmill.classifiers.train_grade import held_out, measured
from corpusmill.pipeline.progress import to_stderr as say

from . import texts
from .grades import Graded, graded
from .harness import ROOT, Bar, Report, finish, parser

ROUNDS, QUICK_ROUNDS = 5, 3
GOOD = 3.0
"""Grade from which on a page is useful to its readers."""
FOLDS, PENALTY = 10, 10.0
"""As in configs/classifiers/grade.yaml."""
CONFIGS = {"linear": "quality_linear.yaml", "fasttext": "quality.yaml"}
IN_LABELS = ("docs.snake-lang.example", "docs.elephantdb.example", "httpd-manual.example")
Side = Callable[[Sequence[str]], list[float]]


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--rounds", type=int, help=f"timed runs of each side (default {ROUNDS})")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def other_kinds(data: Path) -> list[tuple[str, str, bool]]:
    """Text, source and whether it is good, of kinds that are in no label."""
    high, low = data / "text_high", data / "text_low"
    found = [
        (row["text"], "wikitext", True)
        for row in list(texts.rows(high / "wikitext2_sections.jsonl.gz"))[::3]
    ]
    for row in list(texts.rows(low / "sms_spam.jsonl.gz"))[::10]:
        found.append((row["text"], "sms", False))
    for row in texts.rows(low / "boilerplate.jsonl.gz"):
        if row["lang"] == "en" and urlsplit(row["url"]).hostname not in IN_LABELS:
            found.append((row["text"], "menus", False))
    return [row for row in found if row[0].strip()]


def row_of(side: str, name: str, figures: Ablation, error: float) -> dict[str, Any]:
    """A model's row."""
    return {
        "side": side, "set": name, "auc": figures["model"], "matched": figures["matched_model"],
        "calibration_error": error,
    }  # fmt: skip


def guess_rows(name: str, figures: Ablation) -> list[dict[str, Any]]:
    """The rows of the two guesses."""
    return [
        {"side": "source alone", "set": name, "auc": figures["source_only"],
         "matched": figures["matched_source_only"]},
        {"side": "length alone", "set": name, "auc": figures["length_only"],
         "matched": figures["matched_length_only"]},
    ]  # fmt: skip


def grades_held_out(pages: Sequence[Graded]) -> list[float]:
    """The grade of each page by a model of `classifiers.grade` that has not seen its host."""
    names = signal_names()
    x = np.array([features(doc, names) for doc in measured([p.text for p in pages])])
    means = np.array([sum(p.grades) / 2 for p in pages])
    hosts = [urlsplit(p.url).hostname or "" for p in pages]
    return [float(grade) for grade in held_out(x, means, hosts, FOLDS, PENALTY)]


def grade_rows(sides: dict[str, Side], pages: Sequence[Graded]) -> list[dict[str, Any]]:
    """How each model ranks the graded pages, all of them and the natural ones: Spearman's
    correlation with the mean grade, AUC for a grade of `GOOD` or more, and the share of such pages
    in the better half; beside it the length, and one reader by the other."""
    ranked = {side: ask([p.text for p in pages]) for side, ask in sides.items()}
    ranked["grade, hosts held out"] = grades_held_out(pages)
    ranked["length alone"] = [float(len(p.text)) for p in pages]
    rows: list[dict[str, Any]] = []
    for name, natural in (("graded", False), ("graded, natural", True)):
        some = [i for i, page in enumerate(pages) if page.natural or not natural]
        means = [sum(pages[i].grades) / 2 for i in some]
        good = [mean >= GOOD for mean in means]
        for side, every in ranked.items():
            values = [every[i] for i in some]
            half = keep_threshold(values, 0.5)
            rows.append({
                "side": side, "set": name, "spearman": spearman(values, means),
                "auc": auc(values, good), "precision": precision_recall(values, good, half)[0],
            })  # fmt: skip
        both = spearman(*([pages[i].grades[reader] for i in some] for reader in (0, 1)))
        rows.append({"side": "one reader by the other", "set": name, "spearman": both})
    return rows


def speeds(sides: dict[str, Side], given: Sequence[str], rounds: int) -> dict[str, float]:
    """Texts per CPU second of each side: the median of the rounds."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds):
        names = list(sides)
        for name in names[number % 2 :] + names[: number % 2]:
            started = time.process_time()
            sides[name](given)
            found[name].append(len(given) / (time.process_time() - started))
    return {name: round(statistics.median(values), 1) for name, values in found.items()}


def bars_of(held: dict[str, Ablation]) -> dict[str, Bar]:
    """The linear model must beat what knows the source, and what knows the length, by words."""
    figures = held["linear"]
    best = max(figures["source_only"] or 0.0, figures["length_only"] or 0.0)
    matched = max(figures["matched_source_only"] or 0.0, figures["matched_length_only"] or 0.0)
    return {
        "AUC, beside the better guess": Bar(figures["model"] or 0.0, best),
        "matched AUC, beside the better guess": Bar(figures["matched_model"] or 0.0, matched),
    }


def measure(args: argparse.Namespace) -> Report:
    data = texts.data(args.quick)
    rows: list[dict[str, Any]] = []
    held: dict[str, Ablation] = {}
    sides: dict[str, Side] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        for side, config in CONFIGS.items():
            place = Path(scratch) / side
            card = train_classifier(ROOT / "configs" / "classifiers" / config, place)
            held[side] = card["heldout"]["ablation"]
            rows.append(
                row_of(side, "held-out groups", held[side], card["heldout"]["calibration_error"])
            )
            say(f"{side}: trained")
        sides["linear"] = load_linear(Path(scratch) / "linear" / "model.lin", "high").scores
        model = load_model(Path(scratch) / "fasttext" / "model.ftz", "high")
        sides["fasttext"] = lambda given: scores(model, given, "high")
    rows += guess_rows("held-out groups", held["linear"])
    documents = [page["text"] for page in texts.rows(ROOT / "configs/sample/labels/high.jsonl.gz")]
    if data is not None:
        given = other_kinds(data)
        good = [row[2] for row in given]
        for side, ask in sides.items():
            values = ask([row[0] for row in given])
            rows.append({"side": side, "set": "other kinds", "auc": auc(values, good)})
            rows += [
                {
                    "side": side, "set": f"other kinds: {kind}",
                    "mean": round(statistics.fmean(
                        v for v, row in zip(values, given, strict=True) if row[1] == kind), 4),
                }
                for kind in ("wikitext", "sms", "menus")
            ]  # fmt: skip
        told = ablation([0.0] * len(given), given, given)["length_only"]
        rows.append({"side": "length alone, told", "set": "other kinds", "auc": told})
        documents = [row[0] for row in given]
    rows += grade_rows(sides, graded(data))
    length = sum(map(len, documents)) / len(documents)
    rounds = args.rounds or (QUICK_ROUNDS if data is None else ROUNDS)
    for side, rate in speeds(sides, documents, rounds).items():
        rows.append({"side": side, "set": "speed", "texts_per_s": rate})
    return Report(
        bench="quality",
        versions={name: version(name) for name in ("fasttext-community", "numpy")},
        rows=rows,
        bars=bars_of(held),
        columns=(
            "side",
            "set",
            "auc",
            "matched",
            "calibration_error",
            "mean",
            "spearman",
            "precision",
            "texts_per_s",
        ),
        notes=[
            "the hyperparameters of the linear model were chosen on these held-out groups, and how "
            "short texts are drawn to the middle on the other kinds",
            "other kinds: length alone, told the answer, shows how little they ask",
            f"speed: texts of {length:.0f} characters on average",
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
