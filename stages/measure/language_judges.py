"""The two judges that packages bring: CLD2 (pycld2) and py3langid's model.

CLD2 works in whole numbers throughout. py3langid's model is read by `langid_kernel.py`, which does
so too. Both map their labels to our codes (`language_codes.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.pipeline.errors import ConfigError
from corpusmill.stages.kept import Arrays, kept_arrays

from .language_codes import CLD2_CODES, LANGID_CODES, UNDETERMINED

if TYPE_CHECKING:
    import numpy.typing as npt

# CLD2 refuses a text with any of these (controls, surrogates, code points that are no characters).
_NO_CONTROLS = bytes(32 if c == 127 or (c < 32 and c not in (9, 10, 13)) else c for c in range(256))
_UNWANTED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(p * 0x10000 + 0xFFFE)}{chr(p * 0x10000 + 0xFFFF)}" for p in range(17))
    + "]"
)
_LOWER = re.compile("[a-z\u00df-\u00f6\u00f8-\u00ff\u03b1-\u03c9\u0430-\u045f\u0561-\u0586]")
_UPPER = re.compile("[A-Z\u00c0-\u00d6\u00d8-\u00de\u0391-\u03a9\u0400-\u042f\u0531-\u0556]")


@dataclass(frozen=True, slots=True)
class First:
    """What CLD2 says: language and share in percent, the second ones ("" and 0 if none), and the
    bytes of letters that it looked at."""

    code: str
    percent: int
    second: str
    second_percent: int
    size: int


def ask_cld2(text: str, *, chars: int = 20_000) -> First:
    """CLD2's opinion on the first `chars` characters."""
    import pycld2

    text = text[:chars]
    try:
        raw = text.encode("utf-8").translate(_NO_CONTROLS)
        _, size, details = pycld2.detect(raw, isPlainText=True)
    except (UnicodeEncodeError, pycld2.error):
        raw = _UNWANTED.sub(" ", text).encode("utf-8")  # rare, and slower
        _, size, details = pycld2.detect(raw, isPlainText=True)
    (_, code, percent, _), (_, second, second_percent, _) = details[0], details[1]
    known = CLD2_CODES.get(code, UNDETERMINED)
    other = CLD2_CODES.get(second, UNDETERMINED)
    if known == UNDETERMINED:
        percent = 0
    if other == UNDETERMINED:
        other, second_percent = "", 0
    return First(known, percent, other, second_percent, size)


class Langid:
    """py3langid's model (about 60 MB), unpacked once for a machine and shared by its processes."""

    def __init__(self) -> None:
        from py3langid.langid import MODEL_DIR, MODEL_FILE

        path = Path(MODEL_DIR) / MODEL_FILE
        arrays = kept_arrays("langid", (path, Path(__file__)), lambda: _unpacked(path))
        self.weights, self.prior = arrays["weights"], arrays["prior"]
        self.next_state, self.row_base = arrays["next_state"], arrays["row_base"]
        self.emits, self.log_of_count = arrays["emits"], arrays["log_of_count"]
        # Several of its labels are one code here (two scripts of Serbian, kinds of Chinese).
        codes = [LANGID_CODES.get(label, UNDETERMINED) for label in arrays["classes"].tolist()]
        self.codes = list(dict.fromkeys(codes))
        self.group = np.array([self.codes.index(code) for code in codes])

    def ask(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """Most probable language and its probability, for each text."""
        from .langid_kernel import scores

        parts = [_as_trained(text).encode("utf-8", "replace") for text in texts]
        byte_start = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=byte_start[1:])
        result = np.tile(self.prior, (len(parts), 1))
        scores(
            np.frombuffer(b"".join(parts), np.uint8), byte_start, self.row_base, self.next_state,
            self.emits, self.weights, self.log_of_count, result,
        )  # fmt: skip
        sizes = np.diff(byte_start).tolist()
        return [self._best(row, size) for row, size in zip(result, sizes, strict=True)]

    def _best(self, row: npt.NDArray[np.int64], size: int) -> tuple[str, float]:
        # Temperature sqrt(bytes), as in the package: without it long texts are always certain.
        scale = 2**25 * math.sqrt(size or 1)
        top = int(row.max())
        near = np.flatnonzero(row > top - int(16 * scale))  # the others add less than 2e-5
        mass: dict[int, float] = {}
        for i, score in zip(near.tolist(), row[near].tolist(), strict=True):
            group = int(self.group[i])
            mass[group] = mass.get(group, 0.0) + math.exp((score - top) / scale)
        best = max(mass, key=lambda group: (mass[group], -group))
        return self.codes[best], round(mass[best] / sum(mass.values()), 4)


def _unpacked(path: Path) -> Arrays:
    """The arrays of the model in `path` as the loop reads them."""
    from py3langid.modelio import load_model

    weights, prior, classes, next_state, row, output = load_model(path)
    exact = np.asarray(weights, dtype=np.float64) * 512
    rounded = np.rint(exact).astype(np.int16)
    if not np.array_equal(rounded, exact):
        raise ConfigError(
            "measure.language: py3langid's model is not stored in half precision",
            hint="install the version of py3langid that the lock names",
        )
    return {
        "weights": rounded,
        "prior": np.rint(np.asarray(prior, dtype=np.float64) * 2**25).astype(np.int64),
        "next_state": np.asarray(next_state).astype(np.int32),
        "row_base": (np.asarray(row).astype(np.int64) << 8).astype(np.int32),
        "emits": np.asarray(output, dtype=np.int32),
        "log_of_count": np.array([round(math.log1p(n) * 65536) for n in range(4096)], np.int64),
        "classes": np.array(classes),
    }


@lru_cache(maxsize=1)
def langid() -> Langid:
    """The second judge, loaded at first use."""
    return Langid()


def _as_trained(text: str) -> str:
    """Composed, and in small letters if all are capitals, as the model's training text was."""
    if not text.isascii():
        from unicodedata import ucd_3_2_0  # one table, whatever the Python

        text = ucd_3_2_0.normalize("NFC", text)
    if _LOWER.search(text) is None and _UPPER.search(text) is not None:
        text = text.lower()
    return text
