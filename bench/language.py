"""Languages found in labelled texts, beside CLD2 and py3langid alone, and how fast.

    python -m bench.language [--quick] [--json] [--rounds N] [--model FILE] [--pages]

Sets (with ``CORPUSMILL_DATA``), in the part that neither training nor tuning of `measure.language`
has seen: articles of the declaration of human rights in the languages that CLD2 knows, documents
joined from them, tldr sentences; and texts of kinds that it was never trained on: XQuAD paragraphs,
and manuals whose labels a rule gave. ``other languages`` are articles in languages that nobody here
names: right is ``und``. ``untranslated`` are English manual pages under another language's URL.
``--pages`` extracts the crawl's manual pages (minutes) and says of how many in other languages ours
makes English, and of how many of those CLD2, asked about each line, finds most lines in English.
``--quick``: the committed set, which training has partly seen.

Accuracy is the share of texts given the label (an abstention is wrong), with Wilson's 95 %
interval. datatrove's filter asks fastText's lid.176, a file that has to be downloaded: give it, or
OpenLID or GlotLID, as FILE. Speed is texts per CPU second of one process, after loading, on joined
documents, paragraphs and manuals; sides alternate, medians of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.stages.measure import language_sets as sets
from corpusmill.stages.measure.language import Judges
from corpusmill.stages.measure.language_codes import LANGID_CODES
from corpusmill.stages.measure.language_judges import ask_cld2, langid
from corpusmill.stages.measure.language_sets import Labelled

from . import texts
from .harness import ROOT, Bar, BenchError, Report, finish, parser, wilson

ROUNDS, QUICK_ROUNDS = 5, 3
SLOW = 10
"""Every how manieth document the slowest side is timed on."""
ALONE = ("script", "model", "none")
"""Who decides without a second opinion."""
LINE = 25
"""Characters of the shortest line that says what a page is in."""
PAGE = 200
"""Characters of the shortest page."""
SENTENCES = ("declaration", "tldr")
DOCUMENTS = ("declaration, joined", "xquad")
Side = Callable[[Sequence[str]], list[str]]


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--rounds", type=int, help=f"timed runs of each side (default {ROUNDS})")
    options.add_argument("--model", type=Path, help="a fastText language model, as one more side")
    options.add_argument(
        "--pages", action="store_true", help="the crawl's half-translated pages too"
    )
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def labelled(data: Path | None) -> dict[str, list[Labelled]]:
    """The sets, by name."""
    if data is None:
        small = sets.rows(ROOT / "tests" / "data" / "langid" / "udhr_small.jsonl")
        found = [Labelled(row["lang"], row["text"], "", row["lang"]) for row in small]
        return {"declaration": found, "declaration, joined": sets.joined(found, 4)}
    articles = [row for row in sets.declaration(data) if row.part == "final"]
    known = [row for row in articles if row.name in sets.UDHR]
    manuals = sets.manuals(data)
    claimed = {row["url"]: row["lang"] for row in texts.rows(data / "crawl" / "manifest.jsonl.gz")}
    return {
        "declaration": known,
        "tldr": [row for row in sets.commands(data) if row.part == "final"],
        "declaration, joined": sets.joined(known),
        "xquad": sets.articles(data),
        "manuals": manuals,
        "untranslated": [
            row for row in manuals if row.code == "en" != claimed.get(row.name, "en")
        ],
        "other languages": [
            Labelled("und", row.text, row.part, row.name)
            for row in articles
            if row.code.startswith("x-")
        ],
    }  # fmt: skip


def interval(right: int, n: int) -> tuple[float, float]:
    """`wilson`, 4 decimals."""
    low, high = wilson(right, n)
    return round(low, 4), round(high, 4)


def row_of(name: str, side: str, found: Sequence[Labelled], codes: Sequence[str]) -> dict[str, Any]:
    """The figures of one side on one set."""
    right = sum(code == row.code for code, row in zip(codes, found, strict=True))
    foreign = [code for code, row in zip(codes, found, strict=True) if row.code != "en"]
    low, high = interval(right, len(found))
    return {
        "set": name, "side": side, "n": len(found),
        "accuracy": round(right / max(1, len(found)), 4), "low": low, "high": high,
        "foreign_called_english": round(foreign.count("en") / len(foreign), 4) if foreign else None,
        "undetermined": round(codes.count("und") / max(1, len(codes)), 4),
    }  # fmt: skip


def english_lines(text: str) -> float:
    """Which share of the characters in lines of known language CLD2 finds in English."""
    found: dict[str, int] = {}
    for line in (line.strip() for line in text.split("\n")):
        if len(line) >= LINE:
            code = ask_cld2(line).code
            found[code] = found.get(code, 0) + len(line)
    return found.get("en", 0) / max(1, sum(n for code, n in found.items() if code != "und"))


def half_translated(data: Path) -> dict[str, Any]:
    """Natural pages of the crawl that are labelled as another language, each text once: how many
    `measure.language` calls English, and how many of those are not so by most of their lines."""
    labels = {
        row["url"]: row["lang_checked"]
        for row in texts.rows(data / "crawl" / "manifest.jsonl.gz")
        if row["kind"].startswith("natural")
    }
    found = {
        text: labels[url]
        for url, text in texts.extracted(data / "crawl")
        if len(text) >= PAGE and (labels.get(url) or "en").partition("-")[0] != "en"
    }
    english = [
        text
        for text, (verdict, _) in zip(found, Judges(600).ask(list(found)), strict=True)
        if verdict.code == "en"
    ]
    wrong = sum(english_lines(text) < 0.5 for text in english)
    low, high = interval(wrong, len(found))
    return {
        "set": "pages of manuals", "side": "corpusmill", "n": len(found),
        "called_english": len(english), "wrongly": wrong, "low": low, "high": high,
        "foreign_called_english": round(wrong / max(1, len(found)), 4),
    }  # fmt: skip


def py3langid_alone() -> Side:
    """The package as it is used by itself."""
    from py3langid.langid import LanguageIdentifier

    package = LanguageIdentifier.from_model_file("data/model.npz.xz", norm_probs=True)
    return lambda given: [LANGID_CODES.get(package.classify(text)[0], "und") for text in given]


def sides(model: Path | None) -> dict[str, Side]:
    """What is compared: each gives a code for each text."""
    judges = Judges(600)
    made: dict[str, Side] = {
        "corpusmill": lambda given: [verdict.code for verdict, _ in judges.ask(given)],
        "cld2": lambda given: [ask_cld2(text).code for text in given],
        "py3langid": py3langid_alone(),
    }
    if model is not None:
        from corpusmill.classifiers.fasttext_language import FastTextLanguage

        theirs = FastTextLanguage(model)
        made[model.name] = lambda given: [code or "und" for code, _ in theirs.ask(given)]
    return made


def speeds(
    compared: dict[str, Side], given: Sequence[str], rounds: int
) -> dict[str, float]:  # fmt: skip
    """Texts per CPU second of each side: the median of the rounds."""
    found: dict[str, list[float]] = {name: [] for name in compared}
    names = list(compared)
    for number in range(rounds):
        turn = number % len(names)
        for name in [*names[turn:], *names[:turn]]:
            some = given[::SLOW] if name == "py3langid" else given
            started = time.process_time()
            compared[name](some)
            found[name].append(len(some) / (time.process_time() - started))
    return {name: round(statistics.median(values), 1) for name, values in found.items()}


def bars_of(rows: Sequence[dict[str, Any]], rates: dict[str, float]) -> dict[str, Bar]:
    """What `measure.language` should reach."""
    ours = {row["set"]: row for row in rows if row["side"] == "corpusmill"}
    bars = {}
    for kind, names, bar in (("documents", DOCUMENTS, 0.975), ("sentences", SENTENCES, 0.95)):
        for name in names:
            if name in ours:
                bars[f"accuracy on {kind} ({name})"] = Bar(ours[name]["accuracy"], bar)
    foreign = (*SENTENCES, *DOCUMENTS, "other languages", "pages of manuals")
    named = [ours[name] for name in foreign if name in ours]
    worst = max(row["foreign_called_english"] for row in named)
    bars["foreign text not called English, worst set"] = Bar(round(1 - worst, 4), 0.995)
    bars["documents per CPU second"] = Bar(rates["corpusmill"], 8000)
    return bars


def measure(args: argparse.Namespace) -> Report:
    data = texts.data(args.quick)
    if args.pages and data is None:
        raise BenchError("--pages needs CORPUSMILL_DATA, and no --quick", exit_code=2)
    if args.model is not None and not args.model.is_file():
        raise BenchError(f"{args.model} is no file", exit_code=2)
    found = labelled(data)
    say(f"{sum(map(len, found.values()))} texts in {len(found)} sets")
    compared = sides(args.model)
    langid().ask(("",))
    judges = Judges(600)
    rows = []
    for name, members in found.items():
        given = [row.text for row in members]
        for side, ask in compared.items():
            rows.append(row_of(name, side, members, ask(given)))
            if side == "corpusmill":
                alone = sum(verdict.judges in ALONE for verdict, _ in judges.ask(given))
                rows[-1]["second_opinion"] = round(1 - alone / max(1, len(given)), 4)
        say(f"{name}: done")
    if args.pages and data is not None:
        rows.append(half_translated(data))
    documents = [row.text for name in (*DOCUMENTS, "manuals") for row in found.get(name, ())]
    rounds = args.rounds or (QUICK_ROUNDS if data is None else ROUNDS)
    rates = speeds(compared, documents, rounds)
    for side, rate in rates.items():
        rows.append({"set": "speed", "side": side, "n": len(documents), "documents_per_s": rate})
    length = sum(map(len, documents)) / max(1, len(documents))
    return Report(
        bench="language",
        versions={name: version(name) for name in ("pycld2", "py3langid")},
        rows=rows,
        bars=bars_of(rows, rates),
        columns=(
            "set", "side", "n", "accuracy", "low", "high", "foreign_called_english",
            "undetermined", "second_opinion", "documents_per_s",
        ),
        notes=[
            f"speed: documents of {length:.0f} characters on average, read as each side reads them",
            "datatrove's model (lid.176) has to be downloaded: --model FILE adds it",
            *(
                ["the labels of manuals come from a rule; many pages are half translated"]
                if data is not None
                else ["training has partly seen the committed set: take the full one for figures"]
            ),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
