"""The verb ``ablate``: which of two kept sets, or files, a small model learns more from."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .errors import ConfigError, TaskError
from .ledger import sealed_docs_phases
from .planning import Plan
from .registry import room_module
from .report import table
from .verbs import show_json, show_lines


def texts_of_side(name: str) -> Iterator[str]:
    """The kept texts of the run in the folder `name`, or the field ``text`` of the rows of a JSONL
    file (``.gz`` or plain). Raises TaskError for a run without documents, InputError for a file
    that cannot be read, or a row without a text."""
    path = Path(name)
    if not path.is_dir():
        rows = room_module("stages.json_rows")
        for number, row in rows.read_rows(path):
            yield rows.text_of(row, f"{name} line {number}")
        return
    folder = RunFolder(path, Plan.load(path / "plan.json"))
    phases = sealed_docs_phases(folder)
    if not phases:
        raise TaskError(f"{name} has no documents yet", hint="run its recipe first")
    for piece in folder.pieces(phases[-1].name, "docs", None, ("text",)):
        yield from piece["text"].to_pylist()


def ablate(options: Namespace) -> int:
    """The verb ``ablate A B --heldout FILE``."""
    module = room_module("classifiers.ablate")
    if not options.heldout:
        raise ConfigError(
            "ablate needs --heldout FILE.jsonl",
            hint="texts of the kind that the model is to be good at, which neither side holds",
        )
    shape = module.TransformerParams(
        layers=options.layers, width=options.width, device=options.device
    )
    params = module.AblateParams(
        tokens=options.tokens, seeds=options.seeds, model=options.model, transformer=shape
    )
    heldout = {name: list(texts_of_side(name)) for name in options.heldout}
    found = module.ablate(texts_of_side(options.a), texts_of_side(options.b), heldout, params)
    found["sides"]["a"]["name"], found["sides"]["b"]["name"] = options.a, options.b
    if options.json:
        show_json(found)
        return 0
    sides = found["sides"]
    for key in ("a", "b"):
        side = sides[key]
        out = f", {side['left_out']} left out as held-out text stands in them"
        print(f"{key}: {side['name']}, {side['documents']} documents, {side['tokens']} tokens"
              f"{out if side['left_out'] else ''}")  # fmt: skip
    print(f"{found['tokens']} tokens of each, {found['seeds']} times, {learner(found['model'])}; "
          "bits per byte, less is better:")  # fmt: skip
    rows = [
        [Path(name).name, f"{f['documents']}", f"{f['a']:.4f}", f"{f['b']:.4f}",
         f"{f['difference']:+.4f}", f"{f['low']:+.4f} … {f['high']:+.4f}", f["better"] or "neither"]
        for name, f in found["heldout"].items()
    ]  # fmt: skip
    show_lines(table(["held-out", "texts", "a", "b", "a - b", "95 %", "better"], rows))
    return 0


def learner(model: Mapping[str, Any]) -> str:
    """A trained model in words, of `ablate`'s description of it."""
    if model["kind"] == "ngram":
        return f"{model['order']}-grams of {model['pieces']} pieces"
    millions = model["size"] / 1e6
    return f"a transformer of {millions:.1f} million parameters and {model['pieces']} pieces"


VERBS: Mapping[str, Callable[[Namespace], int]] = {"ablate": ablate}
