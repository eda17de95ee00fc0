"""How many tokens each domain gives to each phase of a mix: whole numbers, exact shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction

from .errors import ConfigError
from .mix_params import MixParams, Phase, Policy, exact

_PRECISE = Context(prec=40)
_SHARE_DIGITS = Decimal("1e-12")

Budget = tuple[int, int]
"""Tokens wanted, and to take."""


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


def domain_names(params: MixParams, available: Mapping[str, int]) -> list[str]:
    """The mix's domains in its order; without rules the sources by name."""
    return [d.name for d in params.domains] if params.domains else sorted(available)


def caps(params: MixParams, available: Mapping[str, int]) -> dict[str, int]:
    """Most tokens that each domain may give in all, repetitions included."""
    epochs = {d.name: exact(d.max_epochs) for d in params.domains}
    result = {}
    for name in domain_names(params, available):
        most = available.get(name, 0) * epochs.get(name, Fraction(1))
        result[name] = most.numerator // most.denominator
    return result


def phase_totals(params: MixParams) -> list[tuple[Phase, int]]:
    """Every phase with its tokens; they sum to the mix's total."""
    if params.tokens is None:
        return [(p, p.tokens or 0) for p in params.phases]
    shares = [exact(p.share) for p in params.phases if p.share is not None]
    return list(zip(params.phases, apportion(params.tokens, shares), strict=True))


def policy_weights(
    policy: Policy, sizes: Mapping[str, int], alpha: float
) -> dict[str, Fraction]:  # fmt: skip
    """Weights from the domains' sizes: see `MixParams`. Powers have 12 decimals, in decimal
    arithmetic, which is the same on every machine. "unimax" is even; the caps do the rest."""
    if policy == "proportional":
        return {n: Fraction(s) for n, s in sizes.items()}
    if policy == "unimax":
        return {n: Fraction(1) for n in sizes}
    exponent = Decimal(repr(alpha))
    largest = max(sizes.values(), default=0)
    weights = {}
    for name, size in sizes.items():
        if size == 0:
            weights[name] = Fraction(0)
            continue
        ratio = _PRECISE.divide(Decimal(size), Decimal(largest))
        power = _PRECISE.power(ratio, exponent).quantize(_SHARE_DIGITS, context=_PRECISE)
        weights[name] = Fraction(power)
    return weights


def budgets(
    params: MixParams,
    available: Mapping[str, int],
    *,
    phase: Phase | None = None,
    total: int | None = None,
    left: Mapping[str, int] | None = None,
) -> dict[str, Budget]:
    """Tokens ``(wanted, to take)`` per domain, given what each has: for the whole mix, or for
    one of its phases, its `total`, and what the earlier ones have `left` of the domains' caps.

    Raises ConfigError on a shortfall unless `params.shortfall` is "renormalise".
    """
    names = domain_names(params, available)
    most = dict(caps(params, available) if left is None else left)
    total = params.tokens if phase is None else total
    weights, even = _weights(params, available, names, phase)
    where = "mix" if phase is None else f"mix phase {phase.name}"
    if total is None:
        own = {d.name: d.tokens for d in params.domains}
        wanted = {}
        for n in names:
            tokens = own.get(n)
            wanted[n] = available.get(n, 0) if tokens is None else tokens
    elif even:  # as even as the caps allow is what is wanted
        wanted = fill(total, names, weights, most)
        if (missing := total - sum(wanted.values())) and params.shortfall == "error":
            raise _short(where, [f"all: wanted {total}, may give {total - missing}"])
        return {n: (wanted[n], wanted[n]) for n in names}
    else:
        parts = apportion(total, [weights[n] for n in names])
        wanted = dict(zip(names, parts, strict=True))
    short = [n for n in names if wanted[n] > most[n]]
    if total is not None and sum(wanted.values()) < total and not short:
        short = ["(all)"]
    if short and params.shortfall == "error":
        raise _short(where, [
            f"{n}: wanted {wanted.get(n, total)}, has {available.get(n, 0)}, "
            f"may give {most.get(n, 0)}"
            for n in short
        ])  # fmt: skip
    take = {n: min(wanted[n], most[n]) for n in names}
    if short and total is not None:
        take = fill(total, names, weights, most)
    return {n: (wanted[n], take[n]) for n in names}


def _weights(
    params: MixParams, available: Mapping[str, int], names: Sequence[str], phase: Phase | None
) -> tuple[dict[str, Fraction], bool]:
    """The weight of every domain, and whether only their caps make them uneven."""
    if phase is not None and phase.weights:
        for name in phase.weights:
            if name not in names:
                raise ConfigError(f"mix phase {phase.name!r}: no documents are of {name!r}")
        given = {n: exact(w) for n, w in phase.weights.items()}
        return {n: given.get(n, Fraction(0)) for n in names}, False
    policy = params.policy if phase is None or phase.policy is None else phase.policy
    own = {d.name: exact(d.weight) for d in params.domains if d.weight is not None}
    if own and (phase is None or phase.policy is None):
        return own, False
    sizes = {n: available.get(n, 0) for n in names}
    return policy_weights(policy or "proportional", sizes, params.alpha), policy == "unimax"


def _short(where: str, said: Sequence[str]) -> ConfigError:
    return ConfigError(
        f"{where}: not enough tokens ({'; '.join(said)})",
        hint="lower the budget, raise max_epochs, or set shortfall: renormalise",
    )


def fill(
    total: int, names: Sequence[str], weights: Mapping[str, Fraction], most: Mapping[str, int]
) -> dict[str, int]:
    """Shares of `total` by weight where none exceeds its cap; what a capped one leaves goes
    to the others by weight. A domain of weight 0 gives nothing."""
    take = {n: 0 for n in names if not weights[n]}
    open_ = [n for n in names if weights[n]]
    while open_:
        left = total - sum(take.values())
        shares = dict(zip(open_, apportion(left, [weights[n] for n in open_]), strict=True))
        full = [n for n in open_ if shares[n] >= most[n]]
        if not full:
            return {n: {**take, **shares}[n] for n in names}
        take.update({n: most[n] for n in full})
        open_ = [n for n in open_ if n not in take]
    return {n: take[n] for n in names}
