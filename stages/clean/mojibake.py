"""Repairs text that is UTF-8 read as another encoding: ``franÃ§ais`` becomes ``français``.

Pages need no such stage: `extract.tiers` repairs them when it decodes them. This is for texts that
come as text: JSON lines, Parquet, WET files.

``own`` (the default) acts where at least four characters of a text come out, and nine for each
that would not: it restores what was read as windows-1252, where that is a large part of a text.
``ftfy`` asks the library of that name (by R. Speer, Apache-2.0; the extra ``ftfy``) for its
`fix_encoding` alone: single places too, and more encodings, at sixty times the cost. Measured by
``python -m bench.twice`` (`docs/reading.md`): neither changed a text that was right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import StageError
from corpusmill.pipeline.stage import SignalType, Stage
from corpusmill.stages.extract.charset import repaired


@dataclass(frozen=True)
class MojibakeParams:
    """`by`: what looks for such text, "own" or "ftfy"."""

    by: Literal["own", "ftfy"] = "own"


class Mojibake(Stage):
    """Repairs the text in place, drops nothing. Signal: ``mojibake``, whether anything changed."""

    name = "clean.mojibake"
    version = 1
    kind = "map"
    edits_text = True
    writes: Mapping[str, SignalType] = {"mojibake": "bool"}
    Params = MojibakeParams
    params: MojibakeParams

    def __init__(self, params: MojibakeParams) -> None:
        super().__init__(params)
        if params.by == "ftfy":
            self.__dict__["pins"] = ("ftfy",)
        self._fix: Callable[[str], str] = repaired

    def setup(self) -> None:
        """Imports ftfy where it is asked for. Raises StageError where it is not installed."""
        if self.params.by == "ftfy":
            try:
                from ftfy import fix_encoding
            except ImportError as err:
                raise StageError(
                    "clean.mojibake: by=ftfy, and ftfy is not installed",
                    hint="install the extra ftfy",
                ) from err
            self._fix = fix_encoding

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        for document in batch:
            text = document.text
            fixed = text if text.isascii() else self._fix(text)
            document.signals["mojibake"] = fixed != text
            document.text = fixed
        return list(batch)


STAGE = Mojibake
