"""What is found in texts, and what is not, by the committed items and by items made for it."""

from __future__ import annotations

import gzip
import html
import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.stages.decontaminate.benchmarks import Benchmark, Item, load
from corpusmill.stages.decontaminate.index import (
    ContaminationIndex,
    Coverage,
    Hit,
    coverage_report,
)
from corpusmill.stages.decontaminate.rules import Rules

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "configs" / "sample"
GOLD = ROOT / "tests" / "data" / "crawl_gold"

FILLER = (
    "The harbour office opens at nine and closes when the last ferry is in. Whoever wants to take "
    "a bicycle on board pays at the counter, since the machine on the quay takes no coins. In "
    "winter the upper deck is shut; the crew hands out tea on the lower one. "
)

QUESTION = (
    "Nora picks 18 plums from each of her seven trees and gives a third of them to the school "
    "kitchen. She boils the rest to jam, which takes nine plums a jar. How many jars does Nora "
    "fill if two of them break on the way to the cellar?"
)


def benchmark(*items: Item, name: str = "set") -> Benchmark:
    return Benchmark(name, "1", "CC0-1.0", "0" * 64, items)


@cache
def sample() -> tuple[list[Benchmark], ContaminationIndex]:
    benchmarks = load(SAMPLE / "benchmarks")
    return benchmarks, ContaminationIndex.build(benchmarks)


def planted(text: str) -> str:
    return f"{FILLER}\n\n{text}\n\n{FILLER}"


def dropped(text: str) -> str:
    rng = random.Random(len(text))
    return " ".join(word for word in text.split(" ") if rng.random() > 0.1)


