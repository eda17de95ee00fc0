"""Takes the lines out that C4 leaves out (an editing stage).

After Raffel et al. 2020, section 2.2; the rules and where they differ from other implementations
stand in `corpusmill.stages.measure.c4_rules` and `measure.c4`. The text becomes the kept lines,
trimmed, joined by LF; blank lines go. Citations such as ``[12]``, ``[edit]`` and
``[citation needed]`` are taken out of kept lines. Signals measured before this stage describe the
text as it was: measure again after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import Kind, Stage
from corpusmill.stages.measure import datatrove_rules
from corpusmill.stages.measure.c4_rules import LineRules, examine

_CITATION = re.compile(r"\[[0-9]*\]|\[edit\]|\[citation needed\]")


@dataclass(frozen=True, slots=True)
class Params:
    """The line rules in force, and whether citations are removed."""

    rules: LineRules = field(default_factory=LineRules)
    remove_citations: bool = True

    def __post_init__(self) -> None:
        if self.rules.dialect == "datatrove" and not self.remove_citations:
            raise ConfigError(
                "filters.c4_lines: the dialect datatrove looks at lines without their citations",
                hint="leave remove_citations out",
            )


class C4Lines(Stage):
    """`filters.c4_lines`: see the module docstring."""

    name: ClassVar[str] = "filters.c4_lines"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "map"
    edits_text: ClassVar[bool] = True
    Params: ClassVar[type] = Params

    reasons: tuple[str, ...] = ("c4_no_lines",)

    def setup(self) -> None:
        """Compiles or loads the kernels."""
        self.apply(())

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """The documents with their kept lines; `c4_no_lines` where none is left."""
        if self.params.rules.dialect == "datatrove":
            return self._as_datatrove(batch)
        found = examine([document.text for document in batch], self.params.rules)
        table = found.lines.table
        outcomes: list[Outcome] = []
        for i, document in enumerate(batch):
            first, last = int(table.doc_start[i]), int(table.doc_start[i + 1])
            raw = table.data[table.byte_start[i] : table.byte_start[i + 1]].tobytes()
            kept: list[str] = []
            for line in range(first, last):
                if not found.kept[line]:
                    continue
                part = raw[table.text_start[line] : table.text_end[line]]
                text = part.decode("utf-8", "surrogatepass")
                if self.params.remove_citations:
                    text = _CITATION.sub("", text).strip()
                if text:
                    kept.append(text)
            if kept:
                document.text = "\n".join(kept)
                outcomes.append(document)
            else:
                outcomes.append(Drop("c4_no_lines", last - first))
        return outcomes

    def _as_datatrove(self, batch: Sequence[Document]) -> list[Outcome]:
        texts = [document.text for document in batch]
        outcomes: list[Outcome] = []
        pages = datatrove_rules.c4(texts, self.params.rules, sentences=False)
        for document, page in zip(batch, pages, strict=True):
            document.text = "\n".join(page.kept).strip()
            outcomes.append(document if document.text else Drop("c4_no_lines", page.lines))
        return outcomes


STAGE = C4Lines

__all__ = ["STAGE", "C4Lines", "Params"]
