"""Presentation MathML to LaTeX, for formulas that carry no TeX of their own.

The elements that textbooks use: fractions, roots, scripts before and after, accents, fences,
tables. What it does not know is written as its children in order, so that no symbol is lost.
"""

from __future__ import annotations

import re
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
    "∇": r"\nabla ", "√": r"\surd ", "∈": r"\in ", "∉": r"\notin ", "⊂": r"\subset ",
    "⊆": r"\subseteq ", "∪": r"\cup ", "∩": r"\cap ", "∅": r"\emptyset ", "∀": r"\forall ",
    "∃": r"\exists ", "→": r"\to ", "←": r"\leftarrow ", "⇒": r"\Rightarrow ",
    "⇔": r"\Leftrightarrow ", "↦": r"\mapsto ", "…": r"\dots ", "⋯": r"\cdots ", "∘": r"\circ ",
    "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "δ": r"\delta ", "ε": r"\varepsilon ",
    "ϵ": r"\epsilon ", "ζ": r"\zeta ", "η": r"\eta ", "θ": r"\theta ", "ι": r"\iota ",
    "κ": r"\kappa ", "λ": r"\lambda ", "μ": r"\mu ", "ν": r"\nu ", "ξ": r"\xi ", "π": r"\pi ",
    "ρ": r"\rho ", "σ": r"\sigma ", "τ": r"\tau ", "υ": r"\upsilon ", "φ": r"\varphi ",
    "ϕ": r"\phi ", "χ": r"\chi ", "ψ": r"\psi ", "ω": r"\omega ", "Γ": r"\Gamma ",
    "Δ": r"\Delta ", "Θ": r"\Theta ", "Λ": r"\Lambda ", "Ξ": r"\Xi ", "Π": r"\Pi ",
    "Σ": r"\Sigma ", "Φ": r"\Phi ", "Ψ": r"\Psi ", "Ω": r"\Omega ", "{": r"\{", "}": r"\}",
    "%": r"\%", "#": r"\#", "&": r"\&", "\u2061": "", "\u2062": " ", "\u2063": "", "\u2064": "+",
    "ϑ": r"\vartheta ", "ϱ": r"\varrho ", "ς": r"\varsigma ", "∼": r"\sim ", "≃": r"\simeq ",
    "≅": r"\cong ", "∝": r"\propto ", "≪": r"\ll ", "≫": r"\gg ", "⊃": r"\supset ",
    "⊇": r"\supseteq ", "∖": r"\setminus ", "∧": r"\wedge ", "∨": r"\vee ", "¬": r"\neg ",
    "⊕": r"\oplus ", "⊗": r"\otimes ", "⊥": r"\perp ", "∥": r"\parallel ", "∣": r"\mid ",
    "‖": r"\|", "⟨": r"\langle ", "⟩": r"\rangle ", "⌊": r"\lfloor ", "⌋": r"\rfloor ",
    "⌈": r"\lceil ", "⌉": r"\rceil ", "∮": r"\oint ", "∬": r"\iint ", "∴": r"\therefore ",
    "↔": r"\leftrightarrow ", "⟶": r"\longrightarrow ", "↑": r"\uparrow ", "↓": r"\downarrow ",
    "⋮": r"\vdots ", "⋱": r"\ddots ", "ℓ": r"\ell ", "ℏ": r"\hbar ", "ℜ": r"\Re ",
    "ℑ": r"\Im ", "ℵ": r"\aleph ", "ℕ": r"\mathbb{N}", "ℤ": r"\mathbb{Z}", "ℚ": r"\mathbb{Q}",
    "ℝ": r"\mathbb{R}", "ℂ": r"\mathbb{C}", "′": "'", "″": "''", "∗": "*", "∙": r"\bullet ",
    "⋆": r"\star ", "°": r"^{\circ}", "\u200b": "", "\u00a0": " ",
}  # fmt: skip
_ACCENTS = {
    "^": r"\hat", "ˆ": r"\hat", "~": r"\tilde", "˜": r"\tilde", "¯": r"\bar", "‾": r"\overline",
    "→": r"\vec", "⃗": r"\vec", "˙": r"\dot", "¨": r"\ddot", "ˇ": r"\check", "˘": r"\breve",
    "⏞": r"\overbrace", "_": r"\underline", "⏟": r"\underbrace", "̲": r"\underline",
    "̂": r"\hat", "̃": r"\tilde", "̄": r"\bar", "̇": r"\dot", "―": r"\overline", "¯¯": r"\overline",
}  # fmt: skip
"""Marks over and under, by the text of their element."""
_BAR_BELOW = "_¯‾―\u0332"
_ONE_TOKEN = re.compile(r"[^\\{}]|\\[A-Za-z]+ ?|\\[A-Za-z]+\{[^{}]*\}|\([^()]*\)|\[[^\[\]]*\]")
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


