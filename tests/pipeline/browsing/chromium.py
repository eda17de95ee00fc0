"""A real browser, driven through its own protocol over two pipes: no driver, no package.

with Chromium() as browser:
    page = browser.page(width=400, dark=True)
    page.open("http://127.0.0.1:…")
    page.click("#next")
    page.press("Tab")
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 60.0
_KEYS = {
    "Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, ""), "ArrowDown": (40, ""), " ": (32, " "),
}  # fmt: skip


def find() -> str | None:
    """The browser of this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One headless process with a profile of its own, which has no network but this machine."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="chromium-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        command = [
            find() or "chromium", "--headless", "--remote-debugging-pipe", "--no-sandbox",
            "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", "--disable-extensions",
            "--mute-audio", "--force-color-profile=srgb", "--hide-scrollbars", "--no-zygote",
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
            f"--user-data-dir={self.folder}",
        ]  # fmt: skip

        def pipes() -> None:
            # The protocol is on 3 (in) and 4 (out); first out of the way of each other.
            ins, outs = os.dup(to_read), os.dup(to_write)
            high = [os.dup2(fd, n) for fd, n in ((ins, 103), (outs, 104))]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, preexec_fn=pipes, close_fds=False,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._rest = b""
        self._last = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, TimeoutError, AssertionError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(
        self, method: str, parameters: Mapping[str, Any] | None = None, session: str = ""
    ) -> dict[str, Any]:
        """One command and its answer; events that come before it are kept."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": dict(parameters or {})}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + SECONDS
        while True:
            answer = self._next(until)
            if answer.get("id") == self._last:
                assert "error" not in answer, (method, answer)
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(until - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("the browser does not answer")
            more = os.read(self._read, 1 << 16)
            if not more:
                raise OSError("the browser has ended")
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def page(self, width: int = 1600, height: int = 1000, *, dark: bool = False) -> Tab:
        """A new page of that size."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        tab = Tab(self, attached["sessionId"])
        for method in ("Page.enable", "Runtime.enable", "Network.enable", "Log.enable"):
            tab.call(method)
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        tab.call("Emulation.setDeviceMetricsOverride", metrics)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        tab.call("Emulation.setEmulatedMedia", {"features": scheme})
        return tab


class Tab:
    """A page of the browser."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self.browser = browser
        self.session = session

    def call(self, method: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A command to this page."""
        return self.browser.call(method, parameters, self.session)

    def open(self, address: str) -> None:
        """Loads an address, to the end of loading."""
        self.call("Page.navigate", {"url": address})
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate",
            {"expression": script, "returnByValue": True, "awaitPromise": True},
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, script: str, seconds: float = SECONDS) -> None:
        """Until an expression is true. Fails if it never is."""
        until = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < until, f"never true: {script}"
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """A click with the mouse in the middle of an element."""
        box = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); "
            "return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", {
                "type": kind, "x": box[0], "y": box[1], "button": "left", "clickCount": 1,
            })  # fmt: skip

    def press(self, key: str, times: int = 1) -> None:
        """A key of the keyboard."""
        code, text = _KEYS[key]
        press = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        for _ in range(times):
            down = {"type": "keyDown" if text else "rawKeyDown", **press}
            self.call("Input.dispatchKeyEvent", {**down, **({"text": text} if text else {})})
            self.call("Input.dispatchKeyEvent", {"type": "keyUp", **press})

    def type(self, text: str) -> None:
        """Text into what has the focus."""
        self.call("Input.insertText", {"text": text})

    def screenshot(self, path: Path) -> None:
        """A picture of what is seen, as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def events(self, method: str) -> list[dict[str, Any]]:
        """The events of this page by name, so far."""
        self.run("0")  # what was on its way has come now
        return [
            e["params"] for e in self.browser.events
            if e.get("method") == method and e.get("sessionId") == self.session
        ]  # fmt: skip

    def complaints(self) -> list[str]:
        """What the console has of errors, and exceptions that nobody caught."""
        said = [str(e["exceptionDetails"]) for e in self.events("Runtime.exceptionThrown")]
        said += [str(e["entry"]) for e in self.events("Log.entryAdded")
                 if e["entry"]["level"] in ("error", "warning")]  # fmt: skip
        said += [str(e["args"]) for e in self.events("Runtime.consoleAPICalled")
                 if e["type"] in ("error", "assert")]  # fmt: skip
        return said

    def requests(self) -> list[str]:
        """Every address that was asked for."""
        return [e["request"]["url"] for e in self.events("Network.requestWillBeSent")]


__all__ = ["Chromium", "Tab", "find"]
