"""Secrets and addresses of machines: API keys, tokens, private keys, passwords, wallets, MAC
addresses.

API keys are known by their vendors' prefixes and lengths; other keys and passwords by the name that
they are assigned to (``api_key = "…"``) or by their place in a URL (``://user:…@host``), if letters
and digits are mixed in them. A random string without any of these is left, and so are keys that
documentation uses as examples (with EXAMPLE or a run of one character in them). Wallet addresses
are checked by their own sums (Base58Check; Bech32 and Bech32m, BIP 173 and 350); an Ethereum
address, whose sum needs a hash that Python lacks, by a word before it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Final

from .spans import Span, before, word
from .windows import Windows, beginning

_A: Final = "[0-9A-Za-z]"
_U: Final = r"[0-9A-Za-z_\-]"
_KEYS: Final = (
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",  # Amazon Web Services, access key id
    rf"gh[pousr]_{_A}{{36,251}}",  # GitHub
    rf"github_pat_{_A}{{22}}_{_A}{{59}}",
    rf"gl(?:pat|rt|dt|ft)-{_U}{{20,}}(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{7,9}})?",  # GitLab
    r"xox[abeoprs]-[0-9A-Za-z\-]{10,250}",  # Slack
    r"xapp-[0-9]-[0-9A-Z]{8,16}-[0-9]{8,16}-[0-9a-f]{40,80}",
    rf"AIza{_U}{{35}}",  # Google
    rf"ya29\.{_U}{{30,}}",
    rf"GOCSPX-{_U}{{28}}",
    rf"[rs]k_(?:live|test)_{_A}{{20,247}}",  # Stripe
    rf"whsec_{_A}{{32,64}}",
    rf"sk-(?:proj|svcacct|admin|None)-{_U}{{40,}}",  # OpenAI
    rf"sk-{_A}{{20}}T3BlbkFJ{_A}{{20}}",
    rf"sk-ant-[a-z0-9]{{2,12}}-{_U}{{60,}}",  # Anthropic
    r"sk-(?:or-v1-[0-9a-f]{64}|[0-9a-f]{32})",  # OpenRouter, DeepSeek
    rf"gsk_{_A}{{52}}",  # Groq
    rf"xai-{_A}{{80}}",
    rf"pplx-{_A}{{48}}",  # Perplexity
    rf"r8_{_A}{{37}}",  # Replicate
    rf"hf_{_A}{{34}}",  # Hugging Face
    rf"npm_{_A}{{36}}",
    rf"pypi-Ag(?:EIcHlwaS5vcmc|ENdGVzdC5weXBpLm9yZw){_U}{{50,}}",
    r"rubygems_[0-9a-f]{48}",
    rf"SG\.{_U}{{22}}\.{_U}{{43}}",  # SendGrid
    r"key-[0-9a-f]{32}",  # Mailgun
    r"do[opr]_v1_[0-9a-f]{64}",  # DigitalOcean
    r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",  # Shopify
    r"[0-9]{8,10}:AA[0-9A-Za-z_\-]{33}",  # Telegram bot
    rf"hv[sbr]\.{_U}{{24,300}}",  # Vault
    rf"glsa_{_A}{{32}}_[0-9a-f]{{8}}",  # Grafana
    rf"lin_api_{_A}{{40}}",  # Linear
    rf"ntn_{_A}{{40,50}}",  # Notion
    rf"figd_{_U}{{40,60}}",  # Figma
    r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",  # Postman
    rf"dckr_pat_{_U}{{27}}",  # Docker
    rf"sq0(?:atp|csp)-{_U}{{22,43}}",  # Square
    r"NRAK-[0-9A-Z]{27}",  # New Relic
    r"sbp_[0-9a-f]{40}",  # Supabase
    rf"pscale_(?:tkn|pw|oauth)_{_U}{{32,64}}",  # PlanetScale
    rf"ATATT3xFfGF0{_U}{{80,240}}(?:=[0-9A-F]{{8}})?",  # Atlassian
    r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}",  # age
)
_KEY: Final = re.compile(rf"(?<![0-9A-Za-z_\-])(?:{'|'.join(_KEYS)})(?![0-9A-Za-z_\-])")
_HOOK: Final = re.compile(
    r"https://hooks\.slack\.com/services/T[0-9A-Z]{8,}/B[0-9A-Z]{8,}/[0-9A-Za-z]{20,}"
)
_AWS_SECRET: Final = re.compile(
    r"(?:(?i:aws_?secret(?:_?access)?_?key|secret_?access_?key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"([0-9A-Za-z/+]{40})|AccountKey=([0-9A-Za-z/+]{86}==))(?![0-9A-Za-z/+=])"
)
"""Amazon, and Azure's storage."""
_ASSIGNED: Final = re.compile(
    r"(?i:(?:api|secret|access|auth|private|client|consumer|encryption)[_\-]"
    r"(?:key|token|secret))[\"']?\s{0,3}[:=]\s{0,3}([\"']?)([0-9A-Za-z_\-+/]{20,128}={0,2})"
    r"(?:\1|(?=[\s,;]))(?![0-9A-Za-z_.(\[])"
    r"|(?i:passw(?:ord|d))[\"']?\s{0,3}[:=]\s{0,3}([\"'])([^\s\"'<>{}$%\x00\x01]{8,64})\3"
)
_IN_URL: Final = re.compile(
    r"://([^\s/:@\"'<>{}\[\]$]{0,64}):([^\s/:@\"'<>{}\[\]$*\x00\x01]{6,64})@"
    r"(?!localhost|127\.|[a-z0-9.\-]{0,40}\bexample\b)[0-9A-Za-z\[]"
)
_JWT: Final = re.compile(
    r"(?<![0-9A-Za-z_\-])(eyJ[0-9A-Za-z_\-]{10,})\.eyJ[0-9A-Za-z_\-]{10,}\.[0-9A-Za-z_\-]{16,}"
)
_PEM: Final = re.compile(
    r"-----BEGIN ((?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?:[0-9A-Za-z+/=:,.\s\\]|-(?!----)){64,20000}-----END \1-----"
    r"|(?:\s{1,8}[0-9A-Za-z+/=]{40,80}){2,400})"
)
"""Whole, or cut off behind two lines or more."""
_OPENS: Final = re.compile(
    r"-----BEGIN |https://hooks|://|eyJ|AccountKey=|(?i:aws_?secret|secret_?access|passw|"
    r"(?:api|secret|access|auth|private|client|consumer|encryption)[_\-](?:key|token|secret))|"
    + _KEY.pattern
)
"""What one of the expressions above begins with: most places are tried with this one alone."""
_PLACEHOLDER: Final = re.compile(
    r"(?i:example|placeholder|redacted|your|changeme|p[a4@]ssw[o0]rd)|(.)\1{7}|1234567890|abcdefgh"
)
_WORDS_AND_NUMBER: Final = re.compile(r"(?i)(?:[a-z]{2,20}[_\-]?){1,6}[0-9]{0,4}!?")
"""``my_secret_key_1``, ``password123``: those of documentation."""


