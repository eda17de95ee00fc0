"""Which language a text is in, by two judges that need no download.

CLD2 (package pycld2, whole numbers throughout) judges first: of the judges that ship inside a
package it was the best on documents (`docs/quality.json` has our figures). py3langid's model, read
by `langid_kernel.py`, is the second opinion on the beginning of the text. They are joined by these
rules, in this order; the numbers were set on the declaration of human rights in 160 languages and
on one-line technical descriptions in 39:

1. No letter in the text: ``und``, judges ``none``.
2. Both say the same: that, judges ``agree``. Any Chinese of the second judge agrees with CLD2's
   ``zh`` and ``zh-Hant``: only CLD2 tells the scripts apart.
3. CLD2 does not know: in a text of under 200 bytes, which is often too short for it, the second
   judge's language if it gives it at least 0.5, judges ``langid``. In a longer text ``und``,
   judges ``none``: that text is mostly in a language that neither knows, and the second judge
   must always name one.
4. CLD2's language is not among the second judge's: CLD2's, judges ``cld2_only``.
5. They disagree: the second judge's if it gives it at least 0.7, CLD2 knows that language, and
   the text is under 200 bytes or CLD2 says English (CLD2 takes short foreign text with English
   terms for English), judges ``langid``; else CLD2's, judges ``cld2``.

`lang_score` is between 0 and 1: in case 2 the mean of CLD2's share of the text and the second
judge's probability; in case 4 0.95 of the share; in the others half of the share or probability,
so that 0.5 or less means: not agreed upon. `lang_second` and `lang_second_share` are CLD2's second
language and its share, absent where it sees only one.

Codes are BCP 47: ``zh`` (simplified or not told apart), ``zh-Hant``, ``nb`` and ``nn``, ``he``,
``jv``; ``und`` for undetermined.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import Kind, SignalType, Stage
from corpusmill.stages.unicode_data import ALPHA, class_pattern

from .language_codes import CLD2_CODES, LANGID_CODES, UNDETERMINED

if TYPE_CHECKING:
    import numpy.typing as npt

SHORT_BYTES = 200
TRUST_UNKNOWN = 0.5
TRUST_OVER = 0.7

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
class Params:
    """How much of the beginning of a text each judge reads, in characters."""

    cld2_chars: int = 20_000
    langid_chars: int = 1_000

    def __post_init__(self) -> None:
        if self.cld2_chars < 1 or self.langid_chars < 1:
            raise ConfigError("measure.language: each judge must read at least one character")


@dataclass(frozen=True, slots=True)
class First:
    """What CLD2 says: language and share in percent, the second ones ("" and 0 if none), and the
    bytes of letters that it looked at."""

    code: str
    percent: int
    second: str
    second_percent: int
    size: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The joint verdict on a text."""

    code: str
    score: float
    judges: str


def join(first: First, second: str, probability: float) -> Verdict:
    """The rules 2 to 5 of the module docstring."""
    share = first.percent / 100
    chinese = first.code in ("zh", "zh-Hant") and second == "zh"
    if first.code != UNDETERMINED and (first.code == second or chinese):
        return Verdict(first.code, (share + probability) / 2, "agree")
    if first.code == UNDETERMINED:
        told = second != UNDETERMINED and probability >= TRUST_UNKNOWN
        if told and first.size < SHORT_BYTES:
            return Verdict(second, probability / 2, "langid")
        return Verdict(UNDETERMINED, 0.0, "none")
    if first.code not in LANGID_CODES.values() and first.code != "zh-Hant":
        return Verdict(first.code, 0.95 * share, "cld2_only")
    if (
        probability >= TRUST_OVER
        and second in CLD2_CODES.values()
        and second != UNDETERMINED
        and (first.size < SHORT_BYTES or first.code == "en")
    ):
        return Verdict(second, probability / 2, "langid")
    return Verdict(first.code, share / 2, "cld2")


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
    """py3langid's model: loaded once a process (about 60 MB)."""

    def __init__(self) -> None:
        from py3langid.langid import MODEL_DIR, MODEL_FILE
        from py3langid.modelio import load_model

        weights, prior, classes, next_state, row, output = load_model(MODEL_DIR / MODEL_FILE)
        exact = np.asarray(weights, dtype=np.float64) * 512
        self.weights = np.rint(exact).astype(np.int16)
        if not np.array_equal(self.weights, exact):
            raise ConfigError(
                "measure.language: py3langid's model is not stored in half precision",
                hint="install the version of py3langid that the lock names",
            )
        self.prior = np.rint(np.asarray(prior, dtype=np.float64) * 2**25).astype(np.int64)
        self.next_state = np.asarray(next_state).astype(np.int32)
        self.row_base = (np.asarray(row).astype(np.int64) << 8).astype(np.int32)
        self.emits = np.asarray(output, dtype=np.int32)
        logs = [round(math.log1p(n) * 65536) for n in range(4096)]
        self.log_of_count = np.array(logs, np.int64)
        # Several of its labels are one code here (two scripts of Serbian, kinds of Chinese).
        codes = [LANGID_CODES.get(label, UNDETERMINED) for label in classes]
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


class MeasureLanguage(Stage):
    """`measure.language`: see the module docstring."""

    name: ClassVar[str] = "measure.language"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "measure"
    pins: ClassVar[tuple[str, ...]] = ("pycld2", "py3langid")
    Params: ClassVar[type] = Params

    writes: Mapping[str, SignalType] = {
        "lang": "str",
        "lang_score": "float",
        "lang_judges": "str",
        "lang_second": "str",
        "lang_second_share": "float",
    }

    def setup(self) -> None:
        """Loads the second judge's model (a second or two) and compiles or loads its loop."""
        self._letter = re.compile(f"[{class_pattern(ALPHA)}]")
        langid().ask(("",))

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """The documents, with the signals filled in."""
        p: Params = self.params
        seconds = langid().ask([document.text[: p.langid_chars] for document in batch])
        for document, (second, probability) in zip(batch, seconds, strict=True):
            first = ask_cld2(document.text, chars=p.cld2_chars)
            if self._letter.search(document.text[: p.cld2_chars]) is None:
                verdict = Verdict(UNDETERMINED, 0.0, "none")
            else:
                verdict = join(first, second, probability)
            signals = document.signals
            signals["lang"] = verdict.code
            signals["lang_score"] = round(verdict.score, 6)
            signals["lang_judges"] = verdict.judges
            if first.second:
                signals["lang_second"] = first.second
                signals["lang_second_share"] = round(first.second_percent / 100, 6)
        return list(batch)


STAGE = MeasureLanguage

__all__ = ["STAGE", "First", "MeasureLanguage", "Params", "Verdict", "ask_cld2", "join", "langid"]
