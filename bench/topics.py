"""Topics and formats of pages, given by reading them, and how well the trained models agree.

    python -m bench.topics [--json]                       # train both, judge them on hosts not seen
    python -m bench.topics --labels configs/classifiers   # only write the label files
    python -m bench.topics --features tests/data/topics   # the same as numbers, for the tests

Needs ``CORPUSMILL_DATA`` (the pages) and the extra ``embed``. Labels are in ``tests/data/topics``:
``read.jsonl`` has pages that were read twice, the second time in another order, from other pieces
of the text and without sight of the first labels, with the label that was settled on;
``once.jsonl`` pages that were read once, for training alone; ``articles.json`` labels of whole
books and encyclopedia articles. The reader was one and the same language model on one day, so that
the agreement of the readings says how clear the classes are to it, less than two people's would.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from corpusmill.classifiers.embedding import load_embedder
from corpusmill.classifiers.shape import shape
from corpusmill.classifiers.train_config import read_config
from corpusmill.classifiers.train_topics import TopicsConfig, train_topics_file
from corpusmill.pipeline.document import Page
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.extract import extract
from corpusmill.stages.sources.warc import Warc, WarcParams

from .harness import ROOT, Bar, BenchError, Report, finish, machine, parser

LABELS = ROOT / "tests" / "data" / "topics"
CONFIGS = ROOT / "configs" / "classifiers"
SIGNALS = ("topic", "format")
NONE = 255
LICENCES = {
    "crawl": "NOASSERTION", "textbook": "CC-BY-4.0", "encyclopedia": "CC-BY-SA-3.0 or CC-BY-SA-4.0",
    "novel": "public domain", "web": "page of its author; from WCXB (Murrough-Foley, CC-BY-4.0)",
}  # fmt: skip
"""Of what is labelled, by source; pages read once are from the same set as those read twice."""
FLOORS = {("topic", "accuracy"): 0.7, ("topic", "macro_f1"): 0.6,
          ("format", "accuracy"): 0.6, ("format", "macro_f1"): 0.35}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Labelled:
    """A page with its labels; "" where it has none of that kind."""

    text: str
    url: str
    topic: str
    format: str
    group: str
    source: str


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--labels", metavar="DIR", help="only write the label files")
    options.add_argument("--features", metavar="DIR", help="only write what models read of them")
    args = options.parse_args(argv)
    if args.features:
        write_features(Path(args.features), labelled(data_folder()))
        return 0
    if args.labels:
        write_labels(Path(args.labels), labelled(data_folder()))
        return 0
    return finish(lambda: measure(args), args.json)


def data_folder() -> Path:
    """The folder that ``CORPUSMILL_DATA`` names. Raises BenchError where it does not."""
    named = os.environ.get("CORPUSMILL_DATA")
    if not named:
        raise BenchError("CORPUSMILL_DATA is not set: it names the folder with the pages")
    return Path(named)


def labelled(data: Path) -> list[Labelled]:
    """All labelled pages and texts."""
    read = _rows(LABELS / "read.jsonl")
    crawl = {(row["file"], row["offset"]): row for row in read if row["source"] == "crawl"}
    found = list(_crawled(data / "crawl", crawl))
    web = {row["id"]: row for row in read if row["source"] == "web"}
    web |= {row["id"]: {**row, "source": "web_once"} for row in _rows(LABELS / "once.jsonl")}
    found += _web(data / "wcxb_dev" / "pages.jsonl.xz", web)
    articles = json.loads((LABELS / "articles.json").read_text("utf-8"))
    for kind in articles:
        found += _texts(data / "text_high" / kind["file"], kind)
    return found


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _crawled(folder: Path, wanted: dict[Any, dict[str, Any]]) -> Iterator[Labelled]:
    for path in sorted(folder.rglob("*.warc.gz")):
        file = InputFile("crawl", str(path), path.name, path.stat().st_size)
        for record in Warc(WarcParams()).read(file):
            page = record.outcome
            if not isinstance(page, Page):
                continue
            row = wanted.pop((path.name, page.meta["offset"]), None)
            if row is not None:
                text = extract(page.body, url=page.url, tier="fast").text
                group = host(page.url) if row["natural"] else "made"
                yield Labelled(text, page.url, row["topic"], row["format"], group, "crawl")
    if wanted:
        raise BenchError(f"{len(wanted)} labelled pages are not in {folder}, {min(wanted)}")


def _web(path: Path, wanted: dict[str, dict[str, Any]]) -> Iterator[Labelled]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            page = json.loads(line)
            row = wanted.pop(page["id"], None)
            if row is not None:
                text = extract(page["html"], url=page["url"], tier="fast").text
                group = host(page["url"])
                yield Labelled(text, page["url"], row["topic"], row["format"], group, row["source"])
    if wanted:
        raise BenchError(f"{len(wanted)} labelled pages are not in {path.name}, {min(wanted)}")


def _texts(path: Path, kind: dict[str, Any]) -> Iterator[Labelled]:
    """Up to `each` English texts of every book or article that has a label, in keyed order."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line) for line in lines]
    texts = [t for t in texts if t["lang"] == "en" and len(t["text"]) > 300]
    texts.sort(key=lambda t: blake2b(t["id"].encode(), digest_size=8).digest())
    taken: dict[str, int] = {}
    for text in texts:
        whole = str(text[kind["by"]]).split(" / ")[0]
        topic = kind["topics"].get(whole)
        taken[whole] = taken.get(whole, 0) + 1
        if topic and taken[whole] <= kind["each"]:
            yield Labelled(
                text["text"].replace("<unk>", ""), "", topic, kind["format"], whole, kind["source"]
            )


