"""Formulas and code rewritten in the tree before an extractor reads the page.

No extractor tried keeps both: scripts of type ``math/tex`` are lost by all, KaTeX comes out twice,
Wikipedia's formulas vanish, code with one ``<br>`` or one table row a line loses its lines. So
every formula becomes its TeX between ``$`` (``$$`` where it is displayed), and every code block a
``<pre>`` with plain lines. A page with neither is returned as it is, without a parse.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from .mathml import to_latex
from .streamed import settle

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_TRIGGERS = (
    "<math", "math/tex", "katex", "mwe-math", "<pre", "blob-code", "hljs-ln", "latex.php",
    'class="tex"', 'class="tex ', 'class="latex"', 'class="latex ', "<MATH", "<PRE",
)  # fmt: skip
_TEX_ENCODINGS = frozenset(("application/x-tex", "application/x-latex", "tex", "latex"))
_STYLE_WRAP = re.compile(r"^\{\\(?:displaystyle|textstyle|scriptstyle)\s*(.*)\}$", re.DOTALL)
_BARE_STYLE = re.compile(r"^\\(?:displaystyle|textstyle|scriptstyle)\s+")
_RENDERED = ".MathJax_Preview, .MathJax, .MathJax_Display, .MathJax_SVG, .MathJax_SVG_Display"
_LINE_NUMBERS = (
    "span.lineno, span.linenos, span.linenumber, span.line-number, span.line-numbers-rows, "
    "span.ln, a.lineno, .hljs-ln-numbers"
)
_NUMBER_CELLS = "td.blob-num, td.hljs-ln-numbers, td.line-number, td.lineno"
_BLOCKS_IN_CODE = "div, p, li, tr"
_DIGITS = frozenset("0123456789 \t\r\n\u00a0")


def rewrite(html: str) -> str:
    """`html` with formulas as TeX and code blocks as plain ``<pre>``, and with what was sent in
    pieces put together."""
    html = settle(html)
    if not any(t in html for t in _TRIGGERS):
        return html
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    if not rewrite_tree(tree):
        return html
    return tree.html or html


def rewrite_tree(tree: LexborHTMLParser) -> bool:
    """The same in `tree` itself; whether there was anything to rewrite."""
    changed = _formulas(tree)
    return _code(tree) or changed


def _outermost(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """Matches that lie in no other match. (Replacing a node ends the life of those in it.)"""
    matches = tree.css(selector)
    if len(matches) < 2:
        return matches
    ids = {n.mem_id for n in matches}
    return [n for n in matches if not _has_ancestor(n, ids)]


def _innermost(root: LexborNode, selector: str) -> list[LexborNode]:
    """Matches in `root` that hold no other match."""
    matches = root.css(selector)
    holders = {p.mem_id for n in matches if (p := n.parent) is not None}
    return [n for n in matches if n.mem_id not in holders]


def _has_ancestor(node: LexborNode, ids: set[int]) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.mem_id in ids:
            return True
        parent = parent.parent
    return False


def _replace(node: LexborNode, tex: str, *, display: bool) -> bool:
    tex = _plain_tex(tex)
    if not tex:
        return False
    mark = "$$" if display else "$"
    node.replace_with(f"{mark}{tex}{mark}")
    return True


def _plain_tex(tex: str) -> str:
    tex = tex.replace("<![CDATA[", "").replace("]]>", "").replace("% ", "", 1).strip()
    wrapped = _STYLE_WRAP.match(tex)
    if wrapped is not None:
        tex = wrapped.group(1)
    return _BARE_STYLE.sub("", tex).strip()


def _formulas(tree: LexborHTMLParser) -> bool:
    changed = False
    scripts = tree.css("script[type^='math/tex']")
    if scripts:
        for node in _outermost(tree, _RENDERED):
            node.decompose()
        for node in tree.css("script[type^='math/tex']"):
            display = "mode=display" in (node.attributes.get("type") or "").replace(" ", "")
            changed = _replace(node, node.text(deep=True), display=display) or changed
    for selector, tex_of in _SOURCES:
        for node in _outermost(tree, selector):
            tex = tex_of(node)
            if tex:
                changed = _replace(node, tex, display=_is_display(node)) or changed
    return changed


def _is_display(node: LexborNode) -> bool:
    for candidate in (node, node.css_first("math")):
        if candidate is None:
            continue
        attributes = candidate.attributes
        words = f"{attributes.get('class') or ''} {attributes.get('display') or ''}".split()
        if "block" in words or any(w.endswith("-display") or w.endswith("-block") for w in words):
            return True
    return False


def _annotation(node: LexborNode) -> str:
    for annotation in node.css("annotation"):
        if (annotation.attributes.get("encoding") or "").lower() in _TEX_ENCODINGS:
            return annotation.text(deep=True)
    return ""


def _alttext(node: LexborNode) -> str:
    math = node if node.tag == "math" else node.css_first("math[alttext]")
    return "" if math is None else (math.attributes.get("alttext") or "")


def _image_alt(node: LexborNode) -> str:
    image = node if node.tag == "img" else node.css_first("img[alt]")
    return "" if image is None else (image.attributes.get("alt") or "")


def _mathml(node: LexborNode) -> str:
    math = node if node.tag == "math" else node.css_first("math")
    return "" if math is None else to_latex(math)


def _any_source(node: LexborNode) -> str:
    return _annotation(node) or _alttext(node) or _image_alt(node) or _mathml(node)


_SOURCES: tuple[tuple[str, Callable[[LexborNode], str]], ...] = (
    (".katex-display", _annotation),
    (".katex", _annotation),
    (".mwe-math-element", _any_source),
    ("mjx-container", _any_source),
    ("math", lambda node: _annotation(node) or _alttext(node) or _mathml(node)),
    ("img.tex, img.latex, img.mwe-math-fallback-image-inline, img[src*='latex.php']", _image_alt),
)


def _code(tree: LexborHTMLParser) -> bool:
    changed = _code_tables(tree)
    for node in tree.css("pre br"):
        node.replace_with("\n")
        changed = True
    for pre in _outermost(tree, "pre"):
        for number in pre.css(_LINE_NUMBERS):
            if _only_digits(number.text(deep=True)):
                number.remove()
                changed = True
        for line in _innermost(pre, _BLOCKS_IN_CODE):
            if not line.text(deep=True).endswith("\n"):
                line.insert_after("\n")
            line.unwrap()
            changed = True
    return changed


def _code_tables(tree: LexborHTMLParser) -> bool:
    """Highlighters' tables: one row with a cell of line numbers and one of code, or one row a
    line of code. Both become a ``<pre>``."""
    changed = False
    for table in _outermost(tree, "table"):
        if table.css_first("pre, code, td.blob-code, .hljs-ln-numbers") is None:
            continue
        rows = table.css("tr")
        code = _numbered_pre(rows) if len(rows) == 1 else _numbered_rows(table, rows)
        if code is not None:
            table.replace_with(_pre_node(code))
            changed = True
    return changed


def _numbered_pre(rows: list[LexborNode]) -> str | None:
    cells = rows[0].css("td")
    if len(cells) != 2 or not _only_digits(cells[0].text(deep=True)):
        return None
    code = cells[1].css_first("pre") or cells[1].css_first("code")
    if code is None:
        return None
    for br in code.css("br"):
        br.replace_with("\n")
    return code.text(deep=True)


def _numbered_rows(table: LexborNode, rows: list[LexborNode]) -> str | None:
    if table.css_first(_NUMBER_CELLS) is None or table.css_first("th") is not None:
        return None
    lines = []
    for row in rows:
        cells = row.css("td")
        if not cells or len(cells) > 2:
            return None
        lines.append(cells[-1].text(deep=True).strip("\r\n"))
    return "\n".join(lines)


def _only_digits(text: str) -> bool:
    return text != "" and _DIGITS.issuperset(text)


def _pre_node(code: str) -> LexborNode:
    from selectolax.lexbor import LexborHTMLParser

    pre = LexborHTMLParser("<pre></pre>").css_first("pre")
    if pre is None:  # the parser was given the element
        raise RuntimeError("no <pre> in a page that is one")
    pre.insert_child(code)
    return pre
