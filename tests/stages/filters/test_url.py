"""`filters.url`: one URL for each reason, what must stay, and list files of every kind."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.document import Document, Drop, Page
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset
from corpusmill.stages.filters.url import Params, UrlFilter
from corpusmill.stages.filters.url_lists import domains_above, host_and_target


def outcome(url: str, **params: Any) -> tuple[str, object] | None:
    """(reason, value), or None where the document is kept."""
    stage = UrlFilter(Params(**params))
    stage.setup()
    document = Document("0" * 32, "text", "s", {"url": url} if url else {})
    (result,) = stage.apply([document])
    if isinstance(result, Drop):
        assert result.reason in stage.reasons
        return result.reason, result.value
    assert result is document
    return None


def listed(folder: Path, name: str, *lines: str) -> Asset:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Asset(str(path))


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://essex.ac.uk/classes/analysis",  # neither "sex" nor "ass" is a word here
        "http://forge.example/big/blacksmith/big-blacksmith",
        "https://host.example/sex",  # one soft word is allowed
        "http://[2001:db8::1]:8080/x",
        "https://bücher.example/päge?q=ü",
        "<http://example.com/>",
    ],
)
def test_kept(url: str) -> None:
    assert outcome(url) is None


@pytest.mark.parametrize(
    ("url", "reason", "value"),
    [
        ("ftp://example.com/a", "url_invalid", "ftp://example.com/a"),
        ("example.com/a", "url_invalid", "example.com/a"),
        ("http:///a", "url_invalid", "http:///a"),
        ("http://a..b/", "url_invalid", "http://a..b/"),
        ("http://host.example/XXX-clips", "url_word", "xxx"),
        ("http://host.example/%78%78%78", "url_word", "xxx"),
        ("http://bestpornhub1.example/", "url_word", "pornhub"),
        ("http://host.example/a/phone-sex-now", "url_word", "phone-sex"),
        ("http://thephonesexline.example/", "url_word", "phonesex"),
        ("http://host.example/naked-nude", "url_soft_words", "naked nude"),
    ],
)
def test_dropped(url: str, reason: str, value: str) -> None:
    assert outcome(url) == (reason, value)


def test_words_of_a_phrase_do_not_meet_across_segments() -> None:
    assert outcome("http://host.example/phone/sex") is None


def test_missing_url_is_kept_unless_told() -> None:
    assert outcome("") is None
    assert outcome("", missing="drop") == ("url_missing", None)


def test_domain_matches_at_label_borders(tmp_path: Path) -> None:
    block = (listed(tmp_path, "b.txt", "# comment", "evil.com", "0.0.0.0 worse.net  # hosts"),)
    assert outcome("https://WWW.Evil.com./x", block=block) == ("url_domain", "evil.com")
    assert outcome("https://a.b.evil.com:8080/", block=block) == ("url_domain", "evil.com")
    assert outcome("https://u:p@worse.net/", block=block) == ("url_domain", "worse.net")
    assert outcome("https://notevil.com/", block=block) is None
    assert outcome("https://evil.com.example/", block=block) is None


def test_listed_url_matches_at_segment_borders(tmp_path: Path) -> None:
    block = (listed(tmp_path, "b.txt", "http://www.host.example/bad/", "q.example/a?x=1"),)
    assert outcome("https://host.example/bad", block=block) == ("url_listed", "host.example/bad")
    assert outcome("https://host.example/BAD/deep?x", block=block) == (
        "url_listed",
        "host.example/bad",
    )
    assert outcome("https://host.example/badge", block=block) is None
    assert outcome("https://host.example/", block=block) is None
    assert outcome("https://q.example/a?x=1", block=block) == ("url_listed", "q.example/a?x=1")
    assert outcome("https://q.example/a?x=2", block=block) is None


def test_allow_overrides_block_but_not_optout(tmp_path: Path) -> None:
    block = (listed(tmp_path, "b.txt", "evil.com"),)
    allow = (listed(tmp_path, "a.txt", "good.evil.com", "sussex.example"),)
    optout = (listed(tmp_path, "o.txt", "good.evil.com/private"),)
    every: dict[str, Any] = {"block": block, "allow": allow, "optout": optout}
    assert outcome("http://good.evil.com/", **every) is None
    assert outcome("http://bad.evil.com/", **every) == ("url_domain", "evil.com")
    assert outcome("http://sussex.example/xxx", **every) is None
    assert outcome("http://good.evil.com/private/1", **every) == (
        "url_optout",
        "good.evil.com/private",
    )
    assert outcome("http://elsewhere.example/", **every) is None  # an allow list drops nothing


def test_punycode_and_unicode_hosts_are_the_same(tmp_path: Path) -> None:
    block = (listed(tmp_path, "b.txt", "bücher.example"),)
    assert outcome("http://xn--bcher-kva.example/", block=block) == (
        "url_domain",
        "xn--bcher-kva.example",
    )


def test_public_suffix_entry_matches_only_itself(tmp_path: Path) -> None:
    suffixes = listed(tmp_path, "psl.dat", "// note", "uk", "co.uk", "*.ck", "!www.ck")
    block = (listed(tmp_path, "b.txt", "co.uk", "shop.co.uk"),)
    assert outcome("http://any.co.uk/", block=block) == ("url_domain", "co.uk")
    assert outcome("http://any.co.uk/", block=block, public_suffixes=suffixes) is None
    assert outcome("http://co.uk/", block=block, public_suffixes=suffixes) == (
        "url_domain",
        "co.uk",
    )
    assert outcome("http://a.shop.co.uk/", block=block, public_suffixes=suffixes) == (
        "url_domain",
        "shop.co.uk",
    )


def test_ut1_folders_nested_and_flat(tmp_path: Path) -> None:
    (tmp_path / "adult").mkdir()
    listed(tmp_path / "adult", "domains", "one.example")
    listed(tmp_path / "adult", "urls", "two.example/x")
    (tmp_path / "press.domains.txt.gz").write_bytes(gzip.compress(b"three.example\n", mtime=0))
    folder = (Asset(str(tmp_path)),)
    adult: dict[str, Any] = {"block": folder, "categories": ("adult",)}
    assert outcome("http://one.example/", **adult) == ("url_domain", "one.example")
    assert outcome("http://two.example/x/y", **adult) == ("url_listed", "two.example/x")
    assert outcome("http://three.example/", **adult) is None
    press: dict[str, Any] = {"block": folder, "categories": ("press",)}
    assert outcome("http://three.example/", **press) == ("url_domain", "three.example")
    with pytest.raises(AssetError, match=r"(?s)no list for dating.*adult, press"):
        outcome("http://a.example/", block=folder, categories=("adult", "dating"))


def test_bad_lists_are_loud(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="does not exist"):
        outcome("http://a.example/", block=(Asset(str(tmp_path / "none.txt")),))
    with pytest.raises(AssetError, match=r"line 2: '\|\|ads\^'"):
        outcome("http://a.example/", block=(listed(tmp_path, "ad.txt", "a.com", "||ads^"),))
    with pytest.raises(AssetError, match="0 of 0"):
        outcome("http://a.example/", block=(listed(tmp_path, "empty.txt", "# nothing"),))
    with pytest.raises(AssetError, match="line 1: 'com'"):
        outcome("http://a.example/", block=(listed(tmp_path, "tld.txt", "com"),))


def test_bad_params_are_loud() -> None:
    with pytest.raises(ConfigError, match="two words"):
        Params(extra_words=("two words",))
    with pytest.raises(ConfigError, match="soft_threshold is 0"):
        Params(soft_threshold=0)
    assert outcome("http://h.example/foo-bar", extra_phrases=("foo bar",)) == (
        "url_word",
        "foo-bar",
    )
    assert outcome("http://h.example/xxx", words="none") is None


def test_takes_pages() -> None:
    stage = UrlFilter(Params())
    stage.setup()
    page = Page("0" * 32, "s", b"", meta={"url": "http://h.example/porn/"})
    assert stage.apply([page]) == [Drop("url_word", "porn")]


def test_taking_apart() -> None:
    assert host_and_target("HTTP://User@WWW.Host.Example:80/A%20b?Q#f") == (
        "host.example",
        "/a b?q",
    )
    assert domains_above("a.b.com") == ["com", "b.com", "a.b.com"]
    assert domains_above("10.0.0.1") == ["10.0.0.1"]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=5))
def test_any_text_is_an_outcome(urls: list[str]) -> None:
    documents = [
        Document("0" * 32, "", "s", {"url": u})
        for url in urls
        for u in (url, "http://" + url, "https://h.example/" + url)
    ]
    stage = UrlFilter(Params())
    stage.setup()
    together = stage.apply(documents)
    assert together == [stage.apply([d])[0] for d in documents]
    assert all(o is d or isinstance(o, Drop) for o, d in zip(together, documents, strict=True))


@pytest.mark.fulldata
def test_real_lists() -> None:
    folder = os.environ.get("CORPUSMILL_DATA")
    if folder is None:
        pytest.skip("CORPUSMILL_DATA is not set")
    lists = Path(folder) / "lists"
    stage = UrlFilter(
        Params(
            block=(Asset(str(lists / "ut1")),),
            categories=("dating", "gambling", "warez", "agressif"),
            public_suffixes=Asset(str(lists / "public_suffix_list.dat")),
        )
    )
    stage.setup()
    with gzip.open(lists / "ut1" / "gambling.domains.txt.gz", "rt", encoding="utf-8") as file:
        domains = file.read().split()
    urls = [f"https://{d}/" for d in domains] + ["https://docs.example/", "https://casino.example/"]
    results = stage.apply([Document("0" * 32, "", "s", {"url": u}) for u in urls])
    dropped = [r.reason for r in results if isinstance(r, Drop)]
    assert len(dropped) == len(domains)
    assert dropped.count("url_domain") > 0.999 * len(domains)
