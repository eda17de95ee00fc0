"""Our side of `bench.extract`: the tiers, one page after another, in this interpreter.

Run as a process of its own by `bench.extract_sides`. ``own, unseen`` is the tier ``own`` with
weights of a cross-validation: those that no page of the page's site has shaped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.peers.extractors.serving import Extract, serve

from .harness import BenchError

FOLDS = 5
TIERS = ("fast", "default", "quality", "own")
UNSEEN = "own, unseen"


def tier(name: Any) -> Extract:
    from corpusmill.stages.extract import extract

    return lambda html, url: extract(html, url=url, tier=name).text


def unseen(folder: Path) -> Extract:
    """The tier ``own`` with the weights ``fold0.bin`` and so on of a folder; raises BenchError
    where they are missing or were made for other features."""
    from corpusmill.stages.extract.blocks.columns import NAMES
    from corpusmill.stages.extract.blocks.forest import decode
    from corpusmill.stages.extract.blocks.model import main_content
    from corpusmill.stages.extract.blocks.train import fold_of, site_of
    from corpusmill.stages.extract.sanitise import clean_markup
    from corpusmill.stages.extract.streamed import settle

    try:
        weights = [
            decode((folder / f"fold{k}.bin").read_bytes(), str(folder)) for k in range(FOLDS)
        ]
    except OSError as err:
        raise BenchError(
            f"{err.filename}: {err.strerror}", hint=f"python -m bench.layout --weights {folder}"
        ) from err
    if any(w.header["features"] != list(NAMES) for w in weights):
        raise BenchError(f"the weights in {folder} are for other features")

    def text(html: str, url: str) -> str:
        using = weights[fold_of(site_of(url), FOLDS)]
        whole = settle(clean_markup(html))
        found = main_content(whole, "text", using, to_rewrite=True)
        return clean_markup(found.text).strip()

    return text


def sides(weights: Path | None) -> dict[str, Callable[[], Extract]]:
    """Row → what makes the extractor."""
    found: dict[str, Callable[[], Extract]] = {name: partial(tier, name) for name in TIERS}
    if weights is not None:
        found[UNSEEN] = partial(unseen, weights)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--extractor", choices=[*TIERS, UNSEEN], required=True)
    options.add_argument("--limit", type=float, default=20.0)
    options.add_argument("--weights", type=Path)
    args = options.parse_args(argv)
    made = sides(args.weights)
    if args.extractor not in made:
        options.error("--weights is needed")
    return serve(args.extractor, made[args.extractor](), args.limit)


if __name__ == "__main__":
    sys.exit(main())
