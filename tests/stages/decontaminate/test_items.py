"""The forms in which an item is looked for, and what each of them finds."""

from __future__ import annotations

import pytest

from corpusmill.stages.decontaminate.benchmarks import Benchmark, Item
from corpusmill.stages.decontaminate.index import ContaminationIndex
from corpusmill.stages.decontaminate.items import forms_of
from corpusmill.stages.decontaminate.rules import HALF_ANYWHERE, Rules
from corpusmill.stages.words import tokenise

FILLER = "The harbour office opens at nine and closes when the last ferry is in. "
FREEZING = Item("f", "At which temperature does seawater freeze?", "28 degrees Fahrenheit")
STEAK = Item(
    "s", "How does one rest a steak?", "Wrap it in foil, wait 10 minutes and cut it on a warm plate"
)
PUMPKIN = Item("p", "A man etches a pumpkin. He uses an old knife. The man then carves it twice.")
WEATHER = Item(
    "w", "Which instrument would a meteorologist carry uphill to show that pressure falls with it?"
)


def sets(*items: Item) -> list[Benchmark]:
    return [Benchmark("set", "1", "CC0-1.0", "0" * 64, items)]


def methods(item: Item, *texts: str, rules: Rules | None = None, end: str = "\n") -> list[str]:
    index = ContaminationIndex.build(sets(item), rules)
    found = index.find([f"{FILLER}\n{text}{end}{FILLER}" for text in texts])
    return [" ".join(hit.method for hit in hits) for hits in found]


@pytest.mark.parametrize(
    ("item", "kinds", "by_half"),
    [
        # with its number, and without; five of nine words are needed, which is more than half
        (FREEZING, ["question", "pair", "half", "question", "pair"], False),
        (STEAK, ["question", "joined", "half", "question", "joined"], True),
        (PUMPKIN, ["long", "half"], True),
        (Item("x", "Why?", "so"), [], False),
        (Item("y", "Open jar", "tap it"), [], False),
        (Item("z", "Do ducks echo?", "Yes, ducks do echo, too"), ["answer", "pair", "half"], False),
    ],
)
def test_forms(item: Item, kinds: list[str], by_half: bool) -> None:
    (forms,) = forms_of(sets(item)[0], Rules())
    assert [entry.kind for entry in forms.entries] == kinds
    assert [e.numbers for e in forms.entries] == sorted(e.numbers for e in forms.entries)[::-1]
    assert forms.visible is bool(kinds)
    assert forms.by_half is by_half
    assert forms.long is (kinds[:1] == ["long"])


def test_an_item_is_visible_by_its_right_answer() -> None:
    """The longest option would do: but a page tells the right one."""
    item = Item(
        "j", "Open jar", "tap its bottom", ("listen until you hear it click", "tap its bottom")
    )
    (forms,) = forms_of(sets(item)[0], Rules())
    assert [entry.kind for entry in forms.entries] == ["answer"]
    assert forms.visible is False


def test_other_numbers_hide_no_short_item() -> None:
    told = (f"{FREEZING.question} {answer}" for answer in ("28 degrees Fahrenheit", "-2.2 degrees "
            "Fahrenheit", "35 degrees Celsius", "21"))  # fmt: skip
    assert methods(FREEZING, *told) == ["short", "short", "", ""]


def test_other_numbers_in_a_question_with_its_answer() -> None:
    text = f"{STEAK.question} {STEAK.answer}"
    changed = text.replace("10 minutes", "1 1/2 minutes")
    assert methods(STEAK, text, changed) == ["ngram", "ngram"]
    assert methods(STEAK, STEAK.answer, STEAK.question) == ["", ""]
    (hits,) = ContaminationIndex.build(sets(STEAK)).find([FILLER + changed])
    assert (FILLER + changed)[hits[0].start : hits[0].end] == changed


def test_short_sentences_in_any_order() -> None:
    one, two, three = PUMPKIN.question.split(". ")
    texts = [f"{two}. {one}. {three}", f"{three} {two}. {one}.", f"{two}. {three}"]
    assert methods(PUMPKIN, *texts) == ["window", "window", ""]
    scattered = " ".join(sorted(PUMPKIN.question.split()))
    assert methods(PUMPKIN, scattered) == [""]


