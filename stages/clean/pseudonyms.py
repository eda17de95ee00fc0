"""Replacements that depend on a secret key: the same value gets the same one everywhere.

A pseudonym is the tag of the type with twelve letters behind it (``<EMAIL-kzbtrmwqhdnx>``), made
from the value's plain form by a keyed hash (BLAKE2b). Who has the text but not the key can neither
compute nor check them; who has both can. Twelve of twenty letters are 51 bits: two of a million
values share one with probability 0.0001. Letters only, and a form of its own, so that no detector
finds anything in it.

The key is a file that neither recipe nor lock names: the environment variable
``CORPUSMILL_PII_KEY`` does. The recipe has its commitment, a digest that tells a wrong key from the
right one and nothing else about it: keys are 32 random bytes, so trying them is hopeless.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import Final

from corpusmill.pipeline.errors import AssetError, ConfigError

from .addresses import parse_ipv6, unspelled
from .spans import LETTERS, TAGS, as_ascii, ascii_lower

KEY_VARIABLE: Final = "CORPUSMILL_PII_KEY"
"""The environment variable that names the file of the key."""

COMMITMENT: Final = re.compile(r"sha256:[0-9a-f]{64}")
_KEY: Final = re.compile(r"[0-9a-f]{64}\n?")
_LETTERS: Final = "bcdfghjkmnpqrstvwxyz"  # no vowels: no words. No l, which looks like 1
_SIZE: Final = 12
_NO_WORD: Final = re.compile(f"[^{LETTERS}0-9]")
_EXTENSION: Final = re.compile(r"[ ]?(?:x|ext\.?|#)[ ]?[0-9]{1,5}\Z")


def make_key(path: str | Path) -> str:
    """Writes a new key to `path`, readable by its owner alone, and returns its commitment. Raises
    ConfigError where the file exists: a key that is lost cannot be made again."""
    key = secrets.token_hex(32)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as exc:
        raise ConfigError(f"{path}: exists", hint="keep it, or name another file") from exc
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(key + "\n")
    return commitment(bytes.fromhex(key))


def commitment(key: bytes) -> str:
    """The digest by which a recipe names a key."""
    return "sha256:" + hashlib.sha256(b"corpusmill/pii-key/1\0" + key).hexdigest()


def read_key(expected: str, path: str | Path | None = None) -> bytes:
    """The key whose commitment is `expected`, from `path` or the file that the environment names.
    Raises AssetError for a missing, malformed or other key; no message holds any of it."""
    named = path or os.environ.get(KEY_VARIABLE, "")
    if not named:
        raise AssetError(
            f"clean.pii: the key of the pseudonyms, {expected[:19]}…, is not there",
            hint=f"name its file in the environment variable {KEY_VARIABLE}",
        )
    try:
        content = Path(named).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as exc:
        raise AssetError(f"{named}: the key is unreadable: {type(exc).__name__}") from exc
    if not _KEY.fullmatch(content):
        raise AssetError(
            f"{named}: holds no key, which is 64 hexadecimal digits",
            hint="corpusmill pii --new-key FILE makes one",
        )
    key = bytes.fromhex(content.strip())
    if expected and commitment(key) != expected:
        raise AssetError(
            f"{named}: another key: its commitment is {commitment(key)}, the recipe has {expected}",
            hint="name the file of the key that the recipe was written for",
        )
    return key


def plain(type_: str, value: str) -> str:
    """What is the same about all ways to write `value`: letters in one case, no separators."""
    value = as_ascii(value)
    if type_ == "email":
        return ascii_lower(unspelled(value))
    if type_ in ("ip", "private_ip"):
        six = parse_ipv6(value) if ":" in value else None
        return value if six is None else f"{six:032x}"
    if type_ == "phone":
        value = _EXTENSION.sub("", value)
        return re.sub(r"[^0-9]", "", value).removeprefix("00")
    if type_ in ("secret", "wallet"):
        return value
    if type_ == "street":  # in any script
        return _NO_WORD.sub("", ascii_lower(value))
    return re.sub(r"[^0-9A-Z]", "", value.upper())


def pseudonym(key: bytes, type_: str, value: str) -> str:
    """The replacement of `value`: a tag that no second pass touches."""
    said = f"{type_}\0{plain(type_, value)}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(said, digest_size=16, key=key, person=b"corpusmill-pii").digest()
    number = int.from_bytes(digest, "big")
    letters = []
    for _ in range(_SIZE):
        number, letter = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return f"{TAGS[type_][:-1]}-{''.join(letters)}>"
