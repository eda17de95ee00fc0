"""Answers of the server, and whom it answers."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from corpusmill.pipeline.browsing import store
from corpusmill.pipeline.browsing.bounds import chosen, effect
from corpusmill.pipeline.browsing.filters import read_query
from corpusmill.pipeline.browsing.server import COOKIE, Server, Site, inert
from corpusmill.pipeline.browsing.store import match_of, snippet
from corpusmill.pipeline.errors import ConfigError


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[Server]:
    made = Server(site)
    thread = threading.Thread(target=lambda: made.serve_forever(0.01))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def get(server: Server, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, {k.lower(): v for k, v in answer.getheaders()}, body


def ask(server: Server, path: str, **parameters: Any) -> Any:
    cookie = f"{COOKIE}={server.site.token}"
    status, _, body = get(server, f"{path}?{urlencode(parameters)}", Cookie=cookie)
    assert status == 200, body
    return json.loads(body)


def test_only_who_knows_the_token_is_answered(server: Server) -> None:
    own = f"127.0.0.1:{server.server_port}"
    assert server.server_address[0] == "127.0.0.1"
    for path in ("/", "/app.js", "/api/about", "/raw/x", "/api/documents"):
        assert get(server, path)[0] == 403
        assert get(server, path, Cookie=f"{COOKIE}=wrong")[0] == 403
    assert get(server, "/?token=wrong")[0] == 403
    assert get(server, "/?token=%C3%A4")[0] == 403
    address = urlsplit(server.address)
    status, headers, _ = get(server, f"/?{address.query}")
    assert (status, headers["location"]) == (303, "/")
    assert "HttpOnly; SameSite=Strict" in headers["set-cookie"]
    cookie = headers["set-cookie"].partition(";")[0]
    status, headers, page = get(server, "/", Cookie=f"a=b; {cookie}", Host=own)
    assert status == 200
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "onclick" not in page
    assert get(server, "/", Cookie=cookie, Host="evil.test")[0] == 403
    assert get(server, "/nothing", Cookie=cookie)[0] == 404
    assert get(server, "/app.js/../server.py", Cookie=cookie)[0] == 404
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("POST", "/api/documents", body=b"x", headers={"Cookie": cookie})
    assert connection.getresponse().status == 501
    connection.close()


def test_documents(server: Server) -> None:
    found = ask(server, "/api/documents")
    assert found["total"] == len(found["rows"]) == 7
    assert dict(found["facets"]["state"]) == {"dropped": 5, "kept": 2}

    def names(**asked: str) -> set[str]:
        return {r["url"][15:] for r in ask(server, "/api/documents", **asked)["rows"]}

    assert names(q="tiny") == set()
    assert names(q="email") == {"both", "three"}
    assert names(q="email -long") == {"both"}
    assert names(q='"it ends"') == {"short"}
    assert names(state="dropped", step="ends") == {"no end", "both"}
    assert names(rule="shorts:fineweb_short_lines_above") == {"short", "both"}
    assert names(url="COPY") == {"copy a", "copy b"}
    assert names(**{"min.c4_sentences": "3"}) == {"three"}
    assert names(**{"max.characters": "8"}) == {"both", "short"}
    rows = ask(server, "/api/documents", sort="characters", desc="1", limit=2)["rows"]
    assert rows[0]["url"][15:] == "three"
    assert len(rows) == 2
    for wrong in ({"min.text": "1"}, {"colour": "red"}, {"sort": "broken"}, {"min.characters": "x"},
                  {"q": "  *  "}, {"min.n": "1"}, {"limit": "nan"}):  # fmt: skip
        with pytest.raises(AssertionError, match="error"):
            ask(server, "/api/documents", **wrong)


def test_words_with_other_filters(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(**asked: str) -> tuple[set[str], bool]:
        query = read_query({k: [v] for k, v in asked.items()}, site.store.columns)
        answer = site.store.search(query)
        assert answer["total"] == sum(count for _, count in answer["facets"]["state"])
        return {row["url"][15:] for row in answer["rows"]}, answer["cut"]

    assert found(q="email") == ({"both", "three"}, False)
    assert found(q="email", step="ends") == ({"both"}, False)
    assert found(q="ends", sort="characters") == ({"short"}, False)
    assert found(q="email", url="three", offset="0") == ({"three"}, False)
    assert found(q="nowhere") == (set(), False)
    monkeypatch.setattr(store, "MOST_HITS", 1)
    names, cut = found(q="twice")
    assert cut
    assert len(names) == 1


def test_one_document(server: Server) -> None:
    (row,) = ask(server, "/api/documents", q="it ends")["rows"]
    found = ask(server, "/api/document", id=row["id"])
    assert found["text"] == "it ends."
    assert found["events"][-1]["reason"] == "fineweb_short_lines_above"
    assert {(j["rule"], j["broken"]) for j in found["judged"]} == {
        ("ends:fineweb_line_punct_below", False), ("shorts:fineweb_short_lines_above", True),
    }  # fmt: skip
    (copy,) = ask(server, "/api/documents", step="exact")["rows"]
    survivor = ask(server, "/api/document", id=copy["id"])["survivor"]
    assert [c["id"] for c in ask(server, "/api/document", id=survivor)["copies"]] == [copy["id"]]
    with pytest.raises(AssertionError, match="has no document"):
        ask(server, "/api/document", id="0" * 32)


def test_distribution(server: Server) -> None:
    found = ask(server, "/api/signal", name="fineweb_line_punct")
    assert (sum(found["kept"]), sum(found["others"])) == (2, 5)
    assert (found["low"], found["high"]) == (0.0, 1.0)
    assert found["others"][0] == 2
    assert found["others"][-1] == 3


def test_another_bound(site: Site) -> None:
    ends = chosen(site.bounds, "ends", "fineweb_line_punct_below", "low")
    assert ends.param == "min"
    looser = effect(site.store, ends, 0.0)
    assert {k: looser[k]["documents"] for k in ("in", "other", "out", "anyway")} == {
        "in": 1, "other": 1, "out": 0, "anyway": 0,
    }  # fmt: skip
    assert looser["in"]["examples"][0]["url"] == "https://a.test/no end"
    assert looser["line"] == "--set steps.ends.min=0"
    tighter = effect(site.store, ends, 1.5)
    assert (tighter["out"]["documents"], tighter["kept"]) == (2, 2)
    # short, three, and the copy (whose signals the phase before wrote)
    assert tighter["anyway"]["documents"] == 3
    shorts = chosen(site.bounds, "shorts", "fineweb_short_lines_above", "high")
    assert effect(site.store, shorts, 1.0)["in"]["documents"] == 1
    tighter = effect(site.store, shorts, 0.2)
    assert (tighter["in"]["documents"], tighter["out"]["documents"]) == (0, 0)
    with pytest.raises(ConfigError):
        chosen(site.bounds, "ends", "fineweb_line_punct_below", "high")


def test_what_is_typed_is_no_syntax() -> None:
    assert match_of('a "b c" -d') == '("a" AND "b c") NOT ("d")'
    assert match_of('text: NEAR( "') == '"text:" AND "NEAR("'
    assert match_of("図書館") == '"図 書 館"'
    with pytest.raises(ConfigError):
        match_of("-only")
    assert snippet("x" * 300 + " Needle in hay", "needle").endswith("Needle in hay")
    assert snippet("whole words " * 20 + "needle", "needle").startswith("… whole words whole ")
    with pytest.raises(ConfigError):
        read_query({"min.x": ["1"]}, {"x": "VARCHAR"})


def test_inert() -> None:
    page = inert("<SCRIPT src=x>1</script><Meta http-equiv=refresh><a href=x>a</a><linking>")
    assert "<script" not in page.lower()
    assert "<x-SCRIPT src=x>1</x-script><x-Meta http-equiv=refresh><a href=x>a</a><linking>" in page


def test_an_engine_that_fails_is_told(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("disk gone")

    monkeypatch.setattr(server.site.store, "search", fail)
    cookie = f"{COOKIE}={server.site.token}"
    status, headers, body = get(server, "/api/documents", Cookie=cookie)
    assert (status, headers["content-type"]) == (500, "application/json")
    assert json.loads(body)["error"] == "RuntimeError: disk gone"


@pytest.mark.parametrize(
    "words", ["* OR", "a AND", "NEAR(a b)", "text:a", "^a", "a*", "x'); --", "{a} -b"]
)
def test_any_words_are_answered(server: Server, words: str) -> None:
    assert ask(server, "/api/documents", q=words)["total"] >= 0
