"""A small S3 store on loopback that fails when told to: lists, HEAD, GET by range."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

Fault = Callable[["Stub", str, int], str]
"""``fault(stub, key, number)`` of the `number`-th GET of an object: "" (serve it), a status like
"500", "cut" (close in the middle), or "short" (fewer bytes, and say so)."""

DAY = "Mon, 02 Mar 2026 10:00:00 GMT"
ISO = "2026-03-02T10:00:00.000Z"


@dataclass
class Stub:
    """The store's one bucket, ``crawls``, and what was asked of it."""

    objects: dict[str, bytes] = field(default_factory=dict)
    fault: Fault = lambda stub, key, number: ""
    gets: list[str] = field(default_factory=list)
    """Key and range of every GET of an object."""
    asked: list[str] = field(default_factory=list)
    day: str = DAY
    address: str = ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stub: Stub

    def log_message(self, *_: object) -> None:
        pass

    def _send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _key(self) -> tuple[str, str]:
        path = unquote(urlsplit(self.path).path).lstrip("/")
        bucket, _, key = path.partition("/")
        return bucket, key

    def do_HEAD(self) -> None:
        bucket, key = self._key()
        self.stub.asked.append(f"HEAD {key}")
        body = self.stub.objects.get(key)
        if bucket != "crawls" or (key and body is None):
            self._send(404)
        elif body is None:
            self._send(200)
        else:
            tag = hashlib.md5(body).hexdigest()
            self._send(
                200, ETag=f'"{tag}"', Last_Modified=self.stub.day, Content_Length=str(len(body))
            )

    def do_GET(self) -> None:
        bucket, key = self._key()
        if bucket != "crawls":
            code = "<Error><Code>NoSuchBucket</Code><Message>none</Message></Error>"
            self._send(404, code.encode(), Content_Type="application/xml")
        elif not key:
            self._list()
        else:
            self._object(key)

    def _object(self, key: str) -> None:
        asked = self.headers.get("Range", "bytes=0-")
        self.stub.gets.append(f"{key} {asked}")
        body = self.stub.objects[key]
        fault = self.stub.fault(self.stub, key, len(self.stub.gets))
        first, _, last = asked.removeprefix("bytes=").partition("-")
        part = body[int(first) : int(last) + 1 if last else None]
        if fault.isdigit():
            self._send(int(fault), b"<Error><Code>InternalError</Code></Error>")
        elif fault == "cut":
            self.send_response(206)
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part[: len(part) // 2])
            self.wfile.flush()
            self.close_connection = True
        else:
            part = part[: len(part) // 2] if fault == "short" else part
            self._send(206, part, ETag='"x"', Last_Modified=self.stub.day)

    def _list(self) -> None:
        query = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        self.stub.asked.append(f"LIST {prefix} {delimiter}".strip())
        rows: list[str] = []
        folders: set[str] = set()
        after, more, last = query.get("continuation-token", ""), "", ""
        for key in sorted(self.stub.objects):
            if not key.startswith(prefix) or key <= after:
                continue
            if len(rows) == 1000:
                more = f"<NextContinuationToken>{escape(last)}</NextContinuationToken>"
                break
            last = key
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.partition(delimiter)[0] + delimiter)
                continue
            size = len(self.stub.objects[key])
            rows.append(
                f"<Contents><Key>{escape(key)}</Key><LastModified>{ISO}</LastModified>"
                f"<Size>{size}</Size></Contents>"
            )
        rows += [f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>" for f in folders]
        text = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>crawls</Name>'
            f"<KeyCount>{len(rows)}</KeyCount><IsTruncated>{str(bool(more)).lower()}</IsTruncated>{more}{''.join(rows)}</ListBucketResult>"
        )
        self._send(200, text.encode(), Content_Type="application/xml")


def serve(stub: Stub) -> Callable[[], None]:
    """Starts the store on a free port; returns what ends it."""
    handler = type("Handler", (_Handler,), {"stub": stub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    stub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop
