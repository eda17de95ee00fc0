"""Shards read again after writing: are they what was meant, and is a benchmark in them?"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.errors import IntegrityError

from . import formats
from .encode import Encoder

if TYPE_CHECKING:
    from corpusmill.pipeline.stage import Asset

_SEARCHED = "corpusmill.stages.decontaminate"
_DOCUMENTS = 256
"""Documents decoded and searched at a time: bounds memory, changes nothing."""


def check_shard(
    name: str, paths: Mapping[str, Path], said: Mapping[str, Any], encoder: Encoder
) -> None:
    """Raises IntegrityError unless the four files of a shard are what its summary says: sizes,
    digests, ids of this tokenizer, pieces that tile the stream, an end-of-text at the end of
    every document and nowhere else."""
    for suffix in formats.SUFFIXES:
        with paths[suffix].open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != said["sha256"][suffix]:
            raise IntegrityError(f"{name}{suffix}: sha256 {digest} is not {said['sha256'][suffix]}")
    dtype = formats.stream_dtype(paths[".idx"])
    tokens = np.fromfile(paths[".bin"], dtype=dtype)
    ends = np.fromfile(paths[".ends"], dtype="<u8")
    pieces = read_pieces(paths[".docs.parquet"])
    if len(tokens) != said["tokens"] or dtype != formats.dtype_for(encoder.max_id):
        raise IntegrityError(f"{name}: {len(tokens)} tokens of {dtype}, not {said['tokens']}")
    if int(tokens.max()) > encoder.max_id:
        raise IntegrityError(f"{name}: id {int(tokens.max())} is above {encoder.max_id}")
    starts = np.concatenate([np.zeros(1, dtype="<u8"), ends[:-1]])
    tiled = np.array_equal(pieces["end"], ends) and np.array_equal(pieces["start"], starts)
    if not tiled or int(ends[-1]) != len(tokens) or not (ends > starts).all():
        raise IntegrityError(f"{name}: the pieces do not tile the stream")
    if formats.megatron_index(ends, dtype) != paths[".idx"].read_bytes():
        raise IntegrityError(f"{name}.idx does not describe the pieces")
    done = pieces["doc_offset"] + (pieces["end"] - pieces["start"]) == pieces["doc_tokens"]
    if int(np.count_nonzero(done)) != said["documents_ended"]:
        raise IntegrityError(f"{name}: {np.count_nonzero(done)} documents end in it")
    where = np.flatnonzero(tokens == encoder.eos_id)
    if not np.array_equal(where, ends[done].astype(np.int64) - 1):
        raise IntegrityError(
            f"{name}: {len(where)} ends of text, {np.count_nonzero(done)} documents end in it",
            hint="a special token was written inside a document, or left out after one",
        )


def read_pieces(path: Path) -> dict[str, Any]:
    """The columns of a ``.docs.parquet`` that place its pieces, as arrays."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, partitioning=None)
    names = ("start", "end", "doc_offset", "doc_tokens")
    return {n: table.column(n).to_numpy() for n in names}


def documents(name: str, files: Mapping[str, Path]) -> Iterator[np.ndarray[Any, Any]]:
    """The ids, without end-of-text, of each document that begins in shard `name`; what lies in
    the following shards of the domain is read from there."""
    stem, number = name.rsplit("-", 1)
    pieces = read_pieces(files[name + ".docs.parquet"])
    tokens = _stream(files, name)
    for start, offset, whole in zip(
        pieces["start"].tolist(), pieces["doc_offset"].tolist(), pieces["doc_tokens"].tolist(),
        strict=True,
    ):  # fmt: skip
        if offset:
            continue
        parts = [tokens[start : start + whole]]
        left = whole - len(parts[0])
        following = int(number)
        while left:
            following += 1
            more = _stream(files, f"{stem}-{following:05d}")[:left]
            parts.append(more)
            left -= len(more)
        yield np.concatenate(parts)[:-1]


