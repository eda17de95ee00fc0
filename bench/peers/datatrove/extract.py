"""The texts that datatrove extracts from WARC files, and the proof that it can.

    PYTHON extract.py --input DIR --out DIR [--extractor fineweb|fast]
    PYTHON extract.py --prove
    PYTHON extract.py --lists

The first reads every page with datatrove's reader and extractor and writes JSON Lines (``id`` is
the WARC-Record-ID, ``text``). The second extracts a known page and exits with 1 where the known
words do not come out: without lxml_html_clean its extractor drops every page as a timeout. The
third unpacks the block lists that its URL filter brings, where that was not done before, and
prints the folder.
"""

from __future__ import annotations

import argparse
import sys

from blocks import EXTRACTORS, extractor, run

PAGE = (
    "<!doctype html><html><head><title>Quarry</title></head><body><div><div><div><article>"
    "<h1>The slate quarry</h1><p>The quarry above the village was opened in 1811 and gave blue "
    "slate for roofs as far away as the coast, carried down by mules along the old pass road.</p>"
    "<p>When the railway came, the mules were sold and the quarry hired two hundred men, who "
    "lived in long stone barracks that still stand beside the upper pond.</p><p>Today the pond is "
    "a place to swim, and the barracks hold a museum of tools, letters and photographs.</p>"
    "</article></div></div></div></body></html>"
)
WORDS = ("mules", "barracks", "museum")


def prove() -> int:
    """0 where each extractor gives the known words of the known page."""
    from datatrove.data import Document

    for name in EXTRACTORS:
        kept = list(extractor(name).run([Document(text=PAGE, id="known-page")]))
        text = kept[0].text if kept else ""
        missing = [word for word in WORDS if word not in text]
        if missing:
            print(
                f"error: datatrove's extractor ({name}) does not find {', '.join(missing)} on a "
                f"known page ({len(text)} characters came out)\nhint: make peers, again from new",
                file=sys.stderr,
            )
            return 1
    return 0


def lists() -> int:
    """Prints the folder in which datatrove keeps its files ``domains`` and ``urls``."""
    from datatrove.pipeline.filters import URLFilter
    from huggingface_hub import cached_assets_path

    folder = cached_assets_path(
        library_name="datatrove", namespace="filters", subfolder="url_filter"
    )
    if not ((folder / "domains").exists() and (folder / "urls").exists()):
        URLFilter().download_data()
    print(folder)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--lists", action="store_true")
    parser.add_argument("--input")
    parser.add_argument("--out")
    parser.add_argument("--extractor", choices=EXTRACTORS, default="fineweb")
    args = parser.parse_args()
    if args.prove:
        return prove()
    if args.lists:
        return lists()
    if not args.input or not args.out:
        parser.error("--input and --out are needed")
    from datatrove.pipeline.readers import WarcReader
    from datatrove.pipeline.writers.jsonl import JsonlWriter

    blocks = [
        WarcReader(args.input, glob_pattern="**/*.warc.gz"),
        extractor(args.extractor),
        JsonlWriter(args.out),
    ]
    run(blocks, 1, f"{args.out}.logs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
