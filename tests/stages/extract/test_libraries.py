"""The libraries: self-test, state, failures."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import pytest

from corpusmill.pipeline.errors import StageError
from corpusmill.stages.extract import libraries
from corpusmill.stages.extract.libraries import (
    LibraryError,
    ResiliparsePage,
    self_test,
    trafilatura_metadata,
    trafilatura_text,
)

PAGE = """<html><head><title>T</title><meta name="author" content="Ada Byron">
<meta property="og:site_name" content="The Engine">
<meta property="article:published_time" content="2019-05-06T10:00:00Z"></head>
<body><article><p>{}</p></article></body></html>"""


def test_both_libraries_pass() -> None:
    self_test(("resiliparse", "trafilatura"))


def test_a_library_that_finds_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "trafilatura_text", lambda html: "")
    with pytest.raises(StageError, match="trafilatura does not find") as caught:
        self_test(("trafilatura",))
    assert caught.value.hint
    assert "lxml_html_clean" in caught.value.hint


def test_a_library_that_cannot_be_imported_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def fake(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "trafilatura":
            raise ImportError("lxml.html.clean module is now a separate project")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fake)
    with pytest.raises(StageError, match=r"cannot be used: lxml\.html\.clean"):
        self_test(("trafilatura",))


def test_the_same_page_gives_the_same_text_ten_times() -> None:
    page = PAGE.format("The same sentence stands here in every copy of this page. " * 30)
    assert len({trafilatura_text(page) for _ in range(10)}) == 1
    assert trafilatura_text(page)


def test_an_exception_becomes_a_library_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> str:
        raise ZeroDivisionError("text of the page")

    monkeypatch.setattr(sys.modules["trafilatura"], "extract", fail)
    with pytest.raises(LibraryError, match=r"^trafilatura: ZeroDivisionError$"):
        trafilatura_text("<p>x</p>")
    with pytest.raises(LibraryError, match="resiliparse: TypeError"):
        ResiliparsePage(3)  # type: ignore[arg-type]


def test_memory_errors_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> str:
        raise MemoryError

    monkeypatch.setattr(sys.modules["trafilatura"], "extract", fail)
    with pytest.raises(MemoryError):
        trafilatura_text("<p>x</p>")


def test_metadata() -> None:
    page = PAGE.format("word " * 100)
    assert trafilatura_metadata(page, url="", crawled="2026-03-08T12:00:00Z") == {
        "author": "Ada Byron",
        "date": "2019-05-06",
        "sitename": "The Engine",
    }


def test_no_page_is_younger_than_its_crawl() -> None:
    page = PAGE.format("word " * 100)
    assert "date" not in trafilatura_metadata(page, url="", crawled="2018-01-01T00:00:00Z")
    assert "date" in trafilatura_metadata(page, url="", crawled="")
