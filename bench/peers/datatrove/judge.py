"""datatrove's verdicts on the rows of a JSON Lines file. Run by the peer's own Python.

    PYTHON judge.py contamination --items ITEMS --input IN --out OUT [--ngrams N]
    PYTHON judge.py pii [--spans] --input IN --out OUT

Rows have ``id`` and ``text``. The first looks for n-grams of the items (``task``, ``query``,
``label``) with datatrove's own normalisation, tokenizer, hash and filter, and writes ``{"id",
"found": TASK or null}``. The index is filled here, since its indexer cannot run without lighteval
and data from a hub. The second writes ``{"id", "clean_text"}`` of its PII formatter, with
``--spans`` also ``"pii": [{"type", "start", "end"}]`` by its expressions and its validator. With
``--rounds`` it writes ``{"cpu_seconds"}`` of the formatter alone over all rows, the best of these.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any


def contamination(args: argparse.Namespace) -> None:
    from datatrove.data import Document
    from datatrove.pipeline.decont.n_grams import NGramsDecontConfig, NGramsDecontFilter
    from datatrove.utils.text import ngrams, simplify_text

    config = NGramsDecontConfig(n_grams=args.ngrams, find_query_ngrams=True)
    block = NGramsDecontFilter(index_folder=".", config=config)
    index: dict[int, str] = {}
    for item in rows(args.items):
        for text in (item["query"], item["label"]):
            words = block.tokenizer.word_tokenize(simplify_text(text, config.norm_config))
            for gram in ngrams(words, args.ngrams):
                index[block.hash_func(" ".join(gram))] = item["task"]
    block._index_hashes = index
    with open(args.out, "w", encoding="utf-8") as out:
        for row in rows(args.input):
            document = Document(text=row["text"], id=row["id"])
            kept = block.filter(document) is True
            task = None if kept else document.metadata["contaminated_task"]
            out.write(json.dumps({"id": row["id"], "found": task}) + "\n")


def pii(args: argparse.Namespace) -> None:
    from datatrove.pipeline.formatters import PIIFormatter

    block = PIIFormatter()
    if args.rounds:
        texts = [row["text"] for row in rows(args.input)]
        seconds = []
        for _ in range(args.rounds):
            began = time.process_time()
            for text in texts:
                block.format(text)
            seconds.append(time.process_time() - began)
        with open(args.out, "w", encoding="utf-8") as out:
            out.write(json.dumps({"cpu_seconds": min(seconds)}) + "\n")
        return
    kinds = {"email": block.emails_replacer, "ip": block.ip_replacer}
    with open(args.out, "w", encoding="utf-8") as out:
        for row in rows(args.input):
            judged = {"id": row["id"], "clean_text": block.format(row["text"])}
            if args.spans:
                judged["pii"] = [
                    {"type": kind, "start": m.start(), "end": m.end()}
                    for kind, replacer in kinds.items()
                    for m in replacer.regex.finditer(row["text"])
                    if replacer.validator is None or replacer.validator(m.group(0))
                ]
            out.write(json.dumps(judged) + "\n")


def rows(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("contamination", "pii"))
    parser.add_argument("--items")
    parser.add_argument("--input", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--spans", action="store_true")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--ngrams", type=int, default=13)
    args = parser.parse_args()
    contamination(args) if args.what == "contamination" else pii(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
