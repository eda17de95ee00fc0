"""The server of `browse`: this machine alone, one run, reading only.

It listens on the loopback interface. The address that it prints holds a token, which becomes a
cookie at the first visit; without it nothing is answered. Requests for another host's name are
refused, so that no other page can reach it by a name that points here. Pages of the crawl are
shown without their scripts, frames and links to other files, in a frame without rights, under a
policy that loads nothing.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from corpusmill.pipeline.document import Page
from corpusmill.pipeline.errors import ConfigError, CorpusmillError
from corpusmill.pipeline.indexing import read_about
from corpusmill.pipeline.planning import Plan

from .bounds import Bound, bounds_of, chosen, effect
from .filters import read_query
from .store import Store, plain

HOST = "127.0.0.1"
COOKIE = "corpusmill"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
INERT = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox"
_FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/app.css": ("app.css", "text/css; charset=utf-8"),
}
_ACTIVE = re.compile(
    r"<(/?)(script|link|meta|base|iframe|frame|object|embed|portal|form)\b", re.IGNORECASE
)
Asked = Mapping[str, Sequence[str]]


class Site:
    """What is answered, apart from how: a run, its index, and the token."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.plan = Plan.load(root / "plan.json")
        self.about = read_about(root, self.plan.plan_id)
        self.store = Store(root)
        self.bounds: list[Bound] = bounds_of(self.plan)
        self.token = secrets.token_urlsafe(24)
        self.lock = threading.Lock()
        self.closed = False
        self.answers: Mapping[str, Callable[[Asked], Any]] = {
            "/api/about": self._about, "/api/documents": self._documents,
            "/api/signal": self._signal, "/api/document": self._document,
            "/api/bound": self._bound,
        }  # fmt: skip

    def close(self) -> None:
        """Closes the index once no request uses it; later ones are refused."""
        with self.lock:
            self.closed = True
            self.store.close()

    def _about(self, _: Asked) -> Any:
        bounds = [
            {"step": b.step, "reason": b.reason, "signal": b.signal, "bound": b.bound,
             "side": b.side, "by_language": b.by_language} for b in self.bounds
        ]  # fmt: skip
        return {
            "name": f"{self.plan.recipe['name']} {self.plan.recipe['version']}",
            "plan_id": self.plan.plan_id, "records": self.about["records"],
            "without_text": self.about["without_text"], "signals": self.store.signals(),
            "bounds": bounds, "steps": [s["id"] for s in self.plan.recipe["steps"]],
        }  # fmt: skip

    def _documents(self, asked: Asked) -> Any:
        found = self.store.search(read_query(asked, self.store.columns))
        return {**found, "rows": [plain(row) for row in found["rows"]]}

    def _signal(self, asked: Asked) -> Any:
        rest = {k: v for k, v in asked.items() if k != "name"}
        query = read_query(rest, self.store.columns)
        return self.store.histogram(query, _one(asked, "name"))

    def _bound(self, asked: Asked) -> Any:
        bound = chosen(self.bounds, _one(asked, "step"), _one(asked, "reason"), _one(asked, "side"))
        try:
            value = float(_one(asked, "value"))
        except ValueError:
            raise ConfigError(f"value is {_one(asked, 'value')!r}, no number") from None
        if value != value or abs(value) > 1e15:
            raise ConfigError("value is out of range")
        return effect(self.store, bound, value)

    def _document(self, asked: Asked) -> Any:
        from corpusmill.pipeline.story import why

        word = _one(asked, "id")
        found = self.store.document(word)
        if found is None:
            raise ConfigError(f"the index has no document {word!r}")
        (story,) = why(self.root, word)
        judged = []
        for b in self.bounds:
            value = found["row"].get(b.signal)
            if isinstance(value, bool | int | float):
                judged.append({
                    "rule": b.rule, "signal": b.signal, "value": float(value), "bound": b.bound,
                    "side": b.side, "broken": b.rule in found["row"].get("broken", ()),
                })  # fmt: skip
        return {
            **found, "row": plain(found["row"]), "events": story["events"],
            "survivor": story["survivor"], "judged": judged,
            "tokens": [plain(row) for row in story["tokens"]],
        }  # fmt: skip

    def raw(self, word: str) -> str:
        """The page as it was crawled, made inert. Raises CorpusmillError where its input is gone
        or it is none."""
        from corpusmill.pipeline.trying import page_of_run

        outcome = page_of_run(self.root, word).outcome
        if not isinstance(outcome, Page):
            raise ConfigError("this record is no page")
        found = self.store.document(word)
        charset = str((found or {"row": {}})["row"].get("charset", "utf-8"))
        try:
            text = outcome.body.decode(charset, "replace")
        except LookupError:
            text = outcome.body.decode("utf-8", "replace")
        return inert(text)


