"""`verify` finds what somebody did to a finished run, however well it was covered up.

A forger can make digests anew; each level of `Forger` knows more of them: the list of files and
the lock; also the shards' manifest; and with the run's records gone (a released data set) nothing
but the shards' own structure speaks against it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.pipeline import CorpusmillError, Lock, verify
from corpusmill.pipeline.identity import canonical, fingerprint, pretty, sha256_file, sha256_hex
from corpusmill.pipeline.lock import seal_lock
from corpusmill.tokenizers import formats
from corpusmill.tokenizers.encode import load

from .conftest import PRODUCTS, RECIPE
from .mill import Mill

ROWS = "shards/rows/rows-0000"
MANIFEST = "shards/manifest.json"


@pytest.fixture(scope="module")
def whole(mill: Mill) -> Path:
    """A finished run with four shards: three of domain rows, one held out."""
    few = ("execution.partitions=1", "execution.task_bytes=1000000")  # files to copy
    root = mill.ran("whole", RECIPE + PRODUCTS, "shards.tokens_per_shard=2000", *few)
    verdict = verify(root)
    assert verdict.faults == verdict.skipped == []
    assert len(list(root.glob(f"{ROWS}*.bin"))) == 3
    return root


@pytest.fixture
def root(whole: Path, tmp_path: Path) -> Path:
    """A copy to be forged. It is no longer linked to the committed files."""
    return Path(shutil.copytree(whole, tmp_path / "run"))


@pytest.fixture
def released(root: Path) -> Path:
    """What is published: products, list and lock, without the run's records."""
    for leaf in ("phases", "plans", "logs"):
        shutil.rmtree(root / leaf, ignore_errors=True)
    (root / "plan.json").unlink()
    assert verify(root).faults == []
    return root


