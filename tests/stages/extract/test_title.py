"""The title without a parse."""

from __future__ import annotations

import pytest

from corpusmill.stages.extract.title import TITLE_CHARS, read_title


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>A &amp;\n  B</title>", "A & B"),
        ("<TITLE lang=en>X</TITLE>", "X"),
        ("<head></head>no title", ""),
        ("<!-- <title>old</title> --><title>new</title>", "new"),
        ("<script>var t='<title>js</title>'</script><title>page</title>", "page"),
        ("<title></title>", ""),
        ("<title>not closed", "not closed"),
        ("<titles>no</titles>", ""),
    ],
)
def test_title(html: str, title: str) -> None:
    assert read_title(html) == title


def test_a_title_has_a_bound() -> None:
    assert len(read_title(f"<title>{'x' * 9000}</title>")) == TITLE_CHARS
