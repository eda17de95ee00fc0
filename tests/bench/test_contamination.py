"""What the measurement of contamination plants and how it sums up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from bench import contamination as bench
from bench.contamination_items import HALF_INSIDE, HALF_QUESTION, SHORT, Gpt3
from corpusmill.stages.decontaminate.benchmarks import Benchmark, Item
from corpusmill.stages.decontaminate.certificate import measurement
from corpusmill.stages.decontaminate.index import ContaminationIndex
from corpusmill.stages.decontaminate.rules import HALF_ANYWHERE, Rules

TEXT = 'Tom has 3 red, 12 blue pens. "How many" are there (in all)? Zoe knows 1234567.'


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("as it is", TEXT),
        ("numbers changed", TEXT.replace("3 red, 12", "10 red, 19").replace("1234567", "5")),
        ("upper case", TEXT.upper()),
        ("HTML", "<p><b>Tom</b> has 3 red, 12 blue pens.</p>\n<p>&quot;How many&quot; <b>are</b> there"
                 " (in all)? Zoe knows 1234567.</p>"),
        ("8 words a line",
         'Tom has 3 red, 12 blue pens. "How\nmany" are there (in all)? Zoe knows 1234567.'),
        ("markup", '* Tom has $3$ **red,** $12$ blue pens.\n* "How many" are **there** (in all)? Zoe'
                   " knows $1234567$."),
        ("JSON", r'{"prompt": "Tom has 3 red, 12 blue pens. \"How many\" are\nthere (in all)? Zoe'
                 ' knows 1234567."}'),
        ("links", '[quote=Ann]Tom has [3](https://example.org/0/a) red, 12 blue [b]pens.[/b] "How many"'
                  " are [there](https://example.org/1/a) (in all)? Zoe [b]knows[/b] 1234567.[/quote]"),
        ("first half", 'Tom has 3 red, 12 blue pens. "How'),
        ("sentences reordered",
         '"How many" are there (in all)? Tom has 3 red, 12 blue pens. Zoe knows 1234567.'),
    ],
)  # fmt: skip
def test_changes(change: str, expected: str) -> None:
    assert bench.CHANGES[change](TEXT) == expected


def test_long_words_are_broken_at_the_ends_of_lines() -> None:
    text = "Under the old lighthouse a keeper keeps splendidly wonderful provisions."
    assert bench.CHANGES["hyphens"](text) == (
        "Under the old lighthouse a\nkeeper keeps splendidly wond-\nerful provisions."
    )


def test_source_that_is_shown() -> None:
    shown = bench.CHANGES["HTML shown"]("Tom & Zoe")
    assert shown == "&lt;p&gt;&lt;b&gt;Tom&lt;/b&gt; &amp;amp; Zoe&lt;/p&gt;"


def test_planted_rows() -> None:
    items = tuple(
        Item(str(n), f"What has the keeper of lighthouse {n} in store?", f"oil for {n} nights")
        for n in range(10)
    )
    unseen = Item("x", "Who?", "he")
    benchmark = Benchmark("b", "1", "", "0", (*items, unseen))
    rows = bench.planted_rows([benchmark], 5, None, ["one", "two"])
    assert len(rows) == 5 * (len(bench.CHANGES) + 3)
    assert {row["item"] for row in rows} == {"0", "2", "4", "6", "8"}
    assert rows[0]["text"] == f"one\n\n{items[0].question}\n{items[0].answer}\n\ntwo"
    halves = [row for row in rows if row["by_half"]]
    assert {row["change"] for row in halves} == {*bench.CHANGES, HALF_INSIDE, HALF_QUESTION, SHORT}
    inside = next(row for row in halves if row["change"] == HALF_INSIDE)
    assert inside["text"].split(" What")[0] in ("one", "two")
    (half,) = {row["text"] for row in rows if row["change"] == "first half" and row["item"] == "0"}
    assert half.split("\n\n")[1] == "What has the keeper of lighthouse 0"
    (half,) = {r["text"] for r in rows if r["change"].endswith("question") and r["item"] == "0"}
    assert half.split("\n\n")[1] == "What has the keeper of"


class _Peer:
    """Takes every text that it gets for one of `b`'s."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def found(self, rows: Sequence[Mapping[str, str]]) -> list[str | None]:
        self.asked = [row["id"] for row in rows]
        return ["b"] * len(rows)


def test_scores() -> None:
    """The peer judges one text in three, and its share is over those."""
    item = Item("0", "Which keeper of which lighthouse has so much oil in store for the winter?")
    benchmark = Benchmark("b", "1", "", "0", (item,))
    row = {"set": "b", "change": "as it is", "item": "0", "by_half": False}
    planted = [{**row, "id": str(n), "text": item.question} for n in range(5)]
    planted[1]["text"] = "nothing of the kind"
    planted[3] |= {"set": "c", "item": "1"}
    peer = _Peer()
    index = ContaminationIndex.build([benchmark])
    rows = bench.score(planted, index, Gpt3([benchmark]), peer)  # type: ignore[arg-type]
    assert peer.asked == ["0", "3"]
    assert [(r["row"], r["n"], r["found"], r["other"]) for r in rows] == [
        ("b", 4, 0.75, 0), ("c", 1, 0.0, 1),
    ]  # fmt: skip
    assert [r["datatrove"] for r in rows] == [1.0, 0.0]
    assert bench.score(planted[1:2], index, Gpt3([benchmark]), peer)[0]["gpt3"] == 0.0  # type: ignore[arg-type]


