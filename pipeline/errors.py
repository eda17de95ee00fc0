"""The one error tree.

    CorpusmillError             exit code 1
    ├── ConfigError             exit code 2: recipe, profile, command line
    ├── InputError              exit code 1: an input that cannot be read at all
    ├── AssetError              exit code 2: a model, list or benchmark that is missing or wrong
    ├── StageError              exit code 1: a stage broke its contract, or everything failed in it
    ├── TaskError               exit code 1: a task did not finish
    └── IntegrityError          exit code 3: bytes, counts or digests that do not agree

Every message names the value at fault and the place; ``hint`` says what to do next.
"""

from __future__ import annotations


class CorpusmillError(Exception):
    """Root of every error that Corpusmill raises on purpose."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class ConfigError(CorpusmillError):
    """A recipe, a profile or a command line that cannot be carried out."""

    exit_code = 2


class InputError(CorpusmillError):
    """An input file that cannot be read at all (single bad records are quarantined instead)."""


class AssetError(CorpusmillError):
    """A model, list or benchmark that is missing, unreadable or not what was planned."""

    exit_code = 2


class StageError(CorpusmillError):
    """A stage that broke its contract, or in which every document failed."""


class TaskError(CorpusmillError):
    """A task that did not finish."""


class IntegrityError(CorpusmillError):
    """Bytes, counts or digests that do not agree."""

    exit_code = 3