def _base(text: str) -> str:
    """What a script hangs on, in braces where it would hang on its last token alone."""
    text = text.strip()
    return text if _ONE_TOKEN.fullmatch(text) else f"{{{text}}}"


def _scripts(form: str) -> Callable[[list[str], LexborNode], str]:
    count = form.count("{") // 3 + 1

    def make(parts: list[str], node: LexborNode) -> str:
        if len(parts) != count:
            return "".join(parts)
        return _base(parts[0]) + form.format(*(p.strip() for p in parts[1:]))

    return make


def _over(parts: list[str], node: LexborNode) -> str:
    mark = _children(node)[-1].text(deep=True).strip()
    if len(parts) == 2 and mark in _ACCENTS:
        return _ACCENTS[mark] + _group(parts[0])
    return _scripts("^{{{0}}}")(parts, node)


def _under(parts: list[str], node: LexborNode) -> str:
    mark = _children(node)[-1].text(deep=True).strip()
    if len(parts) == 2 and mark and mark in _BAR_BELOW:
        return r"\underline" + _group(parts[0])
    if len(parts) == 2 and mark == "⏟":
        return r"\underbrace" + _group(parts[0])
    return _scripts("_{{{0}}}")(parts, node)


def _fraction(parts: list[str], node: LexborNode) -> str:
    if len(parts) != 2:
        return "".join(parts)
    thickness = (node.attributes.get("linethickness") or "").strip()
    command = r"\binom" if re.fullmatch(r"0+(?:\.0+)?[a-z%]*", thickness) else r"\frac"
    return command + _group(parts[0]) + _group(parts[1])


def _many_scripts(parts: list[str], node: LexborNode) -> str:
    """``mmultiscripts``: the base, pairs of scripts after it, those before it."""
    tags = [c.tag for c in _children(node)]
    cut = tags.index("mprescripts") if "mprescripts" in tags else len(tags)
    after, before = parts[1:cut], parts[cut + 1 :]
    left = _pairs(before)
    return (f"{{}}{left}" if left else "") + _base(parts[0]) + _pairs(after)


def _pairs(scripts: list[str]) -> str:
    made = []
    for k, script in enumerate(scripts):
        if script.strip():
            made.append(("_", "^")[k % 2] + _group(script))
    return "".join(made)


def _nothing(parts: list[str], node: LexborNode) -> str:
    return " "


def _root(parts: list[str], node: LexborNode) -> str:
    return r"\sqrt" + _group("".join(parts))


def _fenced(parts: list[str], node: LexborNode) -> str:
    attributes = node.attributes
    left = _SYMBOLS.get(attributes.get("open") or "(", attributes.get("open") or "(")
    right = _SYMBOLS.get(attributes.get("close") or ")", attributes.get("close") or ")")
    return f"{left}{','.join(parts)}{right}"


def _table(parts: list[str], node: LexborNode) -> str:
    return r"\begin{matrix}" + r" \\ ".join(p.strip() for p in parts) + r"\end{matrix}"


def _table_row(parts: list[str], node: LexborNode) -> str:
    return " & ".join(p.strip() for p in parts)


_MAKERS: dict[str, Callable[[list[str], LexborNode], str]] = {
    "mfrac": _fraction,
    "msup": _scripts("^{{{0}}}"),
    "msub": _scripts("_{{{0}}}"),
    "msubsup": _scripts("_{{{0}}}^{{{1}}}"),
    "munder": _under,
    "mover": _over,
    "munderover": _scripts("_{{{0}}}^{{{1}}}"),
    "mmultiscripts": _many_scripts,
    "mphantom": _nothing,
    "mroot": _arguments(2, r"\sqrt[{1}]{{{0}}}"),
    "msqrt": _root,
    "mfenced": _fenced,
    "mtable": _table,
    "mtr": _table_row,
}
