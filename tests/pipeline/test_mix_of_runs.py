"""A recipe whose sources are finished runs: the manifest of manifests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline import Plan, Recipe, run, verify
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.errors import ConfigError, IntegrityError
from corpusmill.pipeline.finished import finished_run
from corpusmill.pipeline.identity import pretty
from corpusmill.pipeline.lock import Lock, diff, seal_lock
from corpusmill.pipeline.planning import make_plan
from corpusmill.pipeline.releasing import release_faults
from corpusmill.pipeline.replay import remake

from .conftest import write_corpus

pytestmark = pytest.mark.slow

UPSTREAM = """
schema: corpusmill/recipe/1
name: NAME
version: "1"
sources:
  - {name: plain, stage: sources.jsonl, root: IN, paths: ["part-0.jsonl"], licence: CC0-1.0}
  - {name: own, stage: sources.jsonl, root: IN, paths: ["part-1.jsonl"], licence: MIT}
steps:
  - dedup.exact
  - measure.fineweb
  - measure.split: {heldout: "0.1", by: id}
execution: {task_bytes: 10000, partitions: 4}
"""

MIX = """
schema: corpusmill/recipe/1
name: blend
version: "1"
sources:
  - name: a
    stage: sources.run
    root: a
    paths: [prose.lock.json]
    licence: CC0-1.0 AND MIT
    params: {signals: {split: str, fineweb_line_punct: float}}
  - name: b
    stage: sources.run
    root: b
    paths: [notes.lock.json]
    licence: MIT
    params: {only: [own], signals: {split: str}}
steps: []
tokenizer: {stage: tokenizers.bpe, vocab_size: 380}
mix:
  domains:
    - {name: a, match: {source: a, fineweb_line_punct: "0.9.."}, weight: WEIGHT}
    - {name: b, match: {source: b}, weight: REST, max_epochs: 4}
  tokens: 1500
shards: {tokens_per_shard: 700}
execution: {task_bytes: 10000, partitions: PARTITIONS}
"""


def mix(base: Path, *overrides: str, weight: float = 0.5, partitions: int = 4) -> Recipe:
    text = MIX.replace("WEIGHT", str(weight)).replace("REST", format(1 - weight, ".2f"))
    text = text.replace("PARTITIONS", str(partitions))
    return Recipe.parse(text, base, overrides=overrides)


def upstream(name: str, folder: str) -> str:
    return UPSTREAM.replace("NAME", name).replace("IN", folder)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Finished runs ``a`` and ``b`` of other texts, and the mix ``m`` of them."""
    base = tmp_path_factory.mktemp("runs")
    write_corpus(base / "one", files=2, rows=20)
    write_corpus(base / "two", files=2, rows=30)
    run(Recipe.parse(upstream("prose", "one"), base), base / "a", workers=1)
    run(Recipe.parse(upstream("notes", "two"), base), base / "b", workers=1)
    run(mix(base), base / "m", workers=1)
    return base


def kept(root: Path) -> dict[str, str]:
    """Texts by id of the documents that a run kept."""
    tables = [pq.read_table(root / f, partitioning=None) for f in finished_run_files(root)]
    return {r["id"]: r["text"] for t in tables for r in t.to_pylist()}


def finished_run_files(root: Path) -> list[str]:
    return list(finished_run(Lock.load(root).path).files)


def test_documents_keep_ids_and_signals(runs: Path) -> None:
    ours, theirs = kept(runs / "m"), kept(runs / "a") | kept(runs / "b")
    assert ours.items() <= theirs.items()
    ledger = json.loads((runs / "m/ledger.json").read_bytes())["records"]
    all_of_a, all_of_b = len(kept(runs / "a")), len(kept(runs / "b"))
    assert ledger["in"] == all_of_a + all_of_b
    others = ledger["dropped"]["read:other_source"]
    assert (ledger["kept"], ledger["errors"]) == (all_of_a + all_of_b - others, {})
    assert 0 < others < all_of_b
    table = pq.read_table(runs / "m" / finished_run_files(runs / "m")[0], partitioning=None)
    assert set(table["source"].to_pylist()) <= {"a", "b"}
    assert set(table["split"].to_pylist()) == {"train", "heldout"}
    punct = {r["source"]: r["fineweb_line_punct"] for r in table.to_pylist()}
    assert punct["a"] is not None
    assert punct.get("b") is None


def test_the_lock_names_the_runs_and_not_their_files(runs: Path) -> None:
    lock = Lock.load(runs / "m")
    a, b = Lock.load(runs / "a"), Lock.load(runs / "b")
    assert lock.data["identity"]["inputs"] == [
        {"source": "a", "licence": "CC0-1.0 AND MIT", "run": a.of_documents()},
        {"source": "b", "licence": "MIT", "run": b.of_documents()},
    ]
    assert {r["role"] for r in lock.rows()} == {"tokenizer", "shard"}


