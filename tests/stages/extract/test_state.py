"""States of pages: one small page for each in several languages, and pages that only look so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpusmill.stages.extract import extract
from corpusmill.stages.extract.state import STATES, page_state, visible_text

MENU = (
    "<nav><a href=/>Home</a> <a href=/n>News</a> <a href=/a>About</a> <a href=/c>Contact</a></nav>"
)


def page(title: str, body: str) -> str:
    return f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"


PAGES: tuple[tuple[str, str], ...] = (
    ("parked", page("lamps.example", "<h1>lamps.example</h1><p>This domain is for sale. <a href=/b>Buy "
                    "this domain</a></p><ul><li>Lamps<li>Cheap lights<li>Used cars</ul>")),
    ("parked", page("Domain", "<p>Ce nom de domaine est à vendre. Faites une offre.</p>")),
    ("parked", page("x", "<p>Future home of something quite cool.</p>")),
    ("bot_check", page("Just a moment...", "<noscript>Enable JavaScript and cookies to continue"
                       "</noscript><script src=/c.js></script>")),
    ("bot_check", page("Blocked", "<h1>Sorry</h1><p>Please verify you are a human. Complete the "
                       "security check to go on.</p>")),
    ("soft_404", page("Page not found | Shop", f"{MENU}<h1>Oops!</h1><p>The page you asked for has "
                      "moved or never was here. Try the search.</p>")),
    ("soft_404", page("404", f"{MENU}<p>Nothing to see here, go back to the start page.</p>")),
    ("soft_404", page("Laden", f"{MENU}<h1>Seite nicht gefunden</h1><p>Diese Adresse gibt es nicht "
                      "mehr.</p>")),
    ("soft_404", page("お店", f"{MENU}<p>ページが見つかりません。トップページへ戻る。</p>")),
    ("soft_404", page("Ошибка", "<h1>Страница не найдена</h1><p>Вернитесь на главную.</p>")),
    ("login_wall", page("Board", "<p>You must be logged in to view this topic.</p><form><input "
                        "name=u><input type=password name=p></form>")),
    ("login_wall", page("Log in - Wiki", "<form><label>Name <input></label><label>Password <input "
                        "type='password'></label><button>Go</button></form>")),
    ("login_wall", page("Forum", "<p>Bitte melden Sie sich an, um dieses Thema zu lesen.</p>")),
    ("cookie_wall", page("News", "<h2>We value your privacy</h2><p>We and our partners use cookies to "
                         "show ads. With your consent we store cookies on your device.</p><button>"
                         "Accept all</button><button>Manage options</button>")),
    ("cookie_wall", page("Nachrichten", "<p>Wir verwenden Cookies. Mit Ihrer Einwilligung legen wir "
                         "und 842 Partner Cookies ab. Datenschutz</p><button>Alle akzeptieren"
                         "</button>")),
    ("needs_script", page("App", "<noscript>You need to enable JavaScript to run this app.</noscript>"
                          "<div id=root></div><script src=/m.js></script>")),
    ("needs_script", page("App", "<div id='__next'></div><script>go()</script>")),
    ("needs_script", page("App", "<script src=/m.js></script>")),
    ("needs_script", page("App", "<p>Bitte JavaScript aktivieren.</p><script src=/m.js></script>")),
)  # fmt: skip

PROSE = (
    "<p>"
    + "The keeper wrote in his book that the wind had turned and a ship passed. " * 14
    + "</p>"
)
LOOK_SO: tuple[str, ...] = (
    page("Page not found: how to fix error 404 in a web server", f"<h1>Page not found</h1>{PROSE}"),
    page("Log in - a history of the word", PROSE + "<input type=password>"),
    page("Cookies", f"<h1>Cookies</h1><p>Accept cookies? Consent, cookies, privacy.</p>{PROSE}{PROSE}"),
    page("Scripts", f"<p>Please enable JavaScript.</p>{PROSE}<script src=/m.js></script>"),
    page("Peugeot 404", "<p>A car that was built from 1960 to 1975 in Sochaux.</p>"),
    page("Bread", "<h1>Bread</h1><p>Mix flour, water, salt and yeast; bake it for an hour.</p>"),
    page("Short", "<div id=root><p>A short note, but a note for all that, with words enough to be "
         "one: the shop is closed on Monday, and opens again on Tuesday.</p></div><script></script>"),
    page("Choir", "<p>Members meet on Monday. Please log your hours. We accept new members.</p>"),
    page("Empty", ""),
)  # fmt: skip


@pytest.mark.parametrize(("state", "html"), PAGES)
@pytest.mark.parametrize("tier", ["own", "fast"])
def test_states(state: str, html: str, tier: str) -> None:
    assert extract(html, tier=tier).page_state == state  # type: ignore[arg-type]


def test_every_state_has_a_page() -> None:
    assert {state for state, _ in PAGES} == set(STATES)


@pytest.mark.parametrize("html", LOOK_SO)
@pytest.mark.parametrize("tier", ["own", "fast"])
def test_pages_that_look_so(html: str, tier: str) -> None:
    assert extract(html, tier=tier).page_state == ""  # type: ignore[arg-type]


def test_pages_with_content_have_none() -> None:
    rows = Path(__file__).parents[2] / "data" / "html" / "gold_pages.jsonl"
    for line in rows.read_text("utf-8").splitlines():
        html = json.loads(line)["html"]
        assert page_state(html, "", json.loads(line)["text"], 100, 300) is None


def test_bounds_of_length() -> None:
    said = "page not found"
    assert page_state("", said, "", 119, 1000) == "soft_404"
    assert page_state("", said, "", 120, 249) is None
    html = "<script></script>please enable javascript " + "word " * 56
    assert page_state(html, "", "", 0, 59) == "needs_script"
    assert page_state(html, "", "", 0, 60) is None
    html = "<script></script><div id=app></div>"
    assert page_state(html, "", "", 0, 19) == "needs_script"
    assert page_state(html, "", "", 20, 0) is None
    three = "cookies cookies cookies accept "
    assert page_state(three + "word " * 71, "", "", 0, 75) == "cookie_wall"
    assert page_state(three + "word " * 72, "", "", 0, 76) is None
    assert page_state("cookies cookies accept", "", "", 0, 3) is None
    assert page_state("cookies cookies cookies", "", "", 0, 3) is None


def test_visible_text() -> None:
    html = "<title>t</title><p>a &amp; b</p><!-- c --><style>d</style><noscript>e</noscript>"
    assert visible_text(html + "<script>f</script > g<script>h") == "a & b e g"
