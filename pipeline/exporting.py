"""`export`: what a lock says in the words of others: Croissant, a dataset card, a datasheet; and
token shards in the layouts of other projects (`corpusmill.tokenizers.emitters`).

All facts come from the lock and the shards' manifest; nothing is measured here, and the clock is
not asked. What only people can say (purpose, uses, upkeep) comes from a text of theirs.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .dcat import dcat
from .durable import write_atomic
from .errors import ConfigError
from .identity import sha256_file
from .licences import NOASSERTION, licence_ids
from .lock import Lock
from .registry import room_module

CARD_LICENCES = {
    "apache-2.0", "mit", "cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0",
    "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0",
    "cc-by-nd-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0",
    "cc-by-nc-sa-4.0", "odbl-1.0", "gfdl-1.3", "bsl-1.0", "bsd-2-clause", "bsd-3-clause", "isc",
    "mpl-2.0", "postgresql", "unlicense", "zlib", "artistic-2.0", "wtfpl", "epl-2.0", "eupl-1.1",
}  # fmt: skip
"""SPDX ids whose lower-case form is a licence that a Hugging Face card can name alone."""

_LISTED = 10_000
"""Files that a Croissant description names one by one; beyond it the list of files, which has
the sha256 of each, is named in their place."""


def croissant(lock: Lock) -> dict[str, Any]:
    """Croissant 1.1 (mlcommons.org): every file with its sha256, and the documents' table."""
    data = lock.data
    distribution: list[dict[str, Any]] = [
        _file(lock.files_path, lock.files_path.name, lock.files_sha256, "application/jsonlines"),
        _file(lock.path, lock.path.name, sha256_file(lock.path), "application/json"),
    ]
    rows = [r for r in lock.rows() if r["role"] != "input"]
    if len(rows) <= _LISTED:
        for row in rows:
            kind = (
                "application/x-parquet" if row["path"].endswith(".parquet")
                else "application/json" if row["path"].endswith(".json")
                else "application/octet-stream"
            )  # fmt: skip
            distribution.append({
                "@type": "cr:FileObject", "@id": row["path"], "name": row["path"],
                "contentUrl": row["path"], "contentSize": f"{row['bytes']} B",
                "encodingFormat": kind, "sha256": row["sha256"],
            })  # fmt: skip
    result: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": data["name"],
        "version": data["version"],
        "description": _description(lock),
        "license": _licences(lock),
        "datePublished": str(data["provenance"]["finished"])[:10],
        "identifier": lock.mix_id,
        "distribution": distribution,
    }
    tables = [r["path"] for r in rows if r["path"].endswith(".docs.parquet")]
    if tables and len(rows) <= _LISTED:
        distribution.append({
            "@type": "cr:FileSet", "@id": "documents-of-shards", "name": "documents-of-shards",
            "encodingFormat": "application/x-parquet",
            "includes": "shards/**/*.docs.parquet",
        })  # fmt: skip
        result["recordSet"] = [{
            "@type": "cr:RecordSet", "@id": "documents", "name": "documents",
            "description": "Which document each run of tokens comes from.",
            "field": [
                {
                    "@type": "cr:Field", "@id": f"documents/{name}", "name": name,
                    "dataType": kind,
                    "source": {
                        "fileSet": {"@id": "documents-of-shards"}, "extract": {"column": name},
                    },
                }
                for name, kind in (
                    ("id", "sc:Text"), ("url", "sc:URL"), ("source", "sc:Text"),
                    ("licence", "sc:Text"), ("start", "sc:Integer"), ("end", "sc:Integer"),
                )
            ],
        }]  # fmt: skip
    return result


_CONTEXT: dict[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/", "citeAs": "cr:citeAs", "column": "cr:column",
    "conformsTo": "dct:conformsTo", "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"}, "equivalentProperty":
    "cr:equivalentProperty", "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract", "field": "cr:field", "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject", "fileSet": "cr:fileSet", "format": "cr:format",
    "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset", "jsonPath": "cr:jsonPath",
    "key": "cr:key", "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path",
    "recordSet": "cr:recordSet", "references": "cr:references", "regex": "cr:regex",
    "repeated": "cr:repeated", "replace": "cr:replace", "samplingRate": "cr:samplingRate",
    "separator": "cr:separator", "source": "cr:source", "subField": "cr:subField",
    "transform": "cr:transform",
}  # fmt: skip


def _file(path: Path, name: str, digest: str, kind: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name,
        "contentSize": f"{path.stat().st_size} B", "encodingFormat": kind, "sha256": digest,
    }  # fmt: skip


