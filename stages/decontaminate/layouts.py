"""The layouts in which evaluation sets are published: which keys a row has, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Item:
    """One question. `options` are the answers to choose from, the right one among them."""

    id: str
    question: str
    answer: str = ""
    options: tuple[str, ...] = ()
    split: str = ""


Row = Mapping[str, Any]


def _small(row: Row, number: int) -> Item:
    unknown = set(row) - {"id", "question", "answer", "options", "split"}
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)}")
    return Item(
        str(row["id"]), _text(row["question"]), _text(row.get("answer", "")),
        tuple(_text(o) for o in row.get("options", ())), str(row.get("split", "")),
    )  # fmt: skip


def _task(row: Row, number: int) -> Item:
    return _small({"id": str(number), **row}, number)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _choice(options: tuple[str, ...], answer: Any) -> str:
    """The right option: by its place, in digits too, by its letter, or as it is written."""
    if isinstance(answer, str) and answer in options:
        return answer
    if isinstance(answer, str) and len(answer) == 1 and answer in "ABCDEFGHIJ":
        return options["ABCDEFGHIJ".index(answer)]
    return options[int(answer)]


def _gsm8k(row: Row, number: int) -> Item:
    return Item(str(number), _text(row["question"]), _text(row["answer"]))


def _humaneval(row: Row, number: int) -> Item:
    return Item(_text(row["task_id"]), _text(row["prompt"]), _text(row["canonical_solution"]))


def _mbpp(row: Row, number: int) -> Item:
    return Item(str(row["task_id"]), _text(row["text"]), _text(row["code"]))


def _mmlu(row: Row, number: int) -> Item:
    options = tuple(_text(o) for o in row["choices"])
    return Item(str(row["index"]), _text(row["question"]), _text(row["answer"]), options)


def _mmlu_rows(row: Row, number: int) -> Item:
    options = tuple(_text(o) for o in row["choices"])
    return Item(
        str(number), _text(row["question"]), _choice(options, row["answer"]), options,
        str(row.get("subject", "")),
    )  # fmt: skip


def _arc_rows(row: Row, number: int) -> Item:
    labels = [str(label) for label in row["choices"]["label"]]
    options = tuple(_text(o) for o in row["choices"]["text"])
    answer = options[labels.index(str(row["answerKey"]))]
    return Item(str(row["id"]), _text(row["question"]), answer, options)


def _mbpp_sanitized(row: Row, number: int) -> Item:
    return Item(str(row["task_id"]), _text(row["prompt"]), _text(row["code"]))


def _arc(row: Row, number: int) -> Item:
    choices = {c["label"]: _text(c["text"]) for c in row["question"]["choices"]}
    stem = _text(row["question"]["stem"])
    return Item(str(row["id"]), stem, choices[row["answerKey"]], tuple(choices.values()))


def _prompt(row: Row, number: int) -> Item:
    options = tuple(_text(o) for o in row["choices"])
    question = _text(row["query"]).removeprefix("Question: ")
    return Item(str(number), question, options[row["gold"]], options)


def _hellaswag(row: Row, number: int) -> Item:
    options = tuple(_text(o) for o in row["endings"])
    answer = options[int(row["label"])] if str(row["label"]) else ""  # the test split has none
    return Item(str(row["ind"]), _text(row["ctx"]), answer, options)


def _piqa(row: Row, number: int) -> Item:
    options = (_text(row["sol1"]), _text(row["sol2"]))
    known = "label" in row and int(row["label"]) >= 0  # -1 in the test split
    answer = options[int(row["label"])] if known else ""
    return Item(str(number), _text(row["goal"]), answer, options)


def _winogrande(row: Row, number: int) -> Item:
    contexts = [_text(c) for c in row["context_options"]]
    return Item(str(number), f"{contexts[row['gold']]} {_text(row['continuation'])}")


def _winogrande_rows(row: Row, number: int) -> Item:
    options = (_text(row["option1"]), _text(row["option2"]))
    sentence = _text(row["sentence"])
    if not row["answer"]:  # the test split has none
        return Item(str(number), sentence, "", options)
    return Item(str(number), sentence.replace("_", options[int(row["answer"]) - 1], 1))


def _truthfulqa_rows(row: Row, number: int) -> Item:
    both = (*row["correct_answers"], *row["incorrect_answers"])
    options = tuple(dict.fromkeys(_text(o).strip() for o in both if o.strip()))
    return Item(str(number), _text(row["question"]), _text(row["best_answer"]), options)


def _truthfulqa_choices(row: Row, number: int) -> Item:
    targets = row["mc1_targets"]
    options = tuple(_text(o) for o in targets["choices"])
    right = [o for o, label in zip(options, targets["labels"], strict=True) if label]
    return Item(str(number), _text(row["question"]), right[0], options)


def _bigbench(row: Row, number: int) -> Item:
    question = _text(row["input"])
    if "target_scores" in row:
        scores = {_text(o): float(score) for o, score in row["target_scores"].items()}
        return Item(str(number), question, max(scores, key=scores.__getitem__), tuple(scores))
    target = row["target"]
    targets = tuple(_text(t) for t in target) if isinstance(target, list) else (_text(target),)
    return Item(str(number), question, targets[0], targets if len(targets) > 1 else ())


def _truthfulqa(row: Row, number: int) -> Item:
    both = (row["Correct Answers"], row["Incorrect Answers"])
    options = tuple(o.strip() for text in both for o in _text(text).split(";") if o.strip())
    return Item(str(number), _text(row["Question"]), _text(row["Best Answer"]), options)


LAYOUTS: Final[tuple[tuple[set[str], Callable[[Row, int], Item]], ...]] = (
    ({"task_id", "prompt", "canonical_solution"}, _humaneval),
    ({"task_id", "text", "code"}, _mbpp),
    ({"task_id", "prompt", "code"}, _mbpp_sanitized),
    ({"index", "question", "choices", "answer"}, _mmlu),
    ({"id", "question", "choices", "answerKey"}, _arc_rows),
    ({"id", "question", "answerKey"}, _arc),
    ({"query", "choices", "gold"}, _prompt),
    ({"ctx", "endings", "ind"}, _hellaswag),
    ({"goal", "sol1", "sol2"}, _piqa),
    ({"context_options", "continuation", "gold"}, _winogrande),
    ({"Question", "Best Answer", "Correct Answers", "Incorrect Answers"}, _truthfulqa),
    ({"sentence", "option1", "option2", "answer"}, _winogrande_rows),
    ({"question", "best_answer", "correct_answers", "incorrect_answers"}, _truthfulqa_rows),
    ({"question", "mc1_targets"}, _truthfulqa_choices),
    ({"input", "target_scores"}, _bigbench),
    ({"input", "target"}, _bigbench),
    ({"question", "choices", "answer"}, _mmlu_rows),
    ({"id", "question"}, _small),
    ({"question", "answer", "options"}, _task),
    ({"question", "answer"}, _gsm8k),
)
"""Keys that a first row must have, and the reader of such rows. The first that fits is taken."""