def half(text: str) -> str:
    words = text.split(" ")
    return " ".join(words[: (len(words) + 1) // 2])


def numbers(text: str) -> str:
    return re.sub(r"\d+", lambda m: str(int(m.group()) + 7) if len(m.group()) < 6 else "5", text)


CHANGES: dict[str, tuple[Callable[[str], str], tuple[int, int, int, int]]] = {
    # change: (function, least number found of 54 gsm8k, 54 humaneval, 40 mbpp, 54 mmlu items)
    "none": (str, (54, 54, 40, 54)),
    "upper case, spaced punctuation": (
        lambda t: re.sub(r"([.,?!()])", r" \1 ", t.upper()).replace('"', "“"),
        (54, 54, 40, 54),
    ),
    "rewrapped": (lambda t: re.sub(r"\s+", "\n", t), (54, 54, 40, 54)),
    "escapes left in": (html.escape, (54, 52, 40, 54)),
    "numbers changed": (numbers, (53, 50, 40, 53)),
    "sentences in another order": (
        lambda t: " ".join(sorted(re.split(r"(?<=[.?!]) ", t))),
        (54, 54, 40, 54),
    ),
    "words dropped": (dropped, (54, 54, 28, 48)),
    "first half": (half, (54, 54, 24, 54)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_planted_items(change: str) -> None:
    """The figures are what was measured when written. Items of mbpp and mmlu are short (mbpp: 14
    words at the median), and half of their question is less than half of them with their answer."""
    function, floors = CHANGES[change]
    benchmarks, index = sample()
    for b, floor in zip(benchmarks, floors, strict=True):
        found = index.find([planted(function(item.question)) for item in b.items])
        names = [[hit.name for hit in hits] for hits in found]
        right = sum(
            f"{b.name}/{item.id}" in hits for item, hits in zip(b.items, names, strict=True)
        )
        assert right >= floor, (b.name, right, len(b.items))


def test_hits_show_what_matched() -> None:
    index = ContaminationIndex.build([benchmark(Item("q1", QUESTION, "12"))])
    text = "é 漢字 " + planted(QUESTION)
    (hit,) = index.find([text])[0]
    assert hit == Hit("set", "q1", "ngram", 1.0, hit.start, hit.end)
    assert text[hit.start : hit.end] == QUESTION.removesuffix("?")


def test_methods() -> None:
    index = ContaminationIndex.build(
        [
            benchmark(
                Item("q1", QUESTION), Item("q2", FILLER), Item("q3", "Why is it dark at night?")
            )
        ]
    )
    words = QUESTION.split(" ")
    texts = {
        "ngram": " ".join(words[: len(words) * 6 // 10]),
        "run": " ".join(words[: len(words) * 9 // 20]),
        "window": " ".join(w for i, w in enumerate(words) if i % 7),
    }
    for method, text in texts.items():
        (hit,) = index.find([text])[0]
        assert (hit.item, hit.method) == ("q1", method)
    assert index.find([" ".join(words[:12])]) == [[]]
    (hit,) = index.find([" ".join(w for i, w in enumerate(words) if i % 4)])[0]
    assert (hit.item, hit.method) == ("q1", "paraphrase")
    assert index.find([" ".join(w for i, w in enumerate(words) if i % 3 == 0)]) == [[]]


def test_short_items_need_their_answer_near() -> None:
    question = "Which desert is the driest?"
    options = ("the Atacama", "the Gobi", "a salt pan")
    index = ContaminationIndex.build([benchmark(Item("d", question, "the Atacama", options))])
    far = "word " * 60
    cases = {
        f"{question} A) the Gobi B) the Atacama": True,
        f"{question} A salt pan, some say.": True,
        f"A salt pan! {question.upper()}": True,
        f"{question} The Atacama.": False,  # seven words in all: eight are asked for
        f"{question} {far} A salt pan": False,
        f"{question} Nobody knows the answer to that.": False,
        "Which desert is very dry? the Gobi, the Atacama, a salt pan": False,
    }
    assert [bool(hits) for hits in index.find(list(cases))] == list(cases.values())
    assert index.find([f"{question} a salt pan"])[0][0].method == "short"


def test_a_short_question_of_eight_words_stands_alone() -> None:
    eight = "Which desert is the driest in the world?"
    index = ContaminationIndex.build([benchmark(Item("d", eight, "Atacama"))])
    texts = [planted(eight), f"{FILLER} Which desert is the driest {FILLER}"]
    assert [bool(hits) for hits in index.find(texts)] == [True, False]


def test_a_question_of_two_words_is_found_from_its_answer() -> None:
    answer = "turn the lid against the clock until it clicks"
    index = ContaminationIndex.build([benchmark(Item("d", "Open jar", answer, (answer, "pull")))])
    (hit,) = index.find([planted(f"Open jar: {answer}.")])[0]
    assert (hit.item, hit.method) == ("d", "short")
    assert index.find([planted(answer)]) == [[]]


def test_what_cannot_be_seen_is_counted() -> None:
    b = benchmark(
        Item("1", "Open jar", "pull"),
        Item("2", "漢"),
        Item("3", QUESTION),
        Item("4", "Why so dry?"),
    )
    index = ContaminationIndex.build([b])
    assert index.invisible == Counter({"set": 3})
    hits = [hit for found in index.find([QUESTION, QUESTION, FILLER]) for hit in found]
    assert coverage_report([b], hits) == [Coverage("set", "1", "CC0-1.0", 4, 1, 1, 1)]
    with pytest.raises(AssetError, match="long enough"):
        ContaminationIndex.build([benchmark(Item("1", "Open jar", "pull"))])
    with pytest.raises(ConfigError, match="other"):
        coverage_report(
            [benchmark(Item("1", QUESTION), name="other2")], [Hit("other", "1", "", 1, 0, 1)]
        )


def test_items_of_unspaced_scripts() -> None:
    question = "小明有十八个苹果，他把其中的三分之一送给了邻居，还剩下多少个苹果？"
    index = ContaminationIndex.build([benchmark(Item("zh", question, "12"))])
    (hit,) = index.find([f"今天天气很好。{question}我们去公园玩。"])[0]
    assert hit.item == "zh"


def test_nothing_depends_on_the_batch() -> None:
    _, index = sample()
    texts = [planted(item.question) for b in sample()[0] for item in b.items[:6]]
    texts[3:3] = ["", FILLER * 30, "x"]
    together = index.find(texts)
    assert together == [index.find([text])[0] for text in texts]
    assert index.find(texts[::-1]) == together[::-1]
    assert index.find([]) == []


def test_grams_do_not_cross_from_one_text_to_the_next() -> None:
    index = ContaminationIndex.build([benchmark(Item("q", QUESTION))])
    words = QUESTION.split(" ")
    pieces = [" ".join(words[i : i + 4]) for i in range(0, len(words), 4)]
    assert not any(index.find(pieces))


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.text(max_size=200), st.text(max_size=200))
def test_a_verbatim_item_is_found_in_any_surroundings(left: str, right: str) -> None:
    index = _nora()
    text = f"{left}\n{QUESTION}\n{right}"
    hits = index.find([text])[0]
    assert [h.item for h in hits] == ["q"]
    assert text[hits[0].start : hits[0].end] in text


@cache
def _nora() -> ContaminationIndex:
    return ContaminationIndex.build([benchmark(Item("q", QUESTION))])


@pytest.mark.parametrize(
    "rules",
    [
        {"candidate_percent": 0},
        {"ngram_percent": 101},
        {"long_words": 4},
        {"short_evidence": 2},
        {"near_words": -1},
    ],
)
def test_wrong_rules(rules: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="decontaminate"):
        Rules(**rules)


def pages(folder: Path) -> dict[str, str]:
    """URL → the page without its tags, of every HTML record."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response):
                body = record.reader.read().decode("utf-8", "replace")
                url = record.headers["WARC-Target-URI"]
                found[url] = html.unescape(re.sub(r"<[^>]*>", "", body[:200_000]))
    return found


def gold(path: Path) -> dict[str, tuple[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {r["url"]: (f"{r['benchmark']}/{r['item']}", r["mode"]) for r in rows if "item" in r}


def judge(index: ContaminationIndex, folder: Path, labels: Path) -> tuple[int, int, list[str]]:
    """(labelled pages, found ones, names of what was found on other pages)."""
    labelled = gold(labels)
    found, false = 0, []
    urls, texts = zip(*sorted(pages(folder).items()), strict=True)
    for url, hits in zip(urls, index.find(texts), strict=True):
        if url in labelled:
            found += labelled[url][0] in [hit.name for hit in hits]
        else:
            false += [f"{url} {hit.name}" for hit in hits]
    return sum(url in labelled for url in urls), found, false


def test_pages_of_the_sample_crawl() -> None:
    """162 pages in six modes. Two are beyond the rules: HumanEval/49 with its punctuation cut
    out, so that its words run together, and HumanEval/23, of 19 words, with four dropped."""
    labelled, found, false = judge(sample()[1], SAMPLE / "crawl", GOLD / "synthetic_gold.jsonl.gz")
    assert labelled >= 50
    assert found >= 0.98 * labelled
    assert false == []


@pytest.mark.parametrize("name", ["high", "low"])
def test_no_false_alarm_on_committed_text(name: str) -> None:
    with gzip.open(SAMPLE / "labels" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    assert len(texts) > 100
    assert [hit.name for hits in sample()[1].find(texts) for hit in hits] == []


def data_folder() -> Path:
    if "CORPUSMILL_DATA" not in os.environ:
        pytest.skip("CORPUSMILL_DATA is not set")
    return Path(os.environ["CORPUSMILL_DATA"])


@pytest.mark.fulldata
def test_all_items_against_the_whole_crawl_and_clean_text() -> None:
    """All ten sets. Measured when written: 160 of 162 pages, no false alarm on the other pages;
    11 of 3,433 textbook sections, of which 6 quote a source that the item quotes."""
    data = data_folder()
    index = ContaminationIndex.build(load(data / "benchmarks"))
    gold_file = data / "crawl" / "synthetic_gold.jsonl.gz"
    labelled, found, false = judge(index, data / "crawl", gold_file)
    assert labelled == 162
    assert found >= 158
    assert false == []
    flagged = {}
    for name in ("openstax_sections", "wikitext2_sections", "xquad_contexts"):
        with gzip.open(data / "text_high" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            texts = [json.loads(line)["text"] for line in file]
        flagged[name] = sum(bool(hits) for hits in index.find(texts))
    assert flagged["openstax_sections"] == 11
    assert (flagged["wikitext2_sections"], flagged["xquad_contexts"]) == (0, 0)


def test_an_answer_may_be_longer_than_what_is_near() -> None:
    answer = " ".join(f"step{n} of the recipe" for n in range(20))
    item = Item("0", "How to roll chocolate truffles.", answer)
    index = ContaminationIndex.build([Benchmark("b", "1", "", "0", (item,))])
    far = " ".join(f"other{n}" for n in range(51))
    for text, found in (
        (f"{item.question} {answer}", True),
        (f"{answer} {item.question}", True),
        (f"{item.question} {far} {answer}", False),
        (f"{item.question} {answer[:60]}", False),
    ):
        assert bool(index.find([text])[0]) is found, text


def test_a_question_of_a_word_or_two_is_found_by_its_answer() -> None:
    options = ("Use a damp paper tissue and then throw it away.", "Use a damp rag and toss.")
    item = Item("0", "Pick up broken glass.", options[1], options)
    index = ContaminationIndex.build([Benchmark("b", "1", "", "0", (item,))])
    (hits,) = index.find([f"First: {item.question} {item.answer} Next."])
    assert [h.method for h in hits] == ["short"]
    assert index.find([f"First: {item.answer} Next."]) == [[]]
