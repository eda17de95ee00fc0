"""`filters.datatrove`: blocks that run, blocks that are refused, and our filters against theirs."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.document import Document, Drop, Failure, Outcome
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Stage
from corpusmill.stages.filters import fineweb, gopher_quality, gopher_repetition
from corpusmill.stages.filters.c4_lines import C4Lines
from corpusmill.stages.filters.c4_lines import Params as LinesParams
from corpusmill.stages.filters.datatrove import ALLOWED, REFUSED, DatatroveBlock, Params
from corpusmill.stages.measure import fineweb as measure_fineweb
from corpusmill.stages.measure import gopher as measure_gopher
from corpusmill.stages.measure import repetition as measure_repetition

TYPOGRAPHIC_END = re.compile(r"[.!?。！？…].?[)\]}”’»」』›]+$|[”»」』]$|[。！？]$")
SENTENCE = "This is a sentence with the words that we have to be of use. "


def block(name: str, words: Any = "corpusmill", **params: Any) -> DatatroveBlock:
    stage = DatatroveBlock(Params(name, params, words=words))
    stage.setup()
    return stage


def outcome(name: str, text: str, **params: Any) -> Outcome:
    (result,) = block(name, **params).apply([Document("0" * 32, text, "s")])
    return result


PROSE = (
    "The harbour lies behind two hills, and fishing boats return to it before noon. Their crews "
    "sort silver herring on wooden tables while gulls wait above the market roof. Nobody hurries. "
    "A woman with a red scarf writes prices in chalk; an old clerk checks every line twice. When "
    "rain begins, children run from school to help cover crates that have been left outside. By "
    "evening the square is empty again, swept clean for another morning."
)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("GopherQualityFilter", "Too short.", "datatrove_gopher_short_doc"),
        ("GopherQualityFilter", "word " * 60, "datatrove_gopher_enough_stop_words"),
        ("GopherRepetitionFilter", SENTENCE * 5, "datatrove_top_n_gram"),
        ("GopherRepetitionFilter", "", "datatrove_empty"),
        ("GopherRepetitionFilter", "a b\na b\na b", "datatrove_dup_line_frac"),
        ("C4QualityFilter", "One lorem ipsum. Two.", "datatrove_lorem_ipsum"),
        ("C4QualityFilter", SENTENCE, "datatrove_too_few_sentences"),
        ("FineWebQualityFilter", "A title\nAnother title", "datatrove_line_punct_ratio"),
        ("C4ParagraphFilter", "short\nshort\nshort", "datatrove_paragraphs"),
    ],
)
def test_reasons(name: str, text: str, reason: str) -> None:
    result = outcome(name, text)
    assert isinstance(result, Drop)
    assert result.reason == reason
    assert reason in block(name).reasons


@pytest.mark.parametrize(
    "name", ["GopherQualityFilter", "GopherRepetitionFilter", "C4QualityFilter"]
)
def test_kept(name: str) -> None:
    assert isinstance(outcome(name, PROSE), Document)


def test_reason_with_a_number_gives_the_number() -> None:
    repeated = f"{PROSE} {PROSE}"
    assert outcome("GopherRepetitionFilter", repeated, top_n_grams=[]) == Drop(
        "datatrove_duplicated_n_grams", 5
    )


def test_text_that_a_block_edits_is_ours() -> None:
    text = "A title\n" + "\n".join(f"Line {i} has an end." for i in range(6))
    result = outcome("C4QualityFilter", text)
    assert isinstance(result, Document)
    assert result.text == text.removeprefix("A title\n")
    symbols = outcome("SymbolLinesFormatter", "text\n***\nmore")
    assert isinstance(symbols, Document)
    assert symbols.text == "text\nmore"


def test_regex_and_parameters_as_a_plan_writes_them() -> None:
    assert outcome("RegexFilter", "call 123", regex_exp="123") == Drop("datatrove_dropped")
    assert isinstance(outcome("RegexFilter", "call", regex_exp="123"), Document)
    strict = block("GopherQualityFilter", max_symbol_word_ratio="0.01", min_doc_words="5")
    (result,) = strict.apply([Document("0" * 32, "# and # the # of word word", "s")])
    assert result == Drop("datatrove_gopher_too_many_hashes")
    rules = block("GopherRepetitionFilter", top_n_grams=[[2, "0.5"]], dup_n_grams=[])
    assert isinstance(rules.apply([Document("0" * 32, SENTENCE * 3, "s")])[0], Document)


def test_what_a_block_raises_is_a_failure() -> None:
    stage = block("FineWebQualityFilter", line_punct_thr=0.0, short_line_thr=1.0)
    (result,) = stage.apply([Document("0" * 32, "...", "s")])  # no word to divide by
    assert isinstance(result, Failure)
    assert result.type == "datatrove_error"
    assert "ZeroDivisionError" in result.message


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is refused: "):
        Params(name)


def test_bad_params_are_loud() -> None:
    with pytest.raises(ConfigError, match="not among the blocks"):
        Params("GopherFilter")
    with pytest.raises(ConfigError, match="no parameter 'min_words'"):
        block("GopherQualityFilter", min_words=3)
    with pytest.raises(ConfigError, match="exclusion_writer"):
        Params("RegexFilter", {"regex_exp": "x", "exclusion_writer": "y"})
    with pytest.raises(ConfigError, match="refused"):
        block("RegexFilter", regex_exp="(")


def test_missing_packages_are_named() -> None:
    pytest.importorskip("datatrove")
    try:
        import spacy  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        with pytest.raises(AssetError, match="spacy"):
            block("GopherQualityFilter", words="datatrove")
    assert DatatroveBlock(Params("GopherQualityFilter")).pins == ("datatrove", "spacy")
    assert DatatroveBlock(Params("RegexFilter", {"regex_exp": "x"})).pins == ("datatrove",)


def test_the_table_knows_every_filter_of_the_installed_version() -> None:
    from datatrove.pipeline import filters

    known = {n for n in dir(filters) if n.endswith("Filter")}
    assert known <= set(ALLOWED) | set(REFUSED)


# Our filters against theirs. The texts are in small letters, their lines trimmed, and the words
# are ours on both sides, so that what is left are the rules themselves.


def both(
    name: str, measures: list[Stage], ours: Stage, texts: list[str], **params: Any
) -> list[tuple[Document, str, str]]:
    """(document, their reason, our reason) where one keeps and the other drops."""
    theirs = block(name, **params).apply([Document("0" * 32, t, "s") for t in texts])
    documents = [Document("0" * 32, t, "s") for t in texts]
    for stage in measures:
        stage.setup()
        stage.apply(documents)
    return [
        (d, getattr(a, "reason", ""), getattr(b, "reason", ""))
        for d, a, b in zip(documents, theirs, ours.apply(documents), strict=True)
        if isinstance(a, Document) != isinstance(b, Document)
    ]


@pytest.fixture(scope="module")
def real_texts() -> list[str]:
    folder = os.environ.get("CORPUSMILL_DATA")
    if folder is None:
        pytest.skip("CORPUSMILL_DATA is not set")
    texts = []
    for name in ("text_high/openstax_sections", "text_high/wikitext2_sections",
                 "text_low/boilerplate", "text_low/synthetic_low"):  # fmt: skip
        with gzip.open(Path(folder) / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            for number, line in enumerate(file):
                if number == 400:
                    break
                lines = [re.sub(r"\s+", " ", x).strip() for x in
                         re.split(r"[\n\r]+", json.loads(line)["text"])]  # fmt: skip
                texts.append("\n".join(x.lower() for x in lines if x))
    return [t for t in texts if len(t.split()) >= 50]


@pytest.mark.fulldata
def test_repetition_decides_as_theirs(real_texts: list[str]) -> None:
    unequal = both(
        "GopherRepetitionFilter",
        [measure_repetition.STAGE(measure_repetition.Params())],
        gopher_repetition.STAGE(gopher_repetition.Params()),
        real_texts,
    )
    assert len(real_texts) > 1000
    assert [u for u in unequal if u[0].signals["rep_rule"] == "spaced"] == []


@pytest.mark.fulldata
def test_quality_decides_as_theirs(real_texts: list[str]) -> None:
    unequal = both(
        "GopherQualityFilter",
        [measure_gopher.STAGE(measure_gopher.Params(language="en"))],
        gopher_quality.STAGE(gopher_quality.Params(min_alpha_words=None)),
        real_texts,
        max_non_alpha_words_ratio=0.0,
    )
    assert [u for u in unequal if u[0].signals["gopher_rule"] == "spaced"] == []


@pytest.mark.fulldata
def test_fineweb_differs_only_in_sentence_ends(real_texts: list[str]) -> None:
    unequal = both(
        "FineWebQualityFilter",
        [measure_fineweb.STAGE(measure_fineweb.Params())],
        fineweb.STAGE(fineweb.Params()),
        real_texts,
    )
    spaced = [u for u in unequal if u[0].signals["fineweb_rule"] == "spaced"]
    assert {(theirs, ours) for _, theirs, ours in spaced} <= {("datatrove_line_punct_ratio", "")}
    assert len(spaced) < 0.05 * len(real_texts)


@pytest.mark.fulldata
def test_c4_lines_differ_only_in_sentence_ends(real_texts: list[str]) -> None:
    stage = C4Lines(LinesParams())
    stage.setup()
    ours = stage.apply([Document("0" * 32, t, "s") for t in real_texts])
    their_block = block("C4QualityFilter", min_num_sentences=-1, filter_curly_bracket=False)
    theirs = their_block.apply([Document("0" * 32, t, "s") for t in real_texts])
    more = 0
    for a, b in zip(theirs, ours, strict=True):
        if isinstance(a, Drop):  # lorem ipsum is a rule on pages here
            continue
        have = set(b.text.split("\n")) if isinstance(b, Document) else set()
        want = set(a.text.split("\n")) - {""} if isinstance(a, Document) else set()
        assert want <= have
        extra = have - want
        assert all(TYPOGRAPHIC_END.search(x) for x in extra)
        more += len(extra)
    assert more > 0
