"""Text that was UTF-8 read as something else, and text that only looks so."""

from __future__ import annotations

import sys

import pytest

from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.params import decode_dataclass
from corpusmill.stages.clean.mojibake import STAGE, Mojibake, MojibakeParams

FRENCH = "Les élèves français étudient la géographie près de la forêt, où l’été a commencé."
RUSSIAN = "Вчера вечером мы долго гуляли по старому городу."
RIGHT = (
    "plain words", "", FRENCH, RUSSIAN, "昨日の夕方、古い町を歩きました。", "LE CAFÉ» DE LA LIBERTÉ»",
    "Why does the page say Ã© where I wrote é, and â€™ for ’, Ã¼ for ü, ö for ö?", "Â© Ã‰",
)  # fmt: skip


def run(stage: Mojibake, *texts: str) -> list[tuple[str, object]]:
    stage.setup()
    given = [Document(f"{n:032x}", text, "s") for n, text in enumerate(texts)]
    found = stage.apply(given)
    assert found == given
    return [(d.text, d.signals["mojibake"]) for d in found if isinstance(d, Document)]


def wrong(text: str, codec: str = "cp1252") -> str:
    return text.encode().decode(codec, "corpusmill-c1")


def test_what_was_read_as_windows_1252_is_restored() -> None:
    stage = Mojibake(MojibakeParams())
    given = [wrong(FRENCH), wrong(RUSSIAN)]
    assert given[0].startswith("Les Ã©lÃ¨ves franÃ§ais Ã©tudient")
    assert run(stage, *given) == [(FRENCH, True), (RUSSIAN, True)]


def test_right_texts_stay() -> None:
    assert run(Mojibake(MojibakeParams()), *RIGHT) == [(text, False) for text in RIGHT]


def test_single_places_and_other_encodings_are_for_ftfy() -> None:
    one = "The temperature was 565 Â°C at the inlet. " + "It fell in the night. " * 20
    given = [one, wrong(FRENCH), wrong(FRENCH, "mac_roman"), RUSSIAN, "plain"]
    own = run(Mojibake(MojibakeParams()), *given)
    assert [changed for _, changed in own] == [False, True, False, False, False]
    assert run(Mojibake(MojibakeParams(by="ftfy")), *given) == [
        (one.replace("Â°", "°"), True), (FRENCH, True), (FRENCH, True), (RUSSIAN, False),
        ("plain", False),
    ]  # fmt: skip


def test_ftfy_is_pinned_where_it_is_asked_for_and_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Mojibake(MojibakeParams()).pins == STAGE.pins == ()
    stage = Mojibake(MojibakeParams(by="ftfy"))
    assert stage.pins == ("ftfy",)
    monkeypatch.setitem(sys.modules, "ftfy", None)
    with pytest.raises(StageError, match="ftfy is not installed"):
        stage.setup()


def test_another_way_is_an_error() -> None:
    with pytest.raises(ConfigError, match="chardet"):
        decode_dataclass(MojibakeParams, {"by": "chardet"}, "steps[1]")
