"""`bench.extract`: its processes, and how the figures are put together."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import extract
from bench.extract_ours import UNSEEN
from bench.extract_pages import Page
from bench.extract_sides import SCRIPT, Answer, Contestant, ask_all
from bench.harness import BenchError

WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
from serving import serve

def text(html, url):
    if html == "spin":
        while True:
            pass
    if html == "raise":
        raise ValueError("no")
    if html == "end":
        sys.exit(3)
    print("noise")
    return html if "<" not in html else "mules stove"

sys.exit(serve("x", text, 0.2))
"""


def page(
    name: str, html: str = "", *, group: str = "wcxb", site: str = "a", kind: str = ""
) -> Page:
    return Page(name, group, kind, site, f"https://{site}.example/", html or name, "gold")


def worker(**changes: Any) -> Contestant:
    command = [sys.executable, "-c", WORKER, str(SCRIPT.parent)]
    return Contestant("x", command, "1", **changes)


def test_a_page_that_ends_the_process_costs_itself_alone() -> None:
    side = worker()
    given = [page(name) for name in ("one", "spin", "raise", "end", "two")]
    assert ask_all([side], given, None) == 5
    assert {name: (a.text, a.error) for name, a in side.answers.items()} == {
        "one": ("one", ""),
        "spin": ("", "over the limit of time"),
        "raise": ("", "ValueError: no"),
        "end": ("", "ended with exit code 3"),
        "two": ("two", ""),
    }
    assert side.answers["one"].cpu < 0.1
    assert 5 < side.answers["two"].peak_mib < 60


def test_a_side_that_does_not_know_the_page_does_not_begin() -> None:
    side = Contestant("y", [sys.executable, "-c", "raise SystemExit('no such library')"], "1")
    with pytest.raises(BenchError, match="y does not begin: no such library"):
        ask_all([side], [page("one")], None)


def test_what_is_kept_is_not_asked_again(tmp_path: Path) -> None:
    side = worker(every=2)
    side.recall(tmp_path)
    given = [page(str(n)) for n in range(3)] + [page("p", group="probe")]
    ask_all([side], given, None)
    assert list(side.answers) == ["0", "2", "p"]
    again = Contestant("x", ["/nowhere"], "1", every=2)
    again.recall(tmp_path)
    assert ask_all([again], given, None) == 4
    assert again.answers == side.answers
    assert ask_all([again], given, -1.0) == 0
    with pytest.raises(BenchError, match="of version 1, not 2"):
        Contestant("x", [], "2").recall(tmp_path)


def test_intervals_are_of_sites() -> None:
    site = {str(n): "ab"[n // 5] for n in range(10)}
    same = {key: 0.5 for key in site}
    assert extract.interval(same, site) == (0.5, 0.5)
    by_site = {key: float(site[key] == "a") for key in site}
    assert extract.interval(by_site, site) == (0.0, 1.0)  # both drawn are one site: a quarter each
    many = {str(n): float(n % 2) for n in range(400)}
    low, high = extract.interval(many, {key: key for key in many}) or (0, 0)
    assert 0.44 < low < 0.46  # .5 - 1.96 * sqrt(.25 / 400)
    assert 0.54 < high < 0.56
    assert extract.interval({}, site) is None


def values(bag: dict[str, float], cpu: float = 1.0) -> extract.Values:
    names = ("shingles", "short", "failed", *extract.LAYOUT, "formulas")
    made: extract.Values = {name: {} for name in names}
    return {**made, "bag": bag, "cpu": dict.fromkeys(bag, cpu) or {"w": cpu}, "mib": {"": 1.0}}


def test_own_has_what_it_did_not_learn_from() -> None:
    found = {
        "own": values({"n": 0.9}, cpu=0.5) | {"cpu": {"n": 0.5, "w": 0.5}},
        UNSEEN: values({"w": 0.7}, cpu=9.0),
        "trafilatura": values({"n": 0.8, "w": 0.6}, cpu=2.0),
    }
    pages = [page("n", group="news", site="b"), page("w", kind="forum")]
    rows = {row["row"]: row for row in extract.table(found, pages)}
    assert set(rows) == {"own", "trafilatura"}
    assert (rows["own"]["F1"], rows["own"]["forum"], rows["own"]["news F1"]) == (0.7, 0.7, 0.9)
    assert (rows["own"]["pages/s"], rows["own"]["x trafilatura"]) == (2.0, 4.0)
    assert rows["trafilatura"]["own less it"] == "0.1 (0.100 to 0.100)"
    assert extract.table({"own": found["own"]}, pages)[0]["F1"] is None


def test_page_types_are_compared_with_the_best_library() -> None:
    kinds = dict(zip("abcdefg", extract.TYPES, strict=True))
    pages = [page(key, kind=kind, site=key) for key, kind in kinds.items()]
    library = values(dict.fromkeys(kinds, 0.6))
    found = {
        "own": values(dict.fromkeys(kinds, 0.6) | {"c": 0.59}),
        "default": values(dict.fromkeys(kinds, 0.9)),  # ours: sets no bar
        "selectolax": values(dict.fromkeys(kinds, 0.9)),  # chooses nothing
        "goose3": values({"a": 0.9}),  # has read other pages
        "trafilatura": library,
    }
    rows = extract.table(found, pages)
    assert extract.types_level(found, rows, pages) == 6
    assert extract.types_level({"own": library}, rows[:1], pages) is None


def test_the_bar_of_speed_is_also_told_in_resiliparses_speed() -> None:
    own = {"row": "own", "pages": 2, "pages/s": 90.0, "mean_html_bytes": 220_000, "worst s": 0.25}
    rows = [own | {"short": None}, {"row": "resiliparse", "pages": 1, "pages/s": 200.0}]
    made = extract.bars({"own": values({})}, rows, [])
    assert (made["pages of 110 kB a second"].value, made["speed, of resiliparse's"].value) == (
        180.0, 0.45,
    )  # fmt: skip
    assert made["speed, of resiliparse's"].bar == pytest.approx(0.438, abs=0.001)
    assert "speed, of resiliparse's" not in extract.bars({"own": values({})}, rows[:1], [])


def test_figures_of_a_side() -> None:
    side = Contestant("x", [], "1")
    given = [
        Page("w", "wcxb", "forum", "a", "", "<p>", "one two " * 30, "# Top\n\n- one two"),
        Page("f", "probe", "", "", "", "", "$x$"),
    ]
    side.answers = {"w": Answer("one two\n\nTop", 0.25, "", 9), "f": Answer("a $x$ b x", 1, "", 9)}
    found = extract.figures(side, given)
    assert found["bag"]["w"] == pytest.approx(2 * 2 / 63)
    assert (found["short"], found["cpu"], found["failed"]) == ({"w": 1.0}, {"w": 0.25}, {"w": 0.0})
    assert (found["headings"], found["items"]) == ({"w": 1.0}, {"w": 1.0})
    assert found["formulas"] == {"f": 0.0}  # x stands there twice
    assert extract.figures(Contestant("own", [], "1", answers=side.answers), given)["bag"] == {}


def test_three_pages_by_one_tier(capsys: pytest.CaptureFixture[str]) -> None:
    assert extract.main(["--quick", "--pages", "3", "--only", "fast", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (row,) = report["rows"]
    assert (row["row"], row["pages"], row["failed"], row["formulas"]) == ("fast", 3, 0, 8)
    assert 0.9 < row["F1"] <= 1
    assert row["pages/s"] > 1
    assert report["versions"]["fast"].startswith("extract.tiers ")


def test_a_row_that_does_not_exist() -> None:
    assert extract.main(["--quick", "--only", "slow"]) == 1
