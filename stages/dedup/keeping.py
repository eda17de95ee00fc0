"""Which member of a group of duplicates stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from corpusmill.pipeline.errors import ConfigError, StageError

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

Keep = Literal["smallest_id", "newest", "longest", "highest"]
"""The member with the smallest id; the newest by ``meta.date`` (no date is oldest); the longest
text in code points; or that with the highest value of a signal (none is lowest; 6 decimals count).
Ties go to the smallest id."""


def check_keep(keep: Keep, signal: str) -> None:
    """Raises ConfigError where `signal` is missing or is not needed."""
    if (keep == "highest") != bool(signal):
        raise ConfigError(
            f"keep is {keep!r} and signal is {signal!r}",
            hint="keep: highest needs signal, the name of a number that an earlier step measured; "
            "the others take none",
        )


def columns_for(keep: Keep, signal: str) -> tuple[str, ...]:
    """The columns of a document table that `rank_array` needs beside the lengths."""
    return {"newest": ("date",), "highest": (signal,)}.get(keep, ())


def rank_array(
    keep: Keep, signal: str, lengths: Sequence[int], columns: Mapping[str, Sequence[Any]]
) -> pa.Array:
    """What documents are ranked by, higher before lower: a number or a date each. `columns` has
    those that `columns_for` names. Raises StageError for a signal that is no number."""
    import pyarrow as pa

    if keep == "newest":
        # Without the Z, so that a date with fractions of a second sorts after the one without.
        dates = [str(date or "").removesuffix("Z") for date in columns["date"]]
        return pa.array(dates, pa.string())
    if keep == "highest":
        for value in columns[signal]:
            if isinstance(value, str):
                raise StageError(
                    f"the signal {signal!r} is {value!r}", hint="keep: highest compares numbers"
                )
        scores = [float("-inf") if v is None else round(float(v), 6) for v in columns[signal]]
        return pa.array(scores, pa.float64())
    return pa.array(lengths if keep == "longest" else [0] * len(lengths), pa.int64())


def preference(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """The ranks of `rank_array` as integers: the smallest is to stay."""
    values = column.to_pylist()
    order = {value: n for n, value in enumerate(sorted(set(values), reverse=True))}
    return np.array([order[value] for value in values], np.int64)
