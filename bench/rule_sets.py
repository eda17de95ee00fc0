"""Our sides of `bench.filters`: the rule sets of FineWeb, and datatrove's reasons.

    python -m bench.rule_sets SIDE TEXTS OUT [--words-given]

SIDE is ``datatrove`` or ``corpusmill``, the dialect of the measures; or ``near_datatrove``, that of
`filters.gopher_quality` on the measures of ``corpusmill``. It writes OUT/verdicts.jsonl and
OUT/result.json as ``bench/peers/datatrove/verdicts.py`` does. With ``--words-given`` all texts are
done once before and their words and sentences looked up, as there (the side ``datatrove`` only).
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from corpusmill.pipeline.document import Document, Drop
from corpusmill.pipeline.stage import Stage
from corpusmill.stages.filters import c4, c4_lines, fineweb, gopher_quality, gopher_repetition
from corpusmill.stages.filters.gopher_quality import QualityDialect
from corpusmill.stages.measure import c4 as measure_c4
from corpusmill.stages.measure import datatrove_rules
from corpusmill.stages.measure import fineweb as measure_fineweb
from corpusmill.stages.measure import gopher as measure_gopher
from corpusmill.stages.measure import repetition as measure_repetition
from corpusmill.stages.measure.c4_rules import LineRules
from corpusmill.stages.measure.datatrove_rules import Dialect
from corpusmill.stages.measure.datatrove_words import datatrove_words, shared_pieces

Ours = Literal["datatrove", "corpusmill", "near_datatrove"]
SIDES: tuple[Ours, ...] = get_args(Ours)
SETS = ("repetition", "quality", "c4", "c4_fineweb", "fineweb", "after")
"""Rule sets as in ``bench/peers/datatrove/verdicts.py``."""
TEXTS = ("c4_text", "c4_fineweb_text")
"""Digests of the texts that C4's rules leave."""

BATCH, WARM = 1000, 20
_ONE_REASON = {"c4_no_lines": "c4_few_sentences"}
"""There a page of which no line is left has too few sentences."""

_REASONS = {
    "gopher_short_doc": "gopher_few_words",
    "gopher_long_doc": "gopher_many_words",
    "gopher_below_avg_threshold": "gopher_short_words",
    "gopher_above_avg_threshold": "gopher_long_words",
    "gopher_too_many_hashes": "gopher_hashes",
    "gopher_too_many_ellipsis": "gopher_ellipses",
    "gopher_too_many_bullets": "gopher_bullets",
    "gopher_too_many_end_ellipsis": "gopher_ellipsis_ends",
    "gopher_below_alpha_threshold": "gopher_no_letters",
    "gopher_enough_stop_words": "gopher_stop_words",
    "dup_para_frac": "rep_dup_paras",
    "dup_para_char_frac": "rep_dup_para_chars",
    "dup_line_frac": "rep_dup_lines",
    "dup_line_char_frac": "rep_dup_line_chars",
    "lorem_ipsum": "c4_lorem_ipsum",
    "curly_bracket": "c4_curly_bracket",
    "too_few_sentences": "c4_few_sentences",
    "line_punct_ratio": "fineweb_line_punct",
    "short_line_ratio": "fineweb_short_lines",
    "char_dup_ratio": "fineweb_dup_lines",
    "list_ratio": "fineweb_list",
}


def our_reason(rule_set: str, theirs: str) -> str:
    """The name that a reason of datatrove's has here. Raises KeyError for an unknown one."""
    if theirs == "keep":
        return theirs
    if theirs == "empty":
        return "rep_empty" if rule_set == "repetition" else "fineweb_empty"
    found = re.fullmatch(r"(top|duplicated)_([0-9]+)_(?:n_)?grams?", theirs)
    if found:
        return f"rep_{'top' if found[1] == 'top' else 'dup'}_{found[2]}gram"
    return _REASONS[theirs]


