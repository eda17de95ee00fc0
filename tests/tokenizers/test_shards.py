from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.errors import ConfigError, IntegrityError
from corpusmill.pipeline.mix import Domain, MixParams, Phase
from corpusmill.pipeline.order import order_key
from corpusmill.pipeline.stage import Asset
from corpusmill.tokenizers import audit
from corpusmill.tokenizers.encode import load
from corpusmill.tokenizers.formats import locate, read_pieces, read_shard
from corpusmill.tokenizers.shards import Shards, ShardsParams

Run = Any


@pytest.fixture
def run(tokenizer: MemoryContext, tmp_path: Path, helpers: Mapping[str, Any]) -> Run:
    def make(docs: pa.Table, *, partitions: int = 1, pieces: int = 3, **params: Any) -> Any:
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        ctx = MemoryContext(folder, partitions=partitions, seed=11)
        ctx.steps["tokenizer"] = tokenizer
        helpers["fill"](ctx, docs, pieces=pieces)
        stage = Shards(ShardsParams(**params))
        stage.setup()
        ctx.run_phases(stage)
        return ctx

    return make


def manifest(ctx: MemoryContext) -> Any:
    return json.loads(ctx.files()["shards/manifest.json"].read_bytes())


def all_bytes(ctx: MemoryContext) -> dict[str, bytes]:
    return {n: p.read_bytes() for n, p in ctx.files().items()}


def stream(ctx: MemoryContext, domain: str) -> tuple[Any, list[dict[str, Any]]]:
    """All tokens of a domain, and its pieces with positions in the whole."""
    tokens: list[int] = []
    rows = []
    for name, path in ctx.files(f"shards/{domain}/").items():
        if name.endswith(".bin"):
            for row in read_pieces(path).to_pylist():
                row["start"] += len(tokens)
                row["end"] += len(tokens)
                rows.append(row)
            tokens += read_shard(path)[0].tolist()
    return tokens, rows


def test_bytes_do_not_depend_on_partitions_or_order(run: Run, helpers: Any) -> None:
    docs = helpers["make_docs"](120)
    mix = MixParams(
        (
            Domain("german", {"lang": "de"}, weight=0.6, max_epochs=3),
            Domain("code", {"source": "code"}, weight=0.3),
            Domain("rest", weight=0.1),
        ),
        tokens=4321,
    )
    first = run(docs, mix=mix, tokens_per_shard=512)
    expected = all_bytes(first)
    assert (
        sum(n.endswith(".bin") for n in expected)
        == 6 + 3 + 1 + len(first.files("shards/heldout/")) // 4
    )  # 2593, 1296 and 432 tokens by 512
    for partitions in (4, 16):
        shuffled = docs.take(sorted(range(120), key=lambda i: order_key(partitions, "00", i)))
        again = run(
            shuffled, mix=mix, tokens_per_shard=512, partitions=partitions, pieces=partitions // 2
        )
        assert all_bytes(again) == expected
    figures = {d["domain"]: d["taken"] for d in manifest(first)["domains"]}
    assert figures.pop("heldout") > 0
    assert figures == {"german": 2593, "code": 1296, "rest": 432}


TWO_PHASES = MixParams(
    (
        Domain("german", {"lang": "de"}, max_epochs=3),
        Domain("code", {"source": "code"}),
        Domain("rest"),
    ),
    tokens=2500,
    phases=(
        Phase("pretrain", share=0.8, weights={"german": 0.5, "code": 0.25, "rest": 0.25}),
        Phase("anneal", share=0.2, weights={"german": 0.8, "code": 0.2}),
    ),
    ladder=("1/4", "1/16"),
)


