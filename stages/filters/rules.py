"""Bounds on signals, which the filters of published rule sets are made of.

Every rule set has three parameters more, `Scope`: ``when`` and ``unless`` name values of signals
with which its rules hold, or do not; ``by_language`` is a file with other bounds for some
languages.

    - filters.gopher_quality: {unless: {text_kind: [code, maths]}}
    - filters.gopher_quality: {as: code_rules, when: {text_kind: [code]}, min_alpha_words: 0.3}

A rule set is its parameters, its bounds, and a call of `rule_set`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from corpusmill.pipeline.document import Document, Drop, Outcome, Scalar
from corpusmill.pipeline.errors import AssetError, ConfigError, StageError
from corpusmill.pipeline.stage import Asset, Kind, Side, Stage
from corpusmill.stages.measure.language_codes import check_codes


@dataclass(frozen=True, slots=True)
class Bound:
    """Drops with `reason` where `signal` is under `low` or over `high`; None is no bound.

    A document whose signal is absent passes if `optional` (the measure says where a signal cannot
    be measured), else the run is wrong: see `first_broken`.
    """

    reason: str
    signal: str
    low: float | None = None
    high: float | None = None
    optional: bool = False
    extra: bool = False
    """Of a signal that not every measure of its kind writes; such a one is `optional` too."""


def first_broken(document: Document, bounds: Sequence[Bound], stage: str) -> Drop | None:
    """The drop by the first bound that the document breaks, None if it keeps all.

    Raises StageError if a signal that every measured document has is absent.
    """
    return next(all_broken(document, bounds, stage), None)


def all_broken(document: Document, bounds: Sequence[Bound], stage: str) -> Iterator[Drop]:
    """The drops by all bounds that the document breaks, in order; see `first_broken`."""
    for bound in bounds:
        if bound.low is None and bound.high is None:
            continue
        value = document.signals.get(bound.signal)
        if value is None:
            if bound.optional:
                continue
            raise missing(stage, bound.signal, document)
        number = as_number(value, bound.signal, stage)
        if (bound.low is not None and not number >= bound.low) or (
            bound.high is not None and not number <= bound.high
        ):  # "not >=" rather than "<": not a number is out of bounds
            yield Drop(bound.reason, value)


def missing(stage: str, signal: str, document: Document) -> StageError:
    """The error for a document that lacks a signal."""
    return StageError(
        f"{stage}: document {document.id} has no signal {signal!r}",
        hint=f"put the stage that writes {signal} before {stage}",
    )


def as_number(value: Scalar, signal: str, stage: str) -> float:
    """`value` as a number, False as 0 and True as 1. Raises StageError for a string."""
    if isinstance(value, str):
        raise StageError(
            f"{stage}: signal {signal!r} is the string {value!r}, which has no order",
            hint="bounds are for numbers",
        )
    return value


@dataclass(frozen=True, slots=True)
class Scope:
    """For which documents a rule set holds, and with which bounds."""

    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Signal → values: only documents with one of them, for every signal named, are judged."""
    unless: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Signal → values: documents with one of them, for any signal named, pass unjudged."""
    by_language: Asset | None = None
    """A JSON file, ``{"de": {"max_mean_word": 12.0}}``: language (signal `lang`) → bounds by the
    names of the parameters, in place of those given; null switches a rule off."""

    def __post_init__(self) -> None:
        for name, conditions in (("when", self.when), ("unless", self.unless)):
            for signal, values in conditions.items():
                if not re.fullmatch(r"[a-z0-9_]+", signal) or not values:
                    raise ConfigError(
                        f"{name}: {signal!r} with {len(values)} values",
                        hint=f"{name}: {{text_kind: [code, maths]}}",
                    )


class Rules:
    """The bounds of a rule set, applied to the documents of its scope."""

    def __init__(self, stage: str, params: Any, bounds: Callable[[Any], Sequence[Bound]]) -> None:
        self._stage, self._params, self._make = stage, params, bounds
        self._bounds = tuple(bounds(params))
        self._scope: Scope = params
        self._by_language: dict[str, tuple[Bound, ...]] = {}
        needed = [b.signal for b in self._bounds if not b.extra]
        needed += [*self._scope.when, *self._scope.unless]
        needed += ["lang"] if self._scope.by_language is not None else []
        self.reads = tuple(dict.fromkeys(needed))
        self.reasons = tuple(dict.fromkeys(b.reason for b in self._bounds))

    def setup(self) -> None:
        """Reads the bounds of languages. Raises AssetError for a file that holds none."""
        if self._scope.by_language is None:
            return
        path = Path(self._scope.by_language)
        outer = {f.name for f in fields(Scope)}
        known = [f.name for f in fields(self._params) if f.name not in outer]
        try:
            table = json.loads(path.read_text(encoding="utf-8"))
            for language, changes in table.items():
                for key, value in changes.items():
                    if key not in known:
                        raise AssetError(
                            f"{path.name}: {language} has a bound {key!r}",
                            hint=f"{self._stage} has {', '.join(known)}",
                        )
                    if value is not None and type(value) not in (int, float, bool):
                        raise AssetError(f"{path.name}: {language}.{key} is {value!r}, no number")
                self._by_language[language] = tuple(self._make(replace(self._params, **changes)))
        except (OSError, ValueError, AttributeError) as error:
            raise AssetError(
                f"{path.name} cannot be read as bounds of languages: {error}",
                hint='a JSON object such as {"de": {"max_mean_word": 12.0}}',
            ) from error
        check_codes(table, path.name, AssetError)

    def thresholds(self) -> list[tuple[str, str, float, Side]]:
        """(reason, signal, bound, side) of the bounds that are set, but those of single
        languages."""
        sides: tuple[Side, Side] = ("low", "high")
        return [
            (b.reason, b.signal, float(bound), side)
            for b in self._bounds
            for bound, side in zip((b.low, b.high), sides, strict=True)
            if bound is not None
        ]

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """Drops by the first rule that a document of the scope breaks."""
        return [next(self._drops(document), None) or document for document in batch]

    def broken(self, batch: Sequence[Document]) -> list[list[Drop]]:
        """All rules that each document breaks."""
        return [list(self._drops(document)) for document in batch]

    def _drops(self, document: Document) -> Iterator[Drop]:
        if not self._holds(document):
            return
        bounds = self._bounds
        if self._by_language:
            bounds = self._by_language.get(str(document.signals.get("lang")), bounds)
        yield from all_broken(document, bounds, self._stage)

    def _holds(self, document: Document) -> bool:
        scope = self._scope
        return all(self._has(document, *c) for c in scope.when.items()) and not any(
            self._has(document, *c) for c in scope.unless.items()
        )

    def _has(self, document: Document, signal: str, values: Sequence[str]) -> bool:
        value = document.signals.get(signal)
        if value is None:
            raise missing(self._stage, signal, document)
        return (str(value).lower() if isinstance(value, bool) else str(value)) in values


def rule_set(
    called: str,
    number: int,
    parameters: type[Scope],
    bounds: Callable[[Any], Sequence[Bound]],
) -> type[Stage]:
    """The class of the stage `called`, version `number`, that drops by the first of the `bounds`
    of its `parameters` that a document breaks."""

    class RuleSet(Stage):
        """Drops by the first bound that a document breaks."""

        name: ClassVar[str] = called
        version: ClassVar[int] = number
        kind: ClassVar[Kind] = "decide"
        Params: ClassVar[type] = parameters

        def __init__(self, params: Any) -> None:
            super().__init__(params)
            self._rules = Rules(called, params, bounds)
            self.reads, self.reasons = self._rules.reads, self._rules.reasons

        def check_assets(self) -> None:
            self._rules.setup()

        def setup(self) -> None:
            self._rules.setup()

        def thresholds(self) -> list[tuple[str, str, float, Side]]:
            return self._rules.thresholds()

        def broken(self, batch: Sequence[Document]) -> list[list[Drop]]:
            return self._rules.broken(batch)

        def apply(self, batch: Sequence[Document]) -> list[Outcome]:
            return self._rules.apply(batch)

    return RuleSet