def _description(lock: Lock) -> str:
    shards = [r for r in lock.rows() if r["role"] == "shard" and "stream" in r]
    whole = [r for r in shards if not _is_rung(r["stream"])]
    sources = ", ".join(str(s["name"]) for s in lock.data["licences"])
    text = (
        f"{sum(r['tokens'] for r in whole)} tokens in {len(whole)} shards, made from "
        f"{lock.data['funnel']['in']} records of {sources} by corpusmill "
        f"{lock.data['provenance']['package']}."
    )
    if len(whole) < len(shards):
        text += f" Smaller mixes, which are parts of it, lie in {len(shards) - len(whole)} more."
    return text


def _is_rung(stream: str) -> bool:
    """Whether a stream belongs to the ladder, and repeats what lies in the others."""
    return stream.startswith("scale-")


def _licences(lock: Lock) -> list[str]:
    """The sources' licences as URLs where SPDX has a page for one, else as they are named."""
    found: set[str] = set()
    for source in lock.data["licences"]:
        for licence in _ids(str(source["licence"])):
            own = licence == NOASSERTION or licence.startswith("LicenseRef-")
            found.add(licence if own else f"https://spdx.org/licenses/{licence.split(' ')[0]}")
    return sorted(found)


def _ids(expression: str) -> list[str]:
    try:
        return licence_ids(expression)
    except ConfigError:
        return [expression]  # free text, which older recipes may have


def card(lock: Lock, manifest: Mapping[str, Any] | None, about: str) -> str:
    """A Hugging Face dataset card (README.md). Its configurations name the files that
    ``export --format parquet`` writes, a split for each stream."""
    data = lock.data
    ids = sorted({i for s in data["licences"] for i in _ids(str(s["licence"]))})
    lower = [i.lower() for i in ids]
    known = len(lower) == 1 and lower[0] in CARD_LICENCES
    front = [
        "---", f"pretty_name: {json.dumps(data['name'])}",
        f"license: {lower[0] if known else 'other'}",
    ]  # fmt: skip
    if not known:
        front += [f"license_name: {json.dumps(' AND '.join(ids)[:200])}", "license_link: LICENCES"]
    front += ["task_categories:", "- text-generation", f"size_categories:\n- {_size(lock)}"]
    if manifest is not None:
        configs: dict[str, list[str]] = {}
        for stream in _streams(manifest):
            config, _, rest = stream.partition("/") if _is_rung(stream) else ("default", "", stream)
            split = rest.replace("/", ".").replace("-", "_")
            configs.setdefault(config, []).append(
                f"  - split: {split}\n    path: {json.dumps(stream + '/*.parquet')}"
            )
        front.append("configs:")
        for config, lines in configs.items():
            front += [f"- config_name: {config}", "  data_files:", *lines]
    front.append("---")
    return "\n".join([*front, "", f"# {data['name']} {data['version']}", "", *_facts(lock), "",
                      *_table_of(manifest), *([about.strip(), ""] if about else [])])  # fmt: skip


