"""What every stage promises, tried on every stage that is there.

A stage is found by its line ``STAGE = ``; nothing is registered here. One that cannot be made from
default parameters, or reads a file, has a row in `MADE_WITH`. ``golden.json`` holds a digest of the
outcomes of stages whose output is settled: it may change only together with the stage's version.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import importlib.metadata
import json
import os
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.document import (
    META_COLUMNS,
    Document,
    Drop,
    Failure,
    Outcome,
    Page,
    Scalar,
    document_id,
)
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.params import decode_dataclass, encode
from corpusmill.pipeline.registry import stage_class, stage_names
from corpusmill.pipeline.stage import Asset, Barrier, NoParams, Sink, Source, Stage

NAMES = stage_names()
CODE = re.compile(r"[a-z0-9_]+")
TYPES = {"int": int, "float": float, "bool": bool, "str": str}


def quality_model(folder: Path) -> dict[str, Any]:
    """A classifier of two kinds of text, trained in a moment."""
    import fasttext

    lines = folder / "train.txt"
    good, bad = "the careful study of nature and history", "buy cheap pills now click here"
    lines.write_text("".join(f"__label__high {good}\n__label__low {bad}\n" for _ in range(50)))
    model = fasttext.train_supervised(
        str(lines), dim=4, epoch=2, thread=1, seed=1, bucket=1000, verbose=0
    )
    path = folder / "quality.bin"
    model.save_model(str(path))
    return {"model": str(path)}


def perplexity_model(folder: Path) -> dict[str, Any]:
    """An n-gram model of two hundred short lines."""
    from corpusmill.classifiers.train_perplexity import PerplexityConfig, train_perplexity

    rows = [
        {"text": f"Line {i} says word {i % 7} of the careful study of nature.", "label": "high",
         "group": f"g{i % 2}", "licence": "CC0-1.0", "source": "s"}
        for i in range(200)
    ]  # fmt: skip
    (folder / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = ("labels.jsonl",)
    config = PerplexityConfig("tiny", "en", files, ("g1",), pieces=350, order=3, reference=files)
    train_perplexity(config, folder, folder)
    return {"models": {"*": str(folder / "model.ngram")}}


def edges(folder: Path) -> dict[str, Any]:
    """Twentieths of a made-up score."""
    path = folder / "edges.json"
    found = {"gopher_words": list(range(1, 20)), "gopher_mean_word": [i / 4 for i in range(1, 20)]}
    path.write_text(json.dumps({"schema": "corpusmill/quantiles/1", "signals": found}))
    return {"signals": ["gopher_words"], "lower": ["gopher_mean_word"], "edges": str(path)}


def benchmark(folder: Path) -> dict[str, Any]:
    """A benchmark of one question."""
    path = folder / "benchmarks"
    path.mkdir()
    (path / "tiny.jsonl").write_text(
        '{"id": "1", "question": "How many apples does the old farmer sell on a rainy Monday in '
        'the market behind the church?", "answer": "Twelve red apples and three green ones."}\n'
    )
    return {"benchmarks": str(path)}


def names(folder: Path) -> dict[str, Any]:
    """A list of one record."""
    path = folder / "names.txt"
    path.write_text("http://host.example/a?b=c#d\n")
    return {"drop": [str(path)]}


def known_before(folder: Path) -> dict[str, Any]:
    """An index of one document."""
    import pyarrow as pa

    from corpusmill.stages.dedup.index import build_index

    table = pa.table({"id": ["0" * 32], "text": ["word"]})
    path = folder / "known.index"
    path.write_bytes(build_index([table], {"run": "old", "purpose": "known"}))
    return {"indexes": [str(path)]}


MADE_WITH: dict[str, dict[str, Any] | Callable[[Path], dict[str, Any]]] = {
    "classifiers.buckets": edges,
    "classifiers.fasttext_quality": quality_model,
    "classifiers.grade": {
        "model": str(Path(__file__).parents[2] / "configs/sample/models/grade.json")
    },
    "classifiers.linear_quality": {
        "model": str(Path(__file__).parents[2] / "configs/sample/models/quality_linear.lin")
    },
    "classifiers.names": {"model": "names"},
    "classifiers.perplexity": perplexity_model,
    "classifiers.sklearn_score": {"model": "good.skops", "label": "good"},
    "classifiers.topics": {"topic": "topics.jsonl"},
    "classifiers.transformer_score": {"model": "classifier", "label": "good"},
    "decontaminate.ngram": benchmark,
    "dedup.known": known_before,
    "dedup.semantic": {"clusters": "clusters.jsonl"},
    "filters.datatrove": {"block": "GopherQualityFilter", "words": "whitespace"},
    "filters.listed": names,
    "filters.threshold": {"signal": "gopher_words", "min": 3, "max": 1000},
    "tokenizers.given": {"folder": "tokenizer"},
}
"""Parameters of stages that have required ones, as in a recipe."""

WITH_EXTRAS = {
    "classifiers.names", "classifiers.sklearn_score", "classifiers.topics",
    "classifiers.transformer_score", "dedup.semantic",
}  # fmt: skip
"""Stages whose libraries are not installed here: `tests/classifiers/with_extras` tries those."""

TEXTS = (
    "",
    " ",
    "\n\n\r\n\t",
    "word",
    "A plain sentence, and then another one. They have no purpose but to be read by a stage.\n",
    "First line.\r\nSecond line.\r\n\r\nFirst line.\r\nSecond line.\r\n",
    "old\rmac\rlines",
    "今天天气很好，我们去公园吧。今天天气很好，我们去公园吧。",
    "これはテストです。カタカナとひらがな。",
    "สวัสดีชาวโลก นี่คือการทดสอบภาษาไทย",
    "Привет, мир! Это проверка. ПРИВЕТ, МИР!",
    "مرحبا بالعالم. هذا اختبار؟",
    "यह एक परीक्षण है। धन्यवाद।",
    "🙂🙃🙂 👩‍👩‍👧 🇩🇪",
    "\x00\x01\x02 control \x7f\x85\x9f characters \ufffe\uffff\U0010ffff",
    "\ufeffbyte order mark \u200b\u200e\u202e hidden \u2028 separators \u2029 \xa0\u3000",
    "e\u0301\u0301\u0301 combining " + "\u0301" * 300,
    "mail me at someone@mail.example or 192.0.2.1, card 4111 1111 1111 1111",
    "{ lorem ipsum } javascript: use cookies",
    "How many apples does the old farmer sell on a rainy Monday in the market behind the church? "
    "Twelve red apples and three green ones.",
    "#" * 500,
    "..." * 300,
    "a " * 3000,
    "x" * 100_000,
    "\n".join(f"- item {i % 7}" for i in range(300)),
    "“Quoted.” ‘Single’ «French» (bracket.)[12]",
)
URLS = ("", "http://host.example/a?b=c#d", "https://xn--bcher-kva.example/%E2%82%AC", "not a url",
        "http://[::1]/", "http://h.example/" + "a/" * 500)  # fmt: skip
BODIES = (
    b"",
    b"plain bytes, no markup",
    b"<html><body><p>A paragraph that is long enough to be kept.</p></body></html>",
    "<p>äöü €</p>".encode("utf-16"),
    b"\x00\xff\xfe\xfd" * 50,
    b"<div>" * 2000 + b"deep" + b"</div>" * 2000,
    b"<html><head><title>t</title></head><body>" + b"<p>word word word.</p>\r\n" * 200,
    b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
)


@lru_cache(maxsize=1)
def signal_types() -> dict[str, str]:
    """The type of every signal that any stage writes."""
    types: dict[str, str] = {}
    for name in NAMES:
        types.update(getattr(stage_class(name), "writes", {}))
    return types


@pytest.fixture(scope="module")
def params_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """The decoded parameters that a stage is made with here."""
    made: dict[str, Any] = {}

    def decoded(name: str) -> Any:
        if name not in made:
            given = MADE_WITH.get(name, {})
            if callable(given):
                given = given(tmp_path_factory.mktemp(name.replace(".", "_")))
            try:
                made[name] = decode_dataclass(stage_class(name).Params, given, name)
            except ConfigError as error:
                pytest.fail(f"{error}\ngive it parameters in MADE_WITH in this file")
        return made[name]

    return decoded


def inputs(stage: Stage) -> list[Page | Document]:
    """Fresh items for a stage, with the signals that it reads."""
    some: dict[str, Scalar] = {"int": 7, "float": 0.5, "bool": False, "str": "en"}
    signals = {s: some[signal_types().get(s, "float")] for s in stage.reads}
    items: list[Page | Document] = []
    if stage.takes in ("document", "any"):
        for i, text in enumerate(TEXTS):
            meta: dict[str, Scalar] = {"url": URLS[i % len(URLS)]} if i % len(URLS) else {}
            key = document_id("contract", "texts", 1, i)
            items.append(Document(key, text, "contract", meta, dict(signals)))
    if stage.takes in ("page", "any"):
        for i, body in enumerate(BODIES):
            key = document_id("contract", "bodies", 1, i)
            headers = {"content-type": "text/html; charset=utf-8"} if i % 2 else {}
            meta = {"url": URLS[1 + i % (len(URLS) - 1)]}
            items.append(Page(key, "contract", body, headers, meta, dict(signals)))
    return items


def check(stage: Stage, given: Sequence[Page | Document], outcomes: Sequence[Outcome]) -> None:
    """The outcomes of one call keep every promise of a single call."""
    assert len(outcomes) == len(given)
    for item, outcome in zip(given, outcomes, strict=True):
        if isinstance(outcome, Drop):
            assert outcome.reason in stage.reasons
            assert outcome.value is None or isinstance(outcome.value, str | int | float)
            continue
        if isinstance(outcome, Failure):
            assert outcome.type in stage.errors
            continue
        assert outcome.id == item.id
        assert outcome.source == item.source
        if stage.kind == "measure":
            assert outcome is item
        for key, value in outcome.meta.items():
            assert type(value) is META_COLUMNS[key], key
        new = {k: v for k, v in outcome.signals.items() if k not in stage.reads}
        assert set(new) <= set(stage.writes)
        for key, value in new.items():
            assert type(value) is TYPES[stage.writes[key]], key
            assert not isinstance(value, float) or value == round(value, 6), key
        if isinstance(outcome, Document):
            outcome.text.encode("utf-8")  # no lone surrogates


def test_there_are_stages() -> None:
    assert {"filters.url", "measure.language", "dedup.minhash", "sources.warc"} <= set(NAMES)
    assert set(MADE_WITH) <= set(NAMES)


def test_signals_are_written_by_one_stage_only() -> None:
    by_signal: dict[str, list[str]] = {}
    for name in NAMES:
        for signal in getattr(stage_class(name), "writes", {}):
            by_signal.setdefault(signal, []).append(name)
    assert {s: names for s, names in by_signal.items() if len(names) > 1} == {}


@pytest.mark.parametrize("name", NAMES)
def test_declarations(name: str, params_of: Callable[[str], Any]) -> None:
    cls = stage_class(name)
    assert cls.name == name
    assert type(cls.version) is int
    assert cls.version >= 1
    base = {"source": Source, "barrier": Barrier, "sink": Sink}.get(cls.kind, Stage)
    assert issubclass(cls, base)
    stage = cls(params_of(name))
    for pin in () if name in WITH_EXTRAS else stage.pins:
        importlib.metadata.version(pin)
    for code in (*getattr(stage, "reasons", ()), *getattr(stage, "errors", ())):
        assert CODE.fullmatch(code)
    for signal, kind in getattr(stage, "writes", {}).items():
        assert CODE.fullmatch(signal)
        assert kind in TYPES
    assert not any(word in (cls.__doc__ or "") for word in ("TODO", "FIXME"))
    assert cls.__doc__
    assert cls.Params.__doc__


@pytest.mark.parametrize("name", NAMES)
def test_params_round_trip(name: str, params_of: Callable[[str], Any]) -> None:
    cls = stage_class(name)
    params = params_of(name)
    assert dataclasses.is_dataclass(params)
    assert type(params).__dataclass_params__.frozen  # type: ignore[union-attr]
    assert decode_dataclass(cls.Params, encode(params), name) == params
    if cls.Params is not NoParams:
        with pytest.raises(ConfigError, match="unknown key 'no_such_key'"):
            decode_dataclass(cls.Params, {"no_such_key": 1}, name)


def asset_fields(name: str) -> dict[str, Callable[[Asset], Any]]:
    """The parameters of a stage that name assets, each with what makes its value of one."""
    shapes: dict[str, Callable[[Asset], Any]] = {
        "Asset": lambda asset: asset, "Asset | None": lambda asset: asset,
        "tuple[Asset, ...]": lambda asset: (asset,), "Mapping[str, Asset]": lambda a: {"en": a},
    }  # fmt: skip
    fields = {f.name: str(f.type) for f in dataclasses.fields(stage_class(name).Params)}
    return {key: shapes[kind] for key, kind in fields.items() if "Asset" in kind}


WITH_ASSETS = [(name, key) for name in NAMES for key in asset_fields(name)]


def test_stages_with_assets_are_found() -> None:
    assert {("filters.url", "optout"), ("classifiers.grade", "model")} <= set(WITH_ASSETS)
    assert len(WITH_ASSETS) >= 20


@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
@pytest.mark.parametrize(("name", "key"), WITH_ASSETS)
def test_an_asset_of_the_wrong_kind_is_seen_when_the_plan_is_made(
    name: str, key: str, folder: bool, params_of: Callable[[str], Any], tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong"
    if folder:
        wrong.mkdir()
    else:
        wrong.write_text('{"no": "such thing"}\n')
    value = asset_fields(name)[key](Asset(wrong))
    params = dataclasses.replace(params_of(name), **{key: value})
    with pytest.raises(AssetError):
        stage_class(name)(params).check_assets()


ON_ITEMS = [
    n for n in NAMES
    if stage_class(n).kind in ("map", "measure", "decide") and n not in WITH_EXTRAS
]  # fmt: skip


@pytest.mark.parametrize("name", ON_ITEMS)
def test_any_item_has_an_outcome_whatever_its_neighbours(
    name: str, params_of: Callable[[str], Any]
) -> None:
    stage: Stage = stage_class(name)(params_of(name))
    stage.setup()
    try:
        assert stage.apply([]) == []
        given = inputs(stage)
        together = stage.apply(given)
        check(stage, given, together)
        # Once more, as a stage that has seen them before, in one batch and one by one, backwards.
        assert stage.apply(inputs(stage)) == together
        alone = [stage.apply([item])[0] for item in reversed(inputs(stage))]
        assert alone[::-1] == together
        for reason, _, _, side in stage.thresholds():
            assert reason in stage.reasons
            assert side in ("low", "high")
        if stage.kind == "decide":  # what reports ask for agrees with what a run does
            for drops, outcome in zip(stage.broken(inputs(stage)), together, strict=True):
                assert drops[:1] == ([outcome] if isinstance(outcome, Drop) else [])
    finally:
        stage.close()


@pytest.mark.parametrize("name", [n for n in ON_ITEMS if not stage_class(n).edits_text])
def test_what_edits_no_text_edits_no_text(name: str, params_of: Callable[[str], Any]) -> None:
    stage: Stage = stage_class(name)(params_of(name))
    if stage.takes == "page":
        pytest.skip("it makes documents of pages")
    stage.setup()
    try:
        given = inputs(stage)
        before = copy.deepcopy(given)
        stage.apply(given)
        for old, new in zip(before, given, strict=True):
            assert getattr(old, "text", "") == getattr(new, "text", "")
            assert getattr(old, "body", b"") == getattr(new, "body", b"")
    finally:
        stage.close()


GOLDEN = Path(__file__).with_name("golden.json")
ROWS: dict[str, dict[str, Any]] = json.loads(GOLDEN.read_text("utf-8"))


def digest(outcomes: Sequence[Outcome]) -> str:
    """sha256 of what became of the items, the signals sorted by name."""
    lines: list[list[Any]] = []
    for o in outcomes:
        if isinstance(o, Document | Page):
            body = o.text if isinstance(o, Document) else o.body.hex()
            lines.append(["kept", o.id, body, sorted(o.meta.items()), sorted(o.signals.items())])
        elif isinstance(o, Drop):
            lines.append(["drop", o.reason, o.value])
        elif isinstance(o, Failure):
            lines.append(["failure", o.type])
    return hashlib.sha256(json.dumps(lines).encode()).hexdigest()


@pytest.mark.parametrize("name", sorted(ROWS))
def test_output_changes_only_with_the_version(name: str, params_of: Callable[[str], Any]) -> None:
    """With CORPUSMILL_WRITE_GOLDEN set, writes the row instead (after a change of the inputs
    above, or together with a new version)."""
    stage: Stage = stage_class(name)(params_of(name))
    stage.setup()
    try:
        given = digest(inputs(stage))
        outcomes = digest(stage.apply(inputs(stage)))
    finally:
        stage.close()
    now = {"version": stage.version, "inputs": given, "outcomes": outcomes}
    if os.environ.get("CORPUSMILL_WRITE_GOLDEN"):
        rows = json.loads(GOLDEN.read_text("utf-8")) | {name: now}
        GOLDEN.write_text(json.dumps(rows, indent=2, sort_keys=True) + "\n", "utf-8")
        return
    row = ROWS[name]
    assert given == row["inputs"], "the inputs above changed: write the rows anew"
    if outcomes != row["outcomes"]:
        assert now["version"] > row["version"], f"the output of {name} changed: raise its version"
    assert now == row, "a new version: write its row anew"
