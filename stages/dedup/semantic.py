"""Documents that say the same in other words: an annotation, nothing is dropped.

After SemDeDup (Abbas et al. 2023): texts are vectors (`corpusmill.classifiers.embedding`, the extra
``embed``), clusters part them, and only members of one cluster are compared. Within a cluster the
documents come in the order of their ids; one whose cosine with an earlier one that stands for
itself reaches `min_cosine` belongs to it, to the one with the smallest id where there are several;
any other stands for itself. So every member is near the one it belongs to, and there are no chains.

What belongs together is a function of the documents, the clusters and the bound; decide on it with
``filters.threshold`` on ``semantic_cosine``. Two texts at the border of two clusters are not
compared: that is the price of not comparing all with all.

Memory: one partition's vectors, 512 bytes a document, and `_TILE` numbers of a comparison. The work
of a cluster grows with its members times those that stand for themselves: one with more than
`max_cluster` members stops the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corpusmill.classifiers.clusters_model import Clusters, centred, load_clusters
from corpusmill.classifiers.embedding import (
    DIMENSIONS,
    LENGTH,
    PACKAGE,
    cosines,
    load_embedder,
    products,
    with_words,
)
from corpusmill.pipeline.context import TaskContext, hash_of_ids
from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.stage import Asset, AuxPhase, Barrier, Kind
from corpusmill.stages.measure.language_codes import check_codes

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from corpusmill.classifiers.embedding import Embedder, Vectors

_BLOCK = 512
_TILE = 1 << 24
"""Products held at a time: a block of documents by a piece of those that stand for themselves."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class SemanticParams:
    """`clusters`: a file of ``corpusmill train clusters``, best of texts like these. `min_cosine`
    of two documents that belong together, 0 to 1, with what all texts have in common taken off (see
    `clusters_model.py`). `max_cluster`: more documents than that in a cluster stop the run.
    `languages`: documents whose signal ``lang`` is none of these are compared with none; empty
    means every document. The vectors know English: of texts in other languages they say hardly more
    than which language it is, so that all look alike (`docs/dedup.md`)."""

    clusters: Asset
    min_cosine: float = 0.95
    max_cluster: int = 200_000
    languages: tuple[str, ...] = ("en",)

    def __post_init__(self) -> None:
        check_codes(self.languages, "languages")
        if not 0 < self.min_cosine <= 1 or self.max_cluster < 2:
            raise ConfigError(
                f"min_cosine is {self.min_cosine}, max_cluster {self.max_cluster}",
                hint="a cosine above 0 and at most 1; two documents or more",
            )


