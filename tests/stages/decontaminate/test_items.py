"""The forms in which an item is looked for, and what each of them finds."""

from __future__ import annotations

import pytest

from corpusmill.stages.decontaminate.benchmarks import Benchmark, Item
from corpusmill.stages.decontaminate.index import ContaminationIndex
from corpusmill.stages.decontaminate.items import forms_of
from corpusmill.stages.decontaminate.rules import Rules
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


def methods(item: Item, *texts: str, rules: Rules | None = None) -> list[str]:
    index = ContaminationIndex.build(sets(item), rules)
    found = index.find([f"{FILLER}\n{text}\n{FILLER}" for text in texts])
    return [" ".join(hit.method for hit in hits) for hits in found]


@pytest.mark.parametrize(
    ("item", "kinds"),
    [
        (FREEZING, ["question", "pair", "question", "pair"]),  # with its number, and without
        (STEAK, ["question", "joined", "half", "question", "joined"]),
        (PUMPKIN, ["long", "half"]),
        (Item("x", "Why?", "so"), []),
        (Item("y", "Open jar", "tap it"), []),
        (Item("z", "Do ducks echo?", "Yes, ducks do echo, too"), ["answer", "pair"]),
    ],
)
def test_forms(item: Item, kinds: list[str]) -> None:
    (forms,) = forms_of(sets(item)[0], Rules())
    assert [entry.kind for entry in forms.entries] == kinds
    assert [e.numbers for e in forms.entries] == sorted(e.numbers for e in forms.entries)[::-1]
    assert forms.visible is bool(kinds)
    assert forms.by_half is ("half" in kinds)
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
            "Fahrenheit", "35 degrees Celsius", "28"))  # fmt: skip
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


def test_first_half() -> None:
    words = WEATHER.question.split()
    assert len(words) == 14
    texts = [" ".join(words[:n]) for n in (7, 6)] + [" ".join(words[7:]), " ".join(words[1:8])]
    assert methods(WEATHER, *texts) == ["half", "", "", ""]
    assert methods(WEATHER, texts[0], rules=Rules(half_bits=60)) == [""]
    assert methods(WEATHER, texts[0], rules=Rules(half_words=8)) == [""]


def test_a_first_half_that_could_stand_anywhere() -> None:
    item = Item(
        "c", "Which of the following is an example of a thing that the city can do for you?"
    )
    (forms,) = forms_of(sets(item)[0], Rules())
    assert (forms.visible, forms.by_half) == (True, False)
    assert methods(item, "Which of the following is an example of a thing") == [""]


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
