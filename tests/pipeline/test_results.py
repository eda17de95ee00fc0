"""Finished results: found in, forgotten from, made again, exported, packed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from corpusmill.pipeline import Lock, Recipe, run
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.exporting import DOCUMENTS, LAYOUTS, croissant
from corpusmill.pipeline.mix_verbs import compare
from corpusmill.tokenizers import emitters

from .conftest import RECIPE, write_corpus

pytestmark = pytest.mark.slow

PRODUCTS = """
tokenizer: {stage: tokenizers.bpe, vocab_size: 380}
shards: {tokens_per_shard: 600}
"""
HOST = "h2.example"
ROOT = Path(__file__).resolve().parents[2]
READERS = Path(os.environ.get("CORPUSMILL_READERS", ROOT / ".venv-peers/readers/bin/python"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``recipe.yaml`` and its finished run ``run``."""
    base = tmp_path_factory.mktemp("results")
    write_corpus(base / "input", files=2, rows=15)
    (base / "recipe.yaml").write_text(RECIPE + PRODUCTS)
    run(Recipe.load(base / "recipe.yaml"), base / "run", workers=1)
    return base


@pytest.fixture(scope="module")
def without(base: Path) -> Path:
    """The result without the host."""
    assert main(["forget", str(base / "run"), "--host", HOST, "--out", str(base / "less")]) == 0
    return base / "less"


