"""Trains our language model: ``python -m corpusmill.stages.measure.language_training DJANGO OUT``.

`DJANGO` is the wheel of Django 5.2 (BSD-3-Clause), whose translations into 95 languages are the
larger part of the text; the others come from the data folder (``CORPUSMILL_DATA``): half of the
declaration's articles (public domain), half of the tldr sentences (CC-BY-4.0), and sections of
OpenStax books for more English (CC-BY-4.0). 30 CPU-seconds. The numbers below were chosen on the
part ``tune`` of the sets (`language_sets.py`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import zipfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from .language_model import pack
from .language_scripts import letter_table
from .language_sets import commands, declaration, rows

ROWS = 1 << 16
DIMS = 32
RATE = 2.0
SAMPLES = 4000
"""Pieces of text a language; those known from the declaration alone get 0.8 of them, those that
are never named 0.4."""
LETTERS = (10, 300)
"""Least and greatest length of a piece in characters, drawn evenly by its logarithm."""
SEED = 1

_DJANGO: dict[str, str | None] = {
    "ar_DZ": "ar", "en_AU": None, "en_GB": None, "es_AR": "es", "es_CO": "es", "es_MX": "es",
    "es_VE": "es", "pt_BR": "pt", "sr_Latn": "sr", "zh_Hans": "zh", "zh_Hant": "zh-Hant",
}  # fmt: skip
_ENTRY = re.compile(r'(msg[a-z_]+(?:\[\d+\])?)\s+"(.*)"')
_NO_TEXT = re.compile(r"%\(\w+\)[sd]|%[sd]|<[^>]+>|\{[^}]*\}|&\w+;|\s+")


def _entries(text: str) -> list[tuple[set[str], list[str]]]:
    """Messages and their translations in a file of the gettext format."""
    found = []
    for block in text.split("\n\n"):
        if "#, fuzzy" in block:
            continue
        messages: list[list[str]] = []
        for line in block.split("\n"):
            if match := _ENTRY.fullmatch(line):
                messages.append([match[1], match[2]])
            elif line.startswith('"') and messages:
                messages[-1][1] += line[1:-1]
        plain = [(kind, json.loads(f'"{value}"')) for kind, value in messages]
        ids = {value for kind, value in plain if not kind.startswith("msgstr")}
        if "" not in ids:
            found.append((ids, [v for kind, v in plain if kind.startswith("msgstr") and v]))
    return found


def translations(wheel: Path) -> dict[str, list[str]]:
    """Django's messages by language, in file order, each once; those left in English are not."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            match = re.search(r"locale/([^/]+)/LC_MESSAGES/\w+\.po$", name)
            if match is None:
                continue
            code = _DJANGO.get(match[1], match[1])
            for ids, values in _entries(archive.read(name).decode("utf-8")):
                found["en"].update(dict.fromkeys(sorted(ids)))
                if code is not None and code != "en":
                    found[code].update(dict.fromkeys(v for v in values if v not in ids))
    return {
        code: [clean for text in texts if (clean := _NO_TEXT.sub(" ", text).strip())]
        for code, texts in found.items()
    }


def training_text(data: Path, wheel: Path) -> dict[str, list[tuple[float, list[str]]]]:
    """By class: texts and the share of `SAMPLES` that is drawn from them."""
    articles: dict[str, list[str]] = defaultdict(list)
    for row in declaration(data):
        if row.part == "train":
            articles[row.code].append(row.text)
    sentences: dict[str, list[str]] = defaultdict(list)
    for row in commands(data):
        if row.part == "train":
            sentences[row.code].append(row.text)
    messages = translations(wheel)
    made: dict[str, list[tuple[float, list[str]]]] = {}
    for code in sorted(set(articles) | set(messages)):
        parts = made.setdefault(code, [])
        if code in articles:
            alone = 0.4 if code.startswith("x-") else 0.8
            parts.append((0.5 if code in messages else alone, articles[code]))
        if code in messages:
            parts.append((0.5, messages[code]))
        if code in sentences:
            parts.append((0.25, sentences[code]))
    sections = rows(data / "text_high" / "openstax_sections.jsonl.gz")
    made["en"].append((0.5, [row["text"][:600] for row in sections[::20]]))
    return made


def train(text: dict[str, list[tuple[float, list[str]]]], samples: int = SAMPLES) -> bytes:
    """The file of a model trained on `text`."""
    from .language_ngrams import fit

    random = np.random.default_rng(SEED)
    letters = letter_table()
    whole: list[np.ndarray] = []
    drawn: list[tuple[int, int, int]] = []
    at = 0
    low, high = (math.log(edge) for edge in LETTERS)
    for number, parts in enumerate(text.values()):
        for share, texts in parts:
            order = random.permutation(len(texts)).tolist()
            joined = "\n".join(texts[i] for i in order).encode("utf-32-le", "replace")
            codes = np.frombuffer(joined, np.uint32)
            blank = letters[codes] == 0
            for _ in range(int(samples * share)):
                length = int(math.exp(random.uniform(low, high)))
                first = int(random.integers(0, max(1, len(codes) - length)))
                end = min(len(codes), first + length)
                while first > 0 and not blank[first - 1] and end - first < length + 20:
                    first -= 1
                drawn.append((at + first, at + end, number))
            whole.append(codes)
            at += len(codes)
    table = (random.standard_normal((ROWS, DIMS)) * 0.05).astype(np.float32)
    columns = (random.standard_normal((len(text), DIMS)) * 0.05).astype(np.float32)
    order = random.permutation(len(drawn))
    loss = fit(
        np.concatenate(whole), np.array(drawn, np.int64)[order], letters, table, columns, RATE
    )
    print(f"{len(drawn)} pieces, {len(text)} classes, mean log loss {loss:.3f}", file=sys.stderr)
    return pack(tuple(text), table, columns)


def main() -> int:
    """Writes the model to `OUT`."""
    parser = argparse.ArgumentParser(description="Trains the language model.")
    parser.add_argument("django", type=Path, help="wheel of Django 5.2")
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    data = Path(os.environ["CORPUSMILL_DATA"])
    options.out.write_bytes(train(training_text(data, options.django)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
