"""What a page may cost, for those who only say so: `page` has all that reads one."""

from __future__ import annotations

from dataclasses import dataclass

from corpusmill.pipeline.errors import ConfigError


@dataclass(frozen=True)
class Limits:
    """What a page may cost. Pages beyond are dropped with the reason ``over_budget_…``."""

    max_bytes: int = 8 * 1024 * 1024
    """Bytes of the decoded page in UTF-8. Of 4,700 benchmark pages the largest had 5 MB."""
    max_depth: int = 2000
    """Levels of nested elements, by `corpusmill.stages.extract.budget`."""
    max_nodes: int = 400_000
    """Elements, counting formatting that a parser opens again, and more for what parsers are slow
    on: see `corpusmill.stages.extract.budget`."""

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_depth", "max_nodes"):
            value = getattr(self, name)
            if value < 1:
                raise ConfigError(f"limits.{name} is {value}", hint="give a positive number")
