"""datatrove's FineWeb example, from WARC files to token files, without its language filter.

    PYTHON curate.py --input DIR --out DIR --tokenizer FILE [--extractor fineweb|fast]

After datatrove's ``examples/fineweb.py``: URL filter, trafilatura, Gopher repetition, Gopher
quality, C4 (without the rule of end marks), FineWeb quality, MinHash in four steps (14 x 8 over
5-grams, xxhash), PII, then its token writer. One process, one task where datatrove allows it: the
cheapest way to run it on this much. Writes ``DIR/filtered``, ``DIR/kept`` (JSON Lines),
``DIR/tokens`` and ``DIR/figures.json`` (CPU seconds of each executor, and what datatrove itself
counted of each block).

The language filter is left out because its model has to be downloaded; the input is one language.
"""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path
from typing import Any

from blocks import EXTRACTORS, extractor, run

LANGUAGE = "eng"


def cpu_seconds() -> float:
    """CPU seconds of this process and of its ended children."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


def url_filter() -> Any:
    """The URL filter with its integrated lists; the public suffix list is the package's own
    snapshot, so that no network is asked for."""
    from datatrove.pipeline.filters import URLFilter
    from tldextract import TLDExtract

    block = URLFilter()
    block.tldextractor = TLDExtract(suffix_list_urls=())
    return block


def executors(
    source: str, out: Path, tokenizer: str, name: str
) -> list[tuple[str, int, list[Any]]]:
    """``(name, tasks, blocks)`` of each executor, in order."""
    from datatrove.pipeline.dedup.minhash import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.filters import (
        C4QualityFilter,
        FineWebQualityFilter,
        GopherQualityFilter,
        GopherRepetitionFilter,
    )
    from datatrove.pipeline.formatters import PIIFormatter
    from datatrove.pipeline.readers import JsonlReader, WarcReader
    from datatrove.pipeline.tokens import DocumentTokenizer
    from datatrove.pipeline.writers.jsonl import JsonlWriter
    from datatrove.utils.hashing import HashConfig

    config = MinhashConfig(
        n_grams=5, num_buckets=14, hashes_per_bucket=8,
        hash_config=HashConfig(precision=64, hash_fc="xxhash"),
    )  # fmt: skip
    filtered, signatures, buckets, removed = (
        str(out / part) for part in ("filtered", "signatures", "buckets", "removed")
    )
    return [
        ("filter", 1, [
            WarcReader(source, glob_pattern="**/*.warc.gz"),
            url_filter(),
            extractor(name),
            GopherRepetitionFilter(),
            GopherQualityFilter(),
            C4QualityFilter(filter_no_terminal_punct=False),
            FineWebQualityFilter(),
            JsonlWriter(filtered),
        ]),
        ("signatures", 1, [
            JsonlReader(filtered),
            MinhashDedupSignature(signatures, config=config, language=LANGUAGE),
        ]),
        ("buckets", config.num_buckets, [MinhashDedupBuckets(signatures, buckets, config=config)]),
        ("cluster", 1, [MinhashDedupCluster(buckets, removed, config=config)]),
        ("finish", 1, [
            JsonlReader(filtered),
            MinhashDedupFilter(removed),
            PIIFormatter(),
            JsonlWriter(str(out / "kept")),
            DocumentTokenizer(
                str(out / "tokens"), tokenizer, eos_token="<|endoftext|>", seed=1,
                local_working_dir=str(out / "scratch"),
            ),
        ]),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--input", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--extractor", choices=EXTRACTORS, default="fineweb")
    args = parser.parse_args()
    figures: list[dict[str, Any]] = []
    started = cpu_seconds()
    for name, tasks, blocks in executors(args.input, args.out, args.tokenizer, args.extractor):
        before = cpu_seconds()
        stats = run(blocks, tasks, str(args.out / "logs" / name))
        figures.append({
            "executor": name, "cpu_seconds": round(cpu_seconds() - before, 3),
            "blocks": json.loads(stats.to_json()),
        })  # fmt: skip
    figures.insert(0, {"executor": "start", "cpu_seconds": round(started, 3), "blocks": []})
    (args.out / "figures.json").write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
