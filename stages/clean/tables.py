"""Facts that the PII detectors check against: address blocks, issuers, account formats, domains."""

from __future__ import annotations

import re
from typing import Final

_SPECIAL_IPV4: Final = """
0.0.0.8 10.0.0.8 100.64.0.10 127.0.0.8 169.254.0.16 172.16.0.12 192.0.0.24 192.0.2.24 192.88.99.24
192.168.0.16 198.18.0.15 198.51.100.24 203.0.113.24 224.0.0.4 240.0.0.4
"""  # a.b.c.<prefix length>

SPECIAL_IPV4: Final = tuple(
    (int(a) << 24 | int(b) << 16 | int(c) << 8, int(bits))
    for a, b, c, bits in (block.split(".") for block in _SPECIAL_IPV4.split())
)
"""(first address, prefix length) of the IPv4 blocks that are not public: IANA special-purpose
registry (RFC 6890 and its updates), multicast, class E. Written here since the answer of
`ipaddress.is_global` differs between Python releases."""

PRIVATE_IPV4: Final = (
    (10 << 24, 8),
    (100 << 24 | 64 << 16, 10),  # between a provider and its customers (RFC 6598)
    (169 << 24 | 254 << 16, 16),  # of one link (RFC 3927)
    (172 << 24 | 16 << 16, 12),
    (192 << 24 | 168 << 16, 16),
)
"""(first address, prefix length) of the IPv4 blocks of private networks (RFC 1918) and links."""

PRIVATE_IPV6: Final = ((0xFC00 << 112, 7), (0xFE80 << 112, 10))
"""Those of IPv6: RFC 4193 and RFC 4291."""

SPECIAL_IPV6: Final = (
    (0x2001_0000 << 96, 23),  # IETF protocol assignments: Teredo, benchmarking, ORCHID
    (0x2001_0DB8 << 96, 32),  # documentation (RFC 3849)
    (0x2002_0000 << 96, 16),  # 6to4
    (0x3FFF_0000 << 96, 20),  # documentation (RFC 9637)
)
"""(first address, prefix length) of the blocks inside 2000::/3 that are nobody's address."""

_IBAN: Final = """
AD:8n12c AE:19n AL:8n16c AT:16n AZ:4a20c BA:16n BE:12n BG:4a6n8c BH:4a14c BI:23n BR:23n1a1c
BY:4c4n16c CH:5n12c CR:18n CY:8n16c CZ:20n DE:18n DJ:23n DK:14n DO:4c20n EE:16n EG:25n ES:20n
FI:14n FK:2a12n FO:14n FR:10n11c2n GB:4a14n GE:2a16n GI:4a15c GL:14n GR:7n16c GT:24c HN:4a20n
HR:17n HU:24n IE:4a14n IL:19n IQ:4a15n IS:22n IT:1a10n12c JO:4a4n18c KW:4a22c KZ:3n13c LB:4n20c
LC:4a24c LI:5n12c LT:16n LU:3n13c LV:4a13c LY:21n MC:10n11c2n MD:20c ME:18n MK:3n10c2n MN:16n
MR:23n MT:4a5n18c MU:4a19n3a NI:4a20n NL:4a10n NO:11n OM:3n16c PK:4a16c PL:24n PS:4a21c PT:21n
QA:4a21c RO:4a16c RS:18n RU:14n15c SA:2n18c SC:4a20n3a SD:14n SE:20n SI:15n SK:20n SM:1a10n12c
SO:19n ST:21n SV:4a20n TL:19n TN:20n TR:6n16c UA:6n19c VA:18n VG:4a16n XK:16n YE:4a4n18c
"""


def _iban_pattern(structure: str) -> re.Pattern[str]:
    classes = {"n": "[0-9]", "a": "[A-Z]", "c": "[A-Z0-9]"}
    parts = re.findall(r"([0-9]+)([nac])", structure)
    return re.compile("[0-9]{2}" + "".join(f"{classes[kind]}{{{n}}}" for n, kind in parts))


IBAN_FORMATS: Final = {
    country: _iban_pattern(structure)
    for country, structure in (entry.split(":") for entry in _IBAN.split())
}
"""Country code → pattern of what follows it (check digits and account number, upper case, without
separators), after the structures of the SWIFT IBAN registry: n digits, a letters, c both."""

