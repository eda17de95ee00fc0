"""The report and the server in a real browser: seen, clicked, typed, and attacked by its pages."""

from __future__ import annotations

import importlib.util
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.report_html import html_report

from .chromium import Chromium, Tab, find

pytestmark = pytest.mark.slow
EVIL = (
    "<script>window.pwned=1;document.title='pwned'</script>"
    "<img src='http://127.0.0.1:9/spy.png' onerror='parent.pwned=1'>"
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/away'>"
    "<link rel=stylesheet href='http://127.0.0.1:9/spy.css'><base href='http://127.0.0.1:9/'>"
    "<iframe src='javascript:parent.parent.pwned=1'></iframe><svg onload='parent.pwned=1'></svg>"
    "<style>@import 'http://127.0.0.1:9/more.css';body{background:url(http://127.0.0.1:9/b.png)}</style>"
    "<form action='http://127.0.0.1:9/'><input autofocus onfocus='parent.pwned=1'></form>"
)
RECIPE = """
schema: corpusmill/recipe/1
name: hostile
version: "1"
sources:
  - {name: rows, stage: sources.jsonl, root: in, paths: ["*.jsonl"], licence: CC0-1.0}
  - {name: pages, stage: sources.html, root: in, paths: ["*.html"], licence: CC0-1.0,
     params: {url: "https://evil.test/"}}
steps:
  - filters.listed: {drop: [names.txt]}
  - measure.fineweb
  - filters.threshold: {signal: fineweb_line_punct, min: 0.5, as: ends}
  - dedup.exact
execution: {partitions: 1}
"""


def needs(name: str, there: bool) -> None:
    """Skips where something is missing; fails where everything must be tested."""
    if not there and os.environ.get("CI") == "true":
        pytest.fail(f"{name} is missing; hint: .ci/chromium, and the lock of the tests")
    if not there:
        pytest.skip(f"{name} is not installed")


@pytest.fixture(scope="module")
def chrome() -> Iterator[Chromium]:
    needs("chromium", find() is not None)
    with Chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def axe() -> str:
    spec = importlib.util.find_spec("axe_core_python")
    needs("axe-core-python", spec is not None)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name("axe.min.js").read_text("utf-8")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, run_folder: Any) -> Path:
    """Texts that look like markup, and one page that attacks, which a list leaves out."""
    base = tmp_path_factory.mktemp("hostile")
    (base / "in").mkdir()
    lines = []
    for n in range(30):
        words = f"Number {n} tells a long story of stones, rivers and the people on their banks"
        text = f"{words}. {EVIL} stands here as text."
        if n % 3 == 0:
            text = f"{words} and does not end\nnor does this line of it end in any way {EVIL}"
        lines.append(json.dumps({"text": text, "url": f"https://evil.test/{n:02d}{EVIL}"}))
    (base / "in/a.jsonl").write_text("\n".join(lines) + "\n")
    (base / "in/attack.html").write_text(f"<html><head>{EVIL}</head><body>{EVIL}<p>Attack.</p>")
    (base / "names.txt").write_text("https://evil.test/attack.html\n")
    root: Path = run_folder(Recipe.parse(RECIPE, base), base / "run").root
    return root


@pytest.fixture(scope="module")
def site(hostile: Path) -> Iterator[str]:
    needs("duckdb", importlib.util.find_spec("duckdb") is not None)
    from corpusmill.pipeline.browsing.server import Server, Site
    from corpusmill.pipeline.indexing import build_index

    build_index(hostile, 1000, lambda _: None)
    server = Server(Site(hostile))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.address
    server.shutdown()
    thread.join()
    server.server_close()
    server.site.close()


def violations(tab: Tab, axe: str) -> list[str]:
    """What axe finds, contrast and labels among it."""
    tab.run(axe + ";0")
    found: dict[str, Any] = json.loads(tab.run("axe.run().then((r) => JSON.stringify(r))"))
    assert len(found["passes"]) > 5
    return [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found["violations"]]


def fits(tab: Tab) -> bool:
    return bool(tab.run("document.scrollingElement.scrollWidth <= innerWidth + 1"))


@pytest.mark.parametrize(("width", "dark"), [(400, False), (1600, True)])
def test_the_report(
    chrome: Chromium, hostile: Path, axe: str, tmp_path: Path, width: int, dark: bool
) -> None:
    path = tmp_path / "report.html"
    path.write_text(html_report(hostile), "utf-8")
    tab = chrome.page(width, dark=dark)
    tab.open(path.as_uri())
    assert tab.run("document.querySelectorAll('svg').length") > 3
    assert tab.run("document.querySelector('svg').getBoundingClientRect().height") > 20
    assert fits(tab)
    tab.click("#dropped details summary")
    assert tab.run("document.querySelector('#dropped details').open")
    colour = tab.run("getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(21, 24, 27)" if dark else "rgb(255, 255, 255)")
    assert tab.run("window.pwned") is None
    assert tab.requests() == [path.as_uri()]
    assert tab.complaints() == []
    assert violations(tab, axe) == []