def test_phases_and_ladder_are_the_same_everywhere(
    run: Run, helpers: Any, tokenizer: MemoryContext
) -> None:
    """Two phases and two rungs, made twice: equal bytes; each phase exact, rungs a part of it."""
    docs = helpers["make_docs"](120)
    first = run(docs, mix=TWO_PHASES, tokens_per_shard=300)
    shuffled = docs.take(sorted(range(120), key=lambda i: order_key(8, "00", i)))
    again = run(shuffled, mix=TWO_PHASES, tokens_per_shard=300, partitions=8, pieces=7)
    assert all_bytes(again) == all_bytes(first)
    whole = manifest(first)
    assert whole["tokens"] == 2500 + sum(
        s["taken"] for s in whole["domains"] if s["domain"] == "heldout"
    )
    assert whole["ladder_tokens"] == sum(
        s["taken"] * 1 // part
        for s in whole["domains"] if s["phase"] and not s["scale"] for part in (4, 16)
    )  # fmt: skip
    ids: dict[str, set[tuple[str, int]]] = {}
    for s in whole["domains"]:
        _, rows = stream(first, s["stream"])
        ids[s["stream"]] = {(r["id"], r["copy"]) for r in rows}
        assert sum(r["end"] - r["start"] for r in rows) == s["taken"]
    assert {s: len(i) for s, i in ids.items() if s.startswith("anneal")}["anneal/rest"] == 0
    assert not ids["pretrain/german"] & ids["anneal/german"]
    for phase in ("pretrain/german", "anneal/german", "pretrain/rest"):
        assert ids[f"scale-1-16/{phase}"] < ids[f"scale-1-4/{phase}"] < ids[phase]
    heldout = {i for i, _ in ids.pop("heldout")}
    assert heldout
    assert not heldout & {i for of in ids.values() for i, _ in of}


def test_licences_that_are_not_allowed_stay_out(
    tokenizer: MemoryContext, helpers: Any, tmp_path: Path
) -> None:
    sources = {"web": {"licence": "NOASSERTION"}, "code": {"licence": "MIT OR GPL-3.0-only"}}
    ctx = MemoryContext(tmp_path, partitions=2, params={"sources": sources})
    ctx.steps["tokenizer"] = tokenizer
    helpers["fill"](ctx, helpers["make_docs"](30))
    ctx.run_phases(Shards(ShardsParams(mix=MixParams(licences=("MIT", "Apache-2.0")))))
    whole = manifest(ctx)
    assert {s["domain"] for s in whole["domains"]} == {"code", "heldout"}
    assert (whole["documents"]["kept"], whole["documents"]["licence_left_out"]) == (10, 20)
    assert "mix: 20 documents have a licence not allowed and are left out" in whole["warnings"]


def test_everything_once_holds_every_document_byte_for_byte(
    run: Run, helpers: Any, tokenizer: MemoryContext
) -> None:
    docs = helpers["make_docs"](50)
    ctx = run(docs, partitions=4, tokens_per_shard=700)
    encoder = load(tokenizer.files())
    texts = dict(zip(docs["id"].to_pylist(), docs["text"].to_pylist(), strict=True))
    found = {}
    for domain in ("web", "code", "heldout"):
        tokens, rows = stream(ctx, domain)
        by_id: dict[str, list[int]] = {}
        for row in rows:
            by_id.setdefault(row["id"], []).extend(tokens[row["start"] : row["end"]])
        for id_, ids in by_id.items():
            assert ids[-1] == encoder.eos_id
            assert encoder.eos_id not in ids[:-1]
            found[id_] = encoder.decode(ids[:-1])
        keys = [order_key(11, i, 0, "place") for i in by_id]
        assert keys == sorted(keys)
    assert found == texts
    whole = manifest(ctx)
    assert whole["documents"] == {
        "in": 50, "kept": 50, "heldout_left_out": 0, "licence_left_out": 0, "unmatched": 0,
        "invalid_texts": 0,
    }  # fmt: skip
    assert whole["stream"]["dtype"] == "uint16"
    heldout = {i for i, s in zip(texts, docs["split"].to_pylist(), strict=True) if s == "heldout"}
    assert {r["id"] for r in stream(ctx, "heldout")[1]} == heldout


def test_exact_budget_cuts_one_document_and_still_ends_it(run: Run, helpers: Any) -> None:
    ctx = run(helpers["make_docs"](60), mix=MixParams(tokens=777), heldout=False, partitions=2)
    total = 0
    for domain in ("code", "web"):
        tokens, rows = stream(ctx, domain)
        total += len(tokens)
        assert tokens.count(0) == len(rows)
        assert sum(r["cut"] for r in rows) <= 1
        assert tokens[-1] == 0
    assert total == 777
    whole = manifest(ctx)
    assert whole["tokens"] == 777
    assert whole["documents"]["heldout_left_out"] == 6
    assert not ctx.files("shards/heldout/")
    assert any(r["cut"] for d in ("code", "web") for r in stream(ctx, d)[1])


