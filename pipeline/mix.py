"""Which documents go into a mix, how often and in which order: pure functions, no engine.

A mix names domains by rules on columns (source, language, host, quality, …) and says how many
tokens each gives (the end-of-text token of each document is counted), in one phase or several.
What is taken follows from keyed hashes of (seed, document id, copy number) alone:

* a domain's documents stand in the keyed order of copy 0, then in that of copy 1, and so on;
  each phase takes the next piece of that sequence, so that none repeats a document before all
  have been taken once; the document at the border is cut to the exact count and flagged, and
  the next phase begins with the one behind it;
* a rung of the ladder takes a beginning of each piece: a smaller budget is a part of a larger
  one, and whether one document is taken can be recomputed anywhere from a `Share` (a few numbers
  per domain), its id and the seed.

Amounts are integers and shares are exact fractions: no result hangs on a float's last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ConfigError
from .mix_budgets import Budget, apportion, budgets, caps, domain_names, phase_totals
from .mix_params import (
    Domain,
    MixParams,
    Phase,
    Policy,
    decimal,
    exact,
    scale_name,
    scale_of,
)
from .mix_rules import (
    HELDOUT,
    DomainRule,
    Rule,
    assign,
    check_name,
    check_rules,
    domain_of,
    domains_of,
)
from .order import Keys, below, key_hex, order_keys, sorted_by

EPOCHS_WARNED = 4
"""More passes than this over a domain are warned of: up to 4 passes a repeated token is worth
nearly as much as a new one, beyond it quickly less (Muennighoff et al. 2023, section 6)."""

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Share:
    """What a mix takes of one domain, for one phase and one rung of the ladder ("" where there
    are none). Counts of tokens include each document's end-of-text.

    It begins in copy `from_copy` with the documents whose order key is `from_key` (32 hex digits;
    "" is the copy's beginning) or above, and ends in copy `until_copy` before those whose key is
    `until_key` or above ("" ends at the copy's beginning), but for `cut` tokens of the one whose
    key equals it (0: none).
    """

    domain: str
    documents: int
    available: int
    wanted: int
    taken: int
    phase: str = ""
    scale: str = ""
    from_copy: int = 0
    from_key: str = ""
    until_copy: int = 0
    until_key: str = ""
    cut: int = 0
    copies: int = 0
    """Copies of documents taken, the cut one included."""
    distinct: int = 0
    """Documents of which at least a part is taken."""

    @property
    def stream(self) -> str:
        """The folder below ``shards/``: rung, phase and domain, as far as there are any."""
        parts = (scale_name(self.scale) if self.scale else "", self.phase, self.domain)
        return "/".join(p for p in parts if p)

    @property
    def shortfall(self) -> int:
        return self.wanted - self.taken

    @property
    def epochs(self) -> str:
        """Passes over the domain, as a decimal string with six digits."""
        return decimal(exact_ratio(self.taken, self.available))

    def to_json(self) -> dict[str, Any]:
        """Integers and strings only, for notes and manifests; `from_json` reads it back."""
        return {
            "stream": self.stream, "phase": self.phase, "scale": self.scale,
            "domain": self.domain, "documents": self.documents, "available": self.available,
            "wanted": self.wanted, "taken": self.taken, "shortfall": self.shortfall,
            "epochs": self.epochs, "from_copy": self.from_copy, "from_key": self.from_key,
            "until_copy": self.until_copy, "until_key": self.until_key,
            "cut": self.cut, "copies": self.copies, "distinct": self.distinct,
        }  # fmt: skip

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Share:
        derived = {"stream", "shortfall", "epochs"}
        return cls(**{k: v for k, v in row.items() if k not in derived})


@dataclass(frozen=True, slots=True)
class MixPlan:
    """The shares in the order phase, domain; then those of the ladder, then what is held out;
    and what a user should hear of them."""

    shares: tuple[Share, ...]
    warnings: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of the whole mix; rungs of the ladder are parts of it, and not added."""
        return sum(s.taken for s in self.shares if not s.scale)


def exact_ratio(part: int, whole: int) -> Fraction:
    """`part` / `whole`, 0 of nothing."""
    return Fraction(part, whole) if whole else Fraction(0)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a domain's sequence: before the document with `key` ("" : the first) of `copy`,
    `position` tokens from the beginning of all."""

    copy: int = 0
    key: str = ""
    position: int = 0


class _Sequence:
    """A domain's documents in the keyed orders of its copies."""

    def __init__(self, seed: int, ids: Sequence[str], n_tokens: Counts) -> None:
        self._seed, self._ids, self.n_tokens = seed, ids, n_tokens
        self.total = int(n_tokens.sum())
        self._copies: dict[int, tuple[Keys, Counts, Counts]] = {}

    def order(self, copy: int) -> tuple[Keys, Counts, Counts]:
        """Keys in their order, the rows that they belong to, and where each ends in tokens."""
        if copy not in self._copies:
            keys = order_keys(self._seed, self._ids, copy)
            order = sorted_by(keys)
            if len(self._copies) > 1:  # one phase and its rungs look at two at most
                del self._copies[min(self._copies)]
            self._copies[copy] = (keys[order], order, np.cumsum(self.n_tokens[order]))
        return self._copies[copy]

    def rows(self, copy: int, low: str, high: str | None) -> Counts:
        """The rows of one copy with keys from `low` up to, without, `high` (None: to the end)."""
        keys, order, _ = self.order(copy)
        first = _place(keys, low) if low else 0
        return order[first : _place(keys, high) if high is not None else None]


def _place(keys: Keys, bound: str) -> int:
    """Where the first of the sorted `keys` stands that is not below `bound`."""
    return int(np.count_nonzero(below(keys, bound)[0]))


def select(
    domain: str,
    ids: Sequence[str],
    n_tokens: Counts,
    *,
    seed: int,
    take: int,
    wanted: int | None = None,
    start: Cursor | None = None,
) -> tuple[Share, Cursor]:
    """The share of one domain whose documents have `ids` and `n_tokens` (each at least 1), in
    any order, of which exactly `take` tokens from `start` on are to be taken; and where it ends."""
    return _select(domain, _Sequence(seed, ids, n_tokens), take, wanted, start or Cursor())


def _select(
    domain: str, whole: _Sequence, take: int, wanted: int | None, start: Cursor
) -> tuple[Share, Cursor]:
    count = len(whole.n_tokens)
    said = take if wanted is None else wanted
    empty = Share(
        domain, count, whole.total, said, 0, from_copy=start.copy, from_key=start.key,
        until_copy=start.copy, until_key=start.key,
    )  # fmt: skip
    if take == 0 or count == 0:
        return empty, start
    passed = start.position - start.copy * whole.total
    copies, rest = divmod(passed + take, whole.total)
    until = start.copy + copies
    if rest == 0:
        end = Cursor(until, "", until * whole.total)
        cut, partial = 0, np.zeros(0, dtype=np.int64)
    else:
        keys, order, ends = whole.order(until)
        n = int(np.searchsorted(ends, rest, side="right"))
        before = int(ends[n - 1]) if n else 0
        cut = rest - before
        end = Cursor(until, key_hex(keys[n]), until * whole.total + before)
        if cut:  # the next share begins behind the document that is cut here
            follows = n + 1 < count
            after = Cursor(
                until if follows else until + 1, key_hex(keys[n + 1]) if follows else "",
                until * whole.total + int(ends[n]),
            )  # fmt: skip
        partial = order[n : n + 1] if cut else order[:0]
    share = replace(empty, taken=take, until_copy=end.copy, until_key=end.key, cut=cut)
    seen = np.zeros(count, dtype=np.bool_)
    seen[partial] = True
    number = len(partial)
    for copy, low, high in _spans(share):
        rows = whole.rows(copy, low, high) if low or high is not None else slice(None)
        seen[rows] = True
        number += count if isinstance(rows, slice) else len(rows)
    share = replace(share, copies=number, distinct=int(np.count_nonzero(seen)))
    return share, after if cut else end


def _spans(share: Share) -> list[tuple[int, str, str | None]]:
    """The copies of which whole documents are taken: number, least key, and key to stop at."""
    spans: list[tuple[int, str, str | None]] = []
    for copy in range(share.from_copy, share.until_copy + 1):
        low = share.from_key if copy == share.from_copy else ""
        last = copy == share.until_copy
        if last and share.until_key in ("", low):
            break
        spans.append((copy, low, share.until_key if last else None))
    return spans


def copies_of(
    share: Share, ids: Sequence[str], n_tokens: Counts, *, seed: int
) -> list[tuple[int, Counts, Counts]]:
    """Which of these documents of the domain (any subset of it) are taken: per copy number the
    rows and the tokens to take of each."""
    everything = np.arange(len(ids), dtype=np.int64)
    result = []
    for copy in range(share.from_copy, share.until_copy + 1):
        low = share.from_key if copy == share.from_copy else ""
        high = share.until_key if copy == share.until_copy else None
        if not low and high is None:
            result.append((copy, everything, n_tokens))
            continue
        if high == "":
            break
        keys = order_keys(seed, ids, copy)
        taken = np.ones(len(ids), dtype=np.bool_)
        take = n_tokens
        if low:
            taken &= ~below(keys, low)[0]
        if high is not None:
            less, equal = below(keys, high)
            taken &= less | (equal if share.cut else np.zeros_like(equal))
            take = np.where(equal, share.cut, n_tokens) if share.cut else n_tokens
        rows = everything[taken]
        result.append((copy, rows, take[rows]))
    return result


def plan_mix(
    params: MixParams,
    domains: Sequence[str],
    ids: Sequence[str],
    n_tokens: Counts,
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
    none = np.zeros(0, dtype=np.int64)
    available = {d: int(n_tokens[r].sum()) for d, r in rows.items()}
    parts = {
        name: _Sequence(seed, [ids[i] for i in r.tolist()], n_tokens[r])
        for name in domain_names(params, available)
        for r in (rows.get(name, none),)
    }
    shares: list[Share] = []
    rungs: list[Share] = []
    cursors = {name: Cursor() for name in parts}
    for phase, of in _phase_budgets(params, available, cursors):
        for name, (wanted, take) in of.items():
            here = cursors[name]
            share, cursors[name] = _select(name, parts[name], take, wanted, here)
            shares.append(replace(share, phase=phase))
            for scale in params.ladder:
                part = scale_of(scale)
                less = take * part.numerator // part.denominator
                small, _ = _select(name, parts[name], less, None, here)
                rungs.append(replace(small, phase=phase, scale=scale))
    warnings = _warnings(params, shares)
    rungs.sort(key=lambda s: params.ladder.index(s.scale))
    shares += rungs
    if held is not None:
        n = n_tokens[held]
        of_held = [ids[i] for i in held.tolist()]
        shares.append(select(HELDOUT, of_held, n, seed=seed, take=int(n.sum()))[0])
    return MixPlan(tuple(shares), tuple(warnings))


def _phase_budgets(
    params: MixParams, available: Mapping[str, int], cursors: Mapping[str, Cursor]
) -> Iterator[tuple[str, dict[str, Budget]]]:
    """``(phase name, budgets)`` one after the other; `cursors` move on between them."""
    if not params.phases:
        yield "", budgets(params, available)
        return
    most = caps(params, available)
    for phase, total in phase_totals(params):
        left = {n: max(0, most[n] - c.position) for n, c in cursors.items()}
        yield phase.name, budgets(params, available, phase=phase, total=total, left=left)


def _warnings(params: MixParams, shares: Sequence[Share]) -> list[str]:
    warnings = []
    names = list(dict.fromkeys(s.domain for s in shares))
    for name in names:
        mine = [s for s in shares if s.domain == name]
        taken, available = sum(s.taken for s in mine), mine[0].available
        if available and taken > EPOCHS_WARNED * available:
            epochs = decimal(exact_ratio(taken, available))
            warnings.append(f"{name}: {epochs} epochs, more than {EPOCHS_WARNED}")
        for share in mine:
            if share.shortfall > 0:
                where = f"{share.phase}: {name}" if share.phase else name
                warnings.append(f"{where}: {share.shortfall} tokens short of {share.wanted}")
        if not mine[0].documents:
            warnings.append(f"{name}: no documents")
    total = params.tokens if not params.phases else sum(t for _, t in phase_totals(params))
    if total is not None and (missing := total - sum(s.taken for s in shares)):
        warnings.append(f"mix: {missing} tokens short of {total}")
    return warnings


__all__ = [
    "EPOCHS_WARNED", "HELDOUT", "Budget", "Cursor", "Domain", "DomainRule", "MixParams", "MixPlan",
    "Phase", "Policy", "Rule", "Share", "apportion", "assign", "budgets", "check_rules",
    "copies_of", "decimal", "domain_of", "domains_of", "exact", "plan_mix",
    "scale_name", "scale_of", "select",
]  # fmt: skip
