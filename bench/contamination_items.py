"""Benchmark items as they are planted: told whole, changed in many ways; and the rule of GPT-3.

Planted are the items that the certificate calls visible, each told as a page would tell it: a
question of 13 words or more alone, a shorter one with its answer on the next line.
"""

from __future__ import annotations

import html
import json
import random
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from corpusmill.stages.decontaminate.benchmarks import Benchmark, Item
from corpusmill.stages.decontaminate.items import Forms, forms_of
from corpusmill.stages.decontaminate.rules import Rules
from corpusmill.stages.words import tokenise

from . import texts
from .harness import BenchError


def _upper(text: str) -> str:
    return text.upper()


def _punctuated(text: str) -> str:
    return re.sub(r"([.,?!()])", r" \1 ", text.upper()).replace('"', "“")


def _html(text: str) -> str:
    """Sentences as paragraphs, every ninth word in bold, signs escaped: a page's source."""
    words = html.escape(text).split(" ")
    words[::9] = [f"<b>{word}</b>" for word in words[::9]]
    return "<p>" + " ".join(words).replace(". ", ".</p>\n<p>") + "</p>"


def _wrapped(text: str) -> str:
    words = text.split()
    return "\n".join(" ".join(words[at : at + 8]) for at in range(0, len(words), 8))


def _markup(text: str) -> str:
    """As Markdown with formulas: numbers in dollars, words with stars, sentences as list items."""
    words = re.sub(r"\b(\d+)\b", r"$\1$", text).split(" ")
    words[3::7] = [f"**{word}**" for word in words[3::7]]
    return "* " + " ".join(words).replace(". ", ".\n* ")


def _escaped(text: str) -> str:
    """As a string of JSON, in lines of 45 characters."""
    return json.dumps({"prompt": "\n".join(textwrap.wrap(text, 45))})


def _hyphenated(text: str) -> str:
    """In lines of 26 characters, long words broken at their ends."""
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) < 26:
            line = f"{line} {word}".lstrip()
        elif len(word) > 6 and word.isalpha():
            half = len(word) // 2
            lines.append(f"{line} {word[:half]}-".lstrip())
            line = word[half:]
        else:
            lines.append(line)
            line = word
    return "\n".join([*lines, line])


def _linked(text: str) -> str:
    """As Markdown and as a forum's post: every eighth word a link, every eighth in bold."""
    words = text.split(" ")
    words[2::8] = [f"[{word}](https://example.org/{n}/a)" for n, word in enumerate(words[2::8])]
    words[6::8] = [f"[b]{word}[/b]" for word in words[6::8]]
    return "[quote=Ann]" + " ".join(words) + "[/quote]"


def _twice(text: str) -> str:
    """A page's source that is shown on a page."""
    return html.escape(_html(text))


def _numbers(text: str) -> str:
    return re.sub(r"\d+", lambda m: str(int(m.group()) + 7) if len(m.group()) < 6 else "5", text)


def _order(text: str) -> str:
    return " ".join(sorted(re.split(r"(?<=[.?!]) ", text)))


def _dropped(text: str) -> str:
    rng = random.Random(len(text))
    return " ".join(word for word in text.split(" ") if rng.random() > 0.1)


