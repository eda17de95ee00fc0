"""The filters on a plain JSONL file: ``corpusmill filter --jsonl IN OUT``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpusmill.pipeline.document import META_COLUMNS, Document, Drop, Failure, Scalar
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.stage import Stage
from corpusmill.stages.json_rows import RowWriter, batches, read_rows
from corpusmill.stages.measure import c4 as measure_c4
from corpusmill.stages.measure import c4_rules
from corpusmill.stages.measure import fineweb as measure_fineweb
from corpusmill.stages.measure import gopher as measure_gopher
from corpusmill.stages.measure import language as measure_language
from corpusmill.stages.measure import repetition as measure_repetition

from . import c4, fineweb, gopher_quality, gopher_repetition, language, url


def default_steps() -> tuple[Stage, ...]:
    """The measures, then the rule sets in FineWeb's order, C4 without its rule on line ends, as
    there (Penedo et al. 2024, section 3.5). Every determined language passes."""
    return (
        measure_language.STAGE(measure_language.Params()),
        measure_gopher.STAGE(measure_gopher.Params()),
        measure_repetition.STAGE(measure_repetition.Params()),
        measure_c4.STAGE(c4_rules.LineRules(terminal=False)),
        measure_fineweb.STAGE(measure_fineweb.Params()),
        url.STAGE(url.Params()),
        language.STAGE(language.Params()),
        gopher_repetition.STAGE(gopher_repetition.Params()),
        gopher_quality.STAGE(gopher_quality.Params()),
        c4.STAGE(c4.Params()),
        fineweb.STAGE(fineweb.Params()),
    )


BATCH_CHARS = 8_000_000
"""Characters of text that the stages see at once."""


def filter_jsonl(
    in_path: str | Path,
    out_path: str | Path,
    steps: Sequence[Stage] | None = None,
) -> dict[str, Any]:
    """Adds `signals`, `keep` and `reason` to every row of a JSONL file with a field `text`.

    `steps` (default: `default_steps`) are measure, map and decide stages on documents, run in
    order; a row that one of them drops is not given to the later ones. A kept row that a map stage
    changed has the new text as `clean_text`. `reason` is None for kept rows, the reason
    of the drop, or ``error_<type>``. Rows without a string in `text` are written with the reason
    ``error_no_text``. All rows are written, in order, with their other fields as they were.

    Returns counts: ``{"rows", "kept", "dropped": {"stage:reason": n}, "errors": {...}}``. Raises
    InputError for a line that is not a JSON object, ConfigError for a step that cannot be used.
    """
    stages = default_steps() if steps is None else tuple(steps)
    for stage in stages:
        if stage.takes == "page":
            raise ConfigError(
                f"{stage.name} cannot filter rows of text",
                hint="give stages that measure, change or decide on documents",
            )
    counts: dict[str, Any] = {"rows": 0, "kept": 0, "dropped": {}, "errors": {}}
    try:
        for stage in stages:
            stage.setup()
        with RowWriter(out_path) as out:
            rows = (row for _, row in read_rows(in_path))
            for batch in batches(rows, BATCH_CHARS):
                for row in _filtered(batch, stages, counts):
                    out.write(row)
    finally:
        for stage in stages:
            stage.close()
    counts["dropped"] = dict(sorted(counts["dropped"].items()))
    counts["errors"] = dict(sorted(counts["errors"].items()))
    return counts


def _filtered(
    rows: list[dict[str, Any]], stages: Sequence[Stage], counts: dict[str, Any]
) -> list[dict[str, Any]]:
    """The rows of a batch with their verdicts."""
    documents: dict[int, Document] = {}
    for i, row in enumerate(rows):
        counts["rows"] += 1
        if isinstance(row.get("text"), str):
            documents[i] = Document(str(row.get("id", counts["rows"])), row["text"], "jsonl",
                                    _meta(row))  # fmt: skip
        else:
            row.update(signals={}, keep=False, reason="error_no_text")
            _count(counts["errors"], "no_text")
    living = dict(documents)
    for stage in stages:
        order = sorted(living)
        outcomes = stage.apply([living[i] for i in order])
        if len(outcomes) != len(order):
            raise StageError(
                f"{stage.name} gave {len(outcomes)} outcomes for {len(order)} documents"
            )
        for i, outcome in zip(order, outcomes, strict=True):
            if isinstance(outcome, Document):
                living[i] = outcome
                continue
            dropped = living.pop(i)
            if isinstance(outcome, Drop):
                reason = outcome.reason
                _count(counts["dropped"], f"{stage.name}:{reason}")
            elif isinstance(outcome, Failure):
                reason = f"error_{outcome.type}"
                _count(counts["errors"], f"{stage.name}:{outcome.type}")
            else:
                raise StageError(f"{stage.name} gave a page for a document")
            rows[i].update(signals=dropped.signals, keep=False, reason=reason)
    for i, document in living.items():
        counts["kept"] += 1
        rows[i].update(signals=document.signals, keep=True, reason=None)
        if document.text != rows[i]["text"]:
            rows[i]["clean_text"] = document.text
    return rows


def _meta(row: dict[str, Any]) -> dict[str, Scalar]:
    """What a row tells of its document: its fields that `META_COLUMNS` has, of the right type."""
    return {k: row[k] for k, kind in META_COLUMNS.items() if type(row.get(k)) is kind}


def _count(into: dict[str, int], key: str) -> None:
    into[key] = into.get(key, 0) + 1


__all__ = ["default_steps", "filter_jsonl"]
