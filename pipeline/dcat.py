"""A lock as DCAT 3 (W3C Recommendation of 2024-08-22) in JSON-LD, for catalogues of data.

A dataset with a distribution for the lock, the list of files and each stream of shards; what it was
made of is told with PROV. All terms are in the text: nothing needs to be fetched to read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .identity import sha256_file
from .lock import Lock

_CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "spdx": "http://spdx.org/rdf/terms#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_PLAIN = {
    "json": "application/json", "jsonl": "application/jsonlines", "bin": "application/octet-stream",
}  # fmt: skip


def dcat(lock: Lock, manifest: Mapping[str, Any] | None) -> dict[str, Any]:
    """The description as JSON-LD."""
    data = lock.data
    out = data["outputs"]
    files = [
        _distribution(lock.path.name, "json", lock.path.stat().st_size, sha256_file(lock.path)),
        _distribution(
            lock.files_path.name, "jsonl", lock.files_path.stat().st_size, lock.files_sha256
        ),
    ]
    sizes = {r["path"]: r for r in lock.rows()}
    for shard in manifest["shards"] if manifest is not None else ():
        row = sizes[f"{shard['name']}.bin"]
        files.append(_distribution(row["path"], "bin", row["bytes"], row["sha256"]))
    return {
        "@context": _CONTEXT,
        "@id": f"urn:{lock.mix_id}",
        "@type": "dcat:Dataset",
        "dct:title": data["name"],
        "dct:identifier": lock.mix_id,
        "dcat:version": data["version"],
        "dct:issued": {"@type": "xsd:dateTime", "@value": data["provenance"]["finished"]},
        "dct:description": (
            f"{out['kept']['documents']} documents of {data['funnel']['in']} records, "
            f"{out['tokens']} tokens in {out['shards']} shards"
        ),
        "dct:rights": [f"{s['name']}: {s['licence']}" for s in data["licences"]],
        "dcat:distribution": files,
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "dct:identifier": f"sha256:{data['recipe_id']}",
            "dct:description": f"corpusmill {data['provenance']['package']}",
        },
        "prov:wasDerivedFrom": [_source(source) for source in data["identity"]["inputs"]],
    }


def _source(source: Mapping[str, Any]) -> dict[str, Any]:
    digest = source["run"]["mix_id"] if "run" in source else f"sha256:{source['sha256']}"
    return {
        "@type": "prov:Entity", "@id": f"urn:{digest}", "dct:title": source["source"],
        "dct:rights": source["licence"],
    }  # fmt: skip


def _distribution(path: str, kind: str, size: int, digest: str) -> dict[str, Any]:
    return {
        "@type": "dcat:Distribution",
        "dct:title": path,
        "dcat:mediaType": _PLAIN[kind],
        "dcat:byteSize": {"@type": "xsd:nonNegativeInteger", "@value": str(size)},
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
            "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": digest},
        },
    }
