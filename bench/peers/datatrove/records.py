"""warcio as the record reader of `bench.warc`: PYTHON records.py FILE …

For each file a line of JSON: ``{"records": …, "bytes": …, "seconds": CPU, "sha256": [by block],
"error": what ended it or null}``. Digests are made outside of the time.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time

from warcio.archiveiterator import ArchiveIterator


def read(path: str) -> dict[str, object]:
    blocks: list[bytes] = []
    error = None
    began = time.process_time()
    try:
        with open(path, "rb") as file:
            for record in ArchiveIterator(file, no_record_parse=True):
                record.rec_headers.get_header("WARC-Target-URI")
                blocks.append(record.raw_stream.read())
    except Exception as err:  # noqa: BLE001 - the end of a reader, of whatever kind, is what is told
        error = type(err).__name__
    took = time.process_time() - began
    return {
        "records": len(blocks), "bytes": sum(map(len, blocks)), "seconds": took, "error": error,
        "sha256": [hashlib.sha256(block).hexdigest() for block in blocks[:100]],
    }  # fmt: skip


for name in sys.argv[1:]:
    print(json.dumps(read(name)), flush=True)
