"""Words by the rules of spaCy's English tokenizer; expected cuts were printed by spaCy 3.8.18."""

from __future__ import annotations

import random
import re

import pytest

from corpusmill.stages.measure.datatrove_words import Pieces
from corpusmill.stages.measure.spacy_words import Cutter, facts, word_rule


@pytest.fixture(scope="module")
def cutter() -> Cutter:
    return Cutter()


@pytest.mark.parametrize(
    ("piece", "words"),
    [
        ("don't", "do n't"),
        ("(can't).", "( ca n't ) ."),
        ("U.S.A.", "U.S.A."),
        ("e.g.", "e.g."),
        ("10a.m.", "10 a.m."),
        (":-)", ":-)"),
        ("(word:)", "( word :)"),
        ("and/or", "and/or"),
        ("x/y", "x / y"),
        ("twenty-one", "twenty - one"),
        ("pre-1990s", "pre-1990s"),
        ("foo_bar", "foo_bar"),
        ("https://a.example/b?c=d", "https://a.example/b?c=d"),
        ("(www.example.org)", "( www.example.org )"),
        ("a.b@example.org", "a.b@example.org"),
        ("192.168.0.1", "192.168.0.1"),
        ("8.8.8.8:80", "8.8.8.8:80"),
        ("10km", "10 km"),
        ("5km/h", "5 km/h"),
        ("$5.00", "$ 5.00"),
        ("US$20", "US$ 20"),
        ("20\u00b0C.", "20 \u00b0 C ."),
        ("Hello.World", "Hello . World"),
        ("now,then", "now , then"),
        ("a--b", "a -- b"),
        ("well...", "well ..."),
        ("....", "...."),
        ("'tis", "' tis"),
        ("cats'", "cats '"),
        ("Smith's", "Smith 's"),
        ("\u201cquoted\u201d", "\u201c quoted \u201d"),
        ("\u00abx\u00bb", "\u00ab x \u00bb"),
        ("C++", "C++"),
        ("C#", "C #"),
        ("node.js", "node.js"),
        ("3+4=7", "3 + 4=7"),
        ("10^6", "10 ^ 6"),
        ("\u4eca\u5929\u5929\u6c14\u3002", "\u4eca\u5929\u5929\u6c14 \u3002"),
        ("\u041f\u0440\u0438\u0432\u0435\u0442,", "\u041f\u0440\u0438\u0432\u0435\u0442 ,"),
        ("<br/>", "< br/ >"),
        ("\u2014", "\u2014"),
        ("a\u2014b", "a \u2014 b"),
        ("I'm", "I 'm"),
        ("gonna", "gon na"),
        ("o'clock", "o'clock"),
        ("Ph.D.", "Ph.D."),
        ("v1.2.3-rc.1", "v1.2.3 - rc.1"),
        ("\U0001f600ok", "\U0001f600 ok"),
    ],
)
def test_cuts(cutter: Cutter, piece: str, words: str) -> None:
    assert list(cutter.words(piece)) == words.split()


def test_rule_has_the_version() -> None:
    assert word_rule() == "spacy/3.8.18/en"
    assert len(facts()["special"]) > 1300


def test_shortcuts_agree_with_the_expressions(cutter: Cutter) -> None:
    """What is said of a first or last character without asking the expressions is so."""
    rules = facts()
    suffix = re.compile(
        "(?:" + "|".join(f"(?:{p})" for p in rules["suffixes"] if p.strip()) + r")\Z"
    )
    prefix = re.compile("|".join(f"(?:{p})" for p in rules["prefixes"] if p.strip()))
    letters = "aZsS'\u2019.,;!?)]}\"0519 \u00b0Ckm\u20ac$\u043c\u2026-_\u00df\u0967".replace(
        " ", ""
    )
    draw = random.Random(1)
    for _ in range(4_000):
        tail = "".join(draw.choice(letters) for _ in range(draw.randint(1, 7)))
        found = suffix.search(tail)
        assert cutter._suffix_size(tail) == (len(tail) - found.start() if found else 0), tail
        begins = prefix.match(tail)
        assert cutter._prefix_size(tail, 0, len(tail)) == (begins.end() if begins else 0), tail


def test_long_pieces_take_linear_time(cutter: Cutter) -> None:
    assert list(cutter.words("!" * 5_000)) == ["!"] * 5_000
    assert list(cutter.words("a" + "." * 20_000)) == ["a", "." * 20_000]
    assert len(cutter.words("a:b." * 5_000)) > 1


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        ("One. Two.", 2),
        ("One.  Two. ", 2),
        ("One... two", 1),
        ('He said "No." Then', 2),
        ("What?! Yes.", 2),
        ("One.  ", 2),
        ("", 1),
        ("e.g. this. And", 2),
        ("One. \u00a0) Two", 2),
        ("\tOne. Two", 2),
        ("Hello.World again.", 2),
        ("One.\t.Two", 2),
        (". . .", 1),
        (") . a", 2),
    ],
)
def test_sentences(line: str, sentences: int) -> None:
    assert Pieces().sentences(line) == sentences
