"""The page about a run: true, whole in itself, and harmless whatever the crawl holds."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.ledger import build_ledger
from corpusmill.pipeline.planning import Plan, make_plan
from corpusmill.pipeline.plots import Series, bars, curve, histogram
from corpusmill.pipeline.report_html import html_report, thresholds_of

from .conftest import run_here

EVIL = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</pre><svg onload=alert(1)>",
    "javascript:alert(1)", "\"><a href='http://evil.example'>x</a>", "<!--", "]]>", "\x00\x1b[31m",
)  # fmt: skip

RECIPE = """
schema: corpusmill/recipe/1
name: page
version: "1 & 2"
sources:
  - {name: rows, stage: sources.jsonl, root: in, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - measure.fineweb
  - filters.threshold: {signal: fineweb_line_punct, min: 0.5, as: ends}
  - dedup.exact
  - filters.threshold: {signal: exact_copies, max: 2, as: copies}
execution: {partitions: 2}
"""


class Reader(HTMLParser):
    """Tags with their attributes, and the text of elements."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("page")
    (base / "in").mkdir()
    rows = [
        {
            "text": f"Line {n} ends well.\nThe word {evil} stands here.",
            "url": f"http://a.test/{evil}",
        }
        for n, evil in enumerate(EVIL)
    ]
    rows += [
        {"text": f"no end {evil}\nno {n}", "url": f"http://{evil}/"} for n, evil in enumerate(EVIL)
    ]
    rows += [{"text": "Thrice the same.", "url": f"http://b.test/{n}"} for n in range(3)]
    (base / "in" / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    run_here(Recipe.parse(RECIPE, base), base / "run")
    return base / "run"


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return html_report(root)


def test_the_page_is_well_formed_and_loads_nothing(page: str) -> None:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    for tag, attributes in reader.tags:
        assert tag not in ("script", "img", "iframe", "link", "object", "form", "base", "input")
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name == "href":
                assert (value or "").startswith("#")
            assert name not in ("src", "srcset", "style", "action")
    (policy,) = (a["content"] for t, a in reader.tags if "http-equiv" in a)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    assert len(page) < 5_000_000


def test_what_it_says_is_the_account(page: str, root: Path) -> None:
    reader = Reader()
    reader.feed(page)
    assert "19 records read = 8 kept + 11 dropped + 0 errors" in reader.text
    assert "page 1 & 2" in reader.text
    assert not re.search(r"[\x00-\x08\x0e-\x1f]", page)
    for evil in EVIL[:7]:
        assert f"The word {evil} stands here." in reader.text  # kept, as it was
    again = sum(f"no end {evil}" in reader.text for evil in EVIL)
    assert again == 7  # dropped in the first phase, so made again; up to ten of a reason are shown
    assert "Thrice the same." in reader.text  # dropped in a later phase: as it was written
    assert re.search(r"ends:fineweb_line_punct_below at 0\.5", reader.text)
    assert "copies: exact_copies_above" in reader.text
    assert "ends:fineweb_line_punct_below dropped 8 records, 42% of all that came." in reader.text
    near = reader.text.partition("Near misses")[2].rpartition("What the kept set is made of")[0]
    assert near.count("dropped0http://") == 3
    assert near.count("kept1http://") == 6  # of two bounds


def test_steps_are_those_of_the_ledger_in_documents_and_bytes(page: str, root: Path) -> None:
    run = RunFolder(root, Plan.load(root / "plan.json"))
    (source,) = build_ledger(run)["sources"].values()
    table = page.partition("<h3>Source rows</h3>")[2].partition("</table>")[0]
    shown = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in table.split("<tr>")[2:]]
    lost = {
        "ends": "fineweb_line_punct_below 8", "exact": "duplicate_content 2",
        "copies": "exact_copies_above 1",
    }  # fmt: skip
    assert shown == [
        [s["stage"], *(str(s[k]) for k in ("in", "out", "bytes_in", "bytes_out")),
         lost.get(s["stage"], "")]
        for s in source["stages"]
    ]  # fmt: skip
    lines = (root.parent / "in/a.jsonl").read_text("utf-8").splitlines()
    texts = (json.loads(line)["text"] for line in lines)
    assert shown[0][3] == str(sum(len(text) for text in texts))


def test_bounds_are_those_of_the_steps(root: Path) -> None:
    plan = make_plan(Recipe.parse(RECIPE, root.parent))
    assert [(t.step, t.reason, t.bound) for t in thresholds_of(plan)] == [
        ("ends", "fineweb_line_punct_below", 0.5), ("copies", "exact_copies_above", 2.0),
    ]  # fmt: skip


def test_the_verb_and_inputs_that_are_gone(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "some.html"
    (root.parent / "in").rename(root.parent / "elsewhere")
    try:
        assert main(["report", str(root), "--html", str(target)]) == 0
    finally:
        (root.parent / "elsewhere").rename(root.parent / "in")
    assert capsys.readouterr().out == f"{target}\n"
    assert "its input is no longer there" in target.read_text("utf-8")
    assert main(["report", str(root), "--html"]) == 0
    assert (root / "report.html").exists()
    (root / "report.html").unlink()
    assert main(["report", str(tmp_path), "--html"]) != 0


def test_plots() -> None:
    drawn = bars([("a<b", 10, "ten"), ("c", 5, "five"), ("d", 0, "none")], "t")
    assert "a&lt;b" in drawn
    widths = [float(w) for w in re.findall(r'class="bar"[^>]* width="([0-9.]+)"', drawn)]
    assert widths[0] == 2 * widths[1]
    assert widths[2] == 0
    assert bars([], "t") == histogram([Series("k", [])], "t") == ""
    (points,) = re.findall(r'points="([^"]*)"', histogram([Series("k", [1, 1, 1, 2])], "t", bins=2))
    heights = [130 - float(p.partition(",")[2]) for p in points.split()]
    assert heights == [0, 110, 110, pytest.approx(110 / 3, abs=0.1), heights[3], 0]
    one = histogram([Series("k", [1.0, 1.0])], "t", [3.0])
    assert 'class="bound"' in one
    spread = [n / 10 for n in range(11)]
    drawn = histogram([Series("k", spread)], "t", [2.9, -40.0, 1000.0])
    assert drawn.count('class="bound"') == 1
    assert all(f">{said}<" in drawn for said in ("2.9", "← -40", "1000 →", "0"))
    assert "nan" not in histogram([Series("k", [float("nan"), 1.0, float("inf")])], "t")


def test_the_curve_is_the_share_that_passes() -> None:
    drawn = curve([0.0, 1.0, 2.0, 3.0], 1.0, "t", low=True, points=3)
    assert ">1: 75.0% kept<" in drawn
    (points,) = re.findall(r'polyline class="curve" points="([^"]*)"', drawn)
    assert [100 - float(p.partition(",")[2]) for p in points.split()] == [80, 60, 40, 20]
    assert ">1: 50.0% kept<" in curve([0.0, 1.0, 2.0, 3.0], 1.0, "t", low=False)
    assert curve([float("nan")], 1.0, "t", low=True) == ""


def test_nothing_of_the_crawl_steers_a_terminal(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last of the texts holds an escape sequence and a zero byte."""
    (url,) = (f"http://a.test/{evil}" for evil in EVIL if "\x1b" in evil)
    assert main(["why", url, "--run", str(root)]) == 0
    shown = capsys.readouterr().out
    assert "\ufffd\ufffd[31m stands here." in shown
    assert not set(shown) & {"\x00", "\x1b"}
    assert main(["try", url, "--run", str(root), "--text"]) == 0
    shown = capsys.readouterr().out
    assert "\ufffd\ufffd[31m stands here." in shown
    assert not set(shown) & {"\x00", "\x1b"}
