"""Personal data that rules can find: e-mail and IP addresses, payment cards, IBANs, national
numbers with check digits, telephone numbers, keys and tokens.

One compiled pass finds where numbers and addresses can stand and whether keys can (see
`corpusmill.stages.clean.windows`); anchored expressions, check digits and context decide there.
What is found becomes a typed tag (``<EMAIL>``), so that the outcome depends neither on other
documents nor on a key, and a second pass finds nothing.
Names and addresses of streets are not looked for: rules cannot find them.

Sources: FineWeb (Penedo et al. 2024, section 3.6) masks e-mail and public IP addresses; Dolma
(Soldaini et al. 2024, section 3.1.4) e-mail, IP and telephone and drops pages above a number of
spans (5 there; off here by default). The rules against versions, sections and object identifiers
answer a count by eye on technical pages, where 20 of 25 "IP addresses" were such numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal

from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import SignalType, Stage

from .addresses import Reserved, emails, ips, spelled_emails
from .digits import cards, ibans, phones, ssns
from .keys import MAC_NEEDS, SECRET_NEEDS, WALLET_NEEDS, macs, secrets, wallets
from .national import NEEDS as NATIONAL_NEEDS
from .national import national_ids
from .spans import DEFAULT_TYPES, FILLER, PHONE_FILLER, TAGS, TYPES, Span, as_ascii, blank
from .windows import Windows, scan

if TYPE_CHECKING:
    from collections.abc import Iterator

Type = Literal[
    "email", "ip", "iban", "card", "ssn", "phone", "national_id", "secret", "wallet", "mac"
]
Policy = Literal["tag", "annotate"]

_BEGIN: Final = "-----BEGIN"
"""How a private key in its written form begins."""
_KEY_TYPES: Final = ("secret", "wallet", "mac")
_SPELLED: Final = r"(?i:[\[({<] {0,2}at {0,2}[\])}>]| dot |[\[({<] {0,2}dot {0,2}[\])}>])"


@lru_cache(maxsize=1)
def _patterns() -> tuple[Any, Any, Any]:
    """google-re2 automata over bytes: which types of keys there may be, whether a national number,
    whether a spelled address. Wider than the detectors, never narrower."""
    import re2

    options = re2.Options()
    options.max_mem = 64 << 20
    options.log_errors = False
    keys = re2.Set.SearchSet(options)
    for needs in (SECRET_NEEDS, WALLET_NEEDS, MAC_NEEDS):
        keys.Add(needs)
    keys.Compile()
    return (
        keys,
        re2.compile(NATIONAL_NEEDS.encode(), options),
        re2.compile(_SPELLED.encode(), options),
    )


def possible_types(work: str, windows: Windows, spelled: bool = False) -> list[str]:
    """The types that can occur in a text without other digits than ASCII ones, in the order of
    `TYPES`."""
    found: set[str] = set()
    raw = b""
    if windows.may_have_key or _BEGIN in work:
        raw = work.encode("utf-8", "surrogatepass")
        found.update(_KEY_TYPES[n] for n in _patterns()[0].Match(raw) or ())
    if "@" in work:
        found.add("email")
    elif spelled:
        raw = raw or work.encode("utf-8", "surrogatepass")
        if _patterns()[2].search(raw):
            found.add("email")
    if windows.sixteen or windows.has_number(6):
        raw = raw or work.encode("utf-8", "surrogatepass")
        if _patterns()[1].search(raw):
            found.add("national_id")
    if len(windows.hexes) or windows.numbers(4, dots=3):
        found.add("ip")
    if len(windows.heads):
        found.add("iban")
    for type_, digits in (("phone", 7), ("ssn", 9), ("card", 12)):
        if windows.has_number(digits):
            found.add(type_)
    return [type_ for type_ in TYPES if type_ in found]


def find(
    text: str,
    types: Sequence[str] = DEFAULT_TYPES,
    reserved_domains: Reserved = "names",
    spelled: bool = False,
) -> list[Span]:
    """Every span of personal data in `text`, sorted and disjoint, offsets in characters.

    `reserved_domains` says what becomes of e-mail at domains set aside for examples
    (example.com, ``.test``, ``.local`` …): "tag" them all, "keep" them all, or, the default, tag
    those whose local part reads like a person's name (``ann.lee@example.com``) and keep
    placeholders (``user@example.com``). `spelled` has e-mail found in words too
    (``ann [at] tiny [dot] io``). Digits of other scripts are read as digits.
    """
    claims = _claims(text, types, reserved_domains, spelled)
    return [span for span in claims if span.type in types]


def _claims(
    text: str, types: Sequence[str], reserved_domains: Reserved, spelled: bool
) -> list[Span]:
    """Every span of any type, sorted, if one of `types` can occur at all."""
    work = as_ascii(text)
    windows = scan(work)
    possible = possible_types(work, windows, spelled)
    if not any(t in types for t in possible):
        return []
    if "<" in work:  # tags have neither digits nor colons, so the windows stay as they are
        for type_, tag in TAGS.items():
            filler = PHONE_FILLER if type_ == "phone" else FILLER
            work = work.replace(tag, filler * len(tag))
    spans: list[Span] = []
    while True:  # until a round finds nothing: what one span uncovers is found in the next
        found: list[Span] = []
        for type_ in possible:  # all of them: a card is no phone number, whatever was asked for
            new = _disjoint(_detect(type_, work, windows, reserved_domains, spelled))
            if new:
                work = blank(work, new)
                found += new
        if not found:
            return sorted(spans)
        spans += found  # the windows are wider than need be now, which hides nothing


def _disjoint(spans: Iterator[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in sorted(spans):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _detect(
    type_: str, work: str, windows: Windows, reserved: Reserved, spelled: bool = False
) -> Iterator[Span]:
    match type_:
        case "secret":
            return secrets(work)
        case "email":
            return chain(emails(work, reserved), spelled_emails(work) if spelled else ())
        case "wallet":
            return wallets(work)
        case "mac":
            return macs(work)
        case "national_id":
            return national_ids(work)
        case "ip":
            return ips(work, windows)
        case "iban":
            return ibans(work, windows)
        case "card":
            return cards(work, windows)
        case "ssn":
            return ssns(work, windows)
        case _:
            return phones(work, windows)


def replace(text: str, spans: Sequence[Span]) -> str:
    """`text` with the given spans (sorted, disjoint) replaced by their tags."""
    pieces: list[str] = []
    at = 0
    for span in spans:
        pieces += [text[at : span.start], TAGS[span.type]]
        at = span.end
    pieces.append(text[at:])
    return "".join(pieces)


@dataclass(frozen=True)
class PiiParams:
    """`types`: what to look for. `policy`: for single types "annotate" (count, leave the text) in
    place of "tag". `reserved_domains`: see `find`. `spelled_email`: find e-mail written in words
    (``ann [at] tiny dot io``) too. `drop_above`: drop documents with more spans
    than this, of all types together (None: none)."""

    types: tuple[Type, ...] = DEFAULT_TYPES
    policy: Mapping[str, Policy] = field(default_factory=dict)
    reserved_domains: Reserved = "names"
    spelled_email: bool = False
    drop_above: int | None = None

    def __post_init__(self) -> None:
        for name in (*self.types, *self.policy):
            if name not in TYPES:
                raise ConfigError(
                    f"clean.pii: unknown type {name!r}", hint=f"the types are {', '.join(TYPES)}"
                )
        if not self.types or len(set(self.types)) != len(self.types):
            raise ConfigError(f"clean.pii: types={list(self.types)!r} is empty or names one twice")
        for name, action in self.policy.items():
            if action not in ("tag", "annotate"):
                raise ConfigError(
                    f"clean.pii: policy {name}={action!r}", hint="write tag or annotate"
                )
            if name not in self.types:
                raise ConfigError(f"clean.pii: policy for {name!r}, which is not among types")
        if self.reserved_domains not in ("names", "keep", "tag"):
            raise ConfigError(
                f"clean.pii: reserved_domains={self.reserved_domains!r}",
                hint="write names, keep or tag",
            )
        if self.drop_above is not None and self.drop_above < 0:
            raise ConfigError(f"clean.pii: drop_above={self.drop_above} is negative")


class Pii(Stage):
    """Counts personal data by type and replaces it by tags. Signals: ``pii_<type>``, the number of
    spans found (annotated ones too). Reason: ``pii_too_many``, with the number of spans."""

    name = "clean.pii"
    version = 3
    kind = "map"
    pins = ("google-re2", "phonenumbers")
    edits_text = True
    Params = PiiParams
    params: PiiParams

    def __init__(self, params: PiiParams) -> None:
        super().__init__(params)
        self.types = tuple(t for t in TYPES if t in params.types)
        self.tagged = tuple(t for t in self.types if params.policy.get(t, "tag") == "tag")
        self.writes: Mapping[str, SignalType] = {f"pii_{t}": "int" for t in self.types}
        self.reasons = ("pii_too_many",) if params.drop_above is not None else ()

    def setup(self) -> None:
        """Compiles the automata, and compiles or loads the kernel."""
        _patterns()
        scan("")

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        return [self._one(document) for document in batch]

    def _claims(self, text: str) -> list[Span]:
        return _claims(text, self.types, self.params.reserved_domains, self.params.spelled_email)

    def clean(self, text: str) -> tuple[list[Span], str]:
        """The spans of the stage's types in `text`, and the text as the stage leaves it."""
        claims = self._claims(text)
        spans = [span for span in claims if span.type in self.types]
        while chosen := [span for span in claims if span.type in self.tagged]:
            text = replace(text, chosen)
            if len(chosen) == len(claims):
                break  # nothing was left in place, so nothing can be uncovered
            claims = self._claims(text)
        return spans, text

    def _one(self, document: Document) -> Outcome:
        spans, edited = self.clean(document.text)
        limit = self.params.drop_above
        if limit is not None and len(spans) > limit:
            return Drop("pii_too_many", len(spans))
        for type_ in self.types:
            document.signals[f"pii_{type_}"] = sum(span.type == type_ for span in spans)
        if edited != document.text:
            raw = document.text.encode("utf-8", "surrogatepass")
            document.meta.setdefault("text_sha256_raw", hashlib.sha256(raw).hexdigest())
            document.text = edited
        return document


Params = PiiParams
STAGE = Pii
