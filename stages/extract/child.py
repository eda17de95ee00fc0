"""The worker process: reads pages from standard input, writes one answer for each.

Started by `corpusmill.stages.extract.worker` only. A frame is a 4-byte little-endian length and
that many bytes. The first frame in is the configuration (JSON); the first out says ``ready``, or
``fatal`` with a message. Then each page is two frames in (head as JSON, body) and one out (the
answer as JSON, with ``cpu``: the process's CPU seconds so far). End of input ends the process.

Standard output is moved aside first, so that a library that prints cannot break the frames.

Several workers of one machine share what such a process loads: `main_forks` loads it once and forks
a process for each (`corpusmill.pipeline.forking`).
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping
from typing import Any, BinaryIO

from corpusmill.pipeline.forking import serve_forks

EXIT_MEMORY = 77
"""Exit code of a child that ran out of its memory limit."""
_PR_SET_PDEATHSIG = 1
LENGTH = struct.Struct("<I")
"""What stands before each frame."""


def write_frame(stream: BinaryIO, data: bytes) -> None:
    """Writes one frame, without a flush."""
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame, or None at the end of the stream (also in the middle of a frame)."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


def _die_with_parent(parent: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(0)


def _resolve(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def main() -> None:
    """Runs until the input ends."""
    source, out = _streams()
    first = read_frame(source)
    if first is None:
        return
    config = json.loads(first)
    _die_with_parent(config["parent"])
    try:
        function = _function(config)
    except Exception as err:  # noqa: BLE001 - told to the parent, which raises
        hint = getattr(err, "hint", None)
        message = getattr(err, "message", None) or f"{type(err).__name__}: {err}"
        write_frame(out, json.dumps({"fatal": message, "hint": hint}).encode())
        out.flush()
        return
    _answer_pages(source, out, function)


def main_forks(control: int) -> None:
    """Makes the page function of the first request, and forks processes that have it, as long as
    anybody can ask; `control` is the descriptor of the socket."""
    made: list[Any] = []

    def prepare(config: Mapping[str, Any]) -> bool:
        if not made:
            made.append(_function(config))
        return True

    def child(config: Mapping[str, Any]) -> int:
        source, out = _streams()
        read_frame(source)  # the configuration, which came with the request
        _answer_pages(source, out, made[0])
        return 0

    serve_forks(socket.socket(fileno=control), prepare, child)


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """Where pages come from and where answers go."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return sys.stdin.buffer, out


def _function(config: Mapping[str, Any]) -> Any:
    """The page function, made within the memory that the process may have from now on."""
    limit = config["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return _resolve(config["function"])(config["params"])


def _answer_pages(source: BinaryIO, out: BinaryIO, function: Any) -> None:
    write_frame(out, json.dumps({"ready": True, "cpu": time.process_time()}).encode())
    out.flush()
    while True:
        head = read_frame(source)
        body = read_frame(source) if head is not None else None
        if head is None or body is None:
            return
        try:
            answer = function(json.loads(head), body)
        except MemoryError:
            os._exit(EXIT_MEMORY)
        except Exception as err:  # noqa: BLE001 - one page's failure; the parent accounts for it
            answer = {"error": "extractor_error", "message": type(err).__name__}
        answer["cpu"] = time.process_time()
        write_frame(out, json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        out.flush()
