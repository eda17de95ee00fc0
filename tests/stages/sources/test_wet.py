"""WET files."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from corpusmill.pipeline.document import Document, Drop, Failure
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.sources.wet import Wet, WetParams

MakeRecord = Callable[..., bytes]
MakeFile = Callable[..., InputFile]


def test_outcomes(make_record: MakeRecord, make_file: MakeFile) -> None:
    text = "Ein Text\nüber zwei Zeilen\n"
    parts = [
        make_record(b"software: x", kind="warcinfo"),
        make_record(text.encode(), kind="conversion", mime="text/plain"),
        make_record(b"\xff\xfe\xfd", kind="conversion", mime="text/plain"),
        make_record(b" \n", kind="conversion", mime="text/plain"),
        make_record(b"x" * 500, kind="conversion", mime="text/plain"),
        make_record(b"", kind="strange"),
    ]
    file = make_file(b"".join(gzip.compress(p, mtime=0) for p in parts))
    stage = Wet(WetParams(max_text_bytes=400))
    records = list(stage.read(file))
    assert [r.outcome for i, r in enumerate(records) if i != 1] == [
        Drop("warcinfo"),
        Failure("bad_utf8", "byte 0 of the block: invalid start byte"),
        Drop("empty"),
        Drop("too_large", 500),
        Drop("unknown_type", "strange"),
    ]
    doc = records[1].outcome
    assert isinstance(doc, Document)
    assert (doc.text, doc.id, doc.source) == (text, records[1].id, "test")
    assert doc.meta["host"] == "example.test"
    assert doc.meta["content_type"] == "text/plain"
    assert stage.read_one(file, records[1].offset) == records[1]


def test_params() -> None:
    with pytest.raises(ConfigError, match="max_text_bytes is -1"):
        WetParams(max_text_bytes=-1)