def rows(tab: Tab) -> list[str]:
    found: list[str] = tab.run(
        "[...document.querySelectorAll('#rows .address')].map((e) => e.textContent)"
    )
    return found


def opened(chrome: Chromium, site: str, width: int = 1600, *, dark: bool = False) -> Tab:
    tab = chrome.page(width, dark=dark)
    tab.open(site)
    tab.wait("document.querySelectorAll('#rows li').length")
    return tab


@pytest.mark.parametrize(("width", "dark"), [(400, True), (1600, False)])
def test_looks(chrome: Chromium, site: str, axe: str, width: int, dark: bool) -> None:
    tab = opened(chrome, site, width, dark=dark)
    assert "token" not in tab.run("location.href")
    assert fits(tab)
    assert violations(tab, axe) == []
    tab.click("#rows li button")
    tab.wait("!document.querySelector('#document').hidden")
    top = tab.run("document.querySelector('#document').getBoundingClientRect().top")
    assert -1 < top < 500  # of 1,000: its beginning is what one sees
    assert fits(tab)
    assert violations(tab, axe) == []
    assert tab.complaints() == []


def test_by_mouse(chrome: Chromium, site: str) -> None:
    tab = opened(chrome, site)
    assert tab.run("document.querySelector('#total').textContent").startswith("1 to 25 of 31 ")
    tab.click("#next")
    tab.wait("document.querySelectorAll('#rows li').length === 6")
    tab.click("#clear")
    tab.wait("document.querySelectorAll('#rows li').length === 25")
    tab.click("#rows li button")
    tab.wait("!document.querySelector('#document').hidden")
    text = tab.run("document.querySelector('#document').textContent")
    assert f"{EVIL} stands here as text." in text
    assert "https://evil.test/" in text
    tab.run("document.querySelector('#value').value = '0'")
    tab.click("#try")
    tab.wait("document.querySelector('#line')")
    said = tab.run("document.querySelector('#effect').textContent")
    assert said.startswith("10 dropped by this rule alone would pass its phase")
    assert "0 of 20 kept would be dropped." in said
    assert tab.run("document.querySelector('#line').textContent") == "--set steps.ends.min=0"
    assert tab.complaints() == []
    assert tab.run("window.pwned") is None


def test_by_keyboard(chrome: Chromium, site: str) -> None:
    tab = opened(chrome, site)
    tab.press("Tab")
    assert tab.run("document.activeElement.id") == "q"
    tab.type('"number 7 tells" -river')
    tab.press("Enter")
    tab.wait("document.querySelectorAll('#rows li').length === 1")
    assert rows(tab) == [f"https://evil.test/07{EVIL}"]
    tab.run("document.querySelector('#rows button').focus()")
    tab.press("Enter")
    tab.wait("document.activeElement.id === 'document'")
    tab.press("Escape")
    tab.wait("document.activeElement.closest('#rows')")
    assert tab.run("document.querySelector('#document').hidden")
    tab.click("#clear")
    tab.wait("document.querySelectorAll('#rows li').length === 25")
    tab.run("document.querySelector('#f-state').focus()")
    tab.press("ArrowDown", 2)
    tab.wait("document.querySelector('#f-state').value === 'dropped'")
    tab.wait("document.querySelectorAll('#rows li').length === 11")
    assert tab.complaints() == []


def test_a_hostile_page_as_it_was_crawled(chrome: Chromium, site: str) -> None:
    tab = opened(chrome, site)
    tab.run("document.querySelector('#url').focus()")
    tab.type("ATTACK.html")
    tab.press("Enter")
    tab.wait("document.querySelectorAll('#rows li').length === 1")
    tab.click("#rows li button")
    tab.wait("!document.querySelector('#document').hidden")
    tab.click("#document .buttons button:nth-child(2)")
    tab.wait("document.querySelector('iframe')")
    asked = f"/raw/{tab.run('location.hash.slice(1)')}"
    for _ in range(40):
        if any(r.endswith(asked) for r in tab.requests()):
            break
        tab.run("new Promise((done) => setTimeout(done, 50))")
    tab.run("new Promise((done) => setTimeout(done, 500))")
    base = site.partition("?")[0]
    requests = [r for r in tab.requests() if not r.startswith("data:")]
    assert any(r.endswith(asked) for r in requests)
    # What the page asks for is refused before it leaves: Chromium lists it as blocked.
    failed = {e["requestId"] for e in tab.events("Network.loadingFailed") if e.get("blockedReason")}
    sent = {
        e["request"]["url"] for e in tab.events("Network.requestWillBeSent")
        if e["requestId"] not in failed
    }  # fmt: skip
    assert {r for r in sent if not r.startswith((base, "data:"))} == set()
    assert tab.run("window.pwned") is None
    assert tab.run("document.title") == "hostile 1"
    assert tab.run("location.href").startswith(base)
