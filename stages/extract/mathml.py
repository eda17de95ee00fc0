"""Presentation MathML to LaTeX, for formulas that carry no TeX of their own.

A plain form: the elements that textbooks use (fractions, roots, scripts, fences, tables). What it
does not know is written as its children in order, so that no symbol is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MAX_NESTING = 60
"""Formulas nested deeper are written as their bare text (the walk is recursive)."""

_SYMBOLS = {
    "×": r"\times ", "÷": r"\div ", "±": r"\pm ", "∓": r"\mp ", "⋅": r"\cdot ", "·": r"\cdot ",
    "−": "-", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "≈": r"\approx ", "≡": r"\equiv ",
    "∞": r"\infty ", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "∂": r"\partial ",
    "∇": r"\nabla ", "√": r"\sqrt ", "∈": r"\in ", "∉": r"\notin ", "⊂": r"\subset ",
    "⊆": r"\subseteq ", "∪": r"\cup ", "∩": r"\cap ", "∅": r"\emptyset ", "∀": r"\forall ",
    "∃": r"\exists ", "→": r"\to ", "←": r"\leftarrow ", "⇒": r"\Rightarrow ",
    "⇔": r"\Leftrightarrow ", "↦": r"\mapsto ", "…": r"\dots ", "⋯": r"\cdots ", "∘": r"\circ ",
    "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "δ": r"\delta ", "ε": r"\epsilon ",
    "ϵ": r"\epsilon ", "ζ": r"\zeta ", "η": r"\eta ", "θ": r"\theta ", "ι": r"\iota ",
    "κ": r"\kappa ", "λ": r"\lambda ", "μ": r"\mu ", "ν": r"\nu ", "ξ": r"\xi ", "π": r"\pi ",
    "ρ": r"\rho ", "σ": r"\sigma ", "τ": r"\tau ", "υ": r"\upsilon ", "φ": r"\phi ",
    "ϕ": r"\phi ", "χ": r"\chi ", "ψ": r"\psi ", "ω": r"\omega ", "Γ": r"\Gamma ",
    "Δ": r"\Delta ", "Θ": r"\Theta ", "Λ": r"\Lambda ", "Ξ": r"\Xi ", "Π": r"\Pi ",
    "Σ": r"\Sigma ", "Φ": r"\Phi ", "Ψ": r"\Psi ", "Ω": r"\Omega ", "{": r"\{", "}": r"\}",
    "%": r"\%", "#": r"\#", "&": r"\&", "\u2061": "", "\u2062": " ", "\u2063": "", "\u2064": "+",
}  # fmt: skip
_FUNCTIONS = frozenset((
    "arccos", "arcsin", "arctan", "cos", "cosh", "cot", "csc", "det", "dim", "exp", "gcd", "inf",
    "lim", "ln", "log", "max", "min", "mod", "sec", "sin", "sinh", "sup", "tan", "tanh",
))  # fmt: skip


def to_latex(math: LexborNode) -> str:
    """The LaTeX of a ``math`` element, without delimiters; empty if it shows nothing."""
    return " ".join(_row(math, 0).split())


def _children(node: LexborNode) -> list[LexborNode]:
    return [
        c for c in node.iter(include_text=False) if c.tag not in ("annotation", "annotation-xml")
    ]


def _row(node: LexborNode, level: int) -> str:
    if level > MAX_NESTING:
        return node.text(deep=True)
    children = _children(node)
    if not children:
        return _token(node)
    return "".join(_element(c, level + 1) for c in children)


def _token(node: LexborNode) -> str:
    text = node.text(deep=True).strip()
    if node.tag == "mtext":
        return rf"\text{{{text}}}" if text else " "
    if node.tag in ("mi", "mo") and text in _FUNCTIONS:
        return f"\\{text} "
    latex = "".join(_SYMBOLS.get(c, c) for c in text)
    if node.tag == "mi" and len(text) > 1 and text.isascii() and text.isalpha():
        return rf"\mathrm{{{latex}}}"
    return latex


def _group(text: str) -> str:
    return "{" + text.strip() + "}"


def _element(node: LexborNode, level: int) -> str:
    make = _MAKERS.get(node.tag or "")
    if make is None:
        return _row(node, level)
    parts = [_element(c, level + 1) for c in _children(node)] if level <= MAX_NESTING else []
    return make(parts, node) if parts else _row(node, level)


def _arguments(count: int, form: str) -> Callable[[list[str], LexborNode], str]:
    def make(parts: list[str], node: LexborNode) -> str:
        if len(parts) != count:
            return "".join(parts)
        return form.format(*(p.strip() for p in parts))

    return make


def _root(parts: list[str], node: LexborNode) -> str:
    return r"\sqrt" + _group("".join(parts))


def _fenced(parts: list[str], node: LexborNode) -> str:
    left = node.attributes.get("open") or "("
    right = node.attributes.get("close") or ")"
    return f"{left}{','.join(parts)}{right}"


def _table(parts: list[str], node: LexborNode) -> str:
    return r"\begin{matrix}" + r" \\ ".join(p.strip() for p in parts) + r"\end{matrix}"


def _table_row(parts: list[str], node: LexborNode) -> str:
    return " & ".join(p.strip() for p in parts)


_MAKERS: dict[str, Callable[[list[str], LexborNode], str]] = {
    "mfrac": _arguments(2, r"\frac{{{0}}}{{{1}}}"),
    "msup": _arguments(2, "{0}^{{{1}}}"),
    "msub": _arguments(2, "{0}_{{{1}}}"),
    "msubsup": _arguments(3, "{0}_{{{1}}}^{{{2}}}"),
    "munder": _arguments(2, "{0}_{{{1}}}"),
    "mover": _arguments(2, "{0}^{{{1}}}"),
    "munderover": _arguments(3, "{0}_{{{1}}}^{{{2}}}"),
    "mroot": _arguments(2, r"\sqrt[{1}]{{{0}}}"),
    "msqrt": _root,
    "mfenced": _fenced,
    "mtable": _table,
    "mtr": _table_row,
}
