"""The verb ``quantiles``: what parts a run's kept documents in equal shares by a signal."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .document import META_COLUMNS
from .durable import write_atomic
from .engine import RunFolder
from .errors import ConfigError, TaskError
from .ledger import sealed_docs_phases
from .planning import Plan
from .verbs import show_json

SCHEMA = "corpusmill/quantiles/1"


def quantiles_of_run(root: Path, signals: Sequence[str], parts: int) -> dict[str, Any]:
    """For each signal the `parts` - 1 values that part the kept documents which have it into equal
    shares: the value at rank ``ceil(i n / parts)``.

    Raises TaskError for a run without documents, ConfigError for a signal that is no number there,
    or that fewer than `parts` documents have.
    """
    import numpy as np
    import pyarrow as pa

    plan = Plan.load(root / "plan.json")
    folder = RunFolder(root, plan)
    phases = sealed_docs_phases(folder)
    if not phases:
        raise TaskError(f"{root} has no documents yet", hint="run its recipe first")
    if not signals or parts < 2:
        raise ConfigError("quantiles needs --signal NAME, and --parts of 2 or more")
    schema = next(iter(folder.pieces(phases[-1].name, "docs", -1, None))).schema
    have = {
        field.name for field in schema
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    } - set(META_COLUMNS)  # fmt: skip
    for name in signals:
        if name not in have:
            raise ConfigError(
                f"the documents of {root} have no signal {name!r} that is a number",
                hint=f"they have {', '.join(sorted(have)) or 'none'}",
            )
    columns: dict[str, list[Any]] = {name: [] for name in signals}
    documents = 0
    for piece in folder.pieces(phases[-1].name, "docs", None, tuple(signals)):
        documents += piece.num_rows
        for name in signals:
            columns[name].append(piece[name].drop_null().to_numpy().astype(np.float64))
    edges = {}
    for name, pieces in columns.items():
        values = np.sort(np.concatenate(pieces)) if pieces else np.zeros(0)
        if len(values) < parts:
            raise ConfigError(f"{len(values)} documents have {name!r}, fewer than {parts}")
        ranks = [-(-i * len(values) // parts) - 1 for i in range(1, parts)]
        edges[name] = [float(values[rank]) for rank in ranks]
    return {
        "schema": SCHEMA, "parts": parts, "signals": edges,
        "of": {"recipe": plan.recipe["name"], "plan_id": plan.plan_id, "documents": documents},
    }  # fmt: skip


def quantiles(options: Namespace) -> int:
    """The verb ``quantiles RUN --signal NAME --out FILE``."""
    found = quantiles_of_run(Path(options.run), options.signal, options.parts)
    if options.out:
        text = json.dumps(found, ensure_ascii=False, sort_keys=True, indent=1) + "\n"
        write_atomic(Path(options.out), text.encode())
    if options.json or not options.out:
        show_json(found)
    else:
        said = f"{options.parts} parts of {found['of']['documents']} documents"
        print(f"{said} by {', '.join(options.signal)} are in {options.out}")
    return 0


VERBS: Mapping[str, Callable[[Namespace], int]] = {"quantiles": quantiles}
