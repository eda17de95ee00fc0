"""The model as a whole: floors, odd pages, sameness, the weights file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from corpusmill.pipeline.errors import AssetError
from corpusmill.stages.extract import extract
from corpusmill.stages.extract.blocks import model
from corpusmill.stages.extract.blocks.columns import NAMES
from corpusmill.stages.extract.blocks.passes import analyse, tree_markup
from corpusmill.stages.extract.blocks.train import PAGE_TYPES, examples, measure_pages, summary

DATA = Path(__file__).parents[3] / "data" / "html"
ROWS = [json.loads(x) for x in (DATA / "gold_pages.jsonl").read_text("utf-8").splitlines()]

ARTICLE = (
    "<title>The lamp | Cape News</title><nav><a href=/>Home</a> <a href=/n>News</a></nav>"
    "<div class=breadcrumb><a href=/>Home</a> &gt; <a href=/n>News</a></div>"
    "<article><h1>The lamp</h1>"
    + "".join(
        f"<p>The keeper of the lamp wrote in his book on day {i} that the wind had turned, that "
        "two ships had passed, and that he had cleaned the glass once more.</p>"
        for i in range(8)
    )
    + "</article><div class='related-posts'><h3>Related stories</h3><ul>"
    "<li><a href=/a>Ten boats to see</a><li><a href=/b>Rope for beginners</a></ul></div>"
    "<footer>Copyright Cape News</footer>"
)


def test_article_without_what_stands_around_it() -> None:
    found = model.main_content(ARTICLE)
    assert found.text.count("The keeper of the lamp wrote") == 8
    for other in ("Home", "Ten boats", "Related", "Copyright"):
        assert other not in found.text
    assert found.page_type == "article"
    assert 0.9 < found.confidence <= 1.0
    assert found.all_words > 200


def test_floor_on_the_committed_pages() -> None:
    rows = [{"id": "", "url": "x", "html": r["html"], "gold_text": r["text"]} for r in ROWS]
    got = summary(measure_pages(examples(rows), model.weights()))
    assert got["pages"] == 24
    assert got["f1"] >= 0.96
    assert got["shingle_f1"] >= 0.953


def test_the_same_page_gives_the_same_in_any_order_and_process() -> None:
    pages = [ARTICLE, *(r["html"] for r in ROWS[:6])]
    first = [model.main_content(p) for p in pages]
    again = [model.main_content(p) for p in reversed(pages)][::-1]
    assert first == again
    code = (
        "import json, sys; from corpusmill.stages.extract.blocks.model import main_content; "
        "print(json.dumps([main_content(p).text for p in json.load(sys.stdin)]))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(pages),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "5", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert json.loads(other.stdout) == [f.text for f in first]


@pytest.mark.parametrize(
    "html",
    ["", " ", "<", "<html>", "<body></body>", "<p>&nbsp;</p>", "<script>x</script>", "<!-- x"],
)
def test_pages_without_text(html: str) -> None:
    found = model.main_content(html)
    assert (found.text, found.confidence, found.page_type) == ("", 0.0, "")


@pytest.mark.parametrize(
    "html",
    [
        "plain words without any markup, enough of them to look like a sentence",
        "<p>" + "word " * 200_000,
        "<div>" * 1_900 + "<p>deep words stand here</p>",
        "<table>" + "<tr><td>1<td>2" * 5_000 + "</table>",
        "<frameset><frame src=x></frameset>",
        "<p>" * 30_000,
        "\ufffd\u202e<p>\x07 a \U0010ffff</p>",
    ],
)
def test_odd_pages_do_not_fail(html: str) -> None:
    found = extract(html, tier="own")
    assert found.path == "own"
    assert found.confidence is not None
    assert extract(html, tier="own") == found


def test_a_page_that_is_all_navigation_is_read_whole() -> None:
    inner = ARTICLE[ARTICLE.index("<h1>") : ARTICLE.index("</article>")]
    found = model.main_content(f"<title>The lamp</title><nav>{inner}</nav><p>Imprint</p>")
    assert found.text.count("The keeper of the lamp wrote") == 8


def test_tables_and_code_are_kept_whole() -> None:
    page = analyse(
        tree_markup(
            "<p>a b</p><pre>x</pre><pre>y</pre><p>c</p><pre>z</pre>"
            "<table><tr><td>1 2 3<td>4<tr><td>5<td>6</table>"
        )
    )
    scores = [500, 100, 600, 700, 10, 900, 300, 300, 300]
    mean = (3 * 900 + 3 * 300) // 6
    assert model.pool(page, scores) == [500, 700, 700, 700, 700, mean, mean, mean, mean]


def test_markdown_is_of_the_same_blocks() -> None:
    found = extract(ARTICLE, tier="own", format="markdown")
    plain = extract(ARTICLE, tier="own")
    assert found.text.replace("# ", "") == plain.text
    assert (found.words, found.confidence) == (plain.words, plain.confidence)


def test_weights_are_what_the_code_was_made_for() -> None:
    header = model.weights().header
    assert header["features"] == list(NAMES)
    assert header["page_types"] == list(PAGE_TYPES)
    assert model.WEIGHTS.stat().st_size < 1_500_000


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model.weights.cache_clear()
    monkeypatch.setattr(model, "WEIGHTS", tmp_path / "w.bin")
    with pytest.raises(AssetError, match=r"w\.bin: No such file"):
        model.weights()
    (tmp_path / "w.bin").write_bytes(b"x")
    with pytest.raises(AssetError, match="want"):
        model.weights()
    monkeypatch.undo()
    model.weights.cache_clear()
    assert model.weights().forests


@pytest.mark.slow
@pytest.mark.fulldata
def test_floor_on_news_pages() -> None:
    """Pages of which none was used in training: the article-extraction-benchmark's half."""
    from corpusmill.stages.extract.blocks.train import read_rows

    if "CORPUSMILL_DATA" not in os.environ:
        pytest.skip("CORPUSMILL_DATA is not set")
    path = Path(os.environ["CORPUSMILL_DATA"]) / "aeb_half" / "pages.jsonl.xz"
    got = summary(measure_pages(examples(read_rows(path)), model.weights()))
    assert got["pages"] == 102
    assert got["f1"] >= 0.957
    assert got["shingle_f1"] >= 0.954