def in_shards(root: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["trace", *words, "--run", str(root), "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return rows


def test_which_shards_hold_a_host(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = in_shards(base / "run", "--host", "EXAMPLE", capsys=capsys)
    everything = in_shards(base / "run", "--host", HOST, capsys=capsys)
    assert {r["url"].split("/")[2] for r in rows} == {f"h{i}.example" for i in range(5)}
    assert everything == [r for r in rows if f"//{HOST}/" in r["url"]]
    row = everything[0]
    assert main(["trace", f"{row['shard']}:{row['start']}", "--run", str(base / "run")]) == 0
    assert row["id"] in capsys.readouterr().out
    assert in_shards(base / "run", "--host", "2.example", capsys=capsys) == []
    (same,) = in_shards(base / "run", "--url", row["url"], capsys=capsys)[:1]
    assert same == row
    assert main(["trace", "--host", HOST, "--run", str(base / "run")]) == 0
    assert capsys.readouterr().out.endswith("shards\n")
    assert main(["trace", "--run", str(base / "run")]) == 2


def test_forget(base: Path, without: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = base / "run"
    gone = in_shards(whole, "--host", HOST, capsys=capsys)
    assert in_shards(without, "--host", HOST, capsys=capsys) == []
    left = in_shards(without, "--host", "example", capsys=capsys)
    before = in_shards(whole, "--host", "example", capsys=capsys)
    assert [(r["id"], r["doc_tokens"]) for r in left] == [
        (r["id"], r["doc_tokens"]) for r in before if r["id"] not in {g["id"] for g in gone}
    ]
    assert main(["verify", str(without)]) == 0
    old, new = Lock.load(whole), Lock.load(without)
    forgot = new.data["identity"]["forget"]
    assert forgot["lock"] == old.mix_id != new.mix_id
    assert forgot["tokens"] == old.data["outputs"]["tokens"] - new.data["outputs"]["tokens"]
    assert forgot["tokens"] == sum(r["end"] - r["start"] for r in gone)
    assert forgot["documents"] == len({r["id"] for r in gone})
    touched = {r["shard"].removesuffix(".bin") for r in gone}
    a, b = ({r["path"]: r["sha256"] for r in x.rows()} for x in (old, new))
    same = {p for p in a if a[p] == b.get(p) and p.endswith(".bin")}
    assert same == {p for p in a if p.endswith(".bin") and p.removesuffix(".bin") not in touched}
    assert {m.new for m in compare(whole, without).values()} == {0}
    capsys.readouterr()
    assert main(["diff", str(whole), str(without)]) == 0
    assert f"forgotten: {forgot['documents']} documents" in capsys.readouterr().out
    for words, said in (
        (["--host", "nowhere.example"], "no document in the shards is meant"),
        (["--host", "http://x"], "is no host"),
        (["--id", "7"], "is no document id"),
        ([], "nothing is named"),
    ):
        assert main(["forget", str(whole), *words, "--out", str(base / "n")]) == 2
        assert said in capsys.readouterr().err
    assert not (base / "n").exists()
    assert main(["forget", str(whole), "--host", HOST, "--out", str(without)]) == 2


def test_forget_everything_but_one_shard(base: Path, tmp_path: Path) -> None:
    """Shards that would be empty go, those behind them move up."""
    rows = emitters.Shards.open(base / "run").table("shards/rows/rows-00001").to_pylist()
    keep = {
        r["id"] for r in rows if r["doc_offset"] == 0 and r["doc_tokens"] == r["end"] - r["start"]
    }
    assert keep
    shards = emitters.Shards.open(base / "run")
    names = [n for of in shards.streams().values() for n in of]
    ids = {r["id"] for n in names for r in shards.table(n).to_pylist()} - keep
    words = [w for i in sorted(ids) for w in ("--id", i)]
    assert main(["forget", str(base / "run"), *words, "--out", str(tmp_path / "x")]) == 0
    assert sorted(p.name for p in (tmp_path / "x/shards").rglob("*.bin")) == ["rows-00000.bin"]
    assert main(["verify", str(tmp_path / "x")]) == 0


def test_reproduce(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = next((base / "run").glob("*.lock.json"))
    assert main(["reproduce", str(lock), "--out", str(tmp_path / "again"), "--workers", "1"]) == 0
    assert "all as locked" in capsys.readouterr().out
    released = tmp_path / "released"
    released.mkdir()
    for path in (lock, Lock.load(lock).files_path):
        shutil.copy(path, released)
    assert main(["reproduce", str(released), "--out", str(tmp_path / "b")]) == 2
    assert "no plan beside" in capsys.readouterr().err
    moved = tmp_path / "moved"
    shutil.copytree(base / "input", moved)
    recipe = ["--recipe", str(base / "recipe.yaml")]
    where = ["--set", f"sources.rows.root={moved}"]
    words = ["reproduce", str(released), *recipe, "--workers", "1", "--out"]
    assert main([*words, str(tmp_path / "c"), *where]) == 0
    # other inputs of the same recipe: made, and not the same
    text = (moved / "part-0.jsonl").read_text()
    (moved / "part-0.jsonl").write_text(text.replace("river", "rivet", 1))
    assert main([*words, str(tmp_path / "d"), *where]) == 3
    said = capsys.readouterr().out
    assert "source rows: inputs differ" in said
    assert "not reproduced" in said
    # another recipe is refused before any work
    assert main([*words, str(tmp_path / "e"), "--set", "steps.exact.keep=largest_id"]) == 2
    assert main([*words, str(tmp_path / "e"), "--set", "seed=8"]) == 2
    assert "seed: 7 -> 8" in capsys.readouterr().err
    assert not (tmp_path / "e").exists()


def test_reproduce_refuses_what_was_forgotten_from(without: Path, tmp_path: Path) -> None:
    assert main(["reproduce", str(without), "--out", str(tmp_path / "x")]) == 2


def test_card(base: Path, tmp_path: Path) -> None:
    root = base / "run"
    about = tmp_path / "about.md"
    about.write_text("## Uses\n\nFor tests.\n")
    out = tmp_path / "README.md"
    words = ["export", str(root), "--format", "hf-card", "--out", str(out), "--about", str(about)]
    assert main(words) == 0
    text = out.read_text()
    _, front, body = text.split("---\n", 2)
    head = yaml.safe_load(front)
    assert head["license"] == "cc0-1.0"
    assert head["size_categories"] == ["n<1K"]
    assert head["configs"] == [{
        "config_name": "default",
        "data_files": [
            {"split": "rows", "path": "rows/*.parquet"},
            {"split": "heldout", "path": "heldout/*.parquet"},
        ],
    }]  # fmt: skip
    assert Lock.load(root).mix_id in body
    assert body.endswith("For tests.\n")
    assert main(["export", str(root), "--format", "parquet", "--out", str(tmp_path / "p")]) == 0
    assert (tmp_path / "p/rows/rows-00000.parquet").exists()


def test_datasheet(base: Path, tmp_path: Path) -> None:
    out = tmp_path / "sheet.md"
    assert main(["export", str(base / "run"), "--format", "datasheet", "--out", str(out)]) == 0
    text = out.read_text()
    assert "- exact: `dedup.exact` version " in text
    assert "- exact:duplicate_content: 3\n" in text
    assert "licence CC0-1.0" in text
    assert "not written yet" in text


def test_croissant(base: Path) -> None:
    """Its own claims; mlcroissant's check is in `test_croissant_is_valid`."""
    lock = Lock.load(base / "run")
    made = croissant(lock)
    files = {f["@id"]: f["sha256"] for f in made["distribution"] if f["@type"] == "cr:FileObject"}
    expected = {r["path"]: r["sha256"] for r in lock.rows() if r["role"] != "input"}
    assert {k: v for k, v in files.items() if k in expected} == expected
    assert files[lock.files_path.name] == lock.files_sha256
    assert made["license"] == ["https://spdx.org/licenses/CC0-1.0"]
    assert made["conformsTo"].endswith("/1.1")


def read_back(reader: str, path: Path) -> Any:
    """What another project's reader makes of a file."""
    if not READERS.exists():
        reason = f"{READERS} is missing; hint: .ci/readers"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    script = ROOT / "tests/tokenizers/read_back.py"
    done = subprocess.run(
        [str(READERS), str(script), reader, str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_croissant_is_valid(base: Path) -> None:
    """By mlcroissant itself, which also reads the documents that the description promises."""
    out = base / "run/croissant.json"
    assert main(["export", str(base / "run"), "--format", "croissant", "--out", str(out)]) == 0
    found = read_back("croissant", out)
    out.unlink()
    assert len(found) == 3
    assert all(len(i) == 32 for i in found)


def test_dcat(base: Path, tmp_path: Path) -> None:
    """As rdflib understands it: every shard with its digest, and what it was made of."""
    lock = Lock.load(base / "run")
    out = tmp_path / "dcat.json"
    assert main(["export", str(base / "run"), "--format", "dcat", "--out", str(out)]) == 0
    facts = read_back("dcat", out)
    shards = {r["path"]: r for r in lock.rows() if r["path"].endswith(".bin")}
    said = {title: (int(size), digest) for title, size, digest in facts["distributions"]}
    assert {k: v for k, v in said.items() if k in shards} == {
        path: (row["bytes"], row["sha256"]) for path, row in shards.items()
    }
    assert said[lock.files_path.name][1] == lock.files_sha256
    assert len(said) == len(shards) + 2
    assert facts["identifier"] == [lock.mix_id]
    assert facts["sources"] == ["rows"]


def test_pack(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["pack", str(base / "run"), "--length", "128", "--out", str(tmp_path / "i")]
    assert main([*words, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    lock = Lock.load(base / "run")
    assert sum(f["tokens"] for f in figures.values()) == lock.data["outputs"]["tokens"]
    assert (tmp_path / "i/rows/rows-00000.pack.parquet").exists()
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[0].split()[:3] == ["stream", "rows", "tokens"]


def test_forms(base: Path, tmp_path: Path) -> None:
    assert set(LAYOUTS) == set(emitters.LAYOUTS)
    assert set(DOCUMENTS) == {"croissant", "hf-card", "datasheet", "dcat"}
    words = ["export", str(base / "run"), "--format", "tar", "--out", str(tmp_path / "x")]
    assert main(words) == 2
