"""The pages of `bench.extract`: with known main text, and such as ask one question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpusmill.pipeline.document import Page as Crawled
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.extract.blocks.train import site_of
from corpusmill.stages.extract.charset import decode
from corpusmill.stages.extract.scoring import words
from corpusmill.stages.sources.warc import Warc, WarcParams

from . import texts
from .crawl import keyed
from .harness import ROOT
from .layout import PROBES, probe_page

SETS = {"wcxb": "wcxb_dev", "news": "aeb_half"}
MANUALS = 4
"""Pages of the set ``manuals`` a language, unless more are asked for."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page to read."""

    key: str
    """Unique: group and id."""
    group: str
    """The set that it is of; ``probe`` for a page that asks one question."""
    kind: str
    """Page type as labelled, or the language of a manual; empty where there is neither."""
    site: str
    url: str
    html: str
    gold: str
    """What should come out; of a probe, among other text."""
    markdown: str = ""


def read_pages(quick: bool) -> list[Page]:
    """Pages with known text in the order of a keyed hash, so that the first ones are a sample."""
    folder = texts.data(quick)
    made: list[Page] = []
    if folder is None:
        path = ROOT / "tests" / "data" / "html" / "gold_pages.jsonl"
        for row in texts.rows(path):
            host = row["id"].split(":")[0]
            url = f"https://{host}.example/{row['id']}"
            made.append(_page("manuals", row["id"], url, row["html"], row["text"]))
    else:
        for group, name in SETS.items():
            for row in texts.rows(folder / name / "pages.jsonl.xz"):
                made.append(
                    _page(
                        group, row["id"], row["url"], row["html"], row["gold_text"] or "",
                        row.get("page_type", ""), row.get("gold_markdown") or "",
                    )
                )  # fmt: skip
        made += manuals(folder)
    made = [page for page in made if words(page.gold)]
    return sorted(made, key=lambda page: keyed(page.key))


def _page(
    group: str, name: str, url: str, html: str, gold: str, kind: str = "", markdown: str = ""
) -> Page:
    return Page(f"{group} {name}", group, kind, site_of(url), url, html, gold, markdown)


def manuals(folder: Path, most: int = MANUALS) -> Iterator[Page]:
    """Up to `most` pages of program documentation in each language of the crawl (their `kind`),
    hosts taking turns; their text is that of the container which their generator makes."""
    languages: dict[str, list[dict[str, Any]]] = {}
    for row in texts.rows(folder / "html_gold" / "doc_containers.jsonl.gz"):
        languages.setdefault(row["lang"], []).append(row)
    source = Warc(WarcParams())
    for language, rows in sorted(languages.items()):
        rows.sort(key=lambda row: keyed(row["url"]))
        seen: Counter[str] = Counter()
        turns: list[tuple[int, int, dict[str, Any]]] = []
        for row in rows:
            turns.append((seen[row["host"]], len(turns), row))
            seen[row["host"]] += 1
        for _, _, row in sorted(turns, key=lambda turn: turn[:2])[:most]:
            path = folder / "crawl" / row["crawl_file"]
            file = InputFile("crawl", str(path), row["crawl_file"], path.stat().st_size)
            record = source.read_one(file, row["offset"])
            if record is not None and isinstance(record.outcome, Crawled):
                html = decode(record.outcome.body, None).text
                yield _page("manuals", row["url"], row["url"], html, row["text"], language)


def probes() -> list[Page]:
    """A page for each formula of `bench.layout`."""
    return [
        Page(f"probe {n}", "probe", "", "", f"https://example.org/{n}", probe_page(markup), text)
        for n, (markup, text) in enumerate(PROBES)
    ]