def test_epochs_repeat_documents_in_other_places(run: Run, helpers: Any) -> None:
    docs = helpers["make_docs"](9, words=5)
    mix = MixParams((Domain("all", tokens=400, max_epochs=50),))
    ctx = run(docs, mix=mix, partitions=4)
    share = manifest(ctx)["domains"][0]
    _, rows = stream(ctx, "all")
    copies: dict[str, list[int]] = {}
    for row in rows:
        copies.setdefault(row["id"], []).append(row["copy"])
    low, high = share["until_copy"], share["until_copy"] + 1
    assert low >= 1
    assert {len(c) for c in copies.values()} == {low, high}
    assert all(sorted(c) == list(range(len(c))) for c in copies.values())
    assert len(rows) == share["copies"]


def test_document_longer_than_a_shard(run: Run, helpers: Any, tokenizer: MemoryContext) -> None:
    docs = helpers["make_docs"](5, words=2)
    texts = docs["text"].to_pylist()
    texts[1] = helpers["make_text"](99, 900)
    docs = docs.set_column(2, "text", [texts])
    ctx = run(docs, tokens_per_shard=100, partitions=8)
    tokens, rows = stream(ctx, "web")
    mine = [r for r in rows if r["id"] == docs["id"][1].as_py()]
    assert len(mine) > 10
    assert [r["doc_offset"] for r in mine] == np.cumsum(
        [0, *(r["end"] - r["start"] for r in mine[:-1])]
    ).tolist()
    ids = [t for r in mine for t in tokens[r["start"] : r["end"]]]
    assert load(tokenizer.files()).decode(ids[:-1]) == texts[1]
    files = ctx.files("shards/web/")
    sizes = [len(read_shard(p)[0]) for n, p in files.items() if n.endswith(".bin")]
    assert set(sizes[:-1]) == {100}
    third = files["shards/web/web-00003.docs.parquet"]
    row = locate(third, 42)
    assert row["id"] == mine[0]["id"]
    assert row["doc_position"] == 300 + 42 - mine[0]["start"]
    assert row["url"] == "https://example.org/1"


def test_injected_end_of_text_is_no_border(run: Run, helpers: Any) -> None:
    docs = helpers["make_docs"](4)
    docs = docs.set_column(2, "text", [["a<|endoftext|>b", "<|endoftext|>", "", "c"]])
    ctx = run(docs, partitions=2)
    tokens = [t for d in ("web", "code") for t in stream(ctx, d)[0]]
    assert tokens.count(0) == 4


def test_unmatched_documents_are_counted(run: Run, helpers: Any) -> None:
    ctx = run(helpers["make_docs"](40), mix=MixParams((Domain("de", {"lang": "de"}),)))
    whole = manifest(ctx)
    assert whole["documents"]["unmatched"] == 40 - 4 - 10
    assert whole["documents"]["kept"] == 14
    assert "mix: 26 documents match no domain and are left out" in whole["warnings"]


def test_no_documents(run: Run, helpers: Any) -> None:
    ctx = run(helpers["make_docs"](0), partitions=4, mix=MixParams((Domain("a"),)))
    assert list(ctx.files()) == ["shards/manifest.json"]
    assert manifest(ctx)["tokens"] == 0
    assert manifest(ctx)["domains"][0]["documents"] == 0


def test_unknown_column_is_an_error(run: Run, helpers: Any) -> None:
    mix = MixParams((Domain("a", {"langauge": "de"}),))
    with pytest.raises(ConfigError, match="'langauge', which no document has"):
        run(helpers["make_docs"](3), mix=mix)


def test_missing_optional_columns(run: Run, helpers: Any) -> None:
    docs = helpers["make_docs"](6).select(["id", "source", "text"])
    ctx = run(docs, mix=MixParams((Domain("x", {"licence": "*"}), Domain("y"))))
    taken = {d["domain"]: d["documents"] for d in manifest(ctx)["domains"]}
    assert taken == {"x": 0, "y": 6}


def test_sentencepiece_shards(run: Run, helpers: Any, spm: MemoryContext, tmp_path: Path) -> None:
    ctx = MemoryContext(tmp_path / "s", partitions=2, seed=1)
    ctx.steps["tokenizer"] = spm
    helpers["fill"](ctx, helpers["make_docs"](20))
    ctx.run_phases(Shards(ShardsParams()))
    assert manifest(ctx)["tokenizer"]["family"] == "spm"
    assert next(e for e in ctx.equations if "tokens taken" in e[0])[1] > 0