class SemanticDedup(Barrier):
    """Writes `semantic_of`, the id of the document that one belongs to, with `semantic_cosine`, 4
    decimals; and `semantic_copies` of one that stands for itself, itself counted."""

    name: ClassVar[str] = "dedup.semantic"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "barrier"
    pins: ClassVar[tuple[str, ...]] = (PACKAGE, "tokenizers")
    Params: ClassVar[type] = SemanticParams
    phases: ClassVar[tuple[AuxPhase, ...]] = (AuxPhase("compare", "partitions", "compare"),)

    writes = {  # noqa: RUF012 - declared by the base class
        "semantic_of": "str", "semantic_cosine": "float", "semantic_copies": "int",
    }  # fmt: skip

    def __init__(self, params: SemanticParams) -> None:
        super().__init__(params)
        self.params: SemanticParams = params
        self.reads = ("lang",) if params.languages else ()
        self._embedder: Embedder | None = None
        self._clusters: Clusters | None = None

    def check_assets(self) -> None:
        load_clusters(str(self.params.clusters))

    def setup(self) -> None:
        self._embedder = load_embedder(self.name)
        self._clusters = load_clusters(str(self.params.clusters))

    def emit(self, batch: Sequence[Document]) -> dict[str, tuple[pa.Table, Any]]:
        """Table ``vectors``: cluster, id, and the vector's bytes, for documents with a word in one
        of the languages."""
        import pyarrow as pa

        if self._embedder is None or self._clusters is None:
            raise ConfigError(f"{self.name}: emit before setup")
        known = self.params.languages
        asked = [doc for doc in batch if not known or doc.signals.get("lang", "") in known]
        whole = self._embedder.vectors([doc.text for doc in asked])
        chosen = with_words(whole)
        vectors = centred(whole[chosen], self._clusters.middle)
        places, _ = self._clusters.assign(whole[chosen])
        ids = [asked[n].id for n in np.flatnonzero(chosen).tolist()]
        raw = vectors.astype("<i2").tobytes()
        width = 2 * DIMENSIONS
        table = pa.table(
            {
                "cluster": pa.array(places, pa.int64()),
                "id": pa.array(ids, pa.string()),
                "vector": pa.array(
                    [raw[at : at + width] for at in range(0, len(raw), width)], pa.binary(width)
                ),
            }
        )
        return {"vectors": (table, places.astype(np.uint64) * _SPREAD)}

    def compare(self, ctx: TaskContext) -> None:
        """One partition's clusters: ``verdicts`` for the members of groups of two or more."""
        import pyarrow as pa

        rows = ctx.read("vectors", partition=ctx.index, sort=("cluster", "id"))
        clusters = rows["cluster"].to_numpy()
        vectors = np.frombuffer(b"".join(rows["vector"].to_pylist()), "<i2").astype(np.int16)
        vectors = vectors.reshape(len(clusters), DIMENSIONS)
        leader = np.arange(len(clusters))
        cosine = np.zeros(len(clusters))
        for start, end in _runs(clusters):
            if end - start > self.params.max_cluster:
                raise StageError(
                    f"{self.name}: cluster {clusters[start]} has {end - start} documents, more "
                    f"than max_cluster = {self.params.max_cluster}",
                    hint="train more clusters, on texts like these",
                )
            of, alike = belongs_to(vectors[start:end], self.params.min_cosine)
            leader[start:end], cosine[start:end] = of + start, alike
        size = np.bincount(leader, minlength=len(leader))
        chosen = np.flatnonzero(size[leader] > 1)
        ids = rows["id"].to_pylist()
        mine = [ids[n] for n in chosen.tolist()]
        table = pa.table(
            {
                "id": pa.array(mine, pa.string()),
                "leader": pa.array([ids[n] for n in leader[chosen].tolist()], pa.string()),
                "cosine": pa.array(cosine[chosen], pa.float64()),
                "copies": pa.array(size[chosen], pa.int64()),
            }
        )
        ctx.write("verdicts", table, hash_of_ids(mine))
        ctx.note("documents", len(ids))
        ctx.note("groups", int((size > 1).sum()))
        ctx.note("members", int((leader != np.arange(len(leader))).sum()))

    def decide(
        self, batch: Sequence[Document], verdicts: Mapping[str, Mapping[str, Any]]
    ) -> list[Outcome]:
        """All documents, with what was found."""
        for doc in batch:
            verdict = verdicts.get(doc.id)
            if verdict is None or verdict["leader"] == doc.id:
                doc.signals["semantic_copies"] = int(verdict["copies"]) if verdict else 1
            else:
                doc.signals["semantic_of"] = str(verdict["leader"])
                doc.signals["semantic_cosine"] = float(verdict["cosine"])
        return list(batch)


def _runs(values: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Bounds of the runs of equal values."""
    borders = np.flatnonzero(np.diff(values)) + 1
    bounds = [0, *borders.tolist(), len(values)] if len(values) else [0]
    yield from pairwise(bounds)


def belongs_to(
    vectors: Vectors, min_cosine: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """For each vector the first one that stands for itself and is near, itself where there is
    none, and the cosine of the two (0 with itself), 4 decimals."""
    # Cosines are compared as they are written: rounded, so that the bound means what is seen.
    least = np.float32(np.ceil((round(min_cosine, 4) - 0.00005) * LENGTH**2))
    leader = np.arange(len(vectors))
    product = np.zeros(len(vectors), np.float32)
    alone: list[int] = []
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        _nearest_leader(block, start, vectors, np.array(alone, np.int64), least, leader, product)
        among = products(block, block)
        for n in range(len(block)):
            if leader[start + n] != start + n:
                continue
            near = np.flatnonzero(among[n, :n] >= least)
            own = next((m for m in near.tolist() if leader[start + m] == start + m), None)
            if own is None:
                alone.append(start + n)
            else:
                leader[start + n], product[start + n] = start + own, among[n, own]
    return leader, cosines(product)


def _nearest_leader(
    block: Vectors, start: int, vectors: Vectors, alone: npt.NDArray[np.int64], least: np.float32,
    leader: npt.NDArray[np.int64], product: npt.NDArray[np.float32],
) -> None:  # fmt: skip
    """Gives each of the block the first of those `alone` that is near."""
    step = _TILE // _BLOCK
    for at in range(0, len(alone), step):
        piece = alone[at : at + step]
        found = products(block, vectors[piece])
        near = found >= least
        first = near.argmax(axis=1)
        for n in np.flatnonzero(near.any(axis=1)).tolist():
            if leader[start + n] == start + n:
                leader[start + n] = piece[first[n]]
                product[start + n] = found[n, first[n]]


STAGE = SemanticDedup
