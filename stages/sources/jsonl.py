"""Reads JSON lines: plain, gzip or zstd, told apart by their bytes; one `Document` a line.

The layouts of Dolma (``text``, ``id``, ``source``, ``added``, ``metadata``), datatrove (``text``,
``id``, ``metadata``) and RedPajama v2 (``raw_content``, ``url``, ``date_download``) are read as
they are: of `text_fields` the first that the row has is the text; the other fields are looked for
in the row and then in its ``metadata``.

A line's place is the byte offset of its first byte in the uncompressed file; its id is the
`document_id` of that place. The id that the file itself gives a row is kept as ``record_id``.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from corpusmill.pipeline.document import Document, Drop, Failure, Outcome, Record, document_id
from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.stage import InputFile, Source

from .rows import FIELDS, find_field, has_surrogate, row_meta

_PIECE = 1 << 20
_BOM = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b\x08"
MAX_DEPTH = 200
"""Deepest nesting of a row. Where Python's own limit lies depends on its version and its caller."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)', re.S)
_NO_BRACKETS = bytes(b for b in range(256) if b not in b"[]{}")


@dataclass(frozen=True)
class JsonlParams:
    """`text_fields`: names of the text field, the first present one counts. `fields` maps a name
    of ``META_COLUMNS`` to the field's name in the file, over the built-in names
    (`corpusmill.stages.sources.rows.FIELDS`). `max_line_bytes`: longer lines are dropped."""

    text_fields: tuple[str, ...] = ("text", "raw_content", "content")
    fields: Mapping[str, str] | None = None
    max_line_bytes: int = 64 << 20

    def __post_init__(self) -> None:
        if not self.text_fields:
            raise ConfigError("text_fields is empty", hint='["text"]')
        if self.max_line_bytes < 1:
            raise ConfigError(f"max_line_bytes is {self.max_line_bytes}, must be at least 1")
        for name in self.fields or {}:
            if name not in FIELDS:
                raise ConfigError(
                    f"fields: {name!r} is no field that a row can give",
                    hint="one of " + ", ".join(sorted(FIELDS)),
                )


class Jsonl(Source):
    """The source ``sources.jsonl``."""

    name = "sources.jsonl"
    version = 2
    pins = ("zstandard",)
    gives = "document"
    Params = JsonlParams
    reasons = ("blank_line", "empty", "too_large")
    errors = (
        "bad_json", "bad_utf8", "corrupt_file", "lone_surrogate", "no_text_field", "not_an_object",
        "text_not_a_string", "truncated",
    )  # fmt: skip

    params: JsonlParams

    def read(self, file: InputFile) -> Iterator[Record]:
        for start, line, problem in _lines(file, self.params.max_line_bytes):
            if start == 0:
                line = line.removeprefix(_BOM)
            key = document_id(file.source, file.relative, file.size, start)
            if problem is not None:
                yield Record(key, start, 0, problem)
                continue
            outcome = self._outcome(file, key, start, line)
            url = outcome.url if isinstance(outcome, Document) else ""
            yield Record(key, start, 0, outcome, url)

    def _outcome(self, file: InputFile, key: str, start: int, line: bytes) -> Outcome:
        if not line.strip():
            return Drop("blank_line")
        if depth(line) > MAX_DEPTH:
            return Failure("bad_json", f"nested deeper than {MAX_DEPTH}")
        try:
            row = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError as err:
            return Failure("bad_utf8", f"byte {err.start} of the line: {err.reason}")
        except (ValueError, RecursionError) as err:
            return Failure("bad_json", str(err)[:200])
        if not isinstance(row, dict):
            return Failure("not_an_object", f"a {type(row).__name__}")
        found = find_field(row, self.params.text_fields)
        if found is None:
            return Failure("no_text_field", "fields: " + ascii(sorted(row))[:160])
        if not isinstance(found, str):
            return Failure("text_not_a_string", f"a {type(found).__name__}")
        if has_surrogate(found):
            return Failure("lone_surrogate", "the text has half of a surrogate pair")
        if not found.strip():
            return Drop("empty")
        meta = row_meta(row, self.params.fields or {})
        meta["file"] = file.relative
        meta["offset"] = start
        return Document(key, found, file.source, meta)


def depth(line: bytes) -> int:
    """How deep the brackets of a line are nested, as far as it matters here."""
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return 0
    depth = deepest = 0
    for bracket in _STRING.sub(b"", line).translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
        if deepest > MAX_DEPTH:
            break
    return deepest


def _lines(file: InputFile, cap: int) -> Iterator[tuple[int, bytes, Outcome | None]]:
    """(offset in the uncompressed file, line without its end, what is wrong with it)."""
    start = 0
    parts: list[bytes] = []
    have = 0
    with _open(file.path) as stream:
        for piece, fault in _pieces(stream):
            if fault is not None:
                # What lies in front of the fault on the same line is part of what is lost.
                yield start, b"", fault
                return
            at = 0
            while (end := piece.find(b"\n", at)) >= 0:
                size = have + end - at
                if size > cap:
                    yield start, b"", Drop("too_large", size)
                else:
                    yield start, b"".join([*parts, piece[at:end]]).removesuffix(b"\r"), None
                start += size + 1
                parts, have, at = [], 0, end + 1
            rest = piece[at:]
            have += len(rest)
            if have <= cap:
                parts.append(rest)
            else:
                parts = []
    if have > cap:
        yield start, b"", Drop("too_large", have)
    elif have:
        yield start, b"".join(parts), None


def _open(path: str) -> IO[bytes]:
    try:
        return open(path, "rb")
    except OSError as err:
        raise InputError(f"{path}: {err.strerror or err}") from err


def _pieces(stream: IO[bytes]) -> Iterator[tuple[bytes, Failure | None]]:
    head = stream.read(4)
    stream.seek(0)
    errors: tuple[type[Exception], ...]
    if head[:2] == b"\x1f\x8b":
        errors, bite = (zlib.error,), _PIECE
    elif head == b"\x28\xb5\x2f\xfd":
        import zstandard

        errors, bite = (zstandard.ZstdError,), 4096  # small bites bound the output of one call
    else:
        while piece := stream.read(_PIECE):
            yield piece, None
        return
    inflate: Any = None
    left, at = b"", 0
    while at < len(left) or (left := stream.read(bite)):
        at = at if at < len(left) else 0
        if inflate is None:
            if left[at] == 0 and not left[at:].strip(
                b"\0"
            ):  # zero bytes behind the last member, as tapes leave
                left = b""
                continue
            inflate = _inflater(head)
        try:
            if errors[0] is zlib.error:
                # Up to the next member, as a rule: what lies behind its end is copied.
                hit = left.find(_GZIP_MAGIC, at + 4)
                piece = left[at : hit if hit > 0 else len(left)]
                out = inflate.decompress(piece, 4 * _PIECE)
                at += len(piece) - len(inflate.unconsumed_tail)
            else:
                out = inflate.decompress(left[at:])
                at = len(left)
        except errors as err:
            yield b"", Failure("corrupt_file", f"{err}; the rest of the file is lost")
            return
        if out:
            yield out, None
        if inflate.eof:
            at -= len(inflate.unused_data)
            inflate = None
    if inflate is not None:
        yield b"", Failure("truncated", "the file ends inside a compressed stream")


def _inflater(head: bytes) -> Any:
    if head[:2] == b"\x1f\x8b":
        return zlib.decompressobj(31)
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


STAGE = Jsonl
