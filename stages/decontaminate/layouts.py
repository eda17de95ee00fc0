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
        _texts(row.get("options", ())), str(row.get("split", "")),
    )  # fmt: skip


def _task(row: Row, number: int) -> Item:
    return _small({"id": str(number), **row}, number)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{_shown(value)} is no text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"{_shown(value)} is no list of texts")
    return tuple(_text(one) for one in value)


def _shown(value: Any) -> str:
    """For messages, which must not show what items say: they may be private."""
    plain = value is None or isinstance(value, int | float)
    return repr(value) if plain else f"a value of the type {type(value).__name__}"


def _choice(options: tuple[str, ...], answer: Any) -> str:
    """The right option: by its place, in digits too, by its letter, or as it is written."""
    if isinstance(answer, str) and answer in options:
        return answer
    if isinstance(answer, str) and len(answer) == 1 and answer in "ABCDEFGHIJ":
        return _at(options, "ABCDEFGHIJ".index(answer))
    return _known(options, answer)


def _known(options: tuple[str, ...], label: Any) -> str:
    """The option with the number `label`; none where it is empty or -1, as in test splits."""
    return "" if str(label) in ("", "-1") else _at(options, label)


def _at(options: tuple[str, ...], place: Any) -> str:
    try:
        number = int(place)
    except (TypeError, ValueError):
        raise ValueError("the right answer is no option, nor the number of one") from None
    if not 0 <= number < len(options):
        raise ValueError(f"the right answer is number {number} of {len(options)} options")
    return options[number]


def _labelled(labels: list[str], options: tuple[str, ...], key: str) -> str:
    if key not in labels:
        raise ValueError(f"the right answer is none of the options {labels}")
    return options[labels.index(key)]


def _gsm8k(row: Row, number: int) -> Item:
    return Item(str(number), _text(row["question"]), _text(row["answer"]))


def _humaneval(row: Row, number: int) -> Item:
    return Item(_text(row["task_id"]), _text(row["prompt"]), _text(row["canonical_solution"]))


def _mbpp(row: Row, number: int) -> Item:
    return Item(str(row["task_id"]), _text(row["text"]), _text(row["code"]))


def _mmlu(row: Row, number: int) -> Item:
    options = _texts(row["choices"])
    return Item(str(row["index"]), _text(row["question"]), _text(row["answer"]), options)


def _mmlu_rows(row: Row, number: int) -> Item:
    options = _texts(row["choices"])
    return Item(
        str(number), _text(row["question"]), _choice(options, row["answer"]), options,
        str(row.get("subject", "")),
    )  # fmt: skip


def _arc_rows(row: Row, number: int) -> Item:
    labels = [str(label) for label in row["choices"]["label"]]
    options = _texts(row["choices"]["text"])
    answer = _labelled(labels, options, str(row["answerKey"]))
    return Item(str(row["id"]), _text(row["question"]), answer, options)


def _mbpp_sanitized(row: Row, number: int) -> Item:
    return Item(str(row["task_id"]), _text(row["prompt"]), _text(row["code"]))


def _arc(row: Row, number: int) -> Item:
    choices = row["question"]["choices"]
    options = tuple(_text(c["text"]) for c in choices)
    answer = _labelled([str(c["label"]) for c in choices], options, str(row["answerKey"]))
    return Item(str(row["id"]), _text(row["question"]["stem"]), answer, options)


def _prompt(row: Row, number: int) -> Item:
    options = _texts(row["choices"])
    question = _text(row["query"]).removeprefix("Question: ")
    return Item(str(number), question, _known(options, row["gold"]), options)


def _hellaswag(row: Row, number: int) -> Item:
    options = _texts(row["endings"])
    return Item(str(row["ind"]), _text(row["ctx"]), _known(options, row["label"]), options)


def _piqa(row: Row, number: int) -> Item:
    options = (_text(row["sol1"]), _text(row["sol2"]))
    return Item(str(number), _text(row["goal"]), _known(options, row.get("label", "")), options)


def _winogrande(row: Row, number: int) -> Item:
    context = _at(_texts(row["context_options"]), row["gold"])
    return Item(str(number), f"{context} {_text(row['continuation'])}")


def _winogrande_rows(row: Row, number: int) -> Item:
    options = (_text(row["option1"]), _text(row["option2"]))
    sentence = _text(row["sentence"])
    if not row["answer"]:  # the test split has none
        return Item(str(number), sentence, "", options)
    right = _labelled(["1", "2"], options, str(row["answer"]))
    return Item(str(number), sentence.replace("_", right, 1))


def _truthfulqa_rows(row: Row, number: int) -> Item:
    both = (*_texts(row["correct_answers"]), *_texts(row["incorrect_answers"]))
    options = tuple(dict.fromkeys(o.strip() for o in both if o.strip()))
    return Item(str(number), _text(row["question"]), _text(row["best_answer"]), options)


def _truthfulqa_choices(row: Row, number: int) -> Item:
    targets = row["mc1_targets"]
    options = _texts(targets["choices"])
    right = [o for o, label in zip(options, targets["labels"], strict=True) if label]
    if not right:
        raise ValueError("no option has the label 1")
    return Item(str(number), _text(row["question"]), right[0], options)


def _bigbench(row: Row, number: int) -> Item:
    question = _text(row["input"])
    if row.get("target_scores"):
        scores = {_text(o): float(score) for o, score in row["target_scores"].items()}
        return Item(str(number), question, max(scores, key=scores.__getitem__), tuple(scores))
    target = row["target"]
    targets = _texts(target) if isinstance(target, list) else (_text(target),)
    if not targets:
        raise ValueError("there is no target")
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
