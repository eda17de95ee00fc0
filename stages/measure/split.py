"""Marks each document as training or held-out text, by a keyed hash.

Which side a document falls on depends on the seed and on its own id, or on that of its
near-duplicate cluster or family (signals of `dedup.minhash`): relatives stay on one side, in any
order, run or subset of the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, ClassVar, Literal

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.stage import Kind, Stage


@dataclass(frozen=True)
class SplitParams:
    """`heldout` is the share that is held out, as a decimal string (half a per cent by default).

    `by` is what is drawn: the document's id, its cluster (kept survivors only differ by what
    dedup took away), or its family, the whole component of near-duplicates, which also keeps
    the survivors of a chain of similar texts on one side.
    """

    heldout: str = "0.005"
    by: Literal["id", "cluster", "family"] = "family"
    seed: int = 1

    def __post_init__(self) -> None:
        try:
            share = Decimal(self.heldout)
        except InvalidOperation:
            raise ConfigError(
                f"heldout is {self.heldout!r}", hint="a decimal number in quotes, as '0.005'"
            ) from None
        if not share.is_finite() or not 0 <= share <= 1:
            raise ConfigError(f"heldout is {self.heldout}", hint="a share, 0 to 1")


class Split(Stage):
    """Writes the signal ``split``: ``train`` or ``heldout``."""

    name: ClassVar[str] = "measure.split"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "measure"
    Params: ClassVar[type] = SplitParams

    def __init__(self, params: SplitParams) -> None:
        super().__init__(params)
        self.params: SplitParams = params
        self.reads = () if params.by == "id" else (params.by,)
        self.writes = {"split": "str"}
        self._below = int(Fraction(params.heldout) * 2**64)
        self._key = str(params.seed).encode("ascii")[:64]

    def apply(self, batch: Sequence[Any]) -> list[Outcome]:
        """The documents with ``split`` set. Raises StageError where `by` was not measured."""
        outcomes: list[Outcome] = []
        for doc in batch:
            outcomes.append(doc)
            doc.signals["split"] = "heldout" if self._draw(doc) < self._below else "train"
        return outcomes

    def _draw(self, doc: Document) -> int:
        unit = doc.id if self.params.by == "id" else doc.signals.get(self.params.by)
        if unit is None:
            raise StageError(
                f"{self.name}: document {doc.id} has no signal {self.params.by!r}",
                hint="put dedup.minhash before this stage, or split by: id",
            )
        raw = str(unit).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(raw, digest_size=8, key=self._key, person=b"corpusmill-split")
        return int.from_bytes(digest.digest(), "big")


STAGE = Split
