"""MinHash on pages of the sample crawl, against exact Jaccard similarity."""

from __future__ import annotations

import gzip
import json
import os
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpusmill.pipeline.document import Document, document_id
from corpusmill.stages.dedup.minhash import STAGE, MinhashParams
from corpusmill.stages.words import tokenise

pytestmark = [pytest.mark.fulldata, pytest.mark.slow]

CLUSTERS = 500


def pages() -> list[tuple[str, Document]]:
    """Pages of the first gold clusters that have several members, with the cluster's name."""
    from resiliparse.extract.html2text import extract_plain_text

    folder = Path(os.environ["CORPUSMILL_DATA"]) / "crawl"
    with gzip.open(folder / "manifest.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    clusters: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["near_cluster"]:
            clusters.setdefault(row["near_cluster"], []).append(row)
    several = sorted(name for name, members in clusters.items() if len(members) > 1)
    found = []
    for name in several[:: max(1, len(several) // CLUSTERS)]:
        for row in clusters[name]:
            with (folder / row["file"]).open("rb") as file:
                file.seek(row["offset"])
                record = gzip.decompress(file.read(row["length"]))
            body = record.split(b"\r\n\r\n", 2)[2].removesuffix(b"\r\n\r\n")
            html = body.decode(row["charset"], "replace")
            number = document_id("crawl", row["file"], 0, row["offset"])
            found.append((name, Document(number, extract_plain_text(html), "crawl")))
    return found


@pytest.mark.skipif("CORPUSMILL_DATA" not in os.environ, reason="CORPUSMILL_DATA is not set")
def test_pages_of_gold_clusters(run: Any) -> None:
    labelled = pages()
    docs = [doc for _, doc in labelled]
    table = tokenise([doc.text for doc in docs])
    shingles: dict[str, set[bytes]] = {}
    for n, doc in enumerate(docs):
        hashes = table.hash[table.doc_start[n] : table.doc_start[n + 1]]
        if len(hashes) >= 5:
            windows = np.lib.stride_tricks.sliding_window_view(hashes, 5)
            shingles[doc.id] = {window.tobytes() for window in windows}

    def jaccard(i: str, j: str) -> float:
        return len(shingles[i] & shingles[j]) / len(shingles[i] | shingles[j])

    clusters: dict[str, list[str]] = {}
    for name, doc in labelled:
        if doc.id in shingles:
            clusters.setdefault(name, []).append(doc.id)
    verdicts, _, ctx = run(STAGE(MinhashParams()), docs, partitions=4)
    pairs = [
        (i, j, jaccard(i, j)) for ids in clusters.values() for i, j in combinations(sorted(ids), 2)
    ]
    near = [(i, j) for i, j, similarity in pairs if similarity >= 0.85]
    assert len(near) > 100
    together = sum(
        i in verdicts and j in verdicts and verdicts[i]["family"] == verdicts[j]["family"]
        for i, j in near
    )
    removed = [
        jaccard(i, v["survivor"])
        for i, v in verdicts.items()
        if v["survivor"] != i and i in shingles and v["survivor"] in shingles
    ]
    right = sum(similarity >= 0.7 for similarity in removed)
    print(
        f"{len(docs)} pages, {len(near)} gold pairs of J >= .85, {together} in one family; "
        f"{len(removed)} removed, {right} with J >= .7, smallest {min(removed):.3f}; "
        f"{ctx.notes('tally')}"
    )
    assert together >= 0.98 * len(near)
    assert right >= 0.998 * len(removed)  # exact, but for texts of more than 4,096 shingles
    assert min(removed) >= 0.68