def test_the_same_however_the_runs_were_cut(runs: Path, tmp_path: Path) -> None:
    for name, folder, place in (("prose", "one", "a"), ("notes", "two", "b")):
        again = Recipe.parse(
            upstream(name, folder), runs,
            overrides=("execution.partitions=1", "execution.task_bytes=100000000"),
        )  # fmt: skip
        run(again, tmp_path / place, workers=1)
    assert len(finished_run_files(tmp_path / "a")) != len(finished_run_files(runs / "a"))
    made = run(mix(tmp_path, partitions=1), tmp_path / "m", workers=2)
    lock, first = Lock.load(made.lock_path), Lock.load(runs / "m")
    assert (lock.mix_id, lock.files_sha256) == (first.mix_id, first.files_sha256)


def test_another_weight_reads_no_document_again(runs: Path, tmp_path: Path) -> None:
    root = tmp_path / "m"
    shutil.copytree(runs / "m", root)

    def of_phases(*names: str) -> dict[str, int]:
        plan = Plan.load(root / "plan.json")
        folders = [p.folder for p in plan.phases if p.name.split("-", 1)[1].startswith(names)]
        assert len(folders) >= len(names)
        files = [f for n in folders for f in (root / "phases" / n).rglob("*") if f.is_file()]
        return {str(f): f.stat().st_mtime_ns for f in files}

    before = of_phases("read", "tokenizer", "shards.encode")
    other = mix(runs, weight=0.75)
    run(other, root, workers=1)
    assert of_phases("read", "tokenizer", "shards.encode") == before
    first, second = Lock.load(runs / "m"), Lock.load(root)
    assert diff(first, second)[0].startswith("product shards: mix.domains")
    assert first.data["outputs"]["tokens"] == second.data["outputs"]["tokens"]
    assert first.files_sha256 != second.files_sha256


def test_verify_goes_down_to_the_inputs(runs: Path, tmp_path: Path) -> None:
    base = tmp_path / "moved"
    shutil.copytree(runs, base)
    # The same plans, with the places of the copies.
    make_plan(mix(base)).save(base / "m/plan.json")
    make_plan(Recipe.parse(upstream("notes", "two"), base)).save(base / "b/plan.json")
    assert verify(base / "m").ok
    inputs = base / "two/part-1.jsonl"
    inputs.write_bytes(inputs.read_bytes().replace(b"river", b"rover", 1))
    found = verify(base / "m")
    assert len(found.faults) == 1
    assert "source b" in found.faults[0]
    assert "part-1.jsonl" in found.faults[0]
    assert verify(base / "m", inputs=False).ok
    shutil.rmtree(base / "b")
    assert any("the run of source b" in line for line in verify(base / "m").skipped)


def test_another_run_in_its_place_is_a_fault(runs: Path, tmp_path: Path) -> None:
    base = tmp_path / "moved"
    shutil.copytree(runs, base)
    make_plan(mix(base)).save(base / "m/plan.json")
    run(
        Recipe.parse(upstream("prose", "two"), base, overrides=("version='2'",)), base / "a",
        workers=1,
    )  # fmt: skip
    assert verify(base / "a").ok
    assert [f for f in verify(base / "m").faults if "is the lock of other documents" in f]


