"""How the measurement of languages sums up."""

from __future__ import annotations

import pytest

from bench import language as bench
from corpusmill.stages.measure.language_sets import Labelled


def test_interval() -> None:
    # Wilson's interval for 8 of 10, worked out by hand.
    assert bench.interval(8, 10) == (0.4902, 0.9433)
    assert bench.interval(0, 0) == (0.0, 1.0)
    assert bench.interval(50, 50)[1] == 1.0


def test_row() -> None:
    found = [Labelled(code, "", "final", "") for code in ("en", "fr", "de", "de")]
    row = bench.row_of("tldr", "cld2", found, ["en", "en", "de", "und"])
    assert (row["n"], row["accuracy"], row["undetermined"]) == (4, 0.5, 0.25)
    assert row["foreign_called_english"] == pytest.approx(1 / 3, abs=1e-4)
    english = bench.row_of("tldr", "cld2", found[:1], ["en"])
    assert english["foreign_called_english"] is None


def test_bars_are_of_our_side_only() -> None:
    rows = [
        {"set": "tldr", "side": "corpusmill", "accuracy": 0.96, "foreign_called_english": 0.004},
        {"set": "xquad", "side": "corpusmill", "accuracy": 0.97, "foreign_called_english": 0.002},
        {"set": "xquad", "side": "cld2", "accuracy": 0.99, "foreign_called_english": 0.9},
        {"set": "manuals", "side": "corpusmill", "accuracy": 0.5, "foreign_called_english": 0.9},
    ]
    bars = bench.bars_of(rows, {"corpusmill": 9000.0, "cld2": 1.0})
    assert {name: bar.plain()["holds"] for name, bar in bars.items()} == {
        "accuracy on documents (xquad)": False,
        "accuracy on sentences (tldr)": True,
        "foreign text not called English, worst set": True,
        "documents per CPU second": True,
    }


def test_quick_sets_are_the_committed_ones() -> None:
    found = bench.labelled(None)
    assert {name: len(rows) for name, rows in found.items()} == {
        "declaration": 200,
        "declaration, joined": 50,
    }
    assert len({row.code for row in found["declaration, joined"]}) == 50


def test_share_of_lines_in_english() -> None:
    english = "The address of the server is read from the file that is named here."
    french = "Le nom de la machine est lu dans le fichier que le serveur indique."
    text = f"{english}\n{french}\nshort line\n1234 5678 9012 3456 7890 1234"
    assert bench.english_lines(text) == len(english) / (len(english) + len(french))
    assert bench.english_lines("") == 0


def test_pages_need_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--quick", "--pages"]) == 2
    assert "--pages needs CORPUSMILL_DATA" in capsys.readouterr().err