def comparable(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of datatrove's verdicts with our reasons, without what is no verdict."""
    found = {k: our_reason(k, row[k]) for k in SETS if row.get(k) is not None}
    return {**found, **{k: row[k] for k in TEXTS if k in row}}


def made(side: Ours, language: str = "en") -> dict[str, list[Stage]]:
    """The stages of each rule set, ready to work: datatrove's filters with their defaults."""
    dialect: Dialect = "datatrove" if side == "datatrove" else "corpusmill"
    quality: QualityDialect = "near_datatrove" if side == "near_datatrove" else "corpusmill"

    def c4_set(terminal: bool) -> list[Stage]:
        rules = LineRules(terminal=terminal, dialect=dialect)
        return [
            measure_c4.STAGE(rules),
            c4.STAGE(c4.Params()),
            c4_lines.STAGE(c4_lines.Params(rules)),
        ]

    sets: dict[str, list[Stage]] = {
        "repetition": [
            measure_repetition.STAGE(measure_repetition.Params(dialect)),
            gopher_repetition.STAGE(gopher_repetition.Params()),
        ],
        "quality": [
            measure_gopher.STAGE(measure_gopher.Params(language, dialect)),
            gopher_quality.STAGE(gopher_quality.Params(dialect=quality)),
        ],
        "c4": c4_set(True),
        "c4_fineweb": c4_set(False),
        "fineweb": [
            measure_fineweb.STAGE(measure_fineweb.Params(dialect=dialect)),
            fineweb.STAGE(fineweb.Params()),
        ],
    }
    for stages in sets.values():
        for stage in stages:
            stage.setup()
    return sets


def judge(sets: Mapping[str, Sequence[Stage]], texts: Sequence[str]) -> list[dict[str, Any]]:
    """The verdicts on each text: ``keep`` or a reason by rule set, and digests of edited texts."""
    found: list[dict[str, Any]] = [{} for _ in texts]
    for name, stages in sets.items():
        documents = {i: Document(str(i), text, "bench") for i, text in enumerate(texts)}
        kept = _apply(documents, stages, found, name)
        if not name.startswith("c4"):
            continue
        for i, document in kept.items():
            raw = document.text.encode("utf-8", "surrogatepass")
            found[i][f"{name}_text"] = hashlib.sha256(raw).hexdigest()[:16]
        if name == "c4_fineweb":
            _apply(kept, sets["fineweb"], found, "after")
    return found


def _apply(
    documents: dict[int, Document],
    stages: Sequence[Stage],
    found: list[dict[str, Any]],
    name: str,
) -> dict[int, Document]:
    living = dict(documents)
    for stage in stages:
        order = sorted(living)
        for i, outcome in zip(order, stage.apply([living[i] for i in order]), strict=True):
            if isinstance(outcome, Drop):
                found[i][name] = _ONE_REASON.get(outcome.reason, outcome.reason)
                del living[i]
    for i in living:
        found[i][name] = "keep"
    return living


def _remember_words() -> None:
    """Has the dialect ``datatrove`` cut each batch into words, and each line into sentences, once
    only."""
    words = lru_cache(maxsize=None)(datatrove_words)
    datatrove_rules.datatrove_words = lambda texts: words(tuple(texts))  # type: ignore[attr-defined]
    pieces = shared_pieces()
    pieces.sentences = lru_cache(maxsize=None)(pieces.sentences)  # type: ignore[method-assign]


def main() -> int:
    (side,) = (name for name in SIDES if name == sys.argv[1])
    source, out = Path(sys.argv[2]), Path(sys.argv[3])
    given = sys.argv[4:] == ["--words-given"]
    with open(source, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [row["text"] for row in rows]
    sets = made(side)
    if given:
        _remember_words()
    for at in range(0, len(texts) if given else WARM, BATCH):
        judge(sets, texts[at : at + (BATCH if given else WARM)])
    started = time.process_time()
    found = [
        verdict
        for at in range(0, len(texts), BATCH)
        for verdict in judge(sets, texts[at : at + BATCH])
    ]
    spent = time.process_time() - started
    with open(out / "verdicts.jsonl", "w", encoding="utf-8") as file:
        file.writelines(
            json.dumps({"id": row["id"], **verdict}) + "\n"
            for row, verdict in zip(rows, found, strict=True)
        )
    (out / "result.json").write_text(json.dumps({"documents": len(rows), "cpu_seconds": spent}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