def test_a_table_that_is_not_the_committed_one_stops_the_run(runs: Path, tmp_path: Path) -> None:
    base = tmp_path / "moved"
    shutil.copytree(runs / "a", base / "a")
    shutil.copytree(runs / "b", base / "b")
    table = base / "a" / finished_run_files(base / "a")[0]
    raw = bytearray(table.read_bytes())
    raw[len(raw) // 2] ^= 1
    table.write_bytes(raw)
    with pytest.raises(Exception, match="is not the file that its run committed"):
        run(mix(base), base / "m", workers=1)


def test_what_a_source_may_not_ask_for(runs: Path, tmp_path: Path) -> None:
    def plan(*overrides: str) -> None:
        make_plan(mix(runs, *overrides))

    with pytest.raises(ConfigError, match=r"its licence is 'CC0-1\.0', that of the run's sources"):
        plan("sources.a.licence=CC0-1.0")
    with pytest.raises(ConfigError, match="the run has no source 'web'"):
        plan("sources.b.params.only=[web]")
    with pytest.raises(ConfigError, match="asked for as str and is no signal of the run"):
        plan("sources.b.params.signals={topic: str}")
    with pytest.raises(ConfigError, match="asked for as int and is str"):
        plan("sources.b.params.signals={split: int}", "sources.a.params.signals={}")
    with pytest.raises(ConfigError, match="gives 'split' as int"):
        plan("sources.b.params.signals={split: int}")
    with pytest.raises(ConfigError, match="cannot read the lock"):
        plan("sources.a.paths=[other.lock.json]")
    with pytest.raises(ConfigError, match="is named by its lock"):
        plan("sources.a.paths=[prose.lock.json, x.lock.json]")
    with pytest.raises(ConfigError, match="is read from a folder"):
        plan("sources.a.root=s3://bucket/a")


def test_a_run_twice_is_refused(runs: Path, tmp_path: Path) -> None:
    """Each of its documents would be taken twice under one id."""
    recipe = mix(
        runs, "sources.b.root=a", "sources.b.paths=[prose.lock.json]",
    )  # fmt: skip
    with pytest.raises(Exception, match="is there twice"):
        run(recipe, tmp_path / "m", workers=1)


def test_a_lock_and_its_run_belong_together(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "a", tmp_path / "a")
    lock = tmp_path / "a/prose.lock.json"
    assert finished_run(lock).licences == {"plain": "CC0-1.0", "own": "MIT"}
    make_plan(Recipe.parse(upstream("prose", "two"), runs)).save(tmp_path / "a/plan.json")
    with pytest.raises(Exception, match=r"is not closed|not the lock of the plan"):
        finished_run(lock)
    (tmp_path / "a/plan.json").write_bytes((runs / "a/plan.json").read_bytes())
    data = json.loads(lock.read_bytes())
    data["outputs"]["kept"]["documents"] += 1
    lock.write_text(json.dumps(data))
    with pytest.raises(IntegrityError, match="was changed after it was written"):
        finished_run(lock)
    data.pop("seal")
    lock.write_bytes(pretty(seal_lock(data)))  # by somebody who knows how
    with pytest.raises(IntegrityError, match="are not those that its lock claims"):
        finished_run(lock)


def test_why_finds_what_the_mix_did_not_take(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A document that a step of the mix drops is made again from the run's tables."""
    short = "{filters.threshold: {signal: fineweb_line_punct, max: 0.1}}"
    text = MIX[: MIX.index("steps:")] + f"steps: [{short}]\nguards: {{allow_empty: true}}\n"
    asked = "sources.b.params.signals={split: str, fineweb_line_punct: float}"
    root = tmp_path / "m"
    run(Recipe.parse(text, runs, overrides=(asked,)), root, workers=1)
    folder = RunFolder(root, Plan.load(root / "plan.json"))
    rows = (r for t in folder.pieces("01-read", "rejects", None, None) for r in t.to_pylist())
    gone = next(r for r in rows if r["step"] == "threshold" and r["source"] == "a")
    assert main(["why", gone["id"], "--run", str(root)]) == 0
    said = capsys.readouterr().out
    assert "dropped by threshold" in said
    assert f"corpusmill why {gone['id']} --run {runs / 'a'} tells what was before" in said
    assert main(["why", gone["id"], "--run", str(root), "--steps", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)[0]["steps"]
    assert [s["verdict"] for s in steps] == ["kept", "dropped"]
    made = remake(folder, folder.plan.phase("01-read"), [gone])[gone["id"]]
    assert (made.text, made.complete) == (kept(runs / "a")[gone["id"]], True)


def test_a_sample_is_no_release(runs: Path, tmp_path: Path) -> None:
    recipe = Recipe.parse(upstream("prose", "one"), runs, overrides=("sample=0.9",))
    run(recipe, tmp_path / "a", workers=1)
    shutil.copytree(runs / "b", tmp_path / "b")
    made = run(mix(tmp_path), tmp_path / "m", workers=1)
    faults = release_faults(Lock.load(made.lock_path))
    assert "source a is a run of a sample (0.9 of the records)" in faults


def test_init_writes_a_recipe_that_runs(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = runs / "blend.yaml"
    assert main(["mix", "init", str(runs / "a"), str(runs / "b"), "--out", str(path)]) == 0
    capsys.readouterr()
    recipe = Recipe.load(path, ("tokenizer.vocab_size=380",))
    assert [(s.name, s.licence) for s in recipe.sources] == [
        ("prose", "CC0-1.0"), ("prose-2", "MIT"), ("notes", "CC0-1.0"), ("notes-2", "MIT"),
    ]  # fmt: skip
    made = run(recipe, runs / "blended", workers=1)
    assert set(kept(runs / "blended")) == set(kept(runs / "a")) | set(kept(runs / "b"))
    shares = json.loads((made.root / "shards/manifest.json").read_bytes())["domains"]
    assert {s["domain"] for s in shares} >= {"prose", "prose-2", "notes", "notes-2"}
    assert main(["mix", "init", str(runs / "a"), "--out", str(path)]) == 2
    assert "exists already" in capsys.readouterr().err