def first(item: Item, *counts: int) -> list[str]:
    words = f"{item.question} {item.answer}".split()
    return [" ".join(words[:n]) for n in counts]


def test_first_words_in_the_midst_of_a_line() -> None:
    """Seven of 15 bits or eight of 12, and 40 % of the item."""
    assert len(WEATHER.question.split()) == 14
    texts = first(WEATHER, 6, 7, 8)
    assert methods(WEATHER, *texts, end=" ") == ["", "half", "half"]
    assert methods(WEATHER, " ".join(WEATHER.question.split()[1:9]), end=" ") == [""]
    assert methods(WEATHER, *texts, rules=Rules(half_words=8), end=" ") == ["", "", "half"]
    for bits, found in ((30, "half"), (31, "")):  # seven have 33, and so have eight
        rules = Rules(half_bits=bits)
        assert methods(WEATHER, texts[1], rules=rules, end=" ") == [found]
        assert methods(WEATHER, texts[2], rules=rules, end=" ") == ["half"]
    assert methods(WEATHER, texts[1], rules=Rules(half_percent=50), end=" ") == ["half"]
    assert methods(WEATHER, texts[1], rules=Rules(half_percent=51), end=" ") == [""]
    anywhere = Rules(**HALF_ANYWHERE)
    assert methods(WEATHER, *first(WEATHER, 5, 6), rules=anywhere, end=" ") == ["", "half"]


@pytest.mark.parametrize(
    ("end", "method"),
    [("\n", "half"), ("?\r\n", "half"), ("...", "half"), ("… ", "half"), (" ", ""), (". ", ""),
     (", ", ""), (":\n", "")],
)  # fmt: skip
def test_first_words_where_the_text_breaks_off(end: str, method: str) -> None:
    """Six words of 14: too few to stand for the item in the midst of a line."""
    (text,) = first(WEATHER, 6)
    assert methods(WEATHER, text, end=end) == [method]
    assert methods(WEATHER, text, end=end, rules=Rules(cut_words=7)) == [""]
    assert methods(WEATHER, text, end=end, rules=Rules(cut_bits=37)) == [""]


def test_a_text_breaks_off_where_it_ends() -> None:
    (text,) = first(WEATHER, 6)
    index = ContaminationIndex.build(sets(WEATHER))
    ((hit,), none) = index.find([FILLER + text, f"{FILLER}{text} or so"])
    assert (hit.method, hit.coverage) == ("half", round(6 / 14, 6))
    assert (FILLER + text)[hit.start : hit.end] == text
    assert none == []


def test_a_short_question_without_its_answer_is_no_half() -> None:
    """Of nine words with the answer: five and seven are found, the question's six are not."""
    assert methods(FREEZING, *first(FREEZING, 4, 5, 6, 7)) == ["", "half", "", "half"]
    assert methods(FREEZING, *first(FREEZING, 6, 7), end=" ") == ["", "half"]


def test_a_first_half_that_could_stand_anywhere() -> None:
    item = Item(
        "c", "Which of the following is an example of a thing that the city can do for you?"
    )
    (forms,) = forms_of(sets(item)[0], Rules())
    assert (forms.visible, forms.by_half) == (True, False)
    assert methods(item, *first(item, 7, 9, 10), end=" ") == ["", "", ""]
    assert methods(item, *first(item, 7, 8)) == ["", ""]


def test_the_words_of_a_batch_may_be_given() -> None:
    index = ContaminationIndex.build(sets(STEAK, PUMPKIN, FREEZING))
    texts = [
        FILLER,
        f"é {PUMPKIN.question}",
        f"<b>How</b> does one rest a steak&#39; <p>{STEAK.answer}",
        "",
        f"{FREEZING.question}\n{FREEZING.answer}",
    ]
    alone = index.find(texts)
    assert [[hit.item for hit in hits] for hits in alone] == [[], ["p"], ["s"], [], ["f"]]
    assert index.find(texts, tokenise(texts)) == alone
    assert index.find([], tokenise([])) == []
