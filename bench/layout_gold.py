"""What annotators' Markdown has of layout, and how much of it is in an extracted text: the
definitions of `bench.layout`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from corpusmill.stages.extract.scoring import words

MANY_LETTERS = 20
"""Parts with as many letters are also looked for without regard to where words end."""

_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})")
_RULE = re.compile(r"^[\s|:-]+$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,4}[.)])\s+(?=\S)")
_HEADING = re.compile(r"^#{1,6}\s+(?=\S)")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)?(?:\s+\"[^\"]*\")?\)")
_ESCAPE = re.compile(r"\\([^\w\s])")


@dataclass
class Gold:
    """What the annotators' Markdown has of each kind."""

    code: list[str] = field(default_factory=list)
    blanks: list[tuple[str, str]] = field(default_factory=list)
    """The lines before and after a blank line (or several) in code."""
    items: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)


def plain_words(text: str) -> str:
    """The words of Markdown or of plain text, one space between them and around."""
    text = _LINK.sub(r"\1", _IMAGE.sub(" ", text))
    return " " + " ".join(words(_ESCAPE.sub(r"\1", text).replace("_", " "))) + " "


def read_gold(markdown: str) -> Gold:
    """The parts of `markdown` that are measured."""
    gold = Gold()
    fence = indent = ""
    block: list[str] = []
    for line in markdown.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[2].startswith(fence) and not line.strip().strip(fence[0]):
                _add_code(gold, block)
                fence = ""
            else:
                block.append(line.removeprefix(indent).rstrip())
        elif mark:
            indent, fence, block = mark[1], mark[2], []
        elif line.strip().startswith("|") and line.count("|") > 1:
            cells = [c for c in line.replace("\\|", " ").strip().strip("|").split("|") if c.strip()]
            text = plain_words(" ".join(cells))
            if len(cells) > 1 and not _RULE.match(line) and text.strip():
                gold.rows.append(text)
        else:
            for kind, pattern in ((gold.headings, _HEADING), (gold.items, _ITEM)):
                found = pattern.match(line)
                if found:
                    text = plain_words(line[found.end() :])
                    if text.strip():
                        kind.append(text)
                    break
    return gold


def _add_code(gold: Gold, block: Sequence[str]) -> None:
    gold.code += [line for line in block if line]
    before = ""
    gap = False
    for line in block:
        if not line:
            gap = before != ""
            continue
        if gap:
            gold.blanks.append((before, line))
        before, gap = line, False


def squeezed(text: str) -> str:
    """The words of `text` without what stands between them."""
    return plain_words(text).replace(" ", "")


def tree_of(html: str) -> Any:
    """The page's tree by lxml, not by the parser that the tier ``own`` uses."""
    from lxml import html as reader

    return reader.document_fromstring(html.encode("utf-8", "replace"), _lxml())


def true_rows(tree: Any) -> str:
    """The rows of the innermost tables, squeezed, a line break between them."""
    rows = (row for row in tree.iter("tr") if row.find(".//table") is None)
    return "\n".join(squeezed(" ".join(row.itertext())) for row in rows)


def true_lines(tree: Any) -> Counter[str]:
    """Lines of the page's ``pre`` elements and of their ``br``."""
    found: Counter[str] = Counter()
    for pre in tree.iter("pre"):
        for br in pre.iter("br"):
            br.tail = "\n" + (br.tail or "")
        text = "".join(pre.itertext())
        found.update(line.rstrip() for line in text.splitlines() if line.strip())
    return found


def _lxml() -> Any:
    from lxml import html as reader

    return reader.HTMLParser(encoding="utf-8", huge_tree=True)


def measure(html: str, gold: Gold, got: str) -> dict[str, tuple[int, int, list[str]]]:
    """For each figure the number found, the number in the gold, and what is missing."""
    lines = [line.rstrip() for line in got.split("\n")]
    plain = [_unquoted(line) for line in lines]
    text = plain_words(got)
    as_words = [plain_words(line) for line in plain if line.strip()]
    whole = {*as_words, *(_without_mark(line) for line in plain)}
    there = Counter(lines)
    tree = tree_of(html) if gold.code or gold.rows else None
    true = true_lines(tree) if gold.code else Counter()
    trs = true_rows(tree) if gold.rows else ""
    code: list[tuple[str, bool]] = []
    in_page: list[tuple[str, bool]] = []
    for line in gold.code:
        code.append((line, there[line] > 0))
        there[line] -= 1
        if true[line] > 0:
            in_page.append(code[-1])
        true[line] -= 1
    gaps = set()
    for before, gap, after in _gaps(lines):
        if gap:
            gaps.add((before, after))
    in_lines = "\n".join(as_words)
    rows = [(x, _in(x, in_lines)) for x in gold.rows]
    parts: dict[str, list[tuple[str, bool]]] = {
        "code": code,
        "indented": [(x, ok) for x, ok in code if x[0] in " \t"],
        "code_true": in_page,
        "indented_true": [(x, ok) for x, ok in in_page if x[0] in " \t"],
        "blank": [(f"{a}\n\n{b}", (a, b) in gaps) for a, b in gold.blanks],
        "items": [(x, _in(x, text)) for x in gold.items],
        "item_lines": [(x, x in whole) for x in gold.items],
        "rows": rows,
        "rows_true": [(x, ok) for x, ok in rows if x.replace(" ", "") in trs],
        "headings": [(x, x in whole) for x in gold.headings],
    }
    return {
        name: (sum(ok for _, ok in some), len(some), [x for x, ok in some if not ok])
        for name, some in parts.items()
    }


def _in(part: str, text: str) -> bool:
    if part in text:
        return True
    letters = part.replace(" ", "")
    return len(letters) >= MANY_LETTERS and letters in text.replace(" ", "")


def _gaps(lines: Sequence[str]) -> Iterable[tuple[str, bool, str]]:
    before, gap = "", False
    for line in lines:
        if not line:
            gap = True
            continue
        yield before, gap, line
        before, gap = line, False


def _unquoted(line: str) -> str:
    return line.lstrip("> ") if line.startswith(">") else line


def _without_mark(line: str) -> str:
    for pattern in (_HEADING, _ITEM):
        found = pattern.match(line)
        if found:
            return plain_words(line[found.end() :])
    return plain_words(line)
