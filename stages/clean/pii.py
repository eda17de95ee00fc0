"""Personal data that rules can find: e-mail and IP addresses, payment cards, IBANs, national
numbers with check digits, telephone numbers, keys and tokens.

One compiled pass finds where numbers and addresses can stand and whether keys can (see
`corpusmill.stages.clean.windows`); anchored expressions, check digits and context decide there.
What is found becomes a typed tag (``<EMAIL>``), so that the outcome depends neither on other
documents nor on a key, and a second pass finds nothing.
Addresses of streets are found where they are asked for (`corpusmill.stages.clean.streets`), after
all else; names are not looked for: rules cannot find them.

Sources: FineWeb (Penedo et al. 2024, section 3.6) masks e-mail and public IP addresses; Dolma
(Soldaini et al. 2024, section 3.1.4) e-mail, IP and telephone and drops pages above a number of
spans (5 there; off here by default). The rules against versions, sections and object identifiers
answer a count by eye on technical pages, where 20 of 25 "IP addresses" were such numbers.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from corpusmill.pipeline.document import Document, Drop, Outcome, Scalar
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import SignalType, Stage

from .addresses import Reserved, emails, ips, private_ips, spelled_emails, unspelled
from .cards import cards
from .digits import ibans, phones, ssns
from .keys import macs, secrets, wallets
from .national import national_ids
from .pseudonyms import COMMITMENT, pseudonym, read_key
from .roles import is_role
from .spans import DEFAULT_TYPES, SCANNED, TAGS, TYPES, Span, as_ascii, blank, without_tags
from .windows import Windows, rescan, scan, scan_all

if TYPE_CHECKING:
    from collections.abc import Iterator

Type = Literal[
    "email",
    "ip",
    "iban",
    "card",
    "ssn",
    "phone",
    "national_id",
    "secret",
    "wallet",
    "mac",
    "private_ip",
    "street",
]
Policy = Literal["tag", "pseudonym", "annotate"]

_ROLE: Final = "pii_email_role"

_SPELLED: Final = (
    r"(?i:[\[({<【] {0,2}(?:at|ät|arroba|arobase|chiocciola|małpa|dot) {0,2}[\])}>】]| dot |%40|"
    "&#64;|&#x40;)"
)


@lru_cache(maxsize=1)
def _spelled() -> Any:
    """A google-re2 automaton over bytes: whether there may be an address in words."""
    import re2

    options = re2.Options()
    options.log_errors = False
    return re2.compile(_SPELLED.encode(), options)


def _streets() -> Any:
    """The module, whose expressions are compiled only where streets are asked for."""
    from . import streets

    return streets


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
    claims = _claims(text, scan(text), types, reserved_domains, spelled)
    return [span for span in claims if span.type in types]


def _claims(
    text: str, windows: Windows, types: Sequence[str], reserved: Reserved, spelled: bool
) -> list[Span]:
    """Every span of any type, sorted, if one of `types` can occur at all. `windows`: of `text`."""
    work = text
    if windows.foreign:
        work = as_ascii(text)
        windows = scan(work)
    spelled = spelled and ("@" in work or bool(_spelled().search(work.encode("utf-8", "replace"))))
    asked = "street" in types and _streets().may_be(work)
    if not spelled and not asked and not any(map(windows.may, types)):
        return []
    if "<" in work:
        cleared = without_tags(work, "street" in types)
        if cleared != work:
            work, windows = cleared, scan(cleared)
    spans: list[Span] = []
    while True:  # until a round finds nothing: what one span uncovers is found in the next
        found: list[Span] = []
        for type_ in SCANNED:  # all of them: a card is no phone number, whatever was asked for
            if not windows.may(type_) and not (spelled and type_ == "email"):
                continue
            if type_ == "private_ip" and type_ not in types:
                continue  # nothing else could be read in one
            new = _disjoint(_detect(type_, work, windows, reserved, spelled))
            if new:
                work = blank(work, new)
                windows = rescan(windows, work, new)
                found += new
        if asked and not found:  # last: an address is of what nothing else took
            found = list(_streets().streets(work))
            if found:
                work = blank(work, found)
                windows = rescan(windows, work, found)
        if not found:
            return sorted(spans)
        spans += found


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
            return secrets(work, windows)
        case "email":
            return chain(emails(work, reserved, windows), spelled_emails(work) if spelled else ())
        case "wallet":
            return wallets(work, windows)
        case "mac":
            return macs(work, windows)
        case "national_id":
            return national_ids(work, windows)
        case "ip":
            return ips(work, windows)
        case "private_ip":
            return private_ips(work, windows)
        case "iban":
            return ibans(work, windows)
        case "card":
            return cards(work, windows)
        case "ssn":
            return ssns(work, windows)
        case _:
            return phones(work, windows)


def replace(text: str, spans: Sequence[Span], with_: Callable[[Span], str] | None = None) -> str:
    """`text` with the given spans (sorted, disjoint) replaced by their tags, or by what `with_`
    gives for each."""
    pieces: list[str] = []
    at = 0
    for span in spans:
        pieces += [text[at : span.start], TAGS[span.type] if with_ is None else with_(span)]
        at = span.end
    pieces.append(text[at:])
    return "".join(pieces)


def _roles(text: str, spans: Sequence[Span]) -> int:
    """How many of the e-mail addresses among `spans` of `text` are of roles and lists."""
    addresses = (text[s.start : s.end] for s in spans if s.type == "email")
    return sum(is_role(unspelled(address)) for address in addresses)


@dataclass(frozen=True)
class PiiParams:
    """`types`: what to look for. `policy`: for single types, in place of "tag", "pseudonym" (a tag
    with letters that are the same for the same value, by a secret key) or "annotate" (count, leave
    the text). `reserved_domains`: see `find`. `spelled_email`: find e-mail written in words
    (``ann [at] tiny dot io``) too. `drop_above`: drop documents with more spans than this, of all
    types together (None: none); `drop_above_of`: of single types. `key`: the commitment of the key
    of pseudonyms, as ``corpusmill pii --new-key FILE`` prints it; the file itself is named by the
    environment variable CORPUSMILL_PII_KEY. `audit`: write what was done where (see `Pii`)."""

    types: tuple[Type, ...] = DEFAULT_TYPES
    policy: Mapping[str, Policy] = field(default_factory=dict)
    reserved_domains: Reserved = "names"
    spelled_email: bool = False
    drop_above: int | None = None
    drop_above_of: Mapping[str, int] = field(default_factory=dict)
    key: str = ""
    audit: bool = False

    def __post_init__(self) -> None:
        for name in (*self.types, *self.policy, *self.drop_above_of):
            if name not in TYPES:
                raise ConfigError(
                    f"clean.pii: unknown type {name!r}", hint=f"the types are {', '.join(TYPES)}"
                )
        if not self.types or len(set(self.types)) != len(self.types):
            raise ConfigError(f"clean.pii: types={list(self.types)!r} is empty or names one twice")
        for name in (*self.policy, *self.drop_above_of):
            if name not in self.types:
                raise ConfigError(
                    f"clean.pii: a policy or bound for {name!r}, which is not among types"
                )
        for name, action in self.policy.items():
            if action not in ("tag", "pseudonym", "annotate"):
                raise ConfigError(
                    f"clean.pii: policy {name}={action!r}", hint="write tag, pseudonym or annotate"
                )
        self._check_key()
        if self.reserved_domains not in ("names", "keep", "tag"):
            raise ConfigError(
                f"clean.pii: reserved_domains={self.reserved_domains!r}",
                hint="write names, keep or tag",
            )
        for name, most in (("drop_above", self.drop_above), *self.drop_above_of.items()):
            if most is not None and most < 0:
                raise ConfigError(f"clean.pii: {name}={most} is negative")

    def _check_key(self) -> None:
        wanted = "pseudonym" in self.policy.values()
        if wanted and not COMMITMENT.fullmatch(self.key):
            raise ConfigError(
                f"clean.pii: key={self.key!r} is no commitment, which pseudonyms need",
                hint="corpusmill pii --new-key FILE makes a key and prints its commitment",
            )
        if self.key and not wanted:
            raise ConfigError("clean.pii: a key, but no type has the policy pseudonym")


class Pii(Stage):
    """Counts personal data by type and replaces it. Signals: ``pii_<type>``, the number of spans
    found (annotated ones too); with e-mail among the types ``pii_email_role``, how many of its
    spans are of roles and lists (`corpusmill.stages.clean.roles`); with `audit` ``pii_spans``,
    where there are any: JSON, a list of ``[type, start, end, policy]`` with offsets in characters
    of the text before. Reasons:
    ``pii_too_many`` and ``pii_too_many_<type>``, with the number of spans."""

    name = "clean.pii"
    version = 7
    kind = "map"
    pins = ("google-re2", "phonenumbers")
    edits_text = True
    Params = PiiParams
    params: PiiParams

    def __init__(self, params: PiiParams) -> None:
        super().__init__(params)
        self.types = tuple(t for t in TYPES if t in params.types)
        self.policy: Mapping[str, Policy] = {t: params.policy.get(t, "tag") for t in self.types}
        self.tagged = tuple(t for t in self.types if self.policy[t] != "annotate")
        counted = [f"pii_{t}" for t in self.types]
        if "email" in self.types:
            counted.append(_ROLE)
        self._none: Mapping[str, Scalar] = dict.fromkeys(counted, 0)
        writes: dict[str, SignalType] = dict.fromkeys(counted, "int")
        if params.audit:
            writes["pii_spans"] = "str"
        self.writes = writes
        self.reasons = ("pii_too_many",) if params.drop_above is not None else ()
        self.reasons += tuple(f"pii_too_many_{t}" for t in self.types if t in params.drop_above_of)
        self._key = b""

    def setup(self, key: str | Path | None = None) -> None:
        """Compiles or loads the kernel, and reads the key where there are pseudonyms, from the file
        `key` or the one that the environment names. Raises AssetError where that is missing or
        another."""
        scan("")
        if "street" in self.types:
            _streets().prepare()
        if self.params.key:
            self._key = read_key(self.params.key, key)

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        windows = scan_all([document.text for document in batch])
        return [self._one(document, w) for document, w in zip(batch, windows, strict=True)]

    def _claims(self, text: str, windows: Windows) -> list[Span]:
        params = self.params
        return _claims(text, windows, self.types, params.reserved_domains, params.spelled_email)

    def clean(self, text: str, windows: Windows | None = None) -> tuple[list[Span], str]:
        """The spans of the stage's types in `text`, and the text as the stage leaves it."""
        claims = self._claims(text, windows or scan(text))
        spans = [span for span in claims if span.type in self.types]
        while chosen := [span for span in claims if span.type in self.tagged]:
            text = replace(text, chosen, partial(self._replacement, text))
            if len(chosen) == len(claims):
                break  # nothing was left in place, so nothing can be uncovered
            claims = self._claims(text, scan(text))
        return spans, text

    def _replacement(self, text: str, span: Span) -> str:
        if self.policy[span.type] == "pseudonym":
            return pseudonym(self._key, span.type, text[span.start : span.end])
        return TAGS[span.type]

    def _one(self, document: Document, windows: Windows) -> Outcome:
        if not windows.mask and not self.params.spelled_email and "street" not in self.types:
            document.signals.update(self._none)
            return document
        spans, edited = self.clean(document.text, windows)
        if not spans:
            document.signals.update(self._none)
            return document
        counts = Counter(span.type for span in spans)
        limit = self.params.drop_above
        if limit is not None and len(spans) > limit:
            return Drop("pii_too_many", len(spans))
        for type_, most in self.params.drop_above_of.items():
            if counts[type_] > most:
                return Drop(f"pii_too_many_{type_}", counts[type_])
        document.signals.update(self._none)
        for type_, count in counts.items():
            document.signals[f"pii_{type_}"] = count
        if counts["email"]:
            document.signals[_ROLE] = _roles(document.text, spans)
        if self.params.audit:
            done = [[s.type, s.start, s.end, self.policy[s.type]] for s in spans]
            document.signals["pii_spans"] = json.dumps(done, separators=(",", ":"))
        if edited != document.text:
            raw = document.text.encode("utf-8", "surrogatepass")
            document.meta.setdefault("text_sha256_raw", hashlib.sha256(raw).hexdigest())
            document.text = edited
        return document


Params = PiiParams
STAGE = Pii