def secrets(work: str, windows: Windows) -> Iterator[Span]:
    """Keys of vendors, JSON Web Tokens with a header that names an algorithm, private keys,
    and what is assigned to a name or stands in a URL as keys and passwords do."""
    tried = sorted({at for low, high in windows.of("secret") for at in range(low, high)})
    places = [(at, at + 1) for at in tried if _OPENS.match(work, at)]
    for m in beginning(_PEM, work, places):
        yield Span(m.start(), m.end(), "secret")
    for m in beginning(_KEY, work, places):
        if not _PLACEHOLDER.search(m.group()) and len(set(m.group())) >= 10:
            yield Span(m.start(), m.end(), "secret")
    for m in beginning(_HOOK, work, places):
        if not _PLACEHOLDER.search(m.group()):
            yield Span(m.start(), m.end(), "secret")
    for m in beginning(_AWS_SECRET, work, places):
        low, high = m.span(m.lastindex)
        if not _PLACEHOLDER.search(work, low, high) and len(set(work[low:high])) >= 16:
            yield Span(low, high, "secret")
    for m in beginning(_JWT, work, places):
        if _is_header(m.group(1)):
            yield Span(m.start(), m.end(), "secret")
    for pattern in (_ASSIGNED, _IN_URL):
        for m in beginning(pattern, work, places):
            low, high = m.span(m.lastindex)
            if _is_mixed(work[low:high]):
                yield Span(low, high, "secret")