def _stream(files: Mapping[str, Path], name: str) -> np.ndarray[Any, Any]:
    return np.memmap(files[name + ".bin"], formats.stream_dtype(files[name + ".idx"]), mode="r")


def load_benchmarks(folder: Asset) -> Any:
    """The benchmarks of a folder. Raises AssetError for one that holds none, or what is none."""
    return importlib.import_module(f"{_SEARCHED}.benchmarks").load(Path(folder))


class Benchmarks:
    """The benchmarks of a folder, ready to be looked for. To make it takes seconds."""

    def __init__(self, folder: Asset) -> None:
        certify = importlib.import_module(f"{_SEARCHED}.certificate").certify
        loaded = load_benchmarks(folder)
        self.index = importlib.import_module(f"{_SEARCHED}.index").ContaminationIndex.build(loaded)
        self.certificates = certify(loaded, [])


class BenchmarkSearch:
    """Searches decoded documents for the items of `benchmarks`; without any it does nothing.

    `found` has, per benchmark, the items found so far by id, each with the method that found it
    (the surest of several); `documents` the number of documents with a hit.
    """

    def __init__(self, benchmarks: Benchmarks | None, encoder: Encoder) -> None:
        self.found: dict[str, dict[str, str]] = {}
        self.documents: dict[str, int] = {}
        self._benchmarks = benchmarks
        self._encoder = encoder

    def search(self, name: str, files: Mapping[str, Path]) -> None:
        """Adds what the documents that begin in shard `name` hold."""
        if self._benchmarks is None:
            return
        for certificate in self._benchmarks.certificates:
            self.found.setdefault(certificate.benchmark, {})
            self.documents.setdefault(certificate.benchmark, 0)
        batch: list[str] = []
        for ids in documents(name, files):
            batch.append(self._encoder.decode(ids))
            if len(batch) == _DOCUMENTS:
                self._find(self._benchmarks.index, batch)
                batch = []
        if batch:
            self._find(self._benchmarks.index, batch)

    def _find(self, index: Any, texts: list[str]) -> None:
        for hits in index.find(texts):
            for benchmark in sorted({h.benchmark for h in hits}):
                self.documents[benchmark] += 1
            for h in hits:
                known = self.found[h.benchmark]
                known[h.item] = _surest(h.method, known.get(h.item, h.method))

    def figures(self) -> dict[str, dict[str, Any]]:
        """Per benchmark: ``items`` in all, those ``visible`` to any method, ``documents`` with a
        hit, ``false_alarms`` of each method, as measured elsewhere, and ``also_in``, where there is
        any: the number of its items that another benchmark has too. Empty if nothing was
        searched."""
        if self._benchmarks is None or not self.found:
            return {}
        told = ("items", "visible", "false_alarms", "also_in")
        return {
            c.benchmark: {
                "documents": self.documents[c.benchmark],
                **{name: value for name, value in c.plain().items() if name in told},
            }
            for c in self._benchmarks.certificates
        }


def _surest(*methods: str) -> str:
    order: tuple[str, ...] = importlib.import_module(f"{_SEARCHED}.rules").METHODS
    return min(methods, key=order.index)


def merge_hits(notes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The ``contamination`` (`figures`) and ``contamination_found`` (item → method) of several
    searches as one: documents added up, items joined and counted by method."""
    result: dict[str, dict[str, Any]] = {}
    items: dict[str, dict[str, str]] = {}
    for note in notes:
        for benchmark, figures in note["contamination"].items():
            known = items.setdefault(benchmark, {})
            for item, method in note["contamination_found"][benchmark].items():
                known[item] = _surest(method, known.get(item, method))
            before = result.get(benchmark, {"documents": 0})["documents"]
            methods = sorted(known.values())
            result[benchmark] = {
                **figures,
                "documents": before + figures["documents"],
                "found": len(known),
                "found_items": sorted(known),
                "by_method": {m: methods.count(m) for m in sorted(set(methods))},
            }
    return dict(sorted(result.items()))
