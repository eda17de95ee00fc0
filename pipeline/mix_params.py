"""What a mix is made of, as a recipe writes it: domains, phases, a ladder of sizes, licences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from .errors import ConfigError
from .licences import check_expression
from .mix_rules import check_name, check_rules
from .params import nearest

Policy = Literal["proportional", "temperature", "unimax"]

_SCALE = re.compile(r"1/([1-9][0-9]{0,8})|0\.[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Domain:
    """One domain of a mix: a rule (see `DomainRule`) with either a `weight` (share of the
    mix's total) or a budget in `tokens`. `max_epochs` bounds how often a document may be
    repeated over all phases (default 1: never without being asked)."""

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
class Phase:
    """A part of the training with proportions of its own, as the last fifth on the best data.

    It takes a `share` of the mix's total, or `tokens`. `weights` by domain sum to 1; a domain
    that is not named gives nothing to this phase. Without them, the `policy`, else what the mix
    itself says.
    """

    name: str
    share: float | None = None
    tokens: int | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    policy: Policy | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.name.startswith("scale-"):
            raise ConfigError(f"mix phase {self.name!r}: names with scale- are for the ladder")
        if (self.share is None) == (self.tokens is None):
            raise ConfigError(f"mix phase {self.name!r} needs a share or tokens, one of them")
        if self.share is not None and not 0 < self.share <= 1:
            raise ConfigError(f"mix phase {self.name!r}: share {self.share} is not in (0, 1]")
        if self.tokens is not None and self.tokens < 1:
            raise ConfigError(f"mix phase {self.name!r}: tokens {self.tokens} is below 1")
        if self.weights and self.policy is not None:
            raise ConfigError(f"mix phase {self.name!r} has both weights and a policy")
        for name, weight in self.weights.items():
            if not weight > 0:
                raise ConfigError(f"mix phase {self.name!r}: weight of {name!r} is not above 0")
        if self.weights:
            _sums_to_one(f"mix phase {self.name!r}: weights", self.weights.values(), "its tokens")


@dataclass(frozen=True, slots=True)
class MixParams:
    """A mix. Forms:

    * no `domains`: each source is a domain; `tokens` in all are taken in proportion to size
      (None: everything once);
    * `domains` with weights that sum to 1, and `tokens`, the total;
    * `domains` without weights and no total: each takes its own `tokens`, or everything once;
    * `tokens` and a `policy`, which makes the weights from what each domain has: "proportional"
      to its tokens; "temperature", to their power `alpha` (0.3 as for mT5, Xue et al. 2021,
      section 3.1; the smaller, the more of small domains); "unimax", as even as the domains'
      `max_epochs` allow (Chung et al. 2023, algorithm 1).

    `phases` follow each other, each with weights of its own: what one has taken of a domain the
    next does not take again before the domain has been through once. `ladder` are smaller mixes
    ("1/64" or "0.25") beside the whole, each a part of every larger one.

    `licences`, if given, are the SPDX ids that may be in the mix: documents of a source whose
    licence expression they do not satisfy are left out and counted.

    A domain that cannot give what it should within its `max_epochs` is an error, or, with
    `shortfall` = "renormalise", gives what it has; what is missing is then taken from the other
    domains in proportion to their weights, as far as they go.
    """

    domains: tuple[Domain, ...] = ()
    tokens: int | None = None
    policy: Policy | None = None
    alpha: float = 0.3
    phases: tuple[Phase, ...] = ()
    ladder: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    shortfall: Literal["error", "renormalise"] = "error"

    def __post_init__(self) -> None:
        check_rules(self.domains)
        if self.tokens is not None and self.tokens < 1:
            raise ConfigError(f"mix: tokens {self.tokens} is below 1")
        if not 0 < self.alpha <= 1:
            raise ConfigError(f"mix: alpha {self.alpha} is not in (0, 1]")
        for licence in self.licences:
            check_expression(licence)
        _check_ladder(self.ladder)
        if self.phases:
            self._check_phases()
        else:
            self._check_whole()

    def _check_whole(self) -> None:
        if self._weighted():
            if self.tokens is None:
                raise ConfigError("mix has weights but no total", hint="add mix.tokens")
        elif self.policy is not None:
            if self.tokens is None:
                raise ConfigError("mix has a policy but no total", hint="add mix.tokens")
            self._no_budgets("a policy")
        elif self.domains and self.tokens is not None:
            raise ConfigError(
                "mix has a total but its domains have no weights",
                hint="give every domain a weight, name a policy, or leave mix.tokens out",
            )

    def _weighted(self) -> bool:
        """Whether the domains have weights, which are then checked."""
        weights = [d.weight for d in self.domains if d.weight is not None]
        if not weights:
            return False
        if len(weights) != len(self.domains):
            bare = next(d.name for d in self.domains if d.weight is None)
            raise ConfigError(
                f"mix domain {bare!r} has no weight but others have",
                hint="give every domain a weight, or none",
            )
        if self.policy is not None:
            raise ConfigError("mix has both weights and a policy")
        _sums_to_one("mix weights", weights, "mix.tokens")
        return True

    def _no_budgets(self, beside: str) -> None:
        own = next((d.name for d in self.domains if d.tokens is not None), None)
        if own is not None:
            raise ConfigError(f"mix domain {own!r} has tokens of its own beside {beside}")

    def _check_phases(self) -> None:
        names = [p.name for p in self.phases]
        if twice := next((n for i, n in enumerate(names) if n in names[:i]), None):
            raise ConfigError(f"two mix phases are named {twice!r}")
        self._no_budgets("phases")
        default = self._weighted() or self.policy is not None
        shares = [p.share for p in self.phases if p.share is not None]
        if len(shares) not in (0, len(names)):
            raise ConfigError("some mix phases have a share, others tokens", hint="choose one")
        if shares:
            if self.tokens is None:
                raise ConfigError("mix phases have shares but no total", hint="add mix.tokens")
            _sums_to_one("shares of the mix phases", shares, "mix.tokens")
        elif self.tokens is not None:
            raise ConfigError(
                "mix has a total, and its phases have tokens", hint="leave mix.tokens out"
            )
        known = {d.name for d in self.domains}
        for phase in self.phases:
            for name in phase.weights:
                if self.domains and name not in known:
                    raise ConfigError(
                        f"mix phase {phase.name!r} has a weight for {name!r}, which is no domain",
                        hint=nearest(name, known),
                    )
            if not phase.weights and phase.policy is None and not default:
                raise ConfigError(
                    f"mix phase {phase.name!r} has neither weights nor a policy",
                    hint="give it one of them, or the mix itself",
                )


def exact(number: float) -> Fraction:
    """The decimal number that a float is written as: 0.1 is one tenth."""
    return Fraction(repr(number))


def scale_of(text: str) -> Fraction:
    """A rung of the ladder as a fraction. Raises ConfigError unless it is in (0, 1)."""
    value = Fraction(text) if _SCALE.fullmatch(text) else Fraction(0)
    if not 0 < value < 1:
        raise ConfigError(f"mix ladder: {text!r} is no part of a mix", hint='as "1/64" or "0.25"')
    return value


def scale_name(text: str) -> str:
    """The folder of a rung of the ladder: ``scale-1-64`` for "1/64"."""
    return "scale-" + text.replace("/", "-")


def decimal(value: Fraction, digits: int = 6) -> str:
    """A fraction as a decimal string, rounded down."""
    scaled = value.numerator * 10**digits // value.denominator
    return f"{scaled // 10**digits}.{scaled % 10**digits:0{digits}d}"


def _check_ladder(ladder: tuple[str, ...]) -> None:
    values = [scale_of(s) for s in ladder]
    if len(set(values)) != len(values):
        raise ConfigError(f"mix ladder: {', '.join(ladder)} has a size twice")


def _sums_to_one(what: str, numbers: Iterable[float], of: str) -> None:
    total = sum((exact(n) for n in numbers), Fraction(0))
    if abs(total - 1) > Fraction(1, 10**6):
        raise ConfigError(f"{what} sum to {decimal(total)}, not 1", hint=f"they are shares of {of}")