def _is_mixed(value: str) -> bool:
    """Are there letters, digits and many different signs in `value`, and no placeholder?"""
    return (
        re.search("[A-Za-z]", value) is not None
        and re.search("[0-9]", value) is not None
        and len(set(value)) >= 6
        and not _PLACEHOLDER.search(value)
        and not _WORDS_AND_NUMBER.fullmatch(value)
    )


def _is_header(part: str) -> bool:
    try:
        header = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header


_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_OLD_WALLET: Final = re.compile(rf"(?<![0-9A-Za-z])[13LMD][{_BASE58}]{{25,34}}(?![0-9A-Za-z])")
_NEW_WALLET: Final = re.compile(
    r"(?<![0-9A-Za-z])(?i:(?:bc|ltc)1[02-9ac-hj-np-z]{38,71})(?![0-9A-Za-z])"
)
_BECH32: Final = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_ETHER: Final = re.compile(r"(?<![0-9A-Za-z])0x[0-9A-Fa-f]{40}(?![0-9A-Za-z])")
_ETHER_WORDS: Final = re.compile(
    word(
        "eth(?:er(?:eum)?)?|erc-?20|wallets?|donat(?:e|ions?)|tips?|send to|metamask|usd[ct]|bnb|"
        "polygon"
    )
)


def wallets(work: str, windows: Windows) -> Iterator[Span]:
    """Bitcoin, Litecoin and Dogecoin addresses whose sum holds; Ethereum ones by context."""
    places = windows.of("wallet")
    for m in beginning(_OLD_WALLET, work, places):
        if base58check(m.group()):
            yield Span(m.start(), m.end(), "wallet")
    for m in beginning(_NEW_WALLET, work, places):
        if bech32(m.group()):
            yield Span(m.start(), m.end(), "wallet")
    for m in beginning(_ETHER, work, places):
        if len(set(m.group()[2:].lower())) >= 8 and _ETHER_WORDS.search(
            before(work, m.start(), 60)
        ):
            yield Span(m.start(), m.end(), "wallet")


def base58check(text: str) -> bool:
    """Is `text` Base58 of 25 bytes, the last four of which are the sum of the others?"""
    value = 0
    for c in text:
        value = value * 58 + _BASE58.index(c)
    if value >> 200:
        return False
    raw = value.to_bytes(25, "big")
    return hashlib.sha256(hashlib.sha256(raw[:21]).digest()).digest()[:4] == raw[21:]


def bech32(text: str) -> bool:
    """Do the six last characters check the others, as Bech32 or Bech32m?"""
    if text != text.lower() and text != text.upper():
        return False
    name, _, data = text.lower().rpartition("1")
    values = [ord(c) >> 5 for c in name] + [0] + [ord(c) & 31 for c in name]
    check = 1
    for v in values + [_BECH32.find(c) for c in data]:
        if v < 0:
            return False
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ v
        for i, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= generator if top >> i & 1 else 0
    return check in (1, 0x2BC830A3)


_MAC: Final = re.compile(
    r"(?<![0-9A-Za-z:\-])[0-9A-Fa-f]{2}([:\-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![0-9A-Za-z]|[:\-][0-9A-Fa-f])"
    r"|(?<![0-9A-Za-z.])[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}(?![0-9A-Za-z]|\.[0-9A-Fa-f])"
)


def macs(work: str, windows: Windows) -> Iterator[Span]:
    """Hardware addresses of single devices: not those for groups, for documentation
    (00-00-5E-00-53-xx, RFC 7042) or of one digit only. With dots, a letter must be among them."""
    for m in beginning(_MAC, work, windows.of("mac")):
        digits = re.sub(r"[^0-9a-f]", "", m.group().lower())
        if int(digits[1], 16) & 1 or digits.startswith("00005e0053") or len(set(digits)) < 4:
            continue
        if "." in m.group() and digits.isdigit():
            continue
        yield Span(m.start(), m.end(), "mac")