@pytest.mark.parametrize("damage", ["token", "eos", "short"])
def test_check_sees_damage(run: Run, helpers: Any, tokenizer: MemoryContext, damage: str) -> None:
    ctx = run(helpers["make_docs"](10))
    name = "shards/web/web-00000"
    said = next(r for n in ctx.notes("write") for r in n["shards"] if r["name"] == name)
    path = ctx.files()[name + ".bin"]
    tokens = np.fromfile(path, dtype="<u2")
    if damage == "short":
        tokens = tokens[:-1]
    else:
        tokens[3] = 0 if damage == "eos" else tokens[3] + 1
    path.write_bytes(tokens.tobytes())
    paths = {s: ctx.files()[name + s] for s in (".bin", ".idx", ".ends", ".docs.parquet")}
    encoder = load(tokenizer.files())
    with pytest.raises(IntegrityError, match=r"bin: sha256"):
        audit.check_shard(name, paths, said, encoder)
    if damage != "token":  # also where the digest was taken of the damaged bytes
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        fooled = {**said, "sha256": {**said["sha256"], ".bin": digest}}
        with pytest.raises(IntegrityError, match=r"ends of text|tokens of uint16"):
            audit.check_shard(name, paths, fooled, encoder)


def test_decoded_shards_are_searched(
    run: Run, helpers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One benchmark item lies in a document that goes over several shards, the other nowhere."""
    made: list[Asset] = []

    class Counted(audit.Benchmarks):
        def __init__(self, folder: Asset) -> None:
            made.append(folder)
            super().__init__(folder)

    monkeypatch.setattr("corpusmill.tokenizers.shards.Benchmarks", Counted)
    question = (
        "A miller grinds forty seven sacks of barley on Monday and sixty two sacks of rye on "
        "Thursday. How many sacks did the miller grind in the whole week if Sunday is free?"
    )
    other = (
        "Seven captains sail to different harbours with nineteen barrels of salted fish each. "
        "How many barrels do they carry together when two captains turn back?"
    )
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    rows = [{"id": "1", "question": question, "answer": "109"},
            {"id": "2", "question": other, "answer": "95"}]  # fmt: skip
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "sacks.jsonl").write_text(lines, encoding="utf-8")
    (folder / "part.jsonl").write_text(lines.partition("\n")[0], encoding="utf-8")
    docs = helpers["make_docs"](30)
    texts = docs["text"].to_pylist()
    texts[4] = f"{texts[4]}\n{question}\n{texts[5]}"
    docs = docs.set_column(2, "text", [texts])
    for partitions in (1, 4):
        ctx = run(
            docs, partitions=partitions, tokens_per_shard=64, benchmarks=Asset(str(folder))
        )  # fmt: skip
        figures = manifest(ctx)["contamination"]["sacks"]
        alarms = figures.pop("false_alarms")
        assert figures == {
            "items": 2, "visible": 2, "documents": 1, "found": 1, "found_items": ["1"],
            "by_method": {"ngram": 1}, "also_in": {"part": 1},
        }  # fmt: skip
        assert manifest(ctx)["contamination"]["part"]["found_items"] == ["1"]
        assert set(alarms) == {"ngram", "run", "window", "short", "half", "paraphrase"}
        assert float(alarms["ngram"]["upper_95"]) < 0.001
    assert len(ctx.notes("check")) == 4
    assert made == [Asset(str(folder))] * 2  # once a run, whatever its tasks


def test_params() -> None:
    with pytest.raises(ConfigError, match="tokens_per_shard"):
        ShardsParams(tokens_per_shard=2**31)


def test_golden(run: Run, helpers: Any, tokenizer: MemoryContext, spm: MemoryContext) -> None:
    """The same on every Python; another digest needs another version of the stage or pins."""
    ctx = run(helpers["make_docs"](40), partitions=2, tokens_per_shard=500)
    digests = [
        hashlib.sha256(c.files()[name].read_bytes()).hexdigest()[:16]
        for c, name in (
            (tokenizer, "tokenizer/tokenizer.json"),
            (spm, "tokenizer/tokenizer.model"),
            (ctx, "shards/manifest.json"),
        )
    ]
    assert digests == ["67b31555c76d8a32", "3c13ac37ba659c16", "50b9d7b271332a11"]