def test_halves_in_a_line_that_goes_on_and_their_own_false_alarms() -> None:
    item = Item("0", "Which keeper of which lighthouse has so much oil?", "the old one")
    other = Item("1", "What has the smith of the village in his shop?", "many old nails")
    benchmark = Benchmark("b", "1", "", "0", (item, other))
    row = {"set": "b", "change": HALF_INSIDE, "item": "0"}
    half = "which keeper of which lighthouse has so"
    planted = [{**row, "text": f"we ask {half} few friends"}, {**row, "text": "no friends"}]
    planted += [{**row, "change": "HTML", "text": "other"}]
    clean = {"a": {"0": f"tell me {half} much", "1": f"{item.question} {item.answer}"},
             "c": {"0": "nothing of the kind"}}  # fmt: skip
    index = ContaminationIndex.build([benchmark], Rules(**HALF_ANYWHERE))
    assert bench.halves_anywhere(planted, clean, index) == [
        {"row": "b", "what": bench.ANYWHERE, "n": 2, "found": 0.5},
        {"row": "clean", "what": "documents flagged: half_anywhere", "n": 3, "found": 1},
    ]


def test_the_rule_of_gpt3() -> None:
    words = [f"w{n}" for n in range(20)]
    rule = Gpt3([Benchmark("b", "1", "", "0", (Item("0", " ".join(words)),))])
    texts = [
        " ".join(words[3:16]), " ".join(words[3:15]), " ".join(words[3:15]) + " w99", "",
        " ".join(words).upper().replace(" ", ", "), " ".join(words[:12]), " ".join(words[12:]),
    ]  # fmt: skip
    assert [bool(names) for names in rule.find(texts)] == [
        True, False, False, False, True, False, False,
    ]  # fmt: skip


def test_bars() -> None:
    rows = [
        {"row": "gsm8k", "what": "numbers changed", "n": 10, "found": 0.9, "part": 1.0},
        {"row": "gsm8k", "what": "HTML", "n": 10, "found": 0.8, "part": 1.0},
        {"row": "mmlu", "what": "words dropped", "n": 30, "found": 0.5, "part": 0.5},
        {"row": "gsm8k", "what": "words dropped", "n": 10, "found": 0.9, "part": 0.9},
        {"row": "gsm8k", "what": bench.ANYWHERE, "n": 10, "found": 0.9},
        {"row": "mmlu", "what": bench.ANYWHERE, "n": 10, "found": 0.8},
        {"row": "clean", "what": "documents flagged: half_anywhere", "n": 3000, "found": 55},
    ]
    speed = [{"mb_per_cpu_second": 6.0}, {"mb_per_cpu_second": 2.0}]
    search = [{"mb_per_cpu_second": n} for n in (200.0, 99.0, 41.0)]
    bars = bench.bars_of(rows, {"paraphrase": 0}, 3000, speed, search, False)
    assert bars["least_of_format_edits"].value == 0.8
    assert bars["numbers_changed"].value == 0.9
    assert bars["gsm8k_numbers_changed"].plain()["holds"] is False
    assert bars["gsm8k_words_dropped"].value == 0.9
    assert bars["speed_over_datatrove"].value == 3.0
    assert bars["documents_free_of_paraphrase_alarms"].value == pytest.approx(0.999, abs=1e-4)
    assert "megabytes_a_cpu_second_alone" not in bars
    bars = bench.bars_of(rows, measurement()["false_alarms"], 3000, speed, search, True)
    assert bars["megabytes_a_cpu_second_words_known"].plain()["holds"] is False
    assert bars["megabytes_a_cpu_second_alone"].value == 41.0
    assert bars["least_first_half_anywhere"].value == 0.8
    assert bars["false_alarms_as_committed"].value == 1.0
    rows[-1]["found"] = 54
    bars = bench.bars_of(rows, measurement()["false_alarms"], 3000, speed, search, True)
    assert bars["false_alarms_as_committed"].value == 0.0


def test_the_search_is_timed_on_documents_that_propose_nothing() -> None:
    question = "Which keeper of which lighthouse has so much oil in store for the winter?"
    index = ContaminationIndex.build([Benchmark("b", "1", "", "0", (Item("0", question),))])
    clean = {"a": {"0": question, "1": "nothing of the kind " * 50}, "b": {"0": "of ours " * 100}}
    rows = bench.search_speeds(index, clean, 2)
    assert [row["row"] for row in rows] == ["words", "search, words known", "search"]
    assert {row["n"] for row in rows} == {2}
    assert {row["megabytes"] for row in rows} == {round(1800 / 1e6, 1)}
    assert all(row["mb_per_cpu_second"] > 0 for row in rows)
