"""Distinct counts of anything hashed (hosts, lines, shingles, documents), by HyperLogLog.

A sketch is 2^p registers of one byte; merging takes their maximum, so that any number of tasks in
any order gives the same. The estimate is datasketch's HyperLogLog++ (Heule, Nunkesser and Hall
2013); its standard error is 1.04 / sqrt(2^p): 1.6 % at the default p = 12, 0.8 % at 14.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.errors import ConfigError, IntegrityError

if TYPE_CHECKING:
    import numpy.typing as npt

SCHEMA = "corpusmill/distinct/1"
_LINEAR_UP_TO = (
    10, 20, 40, 80, 220, 400, 900, 1800, 3100, 6500, 11500, 20000, 50000,
)  # fmt: skip
"""Up to which count, by p - 4, HyperLogLog++ counts the registers that are still empty (Heule,
Nunkesser and Hall 2013, the paper's table of thresholds)."""
_SPARSE_BELOW = 8  # one in so many registers in use: shorter as a list of pairs


def hash_texts(texts: Iterable[str]) -> npt.NDArray[np.uint64]:
    """64-bit hashes (BLAKE2b) of short texts such as hosts, for `Distinct.add`."""
    raw = b"".join(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for text in texts
    )
    return np.frombuffer(raw, "<u8").astype(np.uint64)


class Distinct:
    """A mergeable count of distinct 64-bit hashes."""

    def __init__(self, p: int = 12) -> None:
        """Raises ConfigError unless 4 <= p <= 16."""
        if not 4 <= p <= 16:
            raise ConfigError(f"precision p is {p}", hint="4 to 16")
        self.p = p
        self.registers: npt.NDArray[np.int8] = np.zeros(1 << p, np.int8)

    def add(self, hashes: npt.NDArray[np.uint64]) -> None:
        """Counts well-mixed 64-bit hashes, such as `WordTable.hash` or `hash_texts`."""
        place = (hashes & np.uint64((1 << self.p) - 1)).astype(np.int64)
        rest = hashes >> np.uint64(self.p)
        # Bit length of `rest`, exactly: by halves, since float64 holds 53 bits only.
        high, low = rest >> np.uint64(32), rest & np.uint64(0xFFFFFFFF)
        length = np.where(
            high > 0,
            32 + np.frexp(high.astype(np.float64))[1],
            np.frexp(low.astype(np.float64))[1],
        )
        np.maximum.at(self.registers, place, (64 - self.p - length + 1).astype(np.int8))

    def merge(self, other: Distinct) -> None:
        """Makes this the count of the union. Raises IntegrityError for another precision."""
        if other.p != self.p:
            raise IntegrityError(f"distinct counts of precision {self.p} and {other.p}")
        np.maximum(self.registers, other.registers, out=self.registers)

    def estimate(self) -> int:
        """The number of distinct hashes, to the nearest whole number.

        Small counts need one logarithm only: importing datasketch (and so scipy) costs a CPU
        second."""
        empty = len(self.registers) - int(np.count_nonzero(self.registers))
        if empty > 0:
            linear = float(len(self.registers) * np.log(len(self.registers) / empty))
            if linear <= _LINEAR_UP_TO[self.p - 4]:
                return round(linear)
        from datasketch import HyperLogLogPlusPlus

        return round(float(HyperLogLogPlusPlus(reg=self.registers).count()))

    def to_json(self) -> dict[str, Any]:
        """A JSON object without floats; equal for equal sketches."""
        used = np.flatnonzero(self.registers)
        if len(used) * _SPARSE_BELOW < len(self.registers):
            values: Any = [[int(at), int(self.registers[at])] for at in used]
        else:
            values = base64.b64encode(self.registers.tobytes()).decode("ascii")
        return {"schema": SCHEMA, "p": self.p, "registers": values}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Distinct:
        """The inverse of `to_json`. Raises IntegrityError for anything else."""
        if value.get("schema") != SCHEMA or set(value) != {"schema", "p", "registers"}:
            raise IntegrityError(f"not a {SCHEMA}: {str(value)[:200]}")
        made = cls(value["p"])
        stored = value["registers"]
        try:
            if isinstance(stored, str):
                raw = base64.b64decode(stored, validate=True)
                made.registers[:] = np.frombuffer(raw, np.int8)
            else:
                for at, rank in stored:
                    made.registers[at] = rank
        except (ValueError, TypeError, IndexError, OverflowError, binascii.Error) as exc:
            raise IntegrityError(f"{SCHEMA}: registers are damaged: {exc}") from exc
        if made.registers.min() < 0 or made.registers.max() > 64 - made.p + 1:
            raise IntegrityError(f"{SCHEMA}: registers outside 0 to {64 - made.p + 1}")
        return made