def inert(text: str) -> str:
    """A page without what acts or loads by itself: such elements have other names."""
    head = '<!doctype html><meta charset="utf-8"><style>x-script{display:none}</style>'
    return head + _ACTIVE.sub(r"<\1x-\2", text)


def _one(asked: Asked, name: str) -> str:
    values = asked.get(name)
    if not values:
        raise ConfigError(f"the parameter {name!r} is missing")
    return values[-1]


class Handler(BaseHTTPRequestHandler):
    """Answers GET requests of the site that its server holds."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    server: Server

    def do_GET(self) -> None:
        site = self.server.site
        address = urlsplit(self.path)
        if self.headers.get("Host") not in self.server.names:
            self._text(403, "this server is reached by its own address alone")
            return
        asked = parse_qs(address.query, keep_blank_values=True)
        if address.path == "/" and "token" in asked:
            if not hmac.compare_digest(asked["token"][-1].encode(), site.token.encode()):
                self._text(
                    403, "another token is needed: it stands in the address that was printed"
                )
                return
            cookie = f"{COOKIE}={site.token}; Path=/; HttpOnly; SameSite=Strict"
            self._send(303, b"", "text/plain", {"Location": "/", "Set-Cookie": cookie})
            return
        if not self._known():
            self._text(403, "open the address with the token that was printed")
            return
        if address.path in _FILES:
            name, kind = _FILES[address.path]
            data = Path(__file__).with_name(name).read_bytes()
            self._send(200, data, kind, {"Content-Security-Policy": POLICY})
            return
        try:
            with site.lock:
                if site.closed:
                    self._text(503, "stopped")
                    return
                if address.path.startswith("/raw/"):
                    page = site.raw(unquote(address.path.removeprefix("/raw/")))
                    kind = "text/html; charset=utf-8"
                    more = {"Content-Security-Policy": INERT}
                    self._send(200, page.encode("utf-8", "replace"), kind, more)
                    return
                answer = site.answers.get(address.path)
                if answer is None:
                    self._text(404, "nothing is here")
                    return
                body = json.dumps(answer(asked), ensure_ascii=True, default=str)
        except CorpusmillError as error:
            told = json.dumps({"error": error.message, "hint": error.hint})
            self._send(400, told.encode(), "application/json", {})
            return
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 - two engines' own errors; the reader is told
            told = json.dumps({"error": f"{type(error).__name__}: {error}", "hint": None})
            self._send(500, told.encode(), "application/json", {})
            return
        self._send(200, body.encode(), "application/json", {})

    def _known(self) -> bool:
        for part in self.headers.get("Cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == COOKIE and hmac.compare_digest(
                value.encode(), self.server.site.token.encode()
            ):
                return True
        return False

    def _text(self, code: int, said: str) -> None:
        self._send(code, f"{said}\n".encode(), "text/plain; charset=utf-8", {})

    def _send(self, code: int, body: bytes, kind: str, more: Mapping[str, str]) -> None:
        self.send_response(code)
        headers = {
            "Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
            "X-DNS-Prefetch-Control": "off", "Cross-Origin-Resource-Policy": "same-origin",
            "Content-Security-Policy": "default-src 'none'", **more,
        }  # fmt: skip
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing: addresses of pages that somebody reads are nobody's business."""


class Server(ThreadingHTTPServer):
    """The HTTP server of one site, on the loopback interface."""

    daemon_threads = True

    def __init__(self, site: Site, port: int = 0) -> None:
        super().__init__((HOST, port), Handler)
        self.site = site
        self.names = {f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader that goes away in the middle of an answer is no error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """What is opened in a browser."""
        return f"http://{HOST}:{self.server_port}/?token={self.site.token}"


def browse(options: Namespace) -> int:
    """The verb ``browse RUN``: serves until it is interrupted."""
    site = Site(Path(options.run))
    try:
        server = Server(site, options.port)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"port {options.port} cannot be used: {error}") from None
    print(f"{site.about['records']} records of {options.run}\n{server.address}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("stopped")
    finally:
        server.server_close()
        site.close()
    return 0


VERBS = {"browse": browse}

__all__ = ["VERBS", "Server", "Site", "browse", "inert"]
