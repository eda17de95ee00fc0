"""Saved pages: one file, one page."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from corpusmill.pipeline.document import Drop, Failure, Page, document_id
from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.sources.html import Html, HtmlParams

PAGE = b"<!doctype html><html lang=en><title>T</title><p>Some text.</p></html>"


def read(
    tmp_path: Path, data: bytes, name: str = "host.example/a b.html", **params: object
) -> object:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    source = Html(HtmlParams(**params))  # type: ignore[arg-type]
    file = InputFile("web", str(path), name, len(data))
    (record,) = source.read(file)
    assert (record.id, record.offset, record.length) == (
        document_id("web", name, len(data), 0), 0, len(data),
    )  # fmt: skip
    assert source.read_one(file, 0, record.id) == record
    assert source.read_one(file, 1) is None
    assert source.read_one(file, 0, "0" * 32) is None
    return record.outcome


def test_a_page_with_and_without_an_address(tmp_path: Path) -> None:
    page = read(tmp_path, PAGE, url="https://")
    assert isinstance(page, Page)
    assert page.body == PAGE
    assert page.meta["url"] == "https://host.example/a%20b.html"
    assert page.meta["host"] == "host.example"
    assert page.meta["lang_declared"] == "en"
    assert page.meta["file"] == "host.example/a b.html"
    page = read(tmp_path, PAGE)
    assert isinstance(page, Page)
    assert "url" not in page.meta


def test_packed_and_cut_pages(tmp_path: Path) -> None:
    packed = gzip.compress(PAGE * 50, mtime=0)
    whole, cut = read(tmp_path, packed), read(tmp_path, packed[:-12])
    assert isinstance(whole, Page)
    assert isinstance(cut, Page)
    assert whole.body == PAGE * 50
    assert whole.signals == {}
    assert (PAGE * 50).startswith(cut.body)
    assert cut.signals == {"html_repairs": "cut_gzip"}


def test_what_is_no_page(tmp_path: Path) -> None:
    assert read(tmp_path, b" \n") == Drop("empty")
    assert read(tmp_path, b"%PDF-1.7\n%\xe2\xe3") == Drop("not_html", "application/pdf")
    assert read(tmp_path, PAGE, max_body_bytes=10) == Drop("too_large", len(PAGE))
    bomb = gzip.compress(b"<html>" + bytes(5000), mtime=0)
    assert read(tmp_path, bomb, max_body_bytes=1000) == Drop("too_large", 1000)
    assert isinstance(read(tmp_path, b"\x1f\x8bno gzip at all"), Failure)


def test_bad_parameters_and_a_file_that_is_gone(tmp_path: Path) -> None:
    for bad in ({"url": "host.example"}, {"max_body_bytes": 0}):
        with pytest.raises(ConfigError):
            HtmlParams(**bad)
    with pytest.raises(InputError, match="cannot be read"):
        list(Html(HtmlParams()).read(InputFile("web", str(tmp_path / "none"), "none", 5)))
