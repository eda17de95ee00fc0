"""Real pages of the embedded sample, written anew in the encodings of their languages."""

from __future__ import annotations

from collections import Counter

from bench import texts
from bench.charset import cases
from bench.charset_pages import ENCODINGS, chosen, crawled, written
from corpusmill.stages.extract.charset import decode

PAGES = 2
FLOOR = 0.985
"""Share of pages whose text must be equal, without a label and with wrong ones."""


def test_real_pages_in_many_encodings() -> None:
    sources = list(crawled(texts.SAMPLE / "crawl", texts.GOLD / "manifest.jsonl.gz"))
    right: Counter[str] = Counter()
    of: Counter[str] = Counter()
    misses = []
    used = set()
    for encoding in ENCODINGS:
        for page in chosen(sources, encoding, PAGES):
            used.add(encoding.name)
            for condition, label, body, text, header in cases(page, encoding):
                if condition in ("none", "wrong header"):
                    found = decode(body, header)
                    right[condition] += found.text == text
                    of[condition] += 1
                    if found.text != text:
                        misses.append((encoding.name, label, found.codec, page.url))
    assert len(used) >= 13, used
    assert of["none"] >= 26
    assert right["none"] >= FLOOR * of["none"], misses
    assert right["wrong header"] >= FLOOR * of["wrong header"], misses


def test_what_an_encoding_cannot_say_is_a_reference_or_no_page() -> None:
    assert written("naïve → x" + "é" * 60, "cp1252") == (
        b"na\xefve &#8594; x" + b"\xe9" * 60, "naïve &#8594; x" + "é" * 60
    )  # fmt: skip
    assert written("здравствуй é", "cp1252") is None
    assert written("ascii", "cp1252") is None
    assert written("tiếng Việt", "cp1258") == ("ti\xea\xecng Vi\xea\xf2t".encode("latin-1"),
                                              "tiê\u0301ng Viê\u0323t")  # fmt: skip
