"""The contamination stage and its verb."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.document import Document, Drop
from corpusmill.pipeline.errors import AssetError, ConfigError, InputError, StageError
from corpusmill.pipeline.stage import Asset
from corpusmill.stages.decontaminate.index import Hit
from corpusmill.stages.decontaminate.ngram import STAGE, Ngram, NgramParams, cut
from corpusmill.stages.decontaminate.verb import contamination_jsonl

FOLDER = Path(__file__).parents[3] / "configs" / "sample" / "benchmarks"
CLEAN = "The ferry leaves at nine. " * 20


def question(name: str, number: int = 0) -> tuple[str, str]:
    row = json.loads((FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")[number])
    return f"{name}/{row['id']}", row["question"]


def stage(**params: Any) -> Ngram:
    made = STAGE(NgramParams(Asset(str(FOLDER)), **params))
    made.setup()
    return made


def documents(*texts: str) -> list[Document]:
    return [Document(id=f"{i:032x}", text=text, source="s") for i, text in enumerate(texts)]


def test_drop() -> None:
    name, text = question("gsm8k")
    made = stage()
    clean, bad = documents(CLEAN, CLEAN + text)
    assert made.apply([clean, bad]) == [clean, Drop("contaminated", name)]
    assert (made.reasons, dict(made.writes), clean.signals) == (("contaminated",), {}, {})
    assert made.apply([]) == []


def test_annotate_names_the_first_in_the_text() -> None:
    (first, one), (_, two) = question("mmlu", 3), question("gsm8k", 2)
    made = stage(action="annotate")
    clean, bad = documents(CLEAN, f"{one}\n{CLEAN}\n{two}")
    assert made.apply([clean, bad]) == [clean, bad]
    assert made.reasons == ()
    assert clean.signals == {"contamination_hits": 0}
    assert bad.signals == {"contamination_hits": 2, "contamination_first": first}


def test_findings_name_the_set_and_what_was_done() -> None:
    (_, one), (_, two) = question("mmlu", 3), question("gsm8k", 2)
    long = "The ferry leaves at nine and comes back at noon. " * 12
    texts = CLEAN, f"{long}{one} {long}", two
    made = {action: stage(action=action) for action in ("drop", "annotate", "cut")}
    found = {a: s.findings(s.apply(documents(*texts))) for a, s in made.items()}
    assert found == {
        "drop": [("mmlu", "dropped"), ("gsm8k", "dropped")],
        "annotate": [("mmlu", "annotated"), ("gsm8k", "annotated")],
        "cut": [("mmlu", "cut"), ("gsm8k", "dropped")],
    }


def test_public_items_are_passed_over() -> None:
    name, text = question("gsm8k")
    (document,) = documents(text)
    assert stage(public=(name,)).apply([document]) == [document]


def test_a_public_item_that_is_in_no_benchmark() -> None:
    name, _ = question("gsm8k")
    with pytest.raises(ConfigError, match="in no benchmark") as caught:
        stage(public=(name.replace("gsm8k", "gsm9k"),))
    assert caught.value.hint == f"did you mean {name!r}?"


@pytest.mark.parametrize("params", [{"action": "mark"}, {"public": ("gsm8k",)}])
def test_wrong_parameters(params: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"decontaminate\.ngram"):
        NgramParams(Asset("x"), **params)


def test_missing_benchmarks_and_a_stage_not_set_up() -> None:
    made = STAGE(NgramParams(Asset("nowhere")))
    with pytest.raises(AssetError, match="no such folder"):
        made.setup()
    with pytest.raises(StageError, match="before setup"):
        made.apply(documents("x"))


def test_verb(tmp_path: Path) -> None:
    name, text = question("humaneval")
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    rows: list[dict[str, Any]] = [
        {"id": "a", "text": CLEAN, "url": "u"},
        {"id": "b", "text": CLEAN + text},
    ]
    source.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    summary = contamination_jsonl(source, target, FOLDER)
    first, second = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert first == {**rows[0], "contamination": []}
    (hit,) = second.pop("contamination")
    assert second == rows[1]
    assert (f"{hit['benchmark']}/{hit['item']}", hit["method"], hit["coverage"]) == (
        name, "ngram", 1.0,
    )  # fmt: skip
    assert hit["text"] == rows[1]["text"][hit["start"] : hit["end"]]
    assert hit["text"] in text
    assert (summary["rows"], summary["contaminated"]) == (2, 1)
    assert {b["benchmark"]: b["found"] for b in summary["benchmarks"]} == {
        "gsm8k": 0, "humaneval": 1, "mbpp": 0, "mmlu": 0,
    }  # fmt: skip
    assert {b["benchmark"]: (b["items"], b["visible"]) for b in summary["benchmarks"]} == {
        "gsm8k": (54, 54), "humaneval": (54, 54), "mbpp": (40, 40), "mmlu": (54, 54),
    }  # fmt: skip


def test_verb_with_halves_anywhere(tmp_path: Path) -> None:
    name, text = question("mmlu", 16)
    half = " ".join(text.split()[:6])
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(json.dumps({"text": f"{CLEAN}{half} ferry. {CLEAN}"}), encoding="utf-8")
    assert contamination_jsonl(source, target, FOLDER)["contaminated"] == 0
    summary = contamination_jsonl(source, target, FOLDER, half_anywhere=True)
    assert summary["contaminated"] == 1
    (row,) = [b for b in summary["benchmarks"] if b["benchmark"] == name.partition("/")[0]]
    assert row["by_method"] == {"half": 1}
    assert row["false_alarms"]["half"]["flagged"] > 0
    (hit,) = json.loads(target.read_text(encoding="utf-8"))["contamination"]
    assert (f"{hit['benchmark']}/{hit['item']}", hit["text"]) == (name, half)


def test_verb_names_the_bad_row(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "fine"}\n{"id": 1}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"in\.jsonl: line 2"):
        contamination_jsonl(source, tmp_path / "out.jsonl", FOLDER)


def test_cut_takes_what_was_found_with_a_margin() -> None:
    name, text = question("gsm8k")
    long = "The ferry leaves at nine and comes back at noon. " * 12
    cutting = stage(action="cut", cut_margin=30)
    assert (cutting.edits_text, stage().edits_text) == (True, False)
    d = Document("0" * 32, f"{long}{text} {long}", "s")
    assert cutting.apply([d]) == [d]
    before, after = d.text.split("\n\n")
    assert long.startswith(before)
    assert long.rstrip().endswith(after)
    assert len(long) - 45 < len(before) < len(long) - 25
    assert len(long) - 90 < len(after) < len(long) - 25
    assert d.signals == {"contamination_hits": 1, "contamination_first": name}
    assert len(str(d.meta["text_sha256_raw"])) == 64
    clean = Document("1" * 32, long, "s")
    assert cutting.apply([clean]) == [clean]
    assert (clean.text, clean.signals["contamination_hits"]) == (long, 0)
    assert "text_sha256_raw" not in clean.meta


def test_cut_drops_what_has_little_left_or_many_hits() -> None:
    name, text = question("humaneval")
    other = question("mbpp", 3)[1]
    long = "The ferry leaves at nine and comes back at noon. " * 12
    assert stage(action="cut").apply([Document("0" * 32, text, "s")]) == [
        Drop("contaminated", name)
    ]
    two = Document("0" * 32, f"{text}\n{long}{question('gsm8k')[1]} {long}{other}", "s")
    counting = stage(action="annotate")
    counting.apply([two])
    hits = int(str(two.signals["contamination_hits"]))
    assert hits >= 2
    fewer = stage(action="cut", cut_most=hits - 1)
    assert fewer.apply([two]) == [Drop("contaminated", name)]
    assert stage(action="cut", cut_most=hits).apply([two]) == [two]


def test_cut_of_texts_by_places() -> None:
    def hits(*places: tuple[int, int]) -> list[Hit]:
        return [Hit("b", "i", "ngram", 1.0, low, high) for low, high in places]

    text = "aa bb cc dd ee ff gg"
    assert cut(text, hits((9, 11)), 0, 1) == "aa bb cc\n\nee ff gg"
    assert cut(text, hits((9, 11)), 3, 1) == "aa bb\n\nff gg"
    assert cut(text, hits((0, 2), (15, 20)), 0, 1) == "bb cc dd ee"
    assert cut(text, hits((3, 5), (4, 11)), 0, 1) == "aa\n\nee ff gg"
    assert cut(text, hits((9, 11)), 0, 9) == ""
    assert cut(text, hits((0, 20)), 5, 0) == ""


def test_private_items_are_told_by_ids_alone(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    secret = (
        "Which of the nine lanterns above the granary door was lit by the miller on Sunday night?"
    )
    (folder / "exam.jsonl").write_text(json.dumps({"id": "q1", "question": secret}) + "\n")
    entry = {"name": "exam", "version": "1", "licence": "none", "files": ["exam.jsonl"]}
    (folder / "registry.json").write_text(json.dumps(
        {"schema": "corpusmill/benchmarks/1", "benchmarks": [{**entry, "private": True}]}
    ))  # fmt: skip
    made = STAGE(NgramParams(Asset(str(folder))))
    made.setup()
    d = Document("0" * 32, f"{CLEAN}{secret} {CLEAN}", "s")
    assert made.apply([d]) == [Drop("contaminated", "exam/q1")]
    assert made.spans(d) == []
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(json.dumps({"id": "a", "text": d.text}) + "\n")
    summary = contamination_jsonl(source, target, folder)
    (hit,) = json.loads(target.read_text())["contamination"]
    assert (hit["item"], hit["text"]) == ("q1", "")
    assert "lanterns" not in json.dumps(summary)
