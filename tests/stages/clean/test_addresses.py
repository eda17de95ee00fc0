"""E-mail and IP detection, case by case."""

from __future__ import annotations

import ipaddress
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.clean.addresses import (
    Reserved,
    emails,
    ips,
    parse_ipv6,
    public_ipv4,
    public_ipv6,
)
from corpusmill.stages.clean.pii import find
from corpusmill.stages.clean.windows import scan


def found(text: str, reserved: Reserved = "names") -> list[str]:
    return [text[s.start : s.end] for s in emails(text, reserved, scan(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b@c.org, d_e+f@g-h.co.uk.", ["a.b@c.org", "d_e+f@g-h.co.uk"]),
        ("josé@exämple.de", ["josé@exämple.de"]),
        ("请写信给zhang@qq.com获取", ["zhang@qq.com"]),
        ("邮箱 用户@例子.公司", ["用户@例子.公司"]),
        ("on list x-y@lists.debian.org-lista", ["x-y@lists.debian.org"]),
        ("at a@b.my-host.com!", ["a@b.my-host.com"]),
        ("a@xn--bcher-kva.example.xn--p1ai", ["a@xn--bcher-kva.example.xn--p1ai"]),
        ("..a@b.org", ["a@b.org"]),
        ("a..b@c.org", []),
        ("a@b", []),
        ("a@b.c", []),
        ("@b.org", []),
        ("x" * 65 + "@b.org", []),
        ("x" * 64 + "@b.org", ["x" * 64 + "@b.org"]),
        ("a@b.org@c.org", ["a@b.org"]),
    ],
)
def test_emails(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("address", "names", "keep", "tag"),
    [
        ("user@example.com", False, False, True),
        ("ann.lee@mail.example.com", True, False, True),
        ("root@box.local", False, False, True),
        ("user@notexample.com", True, True, True),
    ],
)
def test_domains_set_aside(address: str, names: bool, keep: bool, tag: bool) -> None:
    assert [bool(found(address, r)) for r in ("names", "keep", "tag")] == [names, keep, tag]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the server 8.8.8.8 answers", ["8.8.8.8"]),
        ("8.8.8.8", []),  # small numbers and no word for a network: a version as like as not
        ("93.184.216.34", ["93.184.216.34"]),
        ("version 93.184.216.34", []),
        ("http://5.6.7.8/", ["5.6.7.8"]),
        ("5.6.7.8:443", ["5.6.7.8"]),
        ("host 5.6.7.0/24", []),
        ("host 5.6.7.8/32", ["5.6.7.8"]),
        ("host 5.6.7.8.9", []),
        ("host 256.6.7.8", []),
        ("host 05.6.7.8", []),
        ("the server.\n4.5.6.7. Title", []),
        ("[2a00:1450:4001:81b::200e]:443", ["2a00:1450:4001:81b::200e"]),
        ("2a00::b and a::b and face::1", ["2a00::b"]),
        ("2a00:1:2:3:4:5:6:7:8", []),
        ("20:00:00:25:b5:ff:00:01", []),
        ("6e40:4041:c617:e898:c11:40d2:c669:2eb4", ["6e40:4041:c617:e898:c11:40d2:c669:2eb4"]),
    ],
)
def test_ips(text: str, expected: list[str]) -> None:
    assert [text[s.start : s.end] for s in ips(text, scan(text))] == expected


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(["0", "1", "a", "ffff", "2001", "db8", "", "12345"]), max_size=10))
def test_parse_ipv6_agrees_with_the_standard_library(groups: list[str]) -> None:
    text = ":".join(groups)
    try:
        expected: int | None = int(ipaddress.IPv6Address(text))
    except ValueError:
        expected = None
    assert parse_ipv6(text) == expected


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("10.1.2.3", False), ("100.64.0.1", False), ("100.128.0.1", True), ("172.31.0.1", False),
        ("172.32.0.1", True), ("192.0.2.9", False), ("192.0.3.9", True), ("198.19.255.1", False),
        ("198.20.0.1", True), ("203.0.113.1", False), ("223.255.255.1", True), ("224.0.0.1", False),
        ("255.255.255.255", False), ("127.0.0.1", False), ("169.254.1.1", False),
    ],
)  # fmt: skip
def test_public_ipv4(address: str, public: bool) -> None:
    assert public_ipv4([int(p) for p in address.split(".")]) is public


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("2001:db8::1", False), ("2001:4860::8888", True), ("2002:1::1", False),
        ("2001:0:1::1", False), ("fe80::1", False), ("fd00::1", False), ("::1", False),
        ("3fff::1", False), ("2600::", True),
    ],
)  # fmt: skip
def test_public_ipv6(address: str, public: bool) -> None:
    assert public_ipv6(address) is public


