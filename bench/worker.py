"""What it costs that pages are extracted in a process that can be killed.

    python -m bench.worker [--quick] [--json] [--pages N] [--tier TIER]

The same pages (WCXB, of ``CORPUSMILL_DATA``; ``--quick``: manual pages) by a tier (``own``) in this
process and by `corpusmill.stages.extract.worker`, in turns of twenty. CPU seconds of both of the
worker's processes together, starts aside. ``over``: what the worker's cost more, of this process's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from corpusmill.stages.extract.page import page_function
from corpusmill.stages.extract.policy import TIERS
from corpusmill.stages.extract.tiers import TiersParams
from corpusmill.stages.extract.worker import Request, Worker, WorkerLimits

from .extract_pages import read_pages
from .harness import Bar, BenchError, Report, finish, parser

PAGES = 300
TURN = 20
MOST_OVER = 0.05


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--pages", type=int, default=PAGES, help=f"default {PAGES}")
    options.add_argument("--tier", choices=TIERS, default="own")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def measure(args: Any) -> Report:
    pages = [page.html.encode() for page in read_pages(args.quick)[: args.pages]]
    config = TiersParams(tier=args.tier).page_config()
    here = page_function(config)
    spent = {"this process": 0.0, "parent": 0.0, "child": 0.0}
    with closing(Worker(config, WorkerLimits())) as worker:
        worker.start()
        worker.run([Request({}, pages[0])])
        here({}, pages[0])
        begun = worker.cpu()
        for at in range(0, len(pages), TURN):
            some = pages[at : at + TURN]
            began = time.process_time()
            found = [here({}, page) for page in some]
            middle = time.process_time()
            answers = worker.run([Request({}, page) for page in some])
            spent["this process"] += middle - began
            spent["parent"] += time.process_time() - middle
            if answers != found:
                raise BenchError("the worker gives other answers")
        spent["child"] = worker.cpu() - begun
    over = (spent["parent"] + spent["child"]) / spent["this process"] - 1
    return Report(
        bench="worker",
        versions={},
        rows=[{"pages": len(pages), **{f"{name} s": s for name, s in spent.items()}, "over": over}],
        bars={"one less what the worker costs": Bar(1 - over, 1 - MOST_OVER)},
        columns=("pages", *(f"{name} s" for name in spent), "over"),
    )


if __name__ == "__main__":
    sys.exit(main())
