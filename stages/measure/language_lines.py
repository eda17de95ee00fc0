"""A closer look at what was taken for English: which language most of its lines are in.

Pages half translated, and pages of prose around program text, hold much English in short pieces,
and samples of them look English. Here every line counts by its letters, by our model alone. The
thresholds were set on one half of the hosts of manuals, and tried on the other
(``docs/language.md``).
"""

from __future__ import annotations

from collections import Counter

from .language_model import LanguageModel, Opinion

SURE = 0.95
"""English that the model gives less than this is looked at, and such with a second language."""
CHARS, PIECES = 6_000, 10
"""What is read of a longer text, in characters, and in how many pieces."""
LINE_CHARS, LINE_LETTERS, LINE_SURE = 25, 15, 0.8
"""Lines that count: their least length, letters and probability. Shorter ones are headings, names
and code, of which no model can tell the language."""


def doubtful(own: Opinion) -> bool:
    """Whether English on this opinion is worth a look at the lines."""
    return own.code != "en" or own.probability < SURE or own.second_share > 0


def letters_by_language(model: LanguageModel, text: str) -> Counter[str]:
    """The letters of the lines in each language; of languages that are never named none."""
    lines = [line.strip() for line in text.split("\n")]
    opinions = model.ask([line for line in lines if len(line) >= LINE_CHARS])
    found: Counter[str] = Counter()
    for own in opinions:
        sure = own.probability >= LINE_SURE and own.letters >= LINE_LETTERS
        if own.code and sure and not own.code.startswith("x-"):
            found[own.code] += own.letters
    return found


def not_english(found: Counter[str], own: Opinion) -> Opinion | None:
    """The opinion by lines where another language has a tenth more letters than English, else
    None. (Where both have about the same the first verdict stays: it read the headings too.)"""
    others = sorted((-letters, code) for code, letters in found.items() if code != "en")
    if not others or -10 * others[0][0] <= 11 * found["en"]:
        return None
    every = sum(found.values())
    code = others[0][1]
    share = round(found[code] / every, 4)
    second = round(found["en"] / every, 4)
    return Opinion(
        code, share, own.group, own.letters, share, "en" if second else "", second
    )  # fmt: skip


__all__ = ["CHARS", "PIECES", "doubtful", "letters_by_language", "not_english"]