def _half(text: str) -> str:
    """Of the words as the search has them: one of source between two blanks may be several."""
    raw = text.encode("utf-8", "surrogatepass")
    ends = tokenise([text]).end
    last = ends[(len(ends) + 1) // 2 - 1] if len(ends) else 0
    return raw[:last].decode("utf-8", "surrogatepass")


HALF: Final = "first half"
"""Of what is told of an item: of a short question, with its answer."""
HALF_INSIDE: Final = f"{HALF}, the line goes on"
HALF_QUESTION: Final = "first half of the question"
SHORT: Final = "short, with the answer"
FORMAT: Final = (
    "as it is", "upper case", "punctuation", "HTML", "8 words a line", "markup", "JSON", "hyphens",
    "links", "HTML shown",
)  # fmt: skip
"""What no item may hide behind."""
CHANGES: Final[dict[str, Callable[[str], str]]] = {
    "as it is": str,
    "upper case": _upper,
    "punctuation": _punctuated,
    "HTML": _html,
    "8 words a line": _wrapped,
    "markup": _markup,
    "JSON": _escaped,
    "hyphens": _hyphenated,
    "links": _linked,
    "HTML shown": _twice,
    "numbers changed": _numbers,
    "sentences reordered": _order,
    "words dropped": _dropped,
    HALF: _half,
}


def rewordings(folder: Path, benchmarks: Sequence[Benchmark]) -> dict[tuple[str, str], str]:
    """(benchmark, item) → the item in other words, where the data has such."""
    ids = {b.name: {item.id for item in b.items} for b in benchmarks}
    found: dict[tuple[str, str], str] = {}
    for path in sorted((folder / "rephrase").glob("*.jsonl")):
        for row in texts.rows(path):
            item = str(row["item"])
            item = f"HumanEval/{item}" if row["benchmark"] == "humaneval" else item
            text = row["text"]["text"] if isinstance(row["text"], dict) else row["text"]
            text = text.removeprefix("Question: ").split("\nAnswer:")[0]
            if not text.strip():
                continue  # the model gave nothing
            if item not in ids[row["benchmark"]]:
                raise BenchError(f"{path}: {row['benchmark']} has no item {item}")
            found[row["benchmark"], item] = text
    return found


def visible(benchmark: Benchmark) -> list[tuple[Item, Forms]]:
    """The items that some method can see when they are told whole, and their forms."""
    every = zip(benchmark.items, forms_of(benchmark, Rules()), strict=True)
    return [(item, forms) for item, forms in every if forms.visible]


def told(item: Item, forms: Forms) -> str:
    """An item as a page tells it."""
    if forms.long:
        return item.question
    return f"{item.question}\n{item.answer or max(item.options, key=len, default='')}"


def planted_rows(
    benchmarks: Sequence[Benchmark], most: int, folder: Path | None, filler: Sequence[str]
) -> list[dict[str, Any]]:
    """Rows ``{"id", "text", "set", "change", "item", "by_half"}``, the last saying whether the
    certificate has the item among those that half of it gives away."""
    made: list[dict[str, Any]] = []

    def add(
        name: str, change: str, item: str, text: str, forms: Forms | None = None,
        gap: str = "\n\n",
    ) -> None:  # fmt: skip
        n = len(made)
        around = filler[n % len(filler)], filler[(7 * n + 3) % len(filler)]
        planted = gap.join((around[0], text, around[1]))
        row = {"id": str(n), "text": planted, "set": name, "change": change, "item": item}
        made.append({**row, "by_half": forms is not None and forms.by_half})

    for benchmark in benchmarks:
        seen = visible(benchmark)
        step = max(1, len(seen) // most)
        for change, function in CHANGES.items():
            for item, forms in seen[::step][:most]:
                add(benchmark.name, change, item.id, function(told(item, forms)), forms)
        for item, forms in seen[::step][:most]:
            half = _half(told(item, forms))
            add(benchmark.name, HALF_INSIDE, item.id, half, forms, " ")
        for item, forms in seen[::step][:most]:
            add(benchmark.name, HALF_QUESTION, item.id, _half(item.question), forms)
        short = [(item, forms) for item, forms in seen if not forms.long]
        for item, forms in short[:: max(1, len(short) // most)][:most]:
            add(benchmark.name, SHORT, item.id, told(item, forms), forms)
    if folder is not None:
        for number, ((name, key), text) in enumerate(rewordings(folder, benchmarks).items()):
            add(name, f"reworded, {'other' if number % 2 else 'tuning'} half", key, text)
    return made


class Gpt3:
    """The rule of GPT-3 (Brown et al. 2020, appendix C): a text that shares 13 words in a row with
    an item, in lower case and without punctuation, holds it. It names benchmarks, not items."""

    WORDS: Final = 13

    def __init__(self, benchmarks: Sequence[Benchmark]) -> None:
        grams, owners = [], []
        for number, benchmark in enumerate(benchmarks):
            found, _ = self._grams([f"{i.question}\n{i.answer}" for i in benchmark.items])
            grams.append(np.unique(found))
            owners.append(np.full(len(grams[-1]), number))
        self._names = [b.name for b in benchmarks]
        gram, owner = np.concatenate(grams), np.concatenate(owners)
        order = np.argsort(gram, kind="stable")
        self._gram, self._owner = gram[order], owner[order]

    def _grams(self, bodies: Sequence[str]) -> tuple[Any, Any]:
        """Hashes of the 13-grams of texts, and the text of each."""
        table = tokenise(bodies)
        n = max(0, len(table.hash) - self.WORDS + 1)
        total = np.zeros(n, np.uint64)
        for k in range(self.WORDS):
            total = total * np.uint64(0x9E3779B97F4A7C15) + table.hash[k : k + n]
        first = np.arange(n)
        document = np.searchsorted(table.doc_start, first, side="right") - 1
        inside = first + self.WORDS <= table.doc_start[document + 1]
        return total[inside], document[inside]

    def find(self, bodies: Sequence[str]) -> list[set[str]]:
        """The benchmarks in each text."""
        gram, document = self._grams(bodies)
        found: list[set[str]] = [set() for _ in bodies]
        low = np.searchsorted(self._gram, gram, side="left")
        high = np.searchsorted(self._gram, gram, side="right")
        for at in np.flatnonzero(high > low).tolist():
            for slot in range(int(low[at]), int(high[at])):
                found[int(document[at])].add(self._names[int(self._owner[slot])])
        return found


def shares(rows: Sequence[Mapping[str, Any]], change: str, column: str, name: str = "") -> float:
    """The share over all rows of a change (and of those whose name goes on with a comma)."""
    chosen = [
        r for r in rows
        if (r["what"] == change or r["what"].startswith(change + ",")) and name in ("", r["row"])
    ]  # fmt: skip
    seen = sum(r["n"] for r in chosen)
    return round(sum(r[column] * r["n"] for r in chosen) / seen, 4) if seen else 0.0
