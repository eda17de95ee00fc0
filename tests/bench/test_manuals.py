"""`bench.manuals`: what counts as wrong with a page."""

from __future__ import annotations

from bench.extract_pages import Page
from bench.manuals import Read, differences, row
from corpusmill.stages.extract.scoring import shingles, word_bag

GOLD = (
    "The ferry\nIt left at six | with herring.\nThe mate saw smoke.\nThe captain turned the wheel."
)


def read(text: str, url: str = "https://a.example/1") -> Read:
    page = Page(url, "manuals", "en", url.split("/")[2], url, "", GOLD)
    return Read(page, text, word_bag(text, GOLD), shingles(text, GOLD))


def test_marks_and_white_space_are_no_difference() -> None:
    same = read(
        "The ferry\n\n1. It left at  six with herring.\n- The mate saw smoke.\n\n" + GOLD[-29:]
    )
    assert (same.begins_wrong, same.ends_wrong, same.lost, differences(same)) == (
        False, False, False, [],
    )  # fmt: skip


def test_lines_before_and_after_and_what_is_lost() -> None:
    more = read(f"Home\n\n{GOLD}\n\nNext: The forge")
    assert differences(more) == ["https://a.example/1 0.895", "  + Home", "  + Next: The forge"]
    less = read(GOLD.rpartition("\n")[0], "https://b.example/2")
    assert differences(less)[1:] == ["  - The captain turned the wheel."]
    figures = row("en", [more, less, read("")])
    assert {name: figures[name] for name in ("pages", "hosts", "begins", "ends", "lost")} == {
        "pages": 3, "hosts": 2, "begins": 1, "ends": 1, "lost": 2,
    }  # fmt: skip
