"""Bodies with right, wrong and broken codings: every case of the known traps."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.sources.bodies import BodyTooLarge, BodyUnreadable, decode_body

PAGE = b"<!doctype html><html><body>" + b"<p>one two three</p>\n" * 200 + b"</body></html>"
GZIP = gzip.compress(PAGE, mtime=0)
ZLIB = zlib.compress(PAGE)
RAW = ZLIB[2:-4]
BR = brotli.compress(PAGE)
ZSTD = zstandard.compress(PAGE)


def chunked(data: bytes, size: int = 100, end: bytes = b"0\r\n\r\n") -> bytes:
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in parts) + end


CASES: list[tuple[str, bytes, dict[str, str], tuple[str, ...]]] = [
    ("plain", PAGE, {}, ()),
    ("identity", PAGE, {"content-encoding": "identity"}, ()),
    ("a charset as coding", PAGE, {"content-encoding": "UTF-8"}, ()),
    ("gzip", GZIP, {"content-encoding": "gzip"}, ()),
    ("x-gzip", GZIP, {"content-encoding": "X-GZIP"}, ()),
    ("zlib deflate", ZLIB, {"content-encoding": "deflate"}, ()),
    ("raw deflate", RAW, {"content-encoding": "deflate"}, ()),
    ("gzip called deflate", GZIP, {"content-encoding": "deflate"}, ()),
    ("br", BR, {"content-encoding": "br"}, ()),
    ("zstd", ZSTD, {"content-encoding": "zstd"}, ()),
    ("chunked", chunked(PAGE), {"transfer-encoding": "chunked"}, ()),
    ("chunked, extension and trailer",
     chunked(PAGE, end=b"0;x=1\r\nX-T: 1\r\n\r\n").replace(b"64\r\n", b"64;a=b\r\n", 1),
     {"transfer-encoding": "chunked"}, ()),
    ("chunked, LF", chunked(PAGE).replace(b"\r\n", b"\n"), {"transfer-encoding": "chunked"}, ()),
    ("chunked + gzip", chunked(GZIP),
     {"transfer-encoding": "chunked", "content-encoding": "gzip"}, ()),
    ("chunked + br", chunked(BR), {"transfer-encoding": "chunked", "content-encoding": "br"}, ()),
    ("gzip, chunked as transfer", chunked(GZIP), {"transfer-encoding": "gzip, chunked"}, ()),
    ("gzip of gzip", gzip.compress(GZIP, mtime=0), {"content-encoding": "gzip, gzip"}, ()),
    ("br of gzip", brotli.compress(GZIP), {"content-encoding": "gzip, br"}, ()),
    ("two gzip members", gzip.compress(PAGE[:99], mtime=0) + gzip.compress(PAGE[99:], mtime=0),
     {"content-encoding": "gzip"}, ()),
    ("says gzip, is plain", PAGE, {"content-encoding": "gzip"}, ("not_gzip",)),
    ("says deflate, is plain", PAGE, {"content-encoding": "deflate"}, ("not_deflate",)),
    ("says br, is plain", PAGE, {"content-encoding": "br"}, ("not_br",)),
    ("says zstd, is plain", PAGE, {"content-encoding": "zstd"}, ("not_zstd",)),
    ("says chunked, is not", PAGE, {"transfer-encoding": "chunked"}, ("not_chunked",)),
    ("says chunked, begins like a size", b"12\r\n" + PAGE, {"transfer-encoding": "chunked"},
     ("not_chunked",)),
    ("says chunked + gzip, is plain", PAGE,
     {"transfer-encoding": "chunked", "content-encoding": "gzip"}, ("not_chunked", "not_gzip")),
    ("gzip without a header", GZIP, {"content-type": "text/html"}, ("undeclared_gzip",)),
    ("decoded once, coded twice", GZIP, {"transfer-encoding": "chunked"},
     ("not_chunked", "undeclared_gzip")),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "headers", "repairs"), [c[1:] for c in CASES],
                         ids=[c[0] for c in CASES])  # fmt: skip
def test_coding(raw: bytes, headers: dict[str, str], repairs: tuple[str, ...]) -> None:
    body = decode_body(raw, headers)
    expected = raw if raw.startswith(b"12\r\n") else PAGE
    assert body.data == expected
    assert body.repairs == repairs


@pytest.mark.parametrize(
    ("pack", "coding"),
    [(gzip.compress, "gzip"), (zlib.compress, "deflate"), (brotli.compress, "br"),
     (lambda d: zstandard.compress(d), "zstd")],
    ids=["gzip", "deflate", "br", "zstd"],
)  # fmt: skip
def test_cut_bodies_keep_what_came(pack: Callable[[bytes], bytes], coding: str) -> None:
    text = b"".join(b"%d " % (i * 7919 % 100_003) for i in range(60_000))
    packed = pack(text)
    body = decode_body(packed[: len(packed) - 9], {"content-encoding": coding})
    assert body.repairs == (f"cut_{coding}",)
    assert text.startswith(body.data)
    assert len(body.data) > len(text) // 3


def test_a_corrupt_body_keeps_what_came_before() -> None:
    text = b"".join(b"%d " % (i * 7919 % 100_003) for i in range(20_000))
    packed = bytearray(gzip.compress(text, mtime=0))
    packed[len(packed) // 2 : len(packed) // 2 + 8] = b"\xff" * 8
    body = decode_body(bytes(packed), {"content-encoding": "gzip"})
    assert body.repairs == ("bad_gzip",)
    assert body.data[:40_000] == text[:40_000]


def test_wrong_checksum_is_told() -> None:
    body = decode_body(GZIP[:-8] + b"\0" * 8, {"content-encoding": "gzip"})
    assert (body.data, body.repairs) == (PAGE, ("bad_gzip",))


def test_cut_and_broken_chunks() -> None:
    cut = decode_body(chunked(PAGE)[:250], {"transfer-encoding": "chunked"})
    assert cut.repairs == ("cut_chunked",)
    # Two whole chunks (106 bytes each with their framing), the third's size, 34 of its bytes.
    assert cut.data == PAGE[:234]
    no_end = decode_body(chunked(PAGE, end=b""), {"transfer-encoding": "chunked"})
    assert (no_end.data, no_end.repairs) == (PAGE, ("cut_chunked",))
    broken = chunked(PAGE[:200], end=b"") + b"not a size <p>rest</p>"
    body = decode_body(broken, {"transfer-encoding": "chunked"})
    assert body.data == PAGE[:200] + b"not a size <p>rest</p>"
    assert body.repairs == ("bad_chunked",)


def test_nothing_decodable() -> None:
    with pytest.raises(BodyUnreadable, match="gzip"):
        decode_body(GZIP[:9], {"content-encoding": "gzip"})
    with pytest.raises(BodyUnreadable, match="br"):
        decode_body(bytes(range(128, 256)) + b"\0\1\2\3\4\5" * 9, {"content-encoding": "br"})


def test_gzip_files_stay_packed() -> None:
    assert decode_body(GZIP, {"content-type": "application/x-gzip"}).data == GZIP


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_bombs(coding: str) -> None:
    zeros = bytes(8 << 20)
    packed = {
        "gzip": lambda: gzip.compress(zeros, mtime=0), "deflate": lambda: zlib.compress(zeros),
        "br": lambda: brotli.compress(zeros, quality=5), "zstd": lambda: zstandard.compress(zeros),
    }[coding]()  # type: ignore[no-untyped-call]  # fmt: skip
    assert len(packed) < 20_000
    with pytest.raises(BodyTooLarge):
        decode_body(packed, {"content-encoding": coding}, cap=1 << 20)
    assert decode_body(packed, {"content-encoding": coding}, cap=8 << 20).data == zeros


def test_cap_on_plain_bodies() -> None:
    with pytest.raises(BodyTooLarge):
        decode_body(PAGE, {}, cap=len(PAGE) - 1)
    assert decode_body(PAGE, {}, cap=len(PAGE)).data == PAGE


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    raw=st.one_of(
        st.binary(max_size=400),
        st.builds(lambda d, a, b: d[:a] + b + d[a + 1 :],
                  st.sampled_from([GZIP, ZLIB, RAW, BR, ZSTD, chunked(GZIP), chunked(PAGE)]),
                  st.integers(0, 300), st.binary(max_size=3)),
    ),
    content=st.sampled_from(["", "gzip", "deflate", "br", "zstd", "gzip, br"]),
    transfer=st.sampled_from(["", "chunked"]),
)  # fmt: skip
def test_any_bytes(raw: bytes, content: str, transfer: str) -> None:
    headers = {"content-encoding": content, "transfer-encoding": transfer}
    try:
        first = decode_body(raw, headers)
    except (BodyUnreadable, BodyTooLarge):
        return
    assert decode_body(raw, headers) == first
