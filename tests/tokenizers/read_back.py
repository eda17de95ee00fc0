"""Reads exported shards with the readers of the projects that they are for.

    python read_back.py LAYOUT FOLDER

Prints one JSON list: the documents (or pieces) as lists of ids, for layouts without borders one
list with all of them. Runs in an environment with the readers (`readers.txt`), by itself.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import sys
import tempfile
import types
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for packages that the readers import and do not use to read a local file
    (clients of object stores, models): a name in them is a module of the same kind, or
    an empty class."""

    NAMES = frozenset(
        "azure cached_path google huggingface_hub obstore oci paramiko tifffile torchvision"
        " transformers".split()
    )

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] in self.NAMES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        def inside(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            if name[0].islower():
                return self.create_module(importlib.machinery.ModuleSpec(name, self))
            return type(name, (Exception,), {"recoverable_errors": ()})

        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__dict__["__getattr__"] = inside
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


def megatron(folder: Path) -> list[list[int]]:
    indexed = import_module("megatron.core.datasets.indexed_dataset").IndexedDataset

    found = []
    for path in sorted(folder.glob("*.idx")):
        data = indexed(str(path.with_suffix("")), multimodal=False)
        found += [data[i].tolist() for i in range(len(data))]
    return found


def datatrove(folder: Path) -> list[list[int]]:
    """Windows of two tokens (its reader gives ``seq_len + 1``), joined: all but a last odd one."""
    from datatrove.utils.dataset import DatatroveFolderDataset

    found = []
    for path in sorted(folder.glob("*.ds")):
        with tempfile.TemporaryDirectory() as alone:  # its order of several files is its own
            for other in folder.glob(path.stem + ".ds*"):
                (Path(alone) / other.name).write_bytes(other.read_bytes())
            data = DatatroveFolderDataset(alone, seq_len=1, shuffle=False, token_size=2)
            found.append([t for i in range(len(data)) for t in data[i]["input_ids"].tolist()])
    return found


def olmo(folder: Path) -> list[list[int]]:
    """The documents that OLMo-core finds by end-of-text (id 0 here)."""
    import numpy as np

    utils = import_module("olmo_core.data.utils")

    found = []
    for path in sorted(folder.glob("*.npy")):
        for start, end in utils.iter_document_indices(path, eos_token_id=0, dtype=np.uint16):
            found.append(utils.load_array_slice_into_tensor(path, start, end, np.uint16).tolist())
    return found


def mds(folder: Path) -> list[list[int]]:
    read = import_module("streaming.base.format").reader_from_json

    index = json.loads((folder / "index.json").read_text())
    found: list[list[int]] = []
    for shard in index["shards"]:
        reader = read(str(folder), None, shard)
        found += [reader[i]["tokens"].tolist() for i in range(len(reader))]
    return found


def litdata(folder: Path) -> list[list[int]]:
    """All tokens, in blocks of one, so that none is left out at a chunk's end."""
    streaming = import_module("litdata.streaming")
    one = import_module("litdata.streaming.item_loader").TokensLoader(block_size=1)
    data = streaming.StreamingDataset(str(folder), item_loader=one)
    return [[int(data[i][0]) for i in range(len(data))]]


def croissant(path: Path) -> list[str]:
    """What mlcroissant has against a description, then the first documents that it reads by it."""
    data = import_module("mlcroissant").Dataset(str(path))
    found = [f"error {e}" for e in sorted(data.metadata.ctx.issues.errors)]
    for _, row in zip(range(3), data.records("documents"), strict=False):
        found.append(str(row["documents/id"].decode()))
    return found


def dcat(path: Path) -> dict[str, Any]:
    """Distributions (title, bytes, sha256), identifiers and titles of the sources, as rdflib has
    them."""
    graph = import_module("rdflib").Graph()
    graph.parse(str(path), format="json-ld")

    def ask(what: str, where: str) -> list[list[str]]:
        names = "dcat: <http://www.w3.org/ns/dcat#> PREFIX dct: <http://purl.org/dc/terms/>"
        more = "prov: <http://www.w3.org/ns/prov#> PREFIX spdx: <http://spdx.org/rdf/terms#>"
        query = f"PREFIX {names} PREFIX {more} SELECT {what} WHERE {{ {where} }}"
        return sorted([str(value) for value in row] for row in graph.query(query))

    of_sum = "dcat:byteSize ?b ; spdx:checksum [ spdx:checksumValue ?s ]"
    return {
        "distributions": ask("?t ?b ?s", f"?d dcat:distribution [ dct:title ?t ; {of_sum} ]"),
        "identifier": [r[0] for r in ask("?i", "?d a dcat:Dataset ; dct:identifier ?i")],
        "sources": [r[0] for r in ask("?t", "?d prov:wasDerivedFrom [ dct:title ?t ]")],
    }


READERS: dict[str, Callable[[Path], Any]] = {
    "megatron": megatron, "datatrove": datatrove, "olmo": olmo, "mds": mds,
    "litdata": litdata, "croissant": croissant, "dcat": dcat,
}  # fmt: skip

if __name__ == "__main__":
    sys.meta_path.insert(0, Absent())
    print(json.dumps(READERS[sys.argv[1]](Path(sys.argv[2]))))
