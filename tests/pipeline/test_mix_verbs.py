"""`mix plan` and `mix diff` on real runs, and what a change of weights makes again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from corpusmill.pipeline import Plan, Recipe, run
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.exporting import card
from corpusmill.pipeline.lock import Lock
from corpusmill.pipeline.mix_verbs import compare, forecast
from corpusmill.stages.measure.overlap import shingles

from .conftest import RECIPE, write_corpus

pytestmark = pytest.mark.slow

MIX = """
tokenizer: {stage: tokenizers.bpe, vocab_size: 380}
mix:
  domains:
    - {name: odd, match: {url: "*1|*3|*5|*7|*9"}, max_epochs: 2}
    - {name: even, max_epochs: 3}
  tokens: TOKENS
  phases:
    - {name: first, share: 0.75, weights: {odd: ODD, even: EVEN}}
    - {name: last, share: 0.25, weights: {odd: 1.0}}
  ladder: ["1/4"]
shards: {tokens_per_shard: 700}
"""


def text(tokens: int, odd: float) -> str:
    mix = MIX.replace("TOKENS", str(tokens)).replace("ODD", str(odd))
    return RECIPE + mix.replace("EVEN", format(1 - odd, ".2f"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs ``a`` and ``b`` of the same mix in different folders with other workers and
    partitions, then ``b`` made again in place with other weights."""
    base = tmp_path_factory.mktemp("mix")
    write_corpus(base / "input", files=2, rows=12)
    elsewhere = base / "far" / "away"
    write_corpus(elsewhere / "input", files=2, rows=12)
    run(Recipe.parse(text(3000, 0.4), base), base / "a", workers=1)
    other = Recipe.parse(text(3000, 0.4), elsewhere, overrides=("execution.partitions=2",))
    run(other, elsewhere / "b", workers=2)
    (base / "recipe.yaml").write_text(text(3000, 0.4))
    return base


def digests(root: Path) -> dict[str, str]:
    return {r["path"]: r["sha256"] for r in Lock.load(root).rows()}


def test_two_phases_built_twice_are_equal(runs: Path) -> None:
    a, b = Lock.load(runs / "a"), Lock.load(runs / "far/away/b")
    assert (a.mix_id, a.files_sha256) == (b.mix_id, b.files_sha256)
    assert {m.same for m in compare(a.path.parent, b.path.parent).values()} == {True}
    shards = [p for p in digests(runs / "a") if p.endswith(".bin")]
    assert {p.rsplit("/", 1)[0] for p in shards} >= {
        "shards/first/odd", "shards/first/even", "shards/last/odd", "shards/scale-1-4/first/odd",
    }  # fmt: skip
    assert main(["verify", str(runs / "a")]) == 0


