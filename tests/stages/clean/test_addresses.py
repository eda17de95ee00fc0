"""E-mail and IP detection, case by case."""

from __future__ import annotations

import ipaddress

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
