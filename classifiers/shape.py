"""Numbers that say what form a text has: lines, marks, persons, and the words of certain genres.

They are what a model of formats reads beside the words' meaning: a forum, a manual and a review of
one thing are about the same, and look different. All are shares or logarithms, so that a long text
is no other thing than a short one. Character classes are explicit ASCII ones: in other scripts the
words of genres, which are English, are not found, and the rest holds.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from .embedding import MAX_CHARS, lower

GENRES: dict[str, str] = {
    "singular": "i my me myself",
    "plural": "we our us",
    "reader": "you your yours",
    "third": "he she his her they their",
    "speech": "said says told according reported announced",
    "forum": (
        "reply replies posts posted joined member thread quote forum topic views comment "
        "comments answer answers votes"
    ),
    "review": "review reviews tested verdict pros cons rating stars best overall picks recommend",
    "shop": "cart checkout shipping sku stock price buy wishlist sale qty order returns",
    "shelf": "sort filter results items categories category view page showing load",
    "legal": "license licence liability warranty terms agreement shall copyright herein permission",
    "guide": "step steps how guide tips learn beginner beginners tutorial first then",
    "paper": "abstract references doi study participants et al findings journal",
    "manual": (
        "syntax parameter parameters function option options default command class method "
        "synopsis argument returns value specified section chapter"
    ),
    "firm": "services solutions team clients customers contact expertise consulting mission",
    "offer": "free trial pricing demo features platform integrations signup get started",
    "wall": "cookies javascript loading found enable consent login register bot",
    "byline": "by updated published read min author written editor blog",
    "question": "what why can does faq",
}
"""Words of a kind, of which the share among all words is taken."""

CUES: tuple[str, ...] = (
    r"blog|substack|posts?\b|\b20[12][0-9]\b",
    r"forum|thread|community|discuss|showtopic|viewtopic|boards?\b|questions|reddit|/t/",
    r"docs?\b|manual|reference|/api|man[0-9]|documentation|help",
    r"product|/p/|/dp/|item|shop|store|buy|\bip\b",
    r"categor|collection|/c/|/cat|browse|tags?\b|topics?\b|list|index",
    r"news|press|stor(y|ies)|article",
    r"faq",
    r"review|best|top",
    r"how|guide|tutorial|learn|tips|beginner",
    r"services?\b|about|solutions|agency|consult",
    r"terms|privacy|legal|licen[cs]e|disclaimer",
)
"""What an address may have in it, each 0 or 1."""

NAMES = (
    "length", "lines", "line_length", "short_lines", "bullets", "numbered", "sentence_ends",
    "question_ends", "digits", "capitals", "code", "money", "variety", "front",
    *GENRES, *(f"cue_{n}" for n in range(len(CUES))),
)  # fmt: skip
"""The numbers of `shape`, in order."""

UNIT = 1000
"""The numbers are whole ones, in thousandths."""

_WORD = re.compile(r"[a-z']+")
_BULLET = re.compile(r"\s*[•*\-–·>|▪●]\s*")
_NUMBERED = re.compile(r"\s*[0-9]{1,3}[.)]\s")
_COUNT = re.compile(r"\b[0-9]{1,2}\b", re.ASCII)
_CUES = tuple(re.compile(cue, re.ASCII) for cue in CUES)
_GENRE_OF: dict[str, list[int]] = {}
for _number, _words in enumerate(GENRES.values()):
    for _word in _words.split():
        _GENRE_OF.setdefault(_word, []).append(_number)


def shape(text: str, url: str, max_chars: int = MAX_CHARS) -> list[int]:
    """The numbers named `NAMES`, from the first `max_chars` characters and the address."""
    small = lower(text[:max_chars])
    lines = [line for line in small.split("\n") if line.strip()]
    words = Counter(_WORD.findall(small))
    genres = [0] * len(GENRES)
    for word, times in words.items():
        for genre in _GENRE_OF.get(word, ()):
            genres[genre] += times
    total = sum(words.values())
    address = lower(url).partition("://")[2]
    found = [
        math.log1p(len(text)), math.log1p(len(lines)),
        *_line_shares(lines),
        *_character_shares(text[:max_chars]),
        len(words) / (total + 20),
        float(_COUNT.search(small, 0, 150) is not None),
        # A square root, since one word of a genre says more than the tenth.
        *(math.sqrt(count / (total + 20)) for count in genres),
        *(float(cue.search(address) is not None) for cue in _CUES),
    ]  # fmt: skip
    return [round(UNIT * value) for value in found]


def _line_shares(lines: list[str]) -> list[float]:
    n = len(lines) or 1
    ends = [line.rstrip()[-1:] for line in lines]
    return [
        math.log1p(sum(map(len, lines)) / n),
        sum(len(line.split()) < 4 for line in lines) / n,
        sum(_BULLET.match(line) is not None for line in lines) / n,
        sum(_NUMBERED.match(line) is not None for line in lines) / n,
        sum(end in ".!?:" and end != "" for end in ends) / n,
        sum(end == "?" for end in ends) / n,
    ]


def _character_shares(text: str) -> list[float]:
    n = len(text) + 20
    return [
        math.sqrt(sum(map(text.count, "0123456789")) / n),
        sum("A" <= c <= "Z" for c in text) / n,
        math.sqrt(sum(map(text.count, "{}()[];=<>_")) / n),
        math.sqrt(sum(map(text.count, "$€£")) / n),
    ]