def test_plan_says_what_the_shards_have(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads((runs / "a/shards/manifest.json").read_bytes())
    assert main(["mix", "plan", str(runs / "a"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["shares"] == made["domains"]
    assert said["possible"] is True
    assert main(["mix", "plan", str(runs / "a")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "stream", "documents", "available", "wanted", "taken", "epochs", "shortfall",
    ]  # fmt: skip
    by_stream = {line.split()[0]: line.split()[1:] for line in lines[1:] if line}
    assert by_stream["first/odd"][2:4] == ["900", "900"]
    assert by_stream["last/odd"][3] == "750"


def test_plan_of_another_recipe_before_any_work(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(text(50_000, 0.4))
    assert main(["mix", "plan", str(recipe), "--run", str(runs / "a")]) == 1
    said = capsys.readouterr().out
    assert "it cannot be made" in said
    other = RECIPE + MIX.split("mix:")[0] + (
        "mix: {domains: [{name: h1, match: {url: '*h1.*'}}, {name: u, match: {url: '*2'}}]}\n"
    )  # fmt: skip
    recipe.write_text(other)
    assert main(["mix", "plan", str(recipe), "--run", str(runs / "a"), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    counts = {s["domain"]: s["documents"] for s in made["shares"]}
    alone = run(Recipe.parse(other, runs), tmp_path / "alone", workers=1)
    whole = json.loads((alone.root / "shards/manifest.json").read_bytes())
    assert made["shares"] == whole["domains"]
    assert made["left_out"]["unmatched"] == whole["documents"]["unmatched"] > 0
    assert counts["u"] > 0
    recipe.write_text(RECIPE)
    assert main(["mix", "plan", str(recipe), "--run", str(runs / "a")]) == 2
    assert main(["mix", "plan", str(runs / "recipe.yaml")]) == 2
    assert "name a run that has encoded" in capsys.readouterr().err


def test_card_keeps_the_ladder_apart(runs: Path) -> None:
    lock = Lock.load(runs / "a")
    made = json.loads((runs / "a/shards/manifest.json").read_bytes())
    front = yaml.safe_load(card(lock, made, "").split("---\n")[1])
    configs = {c["config_name"]: [f["split"] for f in c["data_files"]] for c in front["configs"]}
    assert configs["default"] == ["first.odd", "first.even", "last.odd", "heldout"]
    assert configs["scale-1-4"] == ["first.odd", "first.even", "last.odd"]
    assert f"{made['tokens']} tokens in" in card(lock, made, "")


def times(root: Path, aux: str) -> list[int]:
    plan = Plan.load(root / "plan.json")
    (phase,) = (p for p in plan.phases if p.step == "shards" and p.aux == aux)
    return [p.stat().st_mtime_ns for p in sorted((root / "phases" / phase.folder).rglob("*.json"))]


def test_other_weights_make_again_what_must_change(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tokenizer and the encoded documents stay; the last phase too, which has one domain."""
    root = runs / "far/away/b"
    before, encoded = digests(root), times(root, "encode")
    recipe = Recipe.parse(text(3000, 0.2), runs / "far/away", overrides=("execution.partitions=2",))
    run(recipe, root, workers=1)
    after = digests(root)
    assert times(root, "encode") == encoded
    changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
    assert {p.split("/")[0] for p in changed} == {"shards"}
    assert not {p for p in changed if p.startswith(("shards/heldout", "tokenizer"))}
    moved = compare(runs / "a", root)
    assert moved["heldout"].same
    assert (moved["first/odd"].tokens, moved["first/even"].tokens) == ((900, 450), (1350, 1800))
    assert (moved["first/odd"].new, moved["first/even"].gone) == (0, 0)
    assert moved["last/odd"].tokens == (750, 750)
    assert moved["last/odd"].new > 0  # it goes on where the shorter first phase ends
    assert main(["mix", "diff", str(runs / "a"), str(root)]) == 0
    said = capsys.readouterr().out
    assert "product shards: mix.phases" in said
    gone = moved["first/odd"].gone
    assert f"first/odd: {moved['first/odd'].documents[0]} -> " in said
    assert f"900 -> 450 tokens; {gone} go" in said


def test_not_counted_yet(runs: Path, tmp_path: Path) -> None:
    assert main(["plan", str(runs / "recipe.yaml"), "--out", str(tmp_path / "p")]) == 0
    with pytest.raises(ConfigError, match="no token counts"):
        forecast(tmp_path / "p")
    with pytest.raises(ConfigError, match="has no shards"):
        compare(tmp_path / "p", tmp_path / "p")


def test_a_mix_that_stops_for_want_of_tokens_can_be_looked_at(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe: Any = Recipe.parse(text(90_000, 0.4), runs)
    with pytest.raises(Exception, match="not enough tokens"):
        run(recipe, tmp_path / "short", workers=1)
    assert main(["mix", "plan", str(tmp_path / "short")]) == 1
    assert "first/odd" in capsys.readouterr().out


def test_what_sources_and_held_out_share(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exact here, where nothing needs to be sampled: worked out from the kept texts."""
    phase = [p for p in Plan.load(runs / "a/plan.json").phases if p.kind == "docs"][-1]
    folder = RunFolder(runs / "a", Plan.load(runs / "a/plan.json"))
    rows = [r for t in folder.pieces(phase.name, "docs", None, None) for r in t.to_pylist()]
    held = [r["text"] for r in rows if r["split"] == "heldout"]
    train = [r["text"] for r in rows if r["split"] == "train"]
    items = [{"id": "1", "question": " ".join(train[0].split()[:9])}, {"id": "2", "question": "no"}]
    (tmp_path / "quiz.jsonl").write_text("".join(json.dumps(i) + "\n" for i in items))
    words = ["mix", "plan", str(runs / "a"), "--overlap", "--benchmarks", str(tmp_path)]
    assert main([*words, "--json"]) == 0
    said = {(r["of"], r["among"]): r for r in json.loads(capsys.readouterr().out)["overlap"]}
    found, there = set(shingles(held).tolist()), set(shingles(train).tolist())
    assert said["heldout", "source:rows"] == {
        "of": "heldout", "among": "source:rows", "share": round(len(found & there) / len(found), 6),
        "error": 0.0, "compared": len(found),
    }  # fmt: skip
    assert said["benchmark:quiz", "source:rows"]["share"] == 1.0
    assert said["benchmark:quiz", "source:rows"]["compared"] == 2
    assert main(words) == 0
    assert "benchmark:quiz  source:rows  100.00%  0.00%  2" in capsys.readouterr().out
    assert main(["mix", "plan", str(runs / "a"), "--benchmarks", str(tmp_path)]) == 2
