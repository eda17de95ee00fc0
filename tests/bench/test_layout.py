"""What the layout measurement counts."""

from __future__ import annotations

from bench.layout import PROBES, formulas, tier_side
from bench.layout_gold import Gold, measure, plain_words, read_gold

MARKDOWN = """# The *lamp*

Text with `code`.

- oil, [rope](https://example.org/a_(b) "x")
    1. tar

| Day | Cargo |
| --- | :-: |
| Monday | **oil** |
| alone |  |

- item

  ```python
  def f():

      return 1
  ```
"""
HTML = (
    "<pre>def f():<br><br>    return 1</pre><table><tr><td>Monday<td>oil</table>"
    "<table><tr><td>x<td><table><tr><td>Day<td>no</table></table>"
)


def test_gold_is_read() -> None:
    gold = read_gold(MARKDOWN)
    assert gold == Gold(
        code=["def f():", "    return 1"],
        blanks=[("def f():", "    return 1")],
        items=[" oil rope ", " tar ", " item "],
        rows=[" day cargo ", " monday oil "],
        headings=[" the lamp "],
    )


def found(got: str) -> dict[str, tuple[int, int]]:
    return {name: (a, b) for name, (a, b, _) in measure(HTML, read_gold(MARKDOWN), got).items()}


def test_all_is_found_in_text_and_in_markdown() -> None:
    text = "The lamp\n\n- oil, rope\n    1. tar\n\nDay | Cargo\nMonday | oil\n\n- item\n\n"
    for got in (text + "def f():\n\n    return 1", MARKDOWN.replace("\n  ", "\n")):
        shares = found(got)
        assert shares["code"] == shares["code_true"] == (2, 2)
        assert shares["indented_true"] == shares["blank"] == (1, 1)
        assert shares["items"] == shares["item_lines"] == (3, 3)
        assert shares["rows"] == (2, 2)
        assert shares["rows_true"] == (1, 1)  # "Day Cargo" is in no row of the page
        assert shares["headings"] == (1, 1)


def test_losses_are_seen() -> None:
    shares = found("The lamp again\n\noil, rope tar\nDay\nCargo\ndef f():\n  return 1\nreturn 1")
    assert shares["code"] == (1, 2)
    assert shares["indented"] == shares["blank"] == (0, 1)
    assert shares["items"] == (2, 3)
    assert shares["item_lines"] == (0, 3)
    assert shares["rows"] == (0, 2)
    assert shares["rows_true"] == (0, 1)
    assert shares["headings"] == (0, 1)


def test_a_line_is_found_as_often_as_it_stands_there() -> None:
    gold = Gold(code=["}", "}", "}"])
    assert measure("<pre>}\n}</pre>", gold, "}\n}")["code"][:2] == (2, 3)
    assert measure("<pre>}\n}</pre>", gold, "}\n}")["code_true"][:2] == (2, 2)


def test_words_of_markdown() -> None:
    assert plain_words("![alt](x) **a_b** \\* [c](d)") == " a b c "


def test_our_tier_has_all_formulas() -> None:
    assert len(PROBES) == 8
    assert formulas(tier_side("own", "text")) == formulas(tier_side("own", "markdown")) == 8
    assert formulas(lambda html, url: "") == 0
