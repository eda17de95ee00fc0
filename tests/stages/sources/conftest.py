"""Archives made in memory, and the folder of public test archives."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from corpusmill.pipeline.stage import InputFile

WARCS = Path(__file__).resolve().parents[2] / "data" / "warc"

MakeRecord = Callable[..., bytes]
MakeFile = Callable[..., InputFile]


@pytest.fixture(scope="session")
def warcs() -> Path:
    return WARCS


@pytest.fixture(scope="session")
def make_record() -> MakeRecord:
    """One WARC record with its line ends: ``make_record(block, kind="response", **headers)``."""

    def make(block: bytes, kind: str = "response", length: int | None = None, **more: str) -> bytes:
        lines = [
            "WARC/1.0",
            f"WARC-Type: {kind}",
            "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>",
            "WARC-Date: 2026-01-02T03:04:05Z",
            f"WARC-Target-URI: {more.pop('url', 'http://Example.test:8080/a?b')}",
            f"Content-Type: {more.pop('mime', 'application/http; msgtype=response')}",
            *(f"{name.replace('_', '-')}: {value}" for name, value in more.items()),
            f"Content-Length: {len(block) if length is None else length}",
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"

    return make


@pytest.fixture
def make_file(tmp_path: Path) -> MakeFile:
    """Writes bytes and gives the `InputFile`: ``make_file(data, name="a.warc.gz")``."""

    def make(data: bytes, name: str = "a.warc.gz") -> InputFile:
        path = tmp_path / name
        path.write_bytes(data)
        return InputFile("test", str(path), name, len(data))

    return make


@pytest.fixture(scope="session")
def member() -> Callable[[bytes], bytes]:
    return lambda data: gzip.compress(data, mtime=0)
