"""Each tier's rule, with libraries that give texts of known length."""

from __future__ import annotations

from typing import Any

import pytest

from corpusmill.stages.extract import policy
from corpusmill.stages.extract.policy import TIERS, Tier, choose, libraries_of

LIBRARY_TIERS = tuple(t for t in TIERS if t != "own")


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Words that each library gives; changed by the test."""
    given = {"main": 0, "all": 0, "trafilatura": 0}

    class FakePage:
        def __init__(self, html: str) -> None:
            pass

        def text(self, *, main: bool, form: str = "text", comments: bool = True) -> str:
            which = "main" if main else "all"
            return f"{which} " * given[which] + ("#" if form == "markdown" else "")

    def fake_trafilatura(html: str, *, form: str = "text", comments: bool = True) -> str:
        if given["trafilatura"] < 0:
            raise AssertionError("trafilatura was called")
        return "trafilatura " * given["trafilatura"] + ("#" if form == "markdown" else "")

    monkeypatch.setattr(policy, "ResiliparsePage", FakePage)
    monkeypatch.setattr(policy, "trafilatura_text", fake_trafilatura)
    return given


@pytest.mark.parametrize(
    ("tier", "main", "trafilatura", "path", "words"),
    [
        ("fast", 50, -1, "resiliparse", 50),
        ("fast", 49, -1, "resiliparse_all", 1000),
        ("fast", 0, -1, "resiliparse_all", 1000),
        ("default", 200, -1, "resiliparse", 200),
        ("default", 199, 500, "trafilatura", 500),
        ("default", 100, 60, "trafilatura", 60),
        ("default", 100, 59, "resiliparse", 100),
        ("default", 0, 0, "trafilatura", 0),
        ("quality", 100, 50, "trafilatura", 50),
        ("quality", 100, 49, "resiliparse", 100),
        ("quality", 101, 50, "resiliparse", 101),
        ("quality", 1000, 900, "trafilatura", 900),
        ("trafilatura", 1000, 3, "trafilatura", 3),
        ("resiliparse", 3, -1, "resiliparse", 3),
    ],
)
def test_rule(
    lengths: dict[str, int], tier: Tier, main: int, trafilatura: int, path: str, words: int
) -> None:
    lengths.update({"main": main, "all": 1000, "trafilatura": trafilatura})
    choice = choose("<p>x</p>", tier)
    assert (choice.path, choice.words, choice.all_words) == (path, words, 1000)
    assert len(choice.text.split()) == words


@pytest.mark.parametrize("tier", LIBRARY_TIERS)
def test_markdown_comes_from_the_same_path(lengths: dict[str, int], tier: Tier) -> None:
    lengths.update({"main": 40, "all": 80, "trafilatura": 60})
    text, markdown = choose("x", tier), choose("x", tier, "markdown")
    assert markdown.path == text.path
    assert markdown.words == text.words
    assert markdown.text == text.text + "#"


@pytest.mark.parametrize("tier", LIBRARY_TIERS)
def test_a_tier_calls_only_the_libraries_it_names(
    lengths: dict[str, int], tier: Tier, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Any] = []

    def record(html: str, *, form: str = "text", comments: bool = True) -> str:
        called.append(html)
        return ""

    monkeypatch.setattr(policy, "trafilatura_text", record)
    choose("x", tier)
    assert bool(called) == ("trafilatura" in libraries_of(tier))