def host(url: str) -> str:
    """The part of a host's name that groups pages; translations of one handbook are one group."""
    name = urlsplit(url).hostname or "unknown"
    parts = name.split(".")
    keep = 3 if name.endswith((".co.uk", ".co.uk.example", ".com.au", ".edu.example")) else 2
    return ".".join(parts[-keep:])


def write_labels(folder: Path, pages: Sequence[Labelled]) -> None:
    """``topics.jsonl`` and ``formats.jsonl``, label files of ``corpusmill train topics``."""
    for signal in SIGNALS:
        rows = [
            {
                "text": page.text, "label": getattr(page, signal), "group": page.group,
                "licence": LICENCES[page.source.removesuffix("_once")], "source": page.source,
                **({"url": page.url} if page.url else {}),
            }
            for page in pages if getattr(page, signal) and page.text.strip()
        ]  # fmt: skip
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{signal}s.jsonl").write_text(lines, "utf-8")


def write_features(folder: Path, pages: Sequence[Labelled]) -> None:
    """``features.npz``: vector, shape, topic and format (`NONE` where it has none), source and
    group, as numbers, of every labelled text and every seed. No text can be read from them."""
    configs = {signal: read_config(CONFIGS / f"{signal}s.yaml", TopicsConfig) for signal in SIGNALS}
    pages = [page for page in pages if page.text.strip()]
    for signal, config in configs.items():
        for name, kind in config.classes.items():
            labels = {"topic": "", "format": "", signal: name}
            pages += [Labelled(seed, "", **labels, group="", source="seed") for seed in kind.seeds]
    sources, groups = (sorted({getattr(p, at) for p in pages}) for at in ("source", "group"))
    labels_of = {
        signal: [names.index(label) if (label := getattr(page, signal)) else NONE for page in pages]
        for signal, names in ((signal, sorted(c.classes)) for signal, c in configs.items())
    }
    np.savez_compressed(
        folder / "features.npz",
        vectors=load_embedder("bench.topics").vectors([page.text for page in pages]),
        shapes=np.array([shape(page.text, page.url) for page in pages], np.int32),
        topic=np.array(labels_of["topic"], np.uint8),
        format=np.array(labels_of["format"], np.uint8),
        source=np.array([sources.index(page.source) for page in pages], np.uint8),
        group=np.array([groups.index(page.group) for page in pages], np.uint16),
        sources=np.array(sources),
    )  # fmt: skip


def train_both(folder: Path) -> dict[str, dict[str, Any]]:
    """The cards of both models, trained in `folder` from the configurations of the repository."""
    write_labels(folder, labelled(data_folder()))
    cards = {}
    for signal in SIGNALS:
        config = folder / f"{signal}s.yaml"
        config.write_bytes((CONFIGS / config.name).read_bytes())
        cards[signal] = train_topics_file(config, folder / signal)
    return cards


def agreement() -> dict[str, float]:
    """Cohen's kappa between the two readings, by signal."""
    read = _rows(LABELS / "read.jsonl")
    return {signal: kappa([tuple(row[f"{signal}s"]) for row in read]) for signal in SIGNALS}


def kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """Agreement beyond chance of two labels each (Cohen 1960); 4 decimals."""
    n = len(pairs)
    same = sum(a == b for a, b in pairs) / n
    names = {name for pair in pairs for name in pair}
    chance = sum(
        sum(a == name for a, _ in pairs) * sum(b == name for _, b in pairs) for name in names
    ) / n**2  # fmt: skip
    return round((same - chance) / (1 - chance), 4)


def measure(args: argparse.Namespace) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        cards = train_both(Path(folder))
    rows = []
    for signal, card in cards.items():
        held = card["heldout"]
        for pages, part in [("all", held), *held["sources"].items()]:
            row = {"signal": signal, "pages": pages, "n": part["texts"]}
            for side, figures in (
                ("model", part),
                *((s, part[s]) for s in ("seed_words", "majority")),
            ):
                row |= {side: figures["accuracy"], f"{side} F1": figures["macro_f1"]}
            rows.append(row)
    return Report(
        "topics", {name: version(name) for name in ("wordllama", "tokenizers", "numpy")}, rows,
        {f"{signal}, {name}": Bar(cards[signal]["heldout"][name], floor)
         for (signal, name), floor in FLOORS.items()},
        ("signal", "pages", "n", "model", "model F1", "seed_words", "seed_words F1", "majority",
         "majority F1"),
        [f"two readings of the {signal} agree with kappa {value}"
         for signal, value in agreement().items()],
        machine(),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
