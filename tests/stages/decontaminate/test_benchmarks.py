"""Reading benchmarks: every layout, and everything that must not pass for one."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline.errors import AssetError
from corpusmill.stages.decontaminate.benchmarks import Item, load

SAMPLE = Path(__file__).parents[3] / "configs" / "sample" / "benchmarks"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


LAYOUTS: list[tuple[dict[str, Any], Item]] = [
    ({"id": 7, "question": "Q?", "answer": "A", "options": ["A", "B"], "split": "test"},
     Item("7", "Q?", "A", ("A", "B"), "test")),
    ({"id": "x", "question": "Q?"}, Item("x", "Q?")),
    ({"question": "Q?", "answer": "A"}, Item("0", "Q?", "A")),
    ({"task_id": "HumanEval/0", "prompt": "def f():", "canonical_solution": "pass", "test": ""},
     Item("HumanEval/0", "def f():", "pass")),
    ({"task_id": 11, "text": "Write it.", "code": "pass", "test_list": []},
     Item("11", "Write it.", "pass")),
    ({"index": 3, "question": "Q?", "choices": ["a", "b"], "answer": "b"},
     Item("3", "Q?", "b", ("a", "b"))),
    ({"id": "M_1", "answerKey": "B",
      "question": {"stem": "Q?", "choices": [{"text": "a", "label": "A"},
                                             {"text": "b", "label": "B"}]}},
     Item("M_1", "Q?", "b", ("a", "b"))),
    ({"query": "Question: Q?", "choices": ["a", "b"], "gold": 1}, Item("0", "Q?", "b", ("a", "b"))),
    ({"ind": 9, "ctx": "A man", "endings": ["sits.", "runs."], "label": 1},
     Item("9", "A man", "runs.", ("sits.", "runs."))),
    ({"goal": "Boil", "sol1": "heat", "sol2": "cool"}, Item("0", "Boil", "", ("heat", "cool"))),
    ({"context_options": ["Sarah so Sarah", "Sarah so Maria"], "continuation": "won.", "gold": 1},
     Item("0", "Sarah so Maria won.")),
    ({"sentence": "Sarah so _ won.", "option1": "Sarah", "option2": "Maria", "answer": "2"},
     Item("0", "Sarah so Maria won.")),
    ({"sentence": "Sarah so _ won.", "option1": "Sarah", "option2": "Maria", "answer": ""},
     Item("0", "Sarah so _ won.", "", ("Sarah", "Maria"))),
    ({"task_id": 2, "prompt": "Write it.", "code": "pass", "source_file": "x"},
     Item("2", "Write it.", "pass")),
    ({"question": "Q?", "subject": "law", "choices": ["a", "b"], "answer": 1},
     Item("0", "Q?", "b", ("a", "b"), "law")),
    ({"question": "Q?", "choices": ["a", "b"], "answer": "A"}, Item("0", "Q?", "a", ("a", "b"))),
    ({"id": "M", "question": "Q?", "answerKey": "2",
      "choices": {"text": ["a", "b"], "label": ["1", "2"]}}, Item("M", "Q?", "b", ("a", "b"))),
    ({"ind": 9, "ctx": "A man", "endings": ["sits.", "runs."], "label": ""},
     Item("9", "A man", "", ("sits.", "runs."))),
    ({"goal": "Boil", "sol1": "heat", "sol2": "cool", "label": 0},
     Item("0", "Boil", "heat", ("heat", "cool"))),
    ({"question": "Q?", "choices": ["a", "b"], "answer": -1}, Item("0", "Q?", "", ("a", "b"))),
    ({"goal": "Boil", "sol1": "heat", "sol2": "cool", "label": -1},
     Item("0", "Boil", "", ("heat", "cool"))),
    ({"question": "Q?", "best_answer": "a", "correct_answers": ["a", "c"], "incorrect_answers": ["b"],
      "type": "x"}, Item("0", "Q?", "a", ("a", "c", "b"))),
    ({"question": "Q?", "mc1_targets": {"choices": ["a", "b"], "labels": [0, 1]}},
     Item("0", "Q?", "b", ("a", "b"))),
    ({"input": "Q?", "target_scores": {"a": 0, "b": 1}}, Item("0", "Q?", "b", ("a", "b"))),
    ({"input": "Q?", "target": "a"}, Item("0", "Q?", "a")),
    ({"input": "Q?", "target": ["a", "b"]}, Item("0", "Q?", "a", ("a", "b"))),
]  # fmt: skip


@pytest.mark.parametrize(("row", "item"), LAYOUTS)
def test_layouts(tmp_path: Path, row: dict[str, Any], item: Item) -> None:
    write(tmp_path / "set" / "test.jsonl", [row])
    (benchmark,) = load(tmp_path)
    assert (benchmark.name, benchmark.items) == ("set", (item,))
    assert (benchmark.version, benchmark.licence) == (
        f"sha256:{benchmark.digest[:16]}", "NOASSERTION",
    )  # fmt: skip


def test_truthfulqa(tmp_path: Path) -> None:
    (tmp_path / "TruthfulQA.csv").write_text(
        "Type,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source\n"
        'A,C,"Is it so, or not?",Yes,Yes; It is,"No; It, never",s\n',
        encoding="utf-8",
    )
    (benchmark,) = load(tmp_path)
    assert benchmark.items == (
        Item("0", "Is it so, or not?", "Yes", ("Yes", "It is", "No", "It, never")),
    )


def test_piqa_labels(tmp_path: Path) -> None:
    rows = [{"goal": f"g{i}", "sol1": "a", "sol2": "b"} for i in range(2)]
    write(tmp_path / "piqa" / "valid.jsonl", rows)
    labels = tmp_path / "piqa" / "valid-labels.lst"
    labels.write_text("1\n0\n")
    assert [item.answer for item in load(tmp_path)[0].items] == ["b", "a"]
    labels.write_text("1\n")
    with pytest.raises(AssetError, match="1 labels for 2 rows"):
        load(tmp_path)


def test_names_come_from_folders_and_stems(tmp_path: Path) -> None:
    row = {"question": "Q?", "answer": "A"}
    write(tmp_path / "one" / "test.jsonl", [row])
    write(tmp_path / "two" / "a.jsonl", [row, row])
    write(tmp_path / "two" / "b.jsonl", [row, row, row])
    path = write(tmp_path / "top.jsonl", [row, row, row, row])
    (tmp_path / "four.jsonl.gz").write_bytes(
        gzip.compress(path.read_bytes() + path.read_bytes(), mtime=0)
    )
    (tmp_path / "README.md").write_text("no benchmark")
    assert [b.name for b in load(tmp_path)] == ["four", "one", "top", "two.a", "two.b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no item"),
        ("\n\n", "holds no item"),
        ('{"question": "Q?", "answer": "A"}\n{"question": ', "not JSON"),
        ("[1]\n", "not an object"),
        ('{"text": "Q?"}\n', "unknown layout"),
        ('{"question": "Q?", "answer": "A"}\n{"question": "Q?"}\n', "row 2 is malformed"),
        ('{"question": " ", "answer": "A"}\n', "no question"),
        ('{"question": 3, "answer": "A"}\n', "row 1 is malformed"),
        ('{"id": "1", "question": "Q?", "anwser": "A"}\n', "unknown keys"),
        ('{"id": "1", "question": "Q?", "options": "ab"}\n', "of the type str is no list of texts"),
        ('{"id": "1", "question": {"is": "Q?"}}\n', "1 is malformed: a value of the type dict is"),
        ('{"id": "1", "question": "Q?"}\n{"id": "2"}\n', "row 2 is malformed: there is no 'quest"),
        ('{"id": "1", "question": "Q?"}\n{"id": 1, "question": "R?"}\n', "is there twice"),
        ('{"index": 1, "question": "Q?", "choices": [1], "answer": "b"}\n', "malformed"),
        ('{"ind": 9, "ctx": "A", "endings": ["a"], "label": 4}\n', "malformed"),
    ],
)
def test_malformed_files(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "set.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(AssetError, match=message):
        load(tmp_path)


def test_unreadable_and_missing(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="no such folder"):
        load(tmp_path / "none")
    with pytest.raises(AssetError, match="holds no benchmark"):
        load(tmp_path)
    (tmp_path / "set.jsonl").write_bytes(b'{"question": "\xff"}\n')
    with pytest.raises(AssetError, match="unreadable"):
        load(tmp_path)
    (tmp_path / "set.jsonl").unlink()
    (tmp_path / "set.jsonl.gz").write_bytes(gzip.compress(b'{"question": "Q"}', mtime=0)[:-9])
    with pytest.raises(AssetError, match="unreadable"):
        load(tmp_path)


def test_the_same_file_twice(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / f"{name}.jsonl", [{"question": "Q?", "answer": "A"}])
    with pytest.raises(AssetError, match="hold the same items"):
        load(tmp_path)


def test_the_same_items_in_other_case(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"question": "Why so?", "answer": "A"}])
    write(tmp_path / "b.jsonl", [{"question": "WHY  SO?", "answer": "a\n"}])
    with pytest.raises(AssetError, match="hold the same items"):
        load(tmp_path)


def registry(folder: Path, **entry: Any) -> None:
    head = {"name": "set", "version": "1", "licence": "MIT", "files": ["set.jsonl"], **entry}
    content = {"schema": "corpusmill/benchmarks/1", "benchmarks": [head]}
    (folder / "registry.json").write_text(json.dumps(content))


def test_registry(tmp_path: Path) -> None:
    write(tmp_path / "set.jsonl", [{"id": "1", "question": "Q?"}])
    registry(tmp_path, source="somewhere", notice="MIT.txt")
    (benchmark,) = load(tmp_path)
    assert (benchmark.name, benchmark.version, benchmark.licence) == ("set", "1", "MIT")
    write(tmp_path / "other.jsonl", [{"id": "1", "question": "Q?"}])
    with pytest.raises(AssetError, match=r"other\.jsonl: not in registry"):
        load(tmp_path)


@pytest.mark.parametrize(
    "entry", [{"name": "a/b"}, {"files": []}, {"files": ["none.jsonl"]}, {"license": "MIT"}]
)
def test_wrong_registry(tmp_path: Path, entry: dict[str, Any]) -> None:
    write(tmp_path / "set.jsonl", [{"id": "1", "question": "Q?"}])
    registry(tmp_path, **entry)
    with pytest.raises(AssetError):
        load(tmp_path)


def test_registry_of_another_schema(tmp_path: Path) -> None:
    (tmp_path / "registry.json").write_text('{"schema": "corpusmill/benchmarks/2"}')
    with pytest.raises(AssetError, match="benchmarks/2"):
        load(tmp_path)


def test_the_sample_set() -> None:
    found = {b.name: (b.licence, len(b.items)) for b in load(SAMPLE)}
    assert found == {
        "gsm8k": ("MIT", 54), "humaneval": ("MIT", 54), "mbpp": ("CC-BY-4.0", 40),
        "mmlu": ("MIT", 54),
    }  # fmt: skip
    for entry in json.loads((SAMPLE / "registry.json").read_text())["benchmarks"]:
        assert (SAMPLE / entry["notice"]).is_file()


@pytest.mark.fulldata
def test_the_full_sets_are_read_as_published() -> None:
    if "CORPUSMILL_DATA" not in os.environ:
        pytest.skip("CORPUSMILL_DATA is not set")
    found = {b.name: len(b.items) for b in load(Path(os.environ["CORPUSMILL_DATA"], "benchmarks"))}
    assert found == {
        "arc.ARC-Challenge-Test": 1150, "arc.arc_easy_prompts": 2376, "gsm8k": 1319,
        "hellaswag": 1000, "humaneval": 164, "mbpp": 974, "mmlu": 14042, "piqa": 1838,
        "truthfulqa": 817, "winogrande": 1267,
    }  # fmt: skip


GSM = [{"question": f"Q{n}?", "answer": str(n)} for n in range(5)]
READ = tuple(Item(str(n), f"Q{n}?", str(n)) for n in range(5))


def test_json_lists_and_bigbench_tasks(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(json.dumps(GSM))
    (tmp_path / "lines.json").write_text("".join(json.dumps(r) + "\n" for r in GSM[:3]))
    task = {"name": "t", "examples": [{"input": "Q?", "target_scores": {"yes": 1, "no": 0}}]}
    (tmp_path / "task.json").write_text(json.dumps(task))
    (tmp_path / "packed.json.gz").write_bytes(gzip.compress(json.dumps(GSM[:2]).encode(), mtime=0))
    assert {b.name: b.items for b in load(tmp_path)} == {
        "list": READ, "lines": READ[:3], "packed": READ[:2],
        "task": (Item("0", "Q?", "yes", ("yes", "no")),),
    }  # fmt: skip


def test_a_dataset_on_disk_is_one_benchmark_from_its_parts(tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "test"
    folder.mkdir(parents=True)
    for n, rows in enumerate((GSM[:3], GSM[3:])):
        table = pa.Table.from_pylist(rows)
        part = str(folder / f"data-{n:05}-of-00002.arrow")
        with pa.OSFile(part, "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
            out.write_table(table)
    for name in ("state.json", "dataset_info.json"):
        (folder / name).write_text("{}")
    (folder.parent / "dataset_dict.json").write_text('{"splits": ["test"]}')
    (benchmark,) = load(tmp_path)
    assert (benchmark.name, benchmark.items) == ("mine.test", READ)


def test_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(GSM), tmp_path / "test-00000-of-00001.parquet")
    pq.write_table(pa.Table.from_pylist(GSM[:2]), tmp_path / "other.parquet")
    assert {b.name: b.items for b in load(tmp_path)} == {"test": READ, "other": READ[:2]}
    (tmp_path / "other.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(AssetError, match=r"other\.parquet: unreadable"):
        load(tmp_path)


TASK = """
task: mine
dataset_path: json
dataset_kwargs: {data_files: {test: data/rows.jsonl}}
doc_to_text: "{{passage}} Question: {{ doc.q }}"
doc_to_target: label
doc_to_choice: "{{choices}}"
process_results: !function utils.process
"""


def test_a_task_file_with_its_data(tmp_path: Path) -> None:
    row = {"passage": "It rained.", "q": "Wet?", "label": 1, "choices": ["no", "yes"]}
    write(tmp_path / "data" / "rows.jsonl", [row])
    (tmp_path / "mine.yaml").write_text(TASK)
    (benchmark,) = load(tmp_path)
    assert benchmark.name == "mine"
    item = Item("0", "It rained. Question: Wet?", "yes", ("no", "yes"))
    assert benchmark.items == (item,)
    write(tmp_path / "data" / "rows.jsonl", [row, row])
    assert load(tmp_path)[0].digest != benchmark.digest
    entry = {"name": "m", "version": "1", "licence": "MIT", "files": ["mine.yaml"]}
    (tmp_path / "registry.json").write_text(
        json.dumps({"schema": "corpusmill/benchmarks/1", "benchmarks": [entry]})
    )
    assert [b.name for b in load(tmp_path)] == ["m"]


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("task: x\ndataset_path: gsm8k\n", "its data are not on disk"),
        (TASK.replace("data/rows", "data/none"), "named in mine.yaml, but unreadable"),
        (
            TASK.replace('"{{passage}} Question: {{ doc.q }}"', "!function utils.text"),
            "made by code",
        ),
        (TASK.replace("{{passage}}", "{% if passage %}"), "more than fields"),
        (TASK.replace("{{passage}}", "{{missing}}"), "more than fields"),
        (TASK.replace('"{{choices}}"', "passage"), "no list of texts"),
        ("- 1\n", "no task file"),
        ("a: [\n", "no task file"),
    ],
)
def test_task_files_that_cannot_be_read(tmp_path: Path, task: str, said: str) -> None:
    write(
        tmp_path / "data" / "rows.jsonl", [{"passage": "p", "q": "q", "label": 0, "choices": ["a"]}]
    )
    (tmp_path / "mine.yaml").write_text(task)
    with pytest.raises(AssetError, match=said):
        load(tmp_path)


@pytest.mark.parametrize(
    "rows",
    [
        [{"question": "Q?", "choices": ["a"], "answer": 3}],
        [{"question": "Q?", "choices": ["a"], "answer": -2}],
        [{"question": "Q?", "choices": ["a"], "answer": "what it is"}],
        [{"input": "Q?", "target": []}],
        [
            {
                "id": "M",
                "question": "Q?",
                "answerKey": "Z",
                "choices": {"text": ["a"], "label": ["A"]},
            }
        ],
        [{"question": "Q?", "mc1_targets": {"choices": ["a", "b"], "labels": [0, 0]}}],
        [{"input": "Q?", "target": 3}],
        [{"sentence": "_", "option1": "a", "option2": "b", "answer": "x"}],
    ],
)
def test_rows_of_public_layouts_that_are_malformed(tmp_path: Path, rows: list[Any]) -> None:
    write(tmp_path / "x.jsonl", rows)
    with pytest.raises(AssetError, match=r"x\.jsonl: row 1 is malformed"):
        load(tmp_path)


def test_the_same_items_in_another_file_and_order(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", GSM)
    (tmp_path / "b.json").write_text(json.dumps(GSM[::-1]))
    with pytest.raises(AssetError, match="'b' and 'a' hold the same items"):
        load(tmp_path)


def test_private_is_a_boolean(tmp_path: Path) -> None:
    write(tmp_path / "set.jsonl", GSM)
    registry(tmp_path, private=True)
    assert load(tmp_path)[0].private
    registry(tmp_path, private="yes")
    with pytest.raises(AssetError, match="private is true or false"):
        load(tmp_path)


def test_files_of_other_encodings(tmp_path: Path) -> None:
    said = json.dumps(GSM)
    (tmp_path / "marked.json").write_bytes(b"\xef\xbb\xbf" + said.encode())
    assert load(tmp_path)[0].items == READ
    path = tmp_path / "lines.jsonl"
    path.write_bytes(
        b'{"question": "Q?", "answer": "A"}\n{"question": "Caf\xe9?", "answer": "A"}\n'
    )
    with pytest.raises(AssetError, match=r"lines\.jsonl:2: unreadable: the byte 0xe9 is not UTF-8"):
        load(tmp_path)
    path.unlink()
    packed = bytearray(gzip.compress(said.encode(), mtime=0))
    packed[12:16] = b"\xff\xff\xff\xff"
    (tmp_path / "broken.json.gz").write_bytes(packed)
    with pytest.raises(AssetError, match=r"broken\.json\.gz: unreadable"):
        load(tmp_path)


def test_a_json_file_that_stops(tmp_path: Path) -> None:
    whole = json.dumps(GSM, indent=1)
    (tmp_path / "set.json").write_text(whole[: whole.index("Q3") + 1])
    with pytest.raises(AssetError, match=r"set\.json:15: not JSON: Unterminated string"):
        load(tmp_path)
    (tmp_path / "set.json").write_text("[" * 100_000)
    with pytest.raises(AssetError, match=r"set\.json:1: not JSON: maximum recursion depth"):
        load(tmp_path)


def test_mmlu_as_its_authors_have_it(tmp_path: Path) -> None:
    (tmp_path / "law_test.csv").write_text('"Is it, so?",a,"b, c",d,e,B\nWhy?,A,B,C,D,A\n\n')
    assert load(tmp_path)[0].items == (
        Item("0", "Is it, so?", "b, c", ("a", "b, c", "d", "e")),
        Item("1", "Why?", "A", ("A", "B", "C", "D")),
    )


def test_a_message_shows_no_text_of_an_item(tmp_path: Path) -> None:
    (tmp_path / "set.csv").write_text(
        '"Who, in all the world, would ask so long a question?",me\na,b\n'
    )
    with pytest.raises(AssetError, match=r"unknown layout, .* \['\(52 characters\)', 'me'\]") as e:
        load(tmp_path)
    assert "world" not in str(e.value)


def test_a_part_that_is_missing(tmp_path: Path) -> None:
    for n in (0, 2):
        pq.write_table(pa.Table.from_pylist(GSM), tmp_path / f"test-{n:05}-of-00003.parquet")
    with pytest.raises(AssetError, match=r"3 parts of 'test\.parquet', number 00001 is missing"):
        load(tmp_path)


def test_the_prompt_of_a_task_is_not_part_of_its_items(tmp_path: Path) -> None:
    row = {"passage": "It rained.", "q": "Wet?", "label": 1, "choices": ["no", "yes"]}
    write(tmp_path / "data" / "rows.jsonl", [row])
    said = "{{passage}} Question: {{ doc.q }}"
    task = TASK.replace(said, f"Read this. {said} Answer:")
    (tmp_path / "mine.yaml").write_text(task)
    assert load(tmp_path)[0].items[0].question == "It rained. Question: Wet?"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"files": "set.jsonl"}, r"benchmark 'set': files 'set.jsonl' is no list"),
        ({"files": ["set.jsonl", "no.jsonl"]}, r"no\.jsonl: named in registry\.json, but there is"),
    ],
)
def test_what_is_wrong_in_a_registry(tmp_path: Path, entry: dict[str, Any], said: str) -> None:
    write(tmp_path / "set.jsonl", GSM)
    registry(tmp_path, **entry)
    with pytest.raises(AssetError, match=said):
        load(tmp_path)
    (tmp_path / "registry.json").write_text(
        '{"schema": "corpusmill/benchmarks/1", "benchmarks": [{"name": "set", "version": "1"}]}'
    )
    with pytest.raises(AssetError, match="benchmark 'set' has no licence"):
        load(tmp_path)