def rewrite(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Edits a file of JSON as the library would have written it."""
    data = json.loads(path.read_bytes())
    change(data)
    path.write_bytes(pretty(data))


def forge(
    root: Path, *, rows: Callable[[list[dict[str, Any]]], Any] = lambda rows: None,
    lock: Callable[[dict[str, Any]], Any] = lambda lock: None, manifest: bool = True,
) -> None:  # fmt: skip
    """Makes manifest (if asked), list and lock anew over the files as they are now: digests,
    sizes, sums and the seal."""
    if manifest:
        rewrite(root / MANIFEST, lambda m: _redo_shards(root, m["shards"]))
    (lock_path,) = root.glob("*.lock.json")
    data = json.loads(lock_path.read_bytes())
    files = root / data["outputs"]["files"]
    listed = [json.loads(line) for line in files.read_bytes().splitlines()]
    for row in listed:
        path = root / row["path"]
        if row["role"] != "input" and path.exists():
            row |= {"bytes": path.stat().st_size, "sha256": sha256_file(path)}
    rows(listed)
    raw = b"".join(canonical(row) + b"\n" for row in listed)
    files.write_bytes(raw)
    streams = [r for r in listed if r["path"].endswith(".bin")]
    data["outputs"] |= {
        "files_sha256": sha256_hex(raw), "shards": len(streams),
        "tokens": sum(r["tokens"] for r in streams), "bytes": sum(r["bytes"] for r in streams),
        "documents": sum(r["documents_ended"] for r in streams),
    }  # fmt: skip
    lock(data)
    data["mix_id"] = f"sha256:{fingerprint(data['identity'])}"
    del data["seal"]
    lock_path.write_bytes(pretty(seal_lock(data)))


def _redo_shards(root: Path, shards: list[dict[str, Any]]) -> None:
    for shard in shards:
        for suffix in formats.SUFFIXES:
            path = root / f"{shard['name']}{suffix}"
            if path.exists():
                shard["sha256"][suffix] = sha256_file(path)


def without(name: str) -> Callable[[list[dict[str, Any]]], None]:
    """Takes the rows of one shard out of the list."""

    def change(rows: list[dict[str, Any]]) -> None:
        rows[:] = [r for r in rows if name not in r["path"]]

    return change


def faults(root: Path) -> str:
    return "\n".join(verify(root).faults)


def set_token(root: Path, shard: str, where: int, value: int) -> int:
    """Writes one token of a shard; returns the one that was there."""
    path = root / f"{shard}.bin"
    tokens = np.fromfile(path, formats.stream_dtype(path.with_suffix(".idx")))
    before = int(tokens[where])
    assert before != value
    tokens[where] = value
    path.write_bytes(tokens.tobytes())
    return before


def test_forging_nothing_leaves_no_fault(root: Path, released: Path) -> None:
    """The forger's own work is as the library's: what is found below is what was forged."""
    before = Lock.load(root).path.read_bytes()
    forge(root)
    assert Lock.load(root).path.read_bytes() == before
    assert verify(root).faults == []


# -- shards ------------------------------------------------------------------------------------


def swap_files(root: Path) -> None:
    for suffix in formats.SUFFIXES:
        a, b, aside = root / f"{ROWS}0{suffix}", root / f"{ROWS}1{suffix}", root / "aside"
        os.replace(a, aside)
        os.replace(b, a)
        os.replace(aside, b)


def swap_with_counts(root: Path) -> None:
    """All that belongs to two shards changes places, their counts in the manifest too."""
    swap_files(root)

    def change(manifest: dict[str, Any]) -> None:
        a, b = (s for s in manifest["shards"] if s["name"] in (f"{ROWS}0", f"{ROWS}1"))
        for key in a.keys() - {"name", "number"}:
            a[key], b[key] = b[key], a[key]

    rewrite(root / MANIFEST, change)


def counts_of(root: Path) -> Callable[[list[dict[str, Any]]], None]:
    """Takes the counts of the list from the manifest."""
    shards = {s["name"]: s for s in json.loads((root / MANIFEST).read_bytes())["shards"]}

    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            said = shards.get(row["path"].removesuffix(".bin"))
            if said is not None:
                row |= {
                    k: said[k] for k in ("tokens", "documents_ended", "pieces", "domain", "stream")
                }

    return change


def test_a_shard_that_is_missing(root: Path) -> None:
    (root / f"{ROWS}1.bin").unlink()
    assert f"{ROWS}1.bin is missing" in faults(root)


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_shard_that_was_taken_away_with_all_its_traces(
    root: Path, released: Path, gone: int
) -> None:
    """Out of the list, the manifest and its sums: the order of the documents has a hole."""
    name = f"{ROWS}{gone}"
    for suffix in formats.SUFFIXES:
        (root / f"{name}{suffix}").unlink()

    def change(manifest: dict[str, Any]) -> None:
        (shard,) = (s for s in manifest["shards"] if s["name"] == name)
        manifest["shards"].remove(shard)
        manifest["tokens"] -= shard["tokens"]
        for share in manifest["domains"]:
            if share["domain"] == shard["domain"]:
                share["taken"] -= shard["tokens"]
                share["copies"] -= shard["documents_ended"]

    rewrite(root / MANIFEST, change)
    forge(root, rows=without(name))
    found = faults(root)
    if gone < 2:
        assert f"shard {gone} of its domain is missing" in found
    else:
        assert "its last document has no end in any shard" in found


def test_a_shard_that_is_not_listed(root: Path) -> None:
    forge(root, rows=without(f"{ROWS}2"))
    found = faults(root)
    assert f"{ROWS}2.bin is not listed in the lock's files" in found  # by what lies there
    assert f"{ROWS}2.bin is not listed" in found  # by the commits
    assert f"{ROWS}2: the shard is not in the list of files" in found  # by the manifest


def test_a_shard_that_is_listed_twice(root: Path) -> None:
    forge(root, rows=lambda rows: rows.insert(1, dict(next(r for r in rows if "tokens" in r))))
    found = faults(root)
    assert "lists shards/heldout/heldout-00000.bin twice" in found
    assert "is not the list that the commits give" in found


def test_a_shard_that_is_there_twice(root: Path, released: Path) -> None:
    """A copy of the last shard under the next name, in manifest, list and sums."""
    for suffix in formats.SUFFIXES:
        shutil.copy(root / f"{ROWS}2{suffix}", root / f"{ROWS}3{suffix}")

    def change(manifest: dict[str, Any]) -> None:
        (shard,) = (s for s in manifest["shards"] if s["name"] == f"{ROWS}2")
        manifest["shards"].append({**shard, "name": f"{ROWS}3", "number": 3})
        manifest["tokens"] += shard["tokens"]
        for share in manifest["domains"]:
            if share["domain"] == shard["domain"]:
                share["taken"] += shard["tokens"]
                share["copies"] += shard["documents_ended"]

    def more(rows: list[dict[str, Any]]) -> None:
        rows += [{**r, "path": r["path"].replace(f"{ROWS}2", f"{ROWS}3")}
                 for r in rows if f"{ROWS}2" in r["path"]]  # fmt: skip

    rewrite(root / MANIFEST, change)
    forge(root, rows=more)
    assert f"{ROWS}3: token 0: " in faults(root)


def test_two_shards_that_changed_places(root: Path) -> None:
    swap_files(root)
    assert f"{ROWS}0.bin" in faults(root)


@pytest.mark.parametrize("records", ["with records", "released"])
def test_two_shards_that_changed_places_with_all_their_digests(root: Path, records: str) -> None:
    if records == "released":
        shutil.rmtree(root / "phases")
        (root / "plan.json").unlink()
    swap_with_counts(root)
    forge(root, rows=counts_of(root))
    found = faults(root)
    if records == "with records":
        assert f"{ROWS}0.bin is not as its commit has it" in found
    assert f"{ROWS}0: token 0: " in found
    assert "a shard is missing, swapped or doubled" in found


def test_two_documents_that_changed_places(root: Path, released: Path) -> None:
    """The shard is written anew, all its files agree: but each copy has one place."""
    paths = {s: root / f"{ROWS}0{s}" for s in formats.SUFFIXES}
    tokens, ends = formats.read_shard(paths[".bin"])
    pieces = formats.read_pieces(paths[".bin"]).to_pylist()
    order = [0, 2, 1, *range(3, len(pieces))]
    dtype, raw = tokens.dtype, np.array(tokens, dtype=np.uint32)
    moved = [raw[pieces[i]["start"] : pieces[i]["end"]] for i in order]
    rows, start = [], 0
    for i, part in zip(order, moved, strict=True):
        rows.append({**pieces[i], "start": start, "end": start + len(part)})
        start += len(part)
    table = pa.Table.from_pylist(rows, schema=formats.read_pieces(paths[".bin"]).schema)
    for path in paths.values():
        path.unlink()
    writer = formats.ShardWriter(paths, dtype)
    writer.add(np.concatenate(moved), table)
    summary = writer.close()
    assert (summary["tokens"], summary["pieces"]) == (len(raw), len(ends))
    forge(root)
    (fault,) = verify(root).faults
    assert "stands after one that the keyed order puts behind it" in fault


def test_one_token_that_was_changed(root: Path) -> None:
    old = set_token(root, f"{ROWS}1", 700, 65)
    assert f"{ROWS}1.bin is not the file that was listed" in faults(root)
    forge(root, manifest=False)
    found = faults(root)
    assert f"{ROWS}1.bin: sha256" in found  # the manifest knows
    assert f"{ROWS}1.bin is not as its commit has it" in found
    forge(root)
    assert f"{ROWS}1.bin is not as its commit has it" in faults(root)  # only the commit knows
    set_token(root, f"{ROWS}1", 700, old)
    forge(root)
    assert faults(root) == ""


@pytest.mark.parametrize("value", ["end of text", "beyond the vocabulary"])
def test_one_token_that_no_document_can_hold(root: Path, released: Path, value: str) -> None:
    encoder = load(root / "tokenizer")
    token = encoder.eos_id if value == "end of text" else encoder.max_id + 1
    before = set_token(root, f"{ROWS}1", 700, token)
    assert before != encoder.eos_id
    forge(root)
    wanted = "ends of text" if value == "end of text" else f"id {token} is above"
    assert wanted in faults(root)


def test_a_document_without_its_end_mark(root: Path, released: Path) -> None:
    ends = np.fromfile(root / f"{ROWS}0.ends", "<u8")
    set_token(root, f"{ROWS}0", int(ends[4]) - 1, 65)
    forge(root)
    assert f"{ROWS}0: {len(ends) - 2} ends of text, {len(ends) - 1} documents end" in faults(root)


@pytest.mark.parametrize("suffix", formats.SUFFIXES)
def test_side_files_that_do_not_agree(root: Path, released: Path, suffix: str) -> None:
    """One file of a shard is that of another shard."""
    shutil.copy(root / f"{ROWS}1{suffix}", root / f"{ROWS}0{suffix}")
    forge(root)
    assert f"{ROWS}0: " in faults(root)


@pytest.mark.parametrize("suffix", formats.SUFFIXES)
@pytest.mark.parametrize("data", [b"", pytest.param(b"x", marks=pytest.mark.slow)])
def test_side_files_that_are_none(root: Path, released: Path, suffix: str, data: bytes) -> None:
    (root / f"{ROWS}0{suffix}").write_bytes(data)
    forge(root)
    assert f"{ROWS}0" in faults(root)


COUNTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a shard's tokens": (lambda m: m["shards"][1].update(tokens=1999), "have other counts"),
    "a shard's documents": (
        lambda m: m["shards"][1].update(documents_ended=3), "have other counts",
    ),
    "all tokens": (lambda m: m.update(tokens=m["tokens"] + 1), "its shards sum to"),
    "a domain's tokens": (lambda m: m["domains"][0].update(taken=5), "taken 5, its shards have"),
    "a domain's documents": (lambda m: m["domains"][0].update(copies=5), "copies 5, its shards"),
    "no shards": (lambda m: m.pop("shards"), "cannot be read: KeyError"),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_counts_that_do_not_add_up(root: Path, released: Path, name: str) -> None:
    change, said = COUNTS[name]
    rewrite(root / MANIFEST, change)
    forge(root, manifest=False)
    assert said in faults(root)


def test_counts_of_the_list_that_do_not_add_up(root: Path, released: Path) -> None:
    forge(root, rows=lambda rows: [r.update(tokens=7) for r in rows if r["path"] == f"{ROWS}0.bin"])
    assert f"{ROWS}0: manifest and list of files have other counts" in faults(root)


# -- lock, list, records -----------------------------------------------------------------------


def test_a_lock_edited_by_hand(root: Path) -> None:
    path = root / "small.lock.json"
    path.write_text(path.read_text().replace('"version": "1"', '"version": "2"'))
    assert "was changed after it was written" in faults(root)


LOCKS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "version": (lambda k: k.update(version="2"), "its version is not what"),
    "licences": (lambda k: k["licences"][0].update(licence="MIT"), "its licences is not what"),
    "funnel": (lambda k: k["funnel"].update(kept=40), "its funnel is not what"),
    "kept": (lambda k: k["outputs"]["kept"].update(documents=40), "its outputs is not what"),
    "checks": (lambda k: k.update(checks=[]), "its checks is not what"),
    "identity": (lambda k: k["identity"].update(seed=8), "its identity is not that of the plan"),
    "recipe": (lambda k: k.update(recipe_id="0" * 64), "its recipe_id is not what"),
    "tokens": (lambda k: k["outputs"].update(tokens=1), "the files sum to"),
    "outputs": (lambda k: k["outputs"].pop("tokens"), "its outputs lack tokens"),
    "more": (lambda k: k.update(checked=True), "missing or unknown keys: ['checked']"),
    "less": (lambda k: k.pop("checks"), "missing or unknown keys: ['checks']"),
    "decontaminated": (lambda k: k.update(decontaminated=[]), "its decontaminated is not what"),
}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_edited_by_hand_and_sealed_again(root: Path, name: str) -> None:
    change, said = LOCKS[name]
    forge(root, lock=change)
    assert said in faults(root)


ROWS_OF_THE_LIST: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "no path": lambda rows: rows[0].pop("path"),
    "another role": lambda rows: rows[-1].update(role="output"),
    "size as text": lambda rows: rows[-1].update(bytes="12"),
}


@pytest.mark.parametrize("name", ROWS_OF_THE_LIST)
def test_a_list_that_is_none(root: Path, name: str) -> None:
    (lock_path,) = root.glob("*.lock.json")
    files = root / "small.files.jsonl"
    rows = [json.loads(line) for line in files.read_bytes().splitlines()]
    ROWS_OF_THE_LIST[name](rows)
    raw = b"".join(canonical(row) + b"\n" for row in rows)
    files.write_bytes(raw)
    data = json.loads(lock_path.read_bytes())
    data["outputs"]["files_sha256"] = sha256_hex(raw)
    del data["seal"]
    lock_path.write_bytes(pretty(seal_lock(data)))
    assert "no row of a list of files" in faults(root)


def test_an_input_that_was_never_read(root: Path) -> None:
    """A source file less in the list: the commits read it."""
    forge(root, rows=lambda rows: rows.pop())
    assert "rows/part-3.jsonl is not listed" in faults(root)


def test_an_input_that_changed_since(root: Path, mill: Mill) -> None:
    path = mill.base / "input" / "part-1.jsonl"
    before, times = path.read_bytes(), path.stat()
    try:
        path.write_bytes(before.replace(b"stone", b"stony"))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert "part-1.jsonl is not the file that was listed: its sha256 differs" in faults(root)
        assert verify(root, inputs=False).faults == []
        path.unlink()
        verdict = verify(root)
        assert verdict.faults == []
        assert any("rows/part-1.jsonl is no longer at its place" in s for s in verdict.skipped)
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("table", ["docs", "rejects"])
def test_a_table_with_a_flipped_bit(root: Path, table: str) -> None:
    room = "rejects" if table == "rejects" else "data"
    path = sorted(root.glob(f"phases/*-docs-*/{room}/*/*{table}*.parquet"))[0]
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(bytes(data))
    assert f"{path.name} is not the file that was listed" in faults(root)


@pytest.mark.parametrize("name", ["sealed.files.parquet", "sealed.groups.parquet"])
def test_an_index_with_a_flipped_bit(root: Path, name: str) -> None:
    path = sorted(root.glob(f"phases/01-read-*/{name}"))[0]
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(bytes(data))
    assert f"{name} is not as its seal has it" in faults(root)


def test_a_flipped_bit_is_seen_by_the_next_phase(mill: Mill) -> None:
    """Not only by `verify`: nobody computes with damaged pages."""
    ended = mill.run("flipped", RECIPE, fault="seal:2")
    assert ended.code == -9
    root = mill.base / "flipped"
    path = sorted(root.glob("phases/01-read-*/data/*/*-docs-*.parquet"))[0]
    data = bytearray(path.read_bytes())
    text = next(i for i in range(len(data)) if data[i : i + 4] == b"\x28\xb5\x2f\xfd")  # zstd frame
    data[text + 40] ^= 1
    path.write_bytes(bytes(data))
    ended = mill.run("flipped", RECIPE)
    assert ended.code == 1
    assert f"IntegrityError: {path} cannot be read back" in ended.said


def test_an_unknown_target_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusmillError, match="holds 0 locks"):
        verify(tmp_path)
