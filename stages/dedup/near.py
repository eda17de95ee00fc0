"""What one text resembles in a kept set: ``corpusmill dedup near TEXT --run RUN``.

Every kept text is looked at: its shingle set is made and compared with that of the query. There is
no index to build, none to go stale, and nothing that resembles the query is missed. That is one
pass of the tokeniser over the texts, for sets of up to some million documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.errors import ConfigError

from .sets import shingles

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 512


@dataclass(frozen=True, slots=True)
class Near:
    """One document that shares shingles with the query."""

    id: str
    url: str
    similarity: float
    """Jaccard similarity of the two sets of shingles: shared among all of both."""
    contained: float
    """Share of the query's shingles that the document has: 1 where the query is a part of it."""
    shared: int
    """Shingles that both have."""

    def plain(self) -> dict[str, Any]:
        """The fields as a mapping."""
        return asdict(self)


def find_near(
    text: str,
    tables: Iterable[pa.Table],
    *,
    ngram: int = 5,
    least: float = 0.1,
    most: int = 20,
) -> list[Near]:
    """The documents of `tables` (columns ``id``, ``text``, ``url``) whose similarity to `text`, or
    the share of `text` that they contain, is at least `least`: at most `most`, the most similar
    first, then by share contained, then by id.

    Shingles are those of `corpusmill.stages.dedup.minhash` with this `ngram`; similarities are
    exact (64-bit hashes), rounded to 6 decimals. Raises ConfigError for a text without words.
    """
    query = np.unique(shingles([text], ngram).hash)
    if len(query) == 0:
        raise ConfigError("the text has no words", hint="give the text of a page")
    found: list[Near] = []
    for table in tables:
        for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
            made = shingles(batch.column("text").to_pylist(), ngram)
            # Whole batches are passed over quickly: most texts share nothing with the query.
            hit = np.isin(made.hash, query)
            doc = np.repeat(np.arange(batch.num_rows), np.diff(made.start))
            for row in np.unique(doc[hit]).tolist():
                own = np.unique(made.hash[made.start[row] : made.start[row + 1]])
                shared = len(np.intersect1d(own, query, assume_unique=True))
                similarity = shared / (len(own) + len(query) - shared)
                contained = shared / len(query)
                if max(similarity, contained) >= least:
                    url = batch.column("url")[row].as_py()
                    name = batch.column("id")[row].as_py()
                    found.append(
                        Near(name, url or "", round(similarity, 6), round(contained, 6), shared)
                    )
    found.sort(key=lambda near: (-near.similarity, -near.contained, near.id))
    return found[:most]
