"""Contamination's false alarms on the documentation of packages, a million passages of it.

    pip download --no-deps -d FOLDER botocore google-api-python-client ansible …
    python -m bench.contamination_docs FOLDER/*.whl [--half-anywhere] [--json]

A passage is a paragraph of eight words or more, each once: of strings in triple quotes in Python
files (docstrings and manuals), of descriptions in JSON, of ``.md``, ``.rst`` and ``.txt`` files and
of what packages say of themselves. Every passage is searched as a document of its own for the items
of all benchmarks at hand. No package is an examination, so whatever is found is printed, to be
read: either it quotes what the item quotes, or it is a false alarm. The work can be done in parts,
some wheels at a time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import xxhash

from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.stages.decontaminate.benchmarks import load
from corpusmill.stages.decontaminate.certificate import upper_95
from corpusmill.stages.decontaminate.index import ContaminationIndex, Hit
from corpusmill.stages.decontaminate.rules import HALF_ANYWHERE, METHODS, Rules

from . import texts
from .harness import BenchError, Report, finish, parser

LEAST_WORDS: Final = 8
_BATCH: Final = 20_000
_DESCRIPTIONS: Final = ("documentation", "description", "descriptions", "short_description")
_QUOTED: Final = re.compile(r"(\"\"\"|''')(.*?)\1", re.DOTALL)
_PAGES: Final = (".md", ".rst", ".txt", "/METADATA")


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("wheels", type=Path, nargs="+", help="as `pip download` leaves them")
    options.add_argument("--half-anywhere", action="store_true", help="as the verb has it")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def measure(args: argparse.Namespace) -> Report:
    """One row a method, and one a passage in which something was found."""
    folder = texts.data(args.quick)
    index = ContaminationIndex.build(
        load((texts.SAMPLE if folder is None else folder) / "benchmarks"),
        Rules(**HALF_ANYWHERE) if args.half_anywhere else Rules(),
    )
    flagged = dict.fromkeys(METHODS, 0)
    rows: list[dict[str, Any]] = []
    seen: set[int] = set()
    batch: list[tuple[str, str]] = []
    passages = words = 0

    def search() -> None:
        for (place, text), hits in zip(batch, index.find([t for _, t in batch]), strict=True):
            for method in {h.method for h in hits}:
                flagged[method] += 1
            rows.extend(_row(place, text, hit) for hit in hits)
        batch.clear()

    for place, text in passages_of(args.wheels):
        key = xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
        if key in seen:
            continue
        seen.add(key)
        passages += 1
        words += len(text.split())
        batch.append((place, text))
        if len(batch) == _BATCH:
            search()
            say(f"{passages} passages, {len(rows)} hits")
    search()
    if not passages:
        raise BenchError("no passage in any wheel")
    totals = [
        {"row": method, "what": "passages flagged", "n": passages, "found": n,
         "upper_95": f"{upper_95(n, passages):.2g}"}
        for method, n in flagged.items()
    ]  # fmt: skip
    return Report(
        bench="contamination_docs",
        versions={"corpusmill": version("corpusmill")},
        rows=[*totals, *rows],
        bars={},
        columns=("row", "what", "n", "found", "upper_95", "text"),
        notes=[f"{passages} passages of {words / passages:.0f} words at the mean"],
    )


def _row(place: str, text: str, hit: Hit) -> dict[str, Any]:
    shown = " ".join(text[hit.start : hit.end].split())
    return {"row": hit.name, "what": hit.method, "n": place, "text": shown[:200]}


def passages_of(wheels: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """(wheel and file, passage) of every wheel, in order."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in sorted(archive.namelist()):
                for text in _texts_of(name, archive):
                    for passage in re.split(r"\n\s*\n|<p>|<li>", text):
                        if len(passage.split()) >= LEAST_WORDS:
                            yield f"{wheel.name.partition('-')[0]}/{name}", passage.strip()


def _texts_of(name: str, archive: zipfile.ZipFile) -> Iterator[str]:
    if not name.endswith((".py", ".json", ".json.gz", *_PAGES)):
        return
    raw = archive.read(name)
    text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode("utf-8", "replace")
    if name.endswith(_PAGES):
        yield text
    elif name.endswith(".py"):
        yield from (m[2] for m in _QUOTED.finditer(text))
    else:
        try:
            yield from _described(json.loads(text))
        except ValueError:
            return


def _described(value: object, here: bool = False) -> Iterator[str]:
    """Strings below the keys of JSON that hold descriptions."""
    if isinstance(value, str):
        if here:
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _described(inner, key in _DESCRIPTIONS)
    elif isinstance(value, list):
        for inner in value:
            yield from _described(inner, here)


if __name__ == "__main__":
    sys.exit(main())
