"""What pages say of themselves."""

from __future__ import annotations

import time

import pytest

from corpusmill.stages.sources.page_meta import page_meta


def test_nothing_stated() -> None:
    assert page_meta({}, b"<html><p>words") == {}


def test_everything_stated() -> None:
    body = b"""<!doctype html><html xml:lang='de' LANG="de-AT"><head>
    <meta name=robots content="noindex, NoAI"><META content="1" name="tdm-reservation">
    <link rel="license" href="https://creativecommons.org/licenses/by/4.0/"></head>"""
    headers = {"content-type": "text/html; charset=x", "x-robots-tag": "noarchive"}
    assert page_meta(headers, body) == {
        "content_type": "text/html; charset=x",
        "lang_declared": "de-AT",
        "lang_html": "de-AT",
        "robots": "noarchive, noindex, noai",
        "tdm": "tdm-reservation=1, noai",
        "licence": "https://creativecommons.org/licenses/by/4.0/",
        "licence_where": "rel=license in head",
    }


def test_the_header_names_the_language_first() -> None:
    body = b'<html lang="en"><meta http-equiv="Content-Language" content="fr">'
    both = page_meta({"content-language": "cs, sk"}, body)
    assert (both["lang_declared"], both["lang_header"], both["lang_html"]) == ("cs", "cs, sk", "en")
    assert page_meta({}, body)["lang_declared"] == "en"
    assert page_meta({}, body.replace(b' lang="en"', b""))["lang_declared"] == "fr"
    assert "lang_declared" not in page_meta({}, b'<html lang="{{ lang }}">')


@pytest.mark.parametrize(
    "hidden",
    [b"<!-- <meta name=robots content=noai> -->",
     b"<script>var x = '<meta name=robots content=noai>'</script>",
     b"<style>/* <meta name=robots content=noai> */</style>",
     b"<!-- <html lang=xx> <a rel=license href=y>"],
)  # fmt: skip
def test_comments_scripts_and_styles_say_nothing(hidden: bytes) -> None:
    assert page_meta({}, b"<head>" + hidden) == {}


@pytest.mark.parametrize(
    ("body", "licence", "where"),
    [
        (b'<p><a class="x" rel="nofollow license" href="/l?a=1&amp;b=2">CC</a>', "/l?a=1&b=2",
         "rel=license in page"),
        (b'<script type="application/ld+json">{"@type":"Article","license":"https:\\/\\/x.test\\/l"}'
         b"</script>", "https://x.test/l", "JSON-LD"),
        (b'<script type="application/ld+json">{"license": {"@type": "C", "url": "https://x.test"}}'
         b"</script>", "https://x.test", "JSON-LD"),
        (b'<meta name="DC.rights" content="CC BY">', "CC BY", "meta dc.rights"),
        (b'<meta name="copyright" content="Me"><a rel=license href=u>', "u", "rel=license in page"),
    ],
)  # fmt: skip
def test_licence_evidence(body: bytes, licence: str, where: str) -> None:
    meta = page_meta({}, body)
    assert (meta["licence"], meta["licence_where"]) == (licence, where)


def test_link_header() -> None:
    meta = page_meta({"link": '<https://x.test/l>; rel="license", <y>; rel=next'}, b"")
    assert (meta["licence"], meta["licence_where"]) == ("https://x.test/l", "Link header")


def test_words_about_licences_are_no_evidence() -> None:
    assert page_meta({}, b"<p>the license <a href='license.html'>license</a> rel=license") == {}


def test_utf_16() -> None:
    body = '<html lang="el"><meta name="robots" content="none">'.encode("utf-16le")
    assert page_meta({}, body) == {"lang_declared": "el", "lang_html": "el", "robots": "none"}


@pytest.mark.parametrize(
    "unit", [b"<script ", b"<!--", b"<meta ", b'<a rel="license" ', b"<style ", b"'\"", b"license"]
)
def test_no_input_takes_long(unit: bytes) -> None:
    body = (unit * 65536)[:65536]
    start = time.process_time()
    page_meta({}, body + b"ld+json <!-- <script")
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("page", "robots"),
    [
        (b'<meta content="a>b, noindex" name="robots">', "a>b, noindex"),
        (b"<meta content='a>b' name='robots'>", "a>b"),
        (b"<meta content='say \"no\"' name=robots>", 'say "no"'),
        (b'<meta name="r&#111;bots" content="none">', "none"),
        (b'<meta name="viewport" content="x"><meta name="ROBOTS" content="none">', "none"),
        (b'<meta name="viewport content="x"><meta name="robots" content="none">', "none"),
        (b'<meta name="robots" content="none"', ""),
        (b'<!-- <meta name="robots" content="none"> --><p>', ""),
        (b'<!-- <meta name="robots" content="none">', ""),
        (b'<style> </style><script>"</script><meta name="robots" content="none">', "none"),
        (b'<script><!-- </script><meta name="robots" content="none">', "none"),
        (b'<script type="application/ld+json">{}</script><meta name=robots content=none>', "none"),
        (b'<script><meta name="robots" content="none"></SCRIPT>', ""),
    ],
)
def test_tags_are_found_whatever_lies_around_them(page: bytes, robots: str) -> None:
    assert page_meta({}, b"<html>" + page).get("robots", "") == robots
