"""Presentation MathML as LaTeX."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from corpusmill.stages.extract.mathml import to_latex


def latex(inner: str) -> str:
    node = LexborHTMLParser(f"<math>{inner}</math>").css_first("math")
    assert node is not None
    return to_latex(node)


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("<msup><mi>x</mi><mn>2</mn></msup>", "x^{2}"),
        (
            "<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>",
            "{a+b}^{2}",
        ),
        (
            "<msup><mrow><mo>(</mo><mi>a</mi><mo>+</mo><mi>b</mi><mo>)</mo></mrow><mn>2</mn></msup>",
            "(a+b)^{2}",
        ),
        ("<msup><mn>10</mn><mn>3</mn></msup>", "{10}^{3}"),
        ("<msub><mi>α</mi><mi>i</mi></msub>", r"\alpha_{i}"),
        ("<msubsup><mi>x</mi><mn>1</mn><mo>′</mo></msubsup>", "x_{1}^{'}"),
        ("<msup><msub><mi>x</mi><mn>1</mn></msub><mn>2</mn></msup>", "{x_{1}}^{2}"),
        (
            "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>"
            "<mi>i</mi>",
            r"\sum_{i=1}^{n}i",
        ),
        (
            "<munder><mo>lim</mo><mrow><mi>x</mi><mo>→</mo><mn>0</mn></mrow></munder>",
            r"\lim_{x\to 0}",
        ),
        ("<mover accent=true><mi>x</mi><mo>^</mo></mover>", r"\hat{x}"),
        ("<mover><mi>v</mi><mo>→</mo></mover>", r"\vec{v}"),
        ("<mover><mi>x</mi><mi>n</mi></mover>", "x^{n}"),
        ("<munder><mi>x</mi><mo>_</mo></munder>", r"\underline{x}"),
        ("<mfrac linethickness=0><mi>n</mi><mi>k</mi></mfrac>", r"\binom{n}{k}"),
        ("<mfrac><mi>a</mi><mrow><mi>b</mi><mo>-</mo><mn>1</mn></mrow></mfrac>", r"\frac{a}{b-1}"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot><msqrt><mi>y</mi></msqrt>", r"\sqrt[3]{x}\sqrt{y}"),
        (
            "<mmultiscripts><mi>C</mi><mn>6</mn><none></none><mprescripts></mprescripts><none></none>"
            "<mn>14</mn></mmultiscripts>",
            "{}^{14}C_{6}",
        ),
        ("<mfenced open='⟨' close='⟩'><mi>x</mi><mi>y</mi></mfenced>", r"\langle x,y\rangle"),
        (
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr>"
            "<mtr><mtd><mn>3</mn></mtd><mtd><mn>4</mn></mtd></mtr></mtable>",
            r"\begin{matrix}1 & 2 \\ 3 & 4\end{matrix}",
        ),
        ("<mi>sin</mi><mo>&#8289;</mo><mi>θ</mi>", r"\sin \theta"),
        ("<mi>x</mi><mo>∈</mo><mi>ℝ</mi><mphantom><mi>q</mi></mphantom>", r"x\in \mathbb{R}"),
        ("<mtext>if</mtext><mi>max</mi><mi>Re</mi>", r"\text{if}\max \mathrm{Re}"),
        ("<mi>ε</mi><mi>ϵ</mi><mi>φ</mi><mi>ϕ</mi>", r"\varepsilon \epsilon \varphi \phi"),
        ("<mwhat><mi>x</mi></mwhat>", "x"),
        ("<msup><mi>x</mi></msup>", "x"),
        ("", ""),
    ],
)
def test_formulas(inner: str, expected: str) -> None:
    assert latex(inner) == expected
