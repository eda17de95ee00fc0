"""Which documents go into a mix, how often and in which order: pure functions, no engine.

A mix names domains by rules on columns (source, language, host, licence, …) and gives each a
weight of a total or a budget of its own, in tokens (the end-of-text token of each document is
counted). What is taken follows from keyed hashes of (seed, document id, copy number) alone:

* a domain's budget is *whole* copies of all its documents plus, for what remains, the documents
  that come first in the keyed order of the next copy; the document at the border is cut to the
  exact count and flagged;
* so a smaller budget takes a subset of what a larger one takes, and whether one document is
  taken can be recomputed anywhere from a `Share` (a few numbers per domain), its id and the seed.

Amounts are integers and shares are exact fractions: no result hangs on a float's last bit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from .errors import ConfigError
from .order import below, key_hex, order_keys, sorted_by

HELDOUT = "heldout"
"""Name of the domain that held-out documents go to; no rule may use it."""

EPOCHS_WARNED = 4
"""More passes than this over a domain are warned of: up to 4 passes a repeated token is worth
nearly as much as a new one, beyond it quickly less (Muennighoff et al. 2023, section 6)."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Rule(Protocol):
    """What names a domain: documents whose columns match all patterns of `match`."""

    @property
    def name(self) -> str: ...

    @property
    def match(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class DomainRule:
    """A `Rule` and nothing more. A pattern is alternatives separated by ``|``; ``*`` in one
    stands for any characters, everything else for itself: ``{lang: "de|fr", host: "*.gov"}``.
    An absent value matches no pattern. The first rule that matches wins; an empty `match`
    takes all that is left."""

    name: str
    match: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(self.name)


@dataclass(frozen=True, slots=True)
class Domain:
    """One domain of a mix: a `Rule` (see `DomainRule`) with either a `weight` (share of the
    mix's total) or a budget in `tokens`. `max_epochs` bounds how often a document may be
    repeated (default 1: never without being asked)."""

    name: str
    match: Mapping[str, str] = field(default_factory=dict)
    weight: float | None = None
    tokens: int | None = None
    max_epochs: float = 1.0

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.weight is not None and self.tokens is not None:
            raise ConfigError(f"mix domain {self.name!r} has both weight and tokens")
        if self.weight is not None and not self.weight > 0:
            raise ConfigError(f"mix domain {self.name!r}: weight {self.weight} is not above 0")
        if self.tokens is not None and self.tokens < 1:
            raise ConfigError(f"mix domain {self.name!r}: tokens {self.tokens} is below 1")
        if not 1 <= self.max_epochs < 1e6:
            raise ConfigError(f"mix domain {self.name!r}: max_epochs {self.max_epochs}")


@dataclass(frozen=True, slots=True)
class MixParams:
    """A mix. Three forms:

    * no `domains`: each source is a domain; `tokens` in all are taken in proportion to size
      (None: everything once);
    * `domains` with weights that sum to 1, and `tokens`, the total;
    * `domains` without weights and no total: each takes its own `tokens`, or everything once.

    A domain that cannot give what it should within its `max_epochs` is an error, or, with
    `shortfall` = "renormalise", gives what it has; what is missing is then taken from the other
    weighted domains in proportion to their weights, as far as they go.
    """

    domains: tuple[Domain, ...] = ()
    tokens: int | None = None
    shortfall: Literal["error", "renormalise"] = "error"

    def __post_init__(self) -> None:
        check_rules(self.domains)
        if self.tokens is not None and self.tokens < 1:
            raise ConfigError(f"mix: tokens {self.tokens} is below 1")
        weighted = [d for d in self.domains if d.weight is not None]
        if weighted:
            if len(weighted) != len(self.domains):
                bare = next(d.name for d in self.domains if d.weight is None)
                raise ConfigError(
                    f"mix domain {bare!r} has no weight but others have",
                    hint="give every domain a weight, or none",
                )
            if self.tokens is None:
                raise ConfigError("mix has weights but no total", hint="add mix.tokens")
            total = sum((exact(d.weight) for d in weighted if d.weight is not None), Fraction(0))
            if abs(total - 1) > Fraction(1, 10**6):
                raise ConfigError(
                    f"mix weights sum to {decimal(total)}, not 1",
                    hint="weights are shares of mix.tokens",
                )
        elif self.domains and self.tokens is not None:
            raise ConfigError(
                "mix has a total but its domains have no weights",
                hint="give every domain a weight, or leave mix.tokens out",
            )


@dataclass(frozen=True, slots=True)
class Share:
    """What a mix takes of one domain. Counts of tokens include each document's end-of-text.

    Copies 0 … `full_copies` - 1 of every document are taken whole. Of copy `full_copies` those
    documents are taken whole whose order key is below `bound` (32 hex digits; "" takes none),
    and `cut` tokens of the one whose key equals it (0: none).
    """

    domain: str
    documents: int
    available: int
    wanted: int
    taken: int
    full_copies: int = 0
    bound: str = ""
    cut: int = 0
    copies: int = 0
    """Copies of documents taken, the cut one included."""
    distinct: int = 0
    """Documents of which at least a part is taken."""

    @property
    def shortfall(self) -> int:
        return self.wanted - self.taken

    @property
    def epochs(self) -> str:
        """Passes over the domain, as a decimal string with six digits."""
        return decimal(Fraction(self.taken, self.available)) if self.available else "0.000000"

    def to_json(self) -> dict[str, Any]:
        """Integers and strings only, for notes and manifests; `from_json` reads it back."""
        return {
            "domain": self.domain, "documents": self.documents, "available": self.available,
            "wanted": self.wanted, "taken": self.taken, "shortfall": self.shortfall,
            "epochs": self.epochs, "full_copies": self.full_copies, "bound": self.bound,
            "cut": self.cut, "copies": self.copies, "distinct": self.distinct,
        }  # fmt: skip

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Share:
        derived = {"shortfall", "epochs"}
        return cls(**{k: v for k, v in row.items() if k not in derived})


@dataclass(frozen=True, slots=True)
class MixPlan:
    """The shares of all domains in their order, and what a user should hear of them."""

    shares: tuple[Share, ...]
    warnings: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(s.taken for s in self.shares)


def exact(number: float) -> Fraction:
    """The decimal number that a float is written as: 0.1 is one tenth."""
    return Fraction(repr(number))


def decimal(value: Fraction, digits: int = 6) -> str:
    """A fraction as a decimal string, rounded down."""
    scaled = value.numerator * 10**digits // value.denominator
    return f"{scaled // 10**digits}.{scaled % 10**digits:0{digits}d}"


def check_name(name: str) -> None:
    """Raises ConfigError unless `name` can be a domain: it becomes a folder's name."""
    if not _NAME.fullmatch(name) or name == HELDOUT:
        raise ConfigError(
            f"{name!r} cannot name a domain",
            hint=f"letters, digits, '.', '_' and '-', not {HELDOUT!r}",
        )


def check_rules(rules: Sequence[Rule]) -> None:
    """Raises ConfigError if two rules share a name."""
    names = [r.name for r in rules]
    twice = next((n for i, n in enumerate(names) if n in names[:i]), None)
    if twice is not None:
        raise ConfigError(f"two domains are named {twice!r}")


def domain_of(columns: Mapping[str, object], rules: Sequence[Rule]) -> str | None:
    """The domain of one document: the first rule that its columns match, None if none does.
    Without rules its ``source``."""
    return domains_of({k: [v] for k, v in columns.items()}, rules, 1)[0]


def domains_of(
    columns: Mapping[str, Sequence[object]], rules: Sequence[Rule], count: int
) -> list[str | None]:
    """`domain_of` for `count` documents given by columns; an absent column is absent values."""
    if not rules:
        return [None if v is None else str(v) for v in columns["source"]]
    result: list[str | None] = [None] * count
    left = list(range(count))
    for rule in rules:
        hits = left
        for name, pattern in rule.match.items():
            values = columns.get(name)
            if values is None:
                hits = []
                break
            wanted = _pattern(pattern)
            hits = [
                i for i in hits
                if values[i] is not None and wanted.fullmatch(_as_text(values[i]))
            ]  # fmt: skip
        for i in hits:
            result[i] = rule.name
        left = [i for i in left if result[i] is None]
    return result


def _pattern(pattern: str) -> re.Pattern[str]:
    """`a|b*` as a regular expression."""
    parts = (".*".join(re.escape(p) for p in a.split("*")) for a in pattern.split("|"))
    return re.compile("|".join(f"(?:{p})" for p in parts), re.DOTALL)


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def apportion(total: int, weights: Sequence[Fraction]) -> list[int]:
    """Whole numbers in proportion to `weights` that sum to `total`: rounded down, and what
    is missing goes to the largest remainders (the earlier of equal ones)."""
    whole = sum(weights, Fraction(0))
    if whole == 0:
        return [0] * len(weights)
    quotas = [total * w / whole for w in weights]
    result = [q.numerator // q.denominator for q in quotas]
    by_remainder = sorted(range(len(quotas)), key=lambda i: (result[i] - quotas[i], i))
    for i in by_remainder[: total - sum(result)]:
        result[i] += 1
    return result


def budgets(params: MixParams, available: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Tokens ``(wanted, to take)`` per domain, given what each has.

    Raises ConfigError on a shortfall unless `params.shortfall` is "renormalise".
    """
    if params.domains:
        names = [d.name for d in params.domains]
        caps = {d.name: _cap(available.get(d.name, 0), d.max_epochs) for d in params.domains}
    else:
        names = sorted(available)
        caps = dict(available)
    weights: dict[str, Fraction] = {}
    if not params.domains and params.tokens is not None:
        weights = {n: Fraction(available[n]) for n in names}
    else:
        weights = {d.name: exact(d.weight) for d in params.domains if d.weight is not None}
    if params.tokens is not None:
        wanted = dict(
            zip(names, apportion(params.tokens, [weights[n] for n in names]), strict=True)
        )
    else:
        own = {d.name: d.tokens for d in params.domains}
        wanted = {}
        for n in names:
            tokens = own.get(n)
            wanted[n] = available.get(n, 0) if tokens is None else tokens
    short = [n for n in names if wanted[n] > caps[n]]
    if not names and params.tokens is not None:
        short = ["(all)"]
    if short and params.shortfall == "error":
        said = "; ".join(
            f"{n}: wanted {wanted.get(n, params.tokens)}, has {available.get(n, 0)}, "
            f"may give {caps.get(n, 0)}"
            for n in short
        )  # fmt: skip
        raise ConfigError(
            f"mix: not enough tokens ({said})",
            hint="lower the budget, raise max_epochs, or set shortfall: renormalise",
        )
    take = {n: min(wanted[n], caps[n]) for n in names}
    if short and params.tokens is not None:
        take = _fill(params.tokens, names, weights, caps)
    return {n: (wanted[n], take[n]) for n in names}


def _cap(available: int, max_epochs: float) -> int:
    most = available * exact(max_epochs)
    return most.numerator // most.denominator


def _fill(
    total: int, names: Sequence[str], weights: Mapping[str, Fraction], caps: Mapping[str, int]
) -> dict[str, int]:
    """Shares of `total` by weight where none exceeds its cap; what a capped one leaves goes
    to the others by weight."""
    take: dict[str, int] = {}
    open_ = list(names)
    while open_:
        left = total - sum(take.values())
        shares = dict(zip(open_, apportion(left, [weights[n] for n in open_]), strict=True))
        full = [n for n in open_ if shares[n] >= caps[n]]
        if not full:
            return {**take, **shares}
        take.update({n: caps[n] for n in full})
        open_ = [n for n in open_ if n not in take]
    return take


def select(
    domain: str,
    ids: Sequence[str],
    n_tokens: npt.NDArray[np.int64],
    *,
    seed: int,
    take: int,
    wanted: int | None = None,
) -> Share:
    """The share of one domain whose documents have `ids` and `n_tokens` (each at least 1), in
    any order, of which exactly `take` tokens are to be taken."""
    available = int(n_tokens.sum())
    count = len(ids)
    said = take if wanted is None else wanted
    if take == 0 or count == 0:
        return Share(domain, count, available, said, 0)
    full, rest = divmod(take, available)
    if rest == 0:
        return Share(
            domain, count, available, said, take,
            full_copies=full, copies=full * count, distinct=count,
        )  # fmt: skip
    keys = order_keys(seed, ids, full)
    order = sorted_by(keys)
    ends = np.cumsum(n_tokens[order])
    whole = int(np.searchsorted(ends, rest, side="right"))
    cut = rest - (int(ends[whole - 1]) if whole else 0)
    partial = whole + (1 if cut else 0)
    return Share(
        domain, count, available, said, take,
        full_copies=full, bound=key_hex(keys[order[whole]]), cut=cut,
        copies=full * count + partial, distinct=count if full else partial,
    )  # fmt: skip


def copies_of(
    share: Share, ids: Sequence[str], n_tokens: npt.NDArray[np.int64], *, seed: int
) -> list[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Which of these documents of the domain (any subset of it) are taken: per copy number the
    rows and the tokens to take of each."""
    everything = np.arange(len(ids), dtype=np.int64)
    result = [(c, everything, n_tokens) for c in range(share.full_copies)]
    if share.bound:
        keys = order_keys(seed, ids, share.full_copies)
        less, equal = below(keys, share.bound)
        if share.cut == 0:
            equal[:] = False
        rows = everything[less | equal]
        take = np.where(equal, share.cut, n_tokens)[rows]
        result.append((share.full_copies, rows, take))
    return result


def plan_mix(
    params: MixParams,
    domains: Sequence[str],
    ids: Sequence[str],
    n_tokens: npt.NDArray[np.int64],
    *,
    seed: int,
) -> MixPlan:
    """The plan of a mix over documents given by three columns of equal length.

    Documents whose domain is `HELDOUT` are taken once, whatever the mix says, as the last
    share. Raises ConfigError on a shortfall, on a domain that the mix does not know and on a
    source whose name cannot be a domain.
    """
    names = np.asarray(domains, dtype=object)
    rows = {d: np.flatnonzero(names == d) for d in sorted(set(domains))}
    held = rows.pop(HELDOUT, None)
    known = {d.name for d in params.domains}
    for name in rows:
        if params.domains and name not in known:
            raise ConfigError(f"mix: no domain is named {name!r}")
        check_name(name)
    available = {d: int(n_tokens[r].sum()) for d, r in rows.items()}
    warnings = []
    shares = []
    for name, (wanted, take) in budgets(params, available).items():
        r = rows.get(name, np.zeros(0, dtype=np.int64))
        share = select(
            name, [ids[i] for i in r.tolist()], n_tokens[r], seed=seed, take=take, wanted=wanted
        )  # fmt: skip
        shares.append(share)
        if share.available and share.taken > EPOCHS_WARNED * share.available:
            warnings.append(f"{name}: {share.epochs} epochs, more than {EPOCHS_WARNED}")
        if share.shortfall > 0:
            warnings.append(f"{name}: {share.shortfall} tokens short of {share.wanted}")
        if not share.documents:
            warnings.append(f"{name}: no documents")
    if params.tokens is not None and (missing := params.tokens - sum(s.taken for s in shares)):
        warnings.append(f"mix: {missing} tokens short of {params.tokens}")
    if held is not None:
        n = n_tokens[held]
        shares.append(
            select(HELDOUT, [ids[i] for i in held.tolist()], n, seed=seed, take=int(n.sum()))
        )
    return MixPlan(tuple(shares), tuple(warnings))
