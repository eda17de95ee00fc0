"""The index of documents that are known already: by which a new crawl is told from an old one.

An index is one file, made once from the kept documents of a finished run (``corpusmill dedup
index``) and read by `corpusmill.stages.dedup.known`: a line of JSON, then arrays in little-endian
order.

- ``ids`` (16 bytes a document), in order;
- ``content``, a 128-bit hash of each text with white space collapsed, in order of hash, and
  ``content_row``, whose it is;
- ``keys``, band keys as `corpusmill.stages.dedup.minhash` has them, in order, and ``key_row``;
- ``minima``, 16 bits of each minimum, by which candidates are verified.

With 14 bands of 8 that is 428 bytes a document. The file is mapped, not read: the processes of
one machine share it. It says with which parameters and rules it was made and of which run, and
carries a digest of all that: a file that is cut or changed anywhere is refused, and so is one that
was made by other rules.

A pair's similarity is estimated from its 112 minima, with a standard error of
sqrt(s (1 - s) / 112): .043 at .7, .028 at .9 (Broder 1997); the texts of the old run may be gone by
then, so their sets cannot be compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.errors import AssetError, InputError
from corpusmill.stages.unicode_data import collapse_space
from corpusmill.stages.words import WORD_RULE

from .bands import SKETCHES, Sketcher
from .ids import hex_ids, join_ids, split_ids
from .sets import ranges

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

SCHEMA = "corpusmill/dedup-index/2"
_RULES = {"words": WORD_RULE, "sketches": SKETCHES}
"""What keys and minima hang on beside the parameters."""
_NEAREST = 32
"""Documents of one bucket that a text is compared with at most, those with the smallest ids."""
_BATCH_ROWS = 1024
_HEAD = 1 << 16


def content_hash(text: str) -> bytes:
    """16 bytes: what texts share that differ in white space alone; empty for a text without any
    other character. The hash of `corpusmill.stages.dedup.exact`."""
    plain = collapse_space(text)
    return hashlib.blake2b(
        plain.encode("utf-8", "surrogatepass"), digest_size=16
    ).digest() if plain else b""  # fmt: skip


def build_index(
    tables: Iterable[pa.Table],
    about: Mapping[str, str],
    *,
    bands: int = 14,
    rows: int = 8,
    ngram: int = 5,
    seed: int = 1,
) -> bytes:
    """The bytes of the index of the documents of `tables` (columns ``id`` and ``text``). `about`
    says where they are from: ``run``, ``plan_id``, ``purpose``.

    Holds about 1.5 kB a document in memory. Raises InputError where there is no document.
    """
    sketches = Sketcher(bands, rows, ngram, seed)
    names: list[npt.NDArray[Any]] = []
    content: list[bytes] = []
    keys, minima, has = [], [], []
    for table in tables:
        for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
            texts = batch.column("text").to_pylist()
            made = sketches(texts)
            names.append(join_ids(*split_ids(batch.column("id").to_pylist())))
            content += map(content_hash, texts)
            keys.append(made.keys)
            minima.append(made.minima.astype(np.uint16))
            has.append(made.has_words)
    if not sum(map(len, names)):
        raise InputError("there is no document to index")
    ids = np.concatenate(names)
    order = np.argsort(ids)
    arrays: dict[str, npt.NDArray[Any]] = {"ids": ids[order]}
    hashed = np.array([content[n] for n in order.tolist()], "S16")
    filled = np.array([bool(content[n]) for n in order.tolist()])
    row = np.flatnonzero(filled).astype(np.uint32)
    by_hash = np.lexsort((row, hashed[filled]))
    arrays["content"], arrays["content_row"] = hashed[filled][by_hash], row[by_hash]
    worded = np.concatenate(has)[order]
    row = np.repeat(np.flatnonzero(worded).astype(np.uint32), bands)
    flat = np.concatenate(keys)[order][worded].reshape(-1)
    by_key = np.lexsort((row, flat))
    arrays["keys"], arrays["key_row"] = flat[by_key], row[by_key]
    arrays["minima"] = np.concatenate(minima)[order].reshape(-1)
    return _packed(arrays, {
        "schema": SCHEMA, **_RULES, **about, "documents": len(ids),
        "parameters": {"bands": bands, "rows": rows, "ngram": ngram, "seed": seed},
    })  # fmt: skip


ARRAYS = {
    "ids": "S16", "content": "S16", "content_row": "<u4", "keys": "<u8", "key_row": "<u4",
    "minima": "<u2",
}  # fmt: skip
"""The arrays of an index, in order, and their types."""


def _packed(arrays: Mapping[str, npt.NDArray[Any]], head: dict[str, Any]) -> bytes:
    parts = [np.ascontiguousarray(arrays[n], t).tobytes() for n, t in ARRAYS.items()]
    head |= {"lengths": {n: len(arrays[n]) for n in ARRAYS}}
    digest = _head_digest(head)
    for part in parts:
        digest.update(part)
    line = json.dumps(head | {"sha256": digest.hexdigest()}, sort_keys=True).encode()
    line += b" " * (-(len(line) + 1) % 64) + b"\n"
    return line + b"".join(parts)


def _head_digest(head: Mapping[str, Any]) -> hashlib._Hash:
    """A SHA-256 that has taken in what the first line says, but for the digest itself."""
    said = {key: value for key, value in head.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode())


@dataclass(frozen=True, slots=True)
class Match:
    """The known document that a text is."""

    id: str
    similarity: float
    """1 for the same content, else the estimate."""
    same: bool
    """Whether the content is the same but for white space."""


def read_head(path: Path) -> tuple[dict[str, Any], int]:
    """The first line of an index, and its size in bytes. Raises AssetError for a file that is no
    index, or one made by other rules than texts are looked up by."""
    again = "corpusmill dedup index OUT --run RUN"
    try:
        with path.open("rb") as file:
            line = file.readline(_HEAD)
        head: dict[str, Any] = json.loads(line)
        schema = head["schema"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AssetError(
            f"{path.name} is no index of documents: {error!r}", hint=f"make one with {again}"
        ) from error
    if schema != SCHEMA:
        raise AssetError(
            f"{path.name} has the schema {schema!r}, known is {SCHEMA!r}",
            hint=f"make it again of its run: {again}",
        )
    for name, rule in _RULES.items():
        if head.get(name) != rule:
            raise AssetError(
                f"the index {path.name} was made by the rule {head.get(name)!r} for {name}, texts "
                f"now are looked up by {rule!r}",
                hint=f"make it again of its run: {again}",
            )
    return head, len(line)


class Index:
    """A mapped index. Raises AssetError for a file that is none, or is not whole."""

    def __init__(self, path: Path | str) -> None:
        path = Path(path)
        self.head, size_of_head = read_head(path)
        try:
            raw = np.memmap(path, np.uint8, "r")
            at = size_of_head
            found: dict[str, npt.NDArray[Any]] = {}
            for name, kind in ARRAYS.items():
                size = int(self.head["lengths"][name]) * np.dtype(kind).itemsize
                found[name] = raw[at : at + size].view(kind)
                at += size
            digest = _head_digest(self.head)
            digest.update(raw[size_of_head:].data)
            whole = digest.hexdigest() == self.head["sha256"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AssetError(
                f"{path.name} is no index of documents: {error}",
                hint="make one with corpusmill dedup index OUT --run RUN",
            ) from error
        if not whole:
            raise AssetError(f"the index {path.name} is not whole", hint="make it again")
        self._arrays = found
        self.parameters: dict[str, int] = self.head["parameters"]
        self._minima = found["minima"].reshape(len(found["ids"]), -1)

    def __len__(self) -> int:
        return len(self._arrays["ids"])

    def sketcher(self) -> Sketcher:
        """What makes the sketches that `matches` compares."""
        given = self.parameters
        return Sketcher(given["bands"], given["rows"], given["ngram"], given["seed"])

    def same_content(self, texts: list[str]) -> dict[int, Match]:
        """The texts, by place, whose content the index has; of several documents the first id."""
        hashes = [content_hash(text) for text in texts]
        asked = [n for n, value in enumerate(hashes) if value]
        content = self._arrays["content"]
        if not asked or not len(content):
            return {}
        wanted = np.array([hashes[n] for n in asked], "S16")
        at = np.minimum(np.searchsorted(content, wanted), len(content) - 1)
        hit = np.flatnonzero(content[at] == wanted)
        names = hex_ids(self._arrays["ids"][self._arrays["content_row"][at[hit]]])
        return {asked[h]: Match(name, 1.0, True) for h, name in zip(hit, names, strict=True)}

    def near(self, sketches: Any, least: npt.NDArray[np.int64] | int) -> dict[int, Match]:
        """The texts, by place in `sketches`, that share a band with a document and at least
        `least` of the minima with it: the document that shares most, of equals the first id."""
        keys = self._arrays["keys"]
        asked = np.flatnonzero(sketches.has_words)
        flat = sketches.keys[asked].reshape(-1)
        left = np.searchsorted(keys, flat, "left")
        count = np.minimum(np.searchsorted(keys, flat, "right") - left, _NEAREST)
        if not count.any():
            return {}
        own, place = ranges(left, count)
        row = self._arrays["key_row"][place].astype(np.int64)
        doc = np.repeat(asked, self.parameters["bands"])[own]
        pair = np.unique(doc.astype(np.int64) << 32 | row)
        doc, row = pair >> 32, pair & 0xFFFFFFFF
        own = sketches.minima.astype(np.uint16)
        shared = (self._minima[row] == own[doc]).sum(axis=1)
        good = np.flatnonzero(shared >= least)
        best = good[np.lexsort((row[good], -shared[good], doc[good]))]
        best = best[np.unique(doc[best], return_index=True)[1]]
        names = hex_ids(self._arrays["ids"][row[best]])
        width = self._minima.shape[1]
        return {
            int(doc[b]): Match(name, round(int(shared[b]) / width, 6), False)
            for b, name in zip(best.tolist(), names, strict=True)
        }
