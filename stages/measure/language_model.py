"""Our own language model: loaded from ``data/language.bin``, asked about many texts in one call.

A linear model over hashed letter n-grams (`language_ngrams.py`), trained by `language_training.py`
on translations under free licences; ``data/language.md`` says which, and how it does. Its classes
are our codes, and some of the form ``x-NAME``: languages known from half of one short text only,
which take in what would otherwise be given to a larger neighbour, and are never named.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.pipeline.errors import IntegrityError
from corpusmill.stages.kept import kept_arrays

from .language_scripts import GROUP_NAMES, letter_table

if TYPE_CHECKING:
    import numpy.typing as npt

PATH = Path(__file__).with_name("data") / "language.bin"
SHA256 = "840a44b6b1e31399f4d6ade79b4fd397f90b2df2021c54df6b1c7faee6784c23"
MAGIC = b"corpusmill language model 1\n"
_ONE = 1 << 20


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the model says of a text. `code` is "" where there are no letters; `share` is that of
    `second` in all letters, 0 where there is none; `letters` are those that were judged, in the
    scripts of `group`."""

    code: str
    probability: float
    group: str
    letters: int
    share: float
    second: str
    second_share: float


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """`table`: a row a hashed n-gram; `columns`: a column a class; `unit`: what of a score is one
    (the scores are 16 times table times columns)."""

    classes: tuple[str, ...]
    table: npt.NDArray[np.int8]
    columns: npt.NDArray[np.float32]
    unit: int
    falling: npt.NDArray[np.int64]

    def ask(self, texts: Sequence[str]) -> list[Opinion]:
        """The model's opinion on each text, read to its end."""
        from .language_ngrams import GROUPS, judge

        raw = "".join(texts).encode("utf-32-le", "surrogatepass")
        start = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=start[1:])
        result = np.empty((len(texts), 9 + GROUPS), np.int64)
        codes = np.frombuffer(raw, np.uint32)
        judge(
            codes, start, letter_table(), self.table, self.columns, self.unit, self.falling, result
        )  # fmt: skip
        return [self._opinion(row) for row in result[:, :9].tolist()]

    def _opinion(self, row: list[int]) -> Opinion:
        best, probability, group, letters, others, second, piece, rest, rest_probability = row
        if best < 0:
            return Opinion("", 0.0, "none", 0, 0.0, "", 0.0)
        every = letters + others
        named, share = ("", 0.0) if second < 0 else (self.classes[second], piece / every)
        if rest >= 0 and others > piece and 2 * rest_probability > _ONE:
            named, share = self.classes[rest], others / every
        if named == self.classes[best] or named.startswith("x-"):
            named, share = "", 0.0
        return Opinion(
            self.classes[best], round(probability / _ONE, 4), GROUP_NAMES[group], letters,
            round(letters / every - (0.0 if rest >= 0 and others > piece else share), 4),
            named, round(share, 4),
        )  # fmt: skip


def pack(classes: Sequence[str], table: npt.NDArray[np.float32],
         columns: npt.NDArray[np.float32]) -> bytes:  # fmt: skip
    """The file of a model: `table` and `columns` (a row a class) as bytes. The few largest values
    of the table are cut off, since they would cost the others their precision."""
    by = 127.0 / float(np.quantile(np.abs(table), 0.9999))
    small = np.clip(np.rint(table * by), -127, 127).astype(np.int8)
    by_columns = 127.0 / float(np.abs(columns).max())
    head = {
        "classes": list(classes), "rows": table.shape[0], "dims": table.shape[1],
        "unit": round(16 * by * by_columns),
    }  # fmt: skip
    out = np.rint(columns * by_columns).astype(np.int8)
    return b"".join((MAGIC, json.dumps(head).encode(), b"\n", small.tobytes(), out.tobytes()))


def unpack(raw: bytes) -> LanguageModel:
    """The model in the bytes of a file. Raises ValueError where it is none."""
    if not raw.startswith(MAGIC):
        raise ValueError("it is no language model")
    end = raw.index(b"\n", len(MAGIC))
    head = json.loads(raw[len(MAGIC) : end])
    classes, size, dims = tuple(head["classes"]), head["rows"], head["dims"]
    numbers = np.frombuffer(raw, np.int8, offset=end + 1)
    table = numbers[: size * dims].reshape(size, dims).copy()
    columns = numbers[size * dims :].reshape(len(classes), dims)
    falling = kept_arrays("falling", (Path(__file__),), _falling)["falling"].view(np.int64)
    return LanguageModel(
        classes, table, np.ascontiguousarray(columns.T).astype(np.float32), head["unit"], falling
    )


def _falling() -> dict[str, npt.NDArray[np.int64]]:
    """Powers of e, from that of 0 down to that of -14."""
    steps = [round(math.exp(-step / 1024) * _ONE) for step in range(14 * 1024)]
    return {"falling": np.array(steps, np.int64)}


@lru_cache(maxsize=1)
def language_model() -> LanguageModel:
    """The model of this version, loaded once a process (about 3 MB).

    Raises IntegrityError if the file is missing or is not the one that this code was made for.
    """
    try:
        raw = PATH.read_bytes()
    except OSError as error:
        raise IntegrityError(
            f"{PATH.name}: cannot be read: {error.strerror}", hint="reinstall corpusmill"
        ) from error
    digest = hashlib.sha256(raw).hexdigest()
    if digest != SHA256:
        raise IntegrityError(
            f"{PATH.name}: its sha256 is {digest}, want {SHA256}", hint="reinstall corpusmill"
        )
    return unpack(raw)
