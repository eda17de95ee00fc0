"""What was taken for English is looked at by lines."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import cast

import pytest

from corpusmill.pipeline.document import Document
from corpusmill.stages.measure.language import MeasureLanguage, Params
from corpusmill.stages.measure.language_lines import doubtful, letters_by_language, not_english
from corpusmill.stages.measure.language_model import LanguageModel, Opinion, language_model

ENGLISH = (
    "the address of the server is read from the file and the name of the host is sent to it with "
    "the port"
)
SPANISH = (
    "Los núcleos incluyen la gestión de la red en el corazón del sistema, y las herramientas "
    "básicas vienen en otros paquetes."
)
CODE = (
    "    # the daemon is started by the script when the machine boots\n"
    "    set address to the first value of the list\n"
    "    exit if there is none\n"
)
SURE = Opinion("en", 0.99, "latin", 500, 1.0, "", 0.0)


def half_translated(spanish: int) -> str:
    return "\n".join([ENGLISH * 3, *[SPANISH] * spanish, *[CODE] * 3, SPANISH])


@pytest.mark.parametrize(("spanish", "lang"), [(4, "en"), (7, "es")])
def test_most_lines_have_it(spanish: int, lang: str) -> None:
    stage = MeasureLanguage(Params())
    stage.setup()
    document = Document("0" * 32, half_translated(spanish), "s")
    stage.apply([document])
    signals = document.signals
    assert signals["lang"] == lang
    assert {signals["lang"], signals["lang_second"]} == {"en", "es"}
    assert (signals["lang_judges"] == "lines") == (lang == "es")
    if lang == "es":
        assert signals["lang_share"] == signals["lang_score"] == 0.6226
        assert signals["lang_second_share"] == 0.3774


def test_short_texts_are_not_looked_at() -> None:
    stage = MeasureLanguage(Params(chars=20_000))
    stage.setup()
    document = Document("0" * 32, half_translated(7), "s")
    stage.apply([document])
    assert document.signals["lang_judges"] != "lines"


def test_lines_that_count() -> None:
    text = "\n".join([
        SPANISH, "  " + SPANISH, "Los núcleos de la red",  # too short
        "12 345 678 901 234 567 890 123 y", ENGLISH, "",
    ])  # fmt: skip
    letters = sum(c.isalpha() for c in SPANISH)
    assert letters_by_language(language_model(), text) == {
        "es": 2 * letters, "en": sum(c.isalpha() for c in ENGLISH),
    }  # fmt: skip
    assert not letters_by_language(language_model(), "")


class _Told:
    """A model that says what it was given, line by line."""

    def __init__(self, *told: Opinion) -> None:
        self.told = list(told)

    def ask(self, texts: Sequence[str]) -> list[Opinion]:
        return self.told[: len(texts)]


def test_lines_of_which_the_model_is_not_sure_do_not_count() -> None:
    model = _Told(
        dataclasses.replace(SURE, probability=0.8, letters=15),
        dataclasses.replace(SURE, probability=0.799, letters=700),
        dataclasses.replace(SURE, letters=14),
        dataclasses.replace(SURE, code="x-klingon"),
        dataclasses.replace(SURE, code="pt", letters=40),
    )
    text = "\n".join(["a line of five times ten letters and some more"] * 5)
    assert letters_by_language(cast(LanguageModel, model), text) == {"en": 15, "pt": 40}


def test_a_tenth_more_is_asked_of_the_other_language() -> None:
    assert not_english(Counter(en=100, es=110), SURE) is None
    assert not_english(Counter(en=100), SURE) is None
    assert not_english(Counter(), SURE) is None
    found = not_english(Counter(en=100, es=111, pt=40), SURE)
    assert found == dataclasses.replace(
        SURE, code="es", probability=0.4422, share=0.4422, second="en", second_share=0.3984
    )
    assert not_english(Counter(es=20, ca=20), SURE) == dataclasses.replace(
        SURE, code="ca", probability=0.5, share=0.5
    )


def test_only_doubtful_english_is_looked_at() -> None:
    assert not doubtful(SURE)
    assert doubtful(dataclasses.replace(SURE, probability=0.949))
    assert not doubtful(dataclasses.replace(SURE, probability=0.95))
    assert doubtful(dataclasses.replace(SURE, second="es", second_share=0.01))
    assert doubtful(dataclasses.replace(SURE, code="sco"))