def _size(lock: Lock) -> str:
    count = int(lock.data["outputs"]["documents"]) or int(lock.data["outputs"]["kept"]["documents"])
    borders = [(10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"),
               (10**7, "1M<n<10M"), (10**8, "10M<n<100M"), (10**9, "100M<n<1B"),
               (10**10, "1B<n<10B"), (10**11, "10B<n<100B"), (10**12, "100B<n<1T")]  # fmt: skip
    return next((name for most, name in borders if count < most), "n>1T")


def _streams(manifest: Mapping[str, Any]) -> list[str]:
    """Streams that have shards."""
    there = {s["stream"] for s in manifest["shards"]}
    return [s["stream"] for s in manifest["domains"] if s["stream"] in there]


def _facts(lock: Lock) -> list[str]:
    data = lock.data
    out, funnel = data["outputs"], data["funnel"]
    return [
        _description(lock), "",
        f"- identity `{lock.mix_id}`, files `sha256:{lock.files_sha256}`",
        f"- documents kept: {out['kept']['documents']} of {funnel['in']} records; errors: "
        f"{sum(funnel['errors'].values())}",
        f"- seed {data['identity']['seed']}, version {data['version']}",
    ]  # fmt: skip


def _table_of(manifest: Mapping[str, Any] | None) -> list[str]:
    if manifest is None:
        return []
    lines = ["| stream | documents | tokens | epochs |", "| --- | --- | --- | --- |"]
    for s in manifest["domains"]:
        lines.append(f"| {s['stream']} | {s['copies']} | {s['taken']} | {s['epochs']} |")
    return [*lines, ""]


def datasheet(lock: Lock, manifest: Mapping[str, Any] | None, about: str) -> str:
    """The factual parts of a datasheet (Gebru et al. 2021, sections 3.2 to 3.4): composition,
    collection, preprocessing. The text `about` is put in front: motivation, uses, upkeep."""
    data = lock.data
    identity = data["identity"]
    lines = [f"# Datasheet of {data['name']} {data['version']}", ""]
    lines += [about.strip(), ""] if about else [
        "Motivation, uses, distribution and maintenance are not written yet: name a text with "
        "`--about`.", "",
    ]  # fmt: skip
    lines += ["## Composition", "", *_facts(lock), "", *_table_of(manifest)]
    if manifest is not None and manifest["contamination_searched"]:
        lines += ["Benchmark items searched for in the shards:", ""]
        for name, hits in manifest["contamination"].items():
            lines.append(
                f"- {name}: {hits['found']} of {hits['items']} items found "
                f"({hits['visible']} can be found)"
            )
        lines.append("")
    lines += ["## Collection", ""]
    terms = {s["name"]: s for s in data["licences"]}
    for source in identity["inputs"]:
        told = terms[source["source"]]
        if "run" in source:
            what = f"{source['run']['kept']['documents']} documents of the finished run"
            digest = source["run"]["mix_id"]
        else:
            what = f"{source['files']} files, {source['bytes']} bytes, listing"
            digest = f"sha256:{source['sha256']}"
        lines.append(f"- {source['source']}: {what} `{digest}`, licence {source['licence']}")
        if told.get("accept_unlicensed"):
            accepted = told["accept_unlicensed"]
            lines.append(
                f"  - used without a licence: {accepted['basis']} ({accepted['by']}, "
                f"{accepted['date']})"
            )
    lines += ["", "## Preprocessing", ""]
    for step in [*identity["steps"], *identity["products"]]:
        params = json.dumps(step["params"], ensure_ascii=False, sort_keys=True)
        lines.append(f"- {step['id']}: `{step['stage']}` version {step['version']} `{params}`")
    lines += ["", "Records dropped, by step and reason:", ""]
    for reason, count in sorted(data["funnel"]["dropped"].items(), key=lambda x: (-x[1], x[0])):
        lines.append(f"- {reason}: {count}")
    return "\n".join([*lines, ""])


DOCUMENTS = ("croissant", "hf-card", "datasheet", "dcat")
LAYOUTS = ("megatron", "datatrove", "olmo", "llmc", "mds", "litdata", "parquet", "text")


def export(
    target: Path, form: str, out: Path, *, stream: str | None = None, about: str = ""
) -> list[str]:
    """Writes a result in another form to `out` (a file for `DOCUMENTS`, a folder for `LAYOUTS`);
    the paths written. Raises ConfigError on an unknown form."""
    if form in LAYOUTS:
        root = target if target.is_dir() else target.parent
        emitted = room_module("tokenizers.emitters").emit(root, form, out, only=stream)
        return [str(out / f["path"]) for f in emitted["files"]]
    if form not in DOCUMENTS:
        raise ConfigError(
            f"there is no form {form!r}", hint=f"known: {', '.join([*DOCUMENTS, *LAYOUTS])}"
        )
    lock = Lock.load(target)
    path = lock.path.parent / "shards/manifest.json"
    manifest = json.loads(path.read_bytes()) if path.exists() else None
    if form in ("croissant", "dcat"):
        made = croissant(lock) if form == "croissant" else dcat(lock, manifest)
        text = json.dumps(made, ensure_ascii=False, indent=1) + "\n"
    else:
        text = (card if form == "hf-card" else datasheet)(lock, manifest, about)
    write_atomic(out, text.encode())
    return [str(out)]


def export_verb(options: Namespace) -> int:
    from .verbs import show_json, show_lines

    about = Path(options.about).read_text(encoding="utf-8") if options.about else ""
    paths = export(
        Path(options.target), options.form, Path(options.out), stream=options.stream, about=about
    )
    show_json({"files": paths}) if options.json else show_lines(paths)
    return 0


def pack_verb(options: Namespace) -> int:
    """Packing indexes of all shards of a result, and their figures."""
    from .report import table
    from .verbs import show_json, show_lines

    shards = room_module("tokenizers.emitters").Shards.open(Path(options.run))
    packing = room_module("tokenizers.packing")
    figures: dict[str, dict[str, int]] = {}
    for stream, names in shards.streams(options.stream).items():
        total = figures.setdefault(stream, {})
        for name in names:
            target = Path(options.out) / stream / f"{name.rsplit('/', 1)[1]}.pack.parquet"
            made = packing.write_index(shards.root / f"{name}.bin", target, options.length)
            for key, value in made.items():
                total[key] = value if key == "length" else total.get(key, 0) + value
    if options.json:
        show_json(figures)
        return 0
    keys = ("rows", "tokens", "padding", "pieces", "cut", "least_rows")
    body = [[s, *(str(f[k]) for k in keys)] for s, f in figures.items()]
    show_lines(table(["stream", *keys], body))
    return 0


VERBS = {"export": export_verb, "pack": pack_verb}
