"""WAT files: the links of a page as text, and what the object tells of it as meta."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from corpusmill.pipeline.document import Document, Drop, Failure, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.sources.wat import Wat, WatParams

MakeRecord = Callable[..., bytes]
MakeFile = Callable[..., InputFile]

LINKS = [
    {"path": "A@/href", "url": "/about", "text": "About\n\t us"},
    {"path": "IMG@/src", "url": "/logo.png", "alt": "Our logo"},
    {"path": "A@/href", "url": "https://other.example/x?a=1&b=2"},
    {"path": "A@/href", "url": "  "},
    {"path": "A@/href", "href": "mailto:a@b.example", "text": "Write \ud83d"},
    "odd",
]


def told(
    kind: str = "response", status: Any = "200", page: Any = ..., **headers: str
) -> dict[str, Any]:
    if page is ...:
        page = {
            "Head": {
                "Title": "  A\npage ",
                "Metas": [
                    {"name": "ROBOTS", "content": "NoIndex"}, {"property": "og:title", "content": "x"},
                    {"http-equiv": "Content-Language", "content": "de"},
                ],
                "Link": [{"path": "LINK@/href", "rel": "license", "url": "https://cc.example/by"}],
            },
            "Links": LINKS,
        }  # fmt: skip
    response: dict[str, Any] = {"Headers": headers, "Response-Message": {"Status": status}}
    if page is not None:
        response["HTML-Metadata"] = page
    return {
        "Container": {"Filename": "x.warc.gz", "Offset": "12"},
        "Envelope": {
            "WARC-Header-Metadata": {"WARC-Type": kind},
            "Payload-Metadata": {"HTTP-Response-Metadata": response},
        },
    }


def one(
    make_record: MakeRecord, make_file: MakeFile, value: Any, links: tuple[str, ...] = ("A@/href",),
    kind: str = "metadata",
) -> Outcome:  # fmt: skip
    block = value if isinstance(value, bytes) else json.dumps(value).encode()
    record = make_record(block, kind, url="http://A.example/p", mime="application/json")
    file = make_file(gzip.compress(record, mtime=0), "x.warc.wat.gz")
    reader = Wat(WatParams(links))
    (found,) = reader.read(file)
    assert found.length == file.size
    assert reader.read_one(file, 0, found.id) == found
    if isinstance(found.outcome, Drop):
        assert found.outcome.reason in Wat.reasons
    elif isinstance(found.outcome, Failure):
        assert found.outcome.type in Wat.errors
    return found.outcome


def test_links_are_the_text_and_the_rest_is_meta(
    make_record: MakeRecord, make_file: MakeFile
) -> None:
    page = told(**{"Content-Type": "text/html", "X-Robots-Tag": "noai"})
    outcome = one(make_record, make_file, page)
    assert isinstance(outcome, Document)
    assert (
        outcome.text
        == "/about\tAbout us\nhttps://other.example/x?a=1&b=2\nmailto:a@b.example\tWrite ?"
    )
    assert outcome.signals == {"wat_links": 3}
    known = {k: v for k, v in outcome.meta.items() if k not in ("file", "offset", "length", "date")}
    assert known == {
        "url": "http://A.example/p", "url_canonical": "https://a.example/p", "host": "a.example", "http_status": 200, "title": "A page",
        "content_type": "text/html", "robots": "noai, noindex", "lang_declared": "de",
        "licence": "https://cc.example/by", "licence_where": "rel=license in head",
        "record_id": "urn:uuid:00000000-0000-0000-0000-000000000001",
    }  # fmt: skip


def test_places_of_links(make_record: MakeRecord, make_file: MakeFile) -> None:
    outcome = one(make_record, make_file, told(), ("IMG@/src",))
    assert isinstance(outcome, Document)
    assert outcome.text == "/logo.png\tOur logo"
    outcome = one(make_record, make_file, told(), ())
    assert isinstance(outcome, Document)
    assert outcome.signals == {"wat_links": 4}
    with pytest.raises(ConfigError, match="no place of a link"):
        WatParams(links=("a",))


@pytest.mark.parametrize(
    ("value", "reason"),
    [(told("request"), "request"), (told("warcinfo"), "warcinfo"), (told("metadata"), "metadata"),
     (told("revisit"), "revisit"), (told("strange"), "unknown_type"), (told(status="404"), "status"),
     (told(page=None), "not_html"), (told(page={}), "no_links"), ({}, "unknown_type"),
     (told(page={"Links": [{"path": "A@/href"}, 3, None]}), "no_links"),
     (told(page={"Links": {"path": "A@/href", "url": "x"}}), "no_links")],
)  # fmt: skip
def test_all_else_is_dropped(
    make_record: MakeRecord, make_file: MakeFile, value: Any, reason: str
) -> None:
    outcome = one(make_record, make_file, value)
    assert isinstance(outcome, Drop)
    assert outcome.reason == reason


@pytest.mark.parametrize("kind", ["warcinfo", "conversion", "response", "strange"])
def test_records_of_other_kinds(make_record: MakeRecord, make_file: MakeFile, kind: str) -> None:
    outcome = one(make_record, make_file, {}, kind=kind)
    assert isinstance(outcome, Drop)
    assert outcome.reason == (kind if kind in Wat.reasons else "unknown_type")


@pytest.mark.parametrize(
    ("block", "error"),
    [(b"{", "bad_json"), (b"[]", "bad_json"), (b'{"a": "\xff"}', "bad_utf8"), (b"", "bad_json"),
     (b'{"a":' * 500 + b"1" + b"}" * 500, "bad_json")],
)  # fmt: skip
def test_what_is_no_object_is_an_error(
    make_record: MakeRecord, make_file: MakeFile, block: bytes, error: str
) -> None:
    outcome = one(make_record, make_file, block)
    assert isinstance(outcome, Failure)
    assert outcome.type == error


def test_values_of_other_types_break_nothing(make_record: MakeRecord, make_file: MakeFile) -> None:
    odd: Any
    for odd in (None, 3, [], "x", {"a": 1}):
        page = {"Head": odd, "Links": [*LINKS[:1], {"path": odd, "url": odd, "text": odd}]}
        value = told(page=page)
        value["Envelope"]["Payload-Metadata"]["HTTP-Response-Metadata"]["Headers"] = odd
        value["Envelope"]["Payload-Metadata"]["HTTP-Response-Metadata"]["Response-Message"] = odd
        outcome = one(make_record, make_file, value)
        assert isinstance(outcome, Document)
        assert outcome.text == "/about\tAbout us"