READ = Path(__file__).parents[2] / "data" / "pii" / "read.jsonl"


def test_floors_on_places_that_were_read() -> None:
    """Real technical text, read twice (see its README). Measured when written: e-mail 214 of 214
    found with 1 false, IP 123 of 123 with none false. Before the rules were mended on this very
    set it was 22 false of 236, and 4 false and 3 missed; on 102 others, read once afterwards, one
    e-mail was false."""
    counts = Counter[tuple[str, str]]()
    for line in READ.read_text("utf-8").splitlines():
        row = json.loads(line)
        low, high, is_one = row["start"], row["end"], row["kind"] == "address"
        spans = find(row["text"], (row["type"],))
        hit = any(s.start < high and low < s.end for s in spans)
        if row["kind"] != "reserved":
            outcome = (
                "found" if is_one and hit else "missed" if is_one else "false" if hit else "left"
            )
            counts[row["type"], outcome] += 1
    for type_, precision, recall in (("email", 0.98, 0.99), ("ip", 0.95, 0.99)):
        hits, missed, false, left = (
            counts[type_, outcome] for outcome in ("found", "missed", "false", "left")
        )
        assert hits + missed + false + left >= 200
        assert hits >= recall * (hits + missed)
        assert hits >= precision * (hits + false)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ssh -q -X ann@host.tiny.io", []),
        ("ssh is what ann@tiny.io uses", ["ann@tiny.io"]),
        ("finger ann@db.tiny.io", []),
        ("whois $1@whois.ripe.net", []),
        ("$local_part@lists.tiny.io", []),
        ("on #lilypond@irc.libera.chat", []),
        ("https://lore.tiny.org/git/20170714132651.1-1-ben@tiny.io/", []),
        ("https://lore.tiny.org/git/RFC-cover-0.1-ben@tiny.io/ x", []),
        ("https://x.tiny.org/off?of=ben@tiny.io", ["ben@tiny.io"]),
        ("Message-ID: <yulszqocfzs@tiny.io>", []),
        ("In-Reply-To: <abc.d@tiny.io>", []),
        ("a message-id of ours to ann@tiny.io", ["ann@tiny.io"]),
        ("20170714132651.1-1-ben@tiny.io", []),
        ("ABCDEFAB.ann@tiny.io", ["ABCDEFAB.ann@tiny.io"]),
    ],
)
def test_what_only_looks_like_email(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ADDR=168.100.189.2", ["168.100.189.2"]),
        ("proxy_interfaces = 1.2.3.4", ["1.2.3.4"]),
        ("version=1.2.3.4", []),
        ("<VirtualHost 11.22.33.44>", ["11.22.33.44"]),
        ("[2001:240:587::]/64", []),
        ("2001:240:587::/48", []),
        ("2001:240:587::5/64", ["2001:240:587::5"]),
    ],
)
def test_networks_and_assignments(text: str, expected: list[str]) -> None:
    assert [text[s.start : s.end] for s in ips(text, scan(text))] == expected


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("router 10.0.0.1, 192.168.178.42", ["10.0.0.1", "192.168.178.42"]),
        ("172.31.104.5:22 and 172.32.104.75", ["172.31.104.5"]),
        ("169.254.70.90 100.64.70.90 100.128.70.90", ["169.254.70.90", "100.64.70.90"]),
        ("version 10.0.190.45 and 10.0.0.1", []),
        ("10.0.0.0/8, 127.0.0.1, 192.0.2.77", []),
        ("fe80::1ff:fe23:4567:890a%eth0", ["fe80::1ff:fe23:4567:890a"]),
        ("fd12:3456:789a:1::1/64, fd12::/16", ["fd12:3456:789a:1::1"]),
        ("febf::1 fec0::1 face::1", ["febf::1"]),
    ],
)
def test_private_addresses_are_found_on_demand(text: str, private: list[str]) -> None:
    assert [text[s.start : s.end] for s in find(text, ("private_ip",))] == private
    assert not {text[s.start : s.end] for s in find(text)} & set(private)