IBAN_LENGTHS: Final = {
    entry.split(":")[0]: 4 + sum(int(n) for n in re.findall(r"[0-9]+", entry.split(":")[1]))
    for entry in _IBAN.split()
}
"""Country code → length of an IBAN without separators."""

CARD_ISSUERS: Final = (
    # lowest and highest prefix (same number of digits), lengths
    ("4", "4", (13, 16, 19)),  # Visa
    ("51", "55", (16,)),  # Mastercard
    ("2221", "2720", (16,)),  # Mastercard, second series
    ("34", "34", (15,)),  # American Express
    ("37", "37", (15,)),
    ("300", "305", (14, 16)),  # Diners Club
    ("3095", "3095", (14, 16)),
    ("36", "36", (14, 16)),
    ("38", "39", (14, 16)),
    ("6011", "6011", (16, 19)),  # Discover
    ("644", "649", (16, 19)),
    ("65", "65", (16, 19)),
    ("3528", "3589", (16, 19)),  # JCB
    ("2131", "2131", (15,)),  # JCB, old series
    ("1800", "1800", (15,)),
    ("62", "62", (16, 17, 18, 19)),  # UnionPay
    ("81", "82", (16, 17, 18, 19)),  # UnionPay, RuPay
    ("60", "60", (16,)),  # RuPay
    ("508", "508", (16,)),
    ("2200", "2204", (16, 17, 18, 19)),  # Mir
    ("9792", "9792", (16,)),  # Troy
    ("5018", "5018", (12, 13, 14, 15, 16, 17, 18, 19)),  # Maestro
    ("5020", "5020", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("5038", "5038", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("5893", "5893", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("6304", "6304", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("6390", "6390", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("6759", "6759", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("6761", "6763", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("50", "50", (16, 18, 19)),  # Maestro, Verve, Elo
    ("56", "58", (16, 18, 19)),  # Maestro
    ("61", "61", (16, 18, 19)),
    ("63", "63", (16, 17, 18, 19)),  # Maestro, InstaPayment, Laser
    ("66", "69", (16, 17, 18, 19)),
    ("60", "60", (18, 19)),
    ("640", "643", (16, 18, 19)),
    ("0604", "0604", (12, 13, 14, 15, 16, 17, 18, 19)),
)
"""Issuer ranges of payment cards and their lengths (ISO/IEC 7812 prefixes, public lists)."""

RESERVED_DOMAINS: Final = ("example.com", "example.net", "example.org", "example.edu")
"""Second-level names set aside for examples (RFC 2606, IANA); their subdomains too."""

RESERVED_TLDS: Final = (
    "example",
    "test",
    "invalid",
    "localhost",
    "local",
    "localdomain",
    "internal",
)
"""Top-level names that never resolve in public (RFC 2606, RFC 6761, RFC 6762, ICANN .internal)."""

_MAIL_PROVIDERS: Final = """
gmail googlemail yahoo ymail rocketmail hotmail outlook live msn icloud aol gmx protonmail zoho
naver qq 163 126
"""

MAIL_PROVIDERS: Final = frozenset(_MAIL_PROVIDERS.split())
"""First labels of domains under which people have mail and nobody has a login."""

_LOGINS: Final = """
git hg svn cvs anoncvs anonymous gitea gitlab gerrit aur root admin login me user ubuntu debian
fedora centos alpine core pi vagrant deploy backup www www-data ftp postgres mysql oracle ec2-user
azureuser ansible jenkins docker guest
"""

LOGINS: Final = frozenset(_LOGINS.split())
"""Accounts of machines: before an ``@`` they are no persons where a path or a port follows."""

_FILE_ENDINGS: Final = """
png jpg jpeg gif webp svg avif ico bmp tiff css js mjs ts tsx jsx json xml html htm xhtml php jsp
asp aspx txt pdf doc docx xls xlsx zip gz tar tgz deb rpm jar exe dll log conf cfg ini yaml yml
toml service socket target timer mount
"""

FILE_ENDINGS: Final = frozenset(_FILE_ENDINGS.split())
"""Last labels that make ``a@b.c`` a file or unit name (``icon@2x.png``, ``getty@tty1.service``)."""
