"""After `clean`, personal data that was planted stands nowhere in a run folder."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline import Recipe, run
from corpusmill.pipeline.cleaning import clean_run
from corpusmill.pipeline.cli import main
from corpusmill.stages.clean.pseudonyms import KEY_VARIABLE, make_key

from .conftest import PRODUCTS, text_of

PLANTED = {
    "email": "ann.lindqvist@brightmail.net", "phone": "+46 8 123 456 78", "ip": "84.217.18.9",
    "card": "4556 7375 8689 9855", "iban": "DE89 3704 0044 0532 0130 00", "ssn": "219-09-9999",
}  # fmt: skip
RECIPE = """
schema: corpusmill/recipe/1
name: personal
version: "1"
seed: 7
sources:
  - {name: rows, stage: sources.jsonl, root: input, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - measure.fineweb
  - filters.threshold: {signal: fineweb_line_punct, min: 0.5, as: ends}
  - dedup.exact
  - clean.pii: {audit: true, policy: {email: pseudonym}, drop_above_of: {ssn: 1}, key: "KEY"}
  - filters.threshold: {signal: pii_card, max: 1, as: cards}
  - measure.split: {heldout: "0.1", by: id}
execution: {task_bytes: 10000, partitions: 4}
"""


def corpus(folder: Path) -> None:
    """Rows with everything planted: kept ones, and one that falls before, in and after `clean`."""
    planted = "\n".join(f"Their {t} is {v}, they say." for t, v in PLANTED.items())
    texts = [f"{text_of(n)}\n{planted}\n{text_of(n + 50)}" for n in range(8)]
    texts += [text_of(n) for n in range(20, 40)]
    texts.append("\n".join(f"no full stop here {v}" for v in PLANTED.values()))
    texts += [f"{text_of(60)}\n{planted}"] * 2
    texts.append(f"{planted}\nAlso 219-09-9998.\n{text_of(70)}")
    texts.append(f"{planted}\nAlso 4111 1111 1111 1111.\n{text_of(71)}")
    folder.mkdir()
    (folder / "a.jsonl").write_text(
        "".join(json.dumps({"text": t, "url": f"https://h.example/{n}"}) + "\n"
                for n, t in enumerate(texts))
    )  # fmt: skip


def contents(root: Path) -> Iterator[tuple[str, str]]:
    """Name and text of every file: Parquet and gzip as what they hold."""
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        raw = path.read_bytes()
        yield path.name, raw.decode("latin-1")
        if path.suffix == ".parquet":
            yield path.name, json.dumps(pq.read_table(path).to_pylist(), default=str)
        elif raw[:2] == b"\x1f\x8b":
            yield path.name, zlib.decompress(raw, wbits=31).decode("latin-1")


def found(root: Path) -> set[tuple[str, str]]:
    return {
        (name, type_)
        for name, text in contents(root)
        for type_, value in PLANTED.items()
        if value in text or value.replace(" ", "") in text
    }


@pytest.mark.slow
def test_nothing_planted_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus(tmp_path / "input")
    key = tmp_path / "pii.key"
    promised = make_key(key)
    monkeypatch.setenv(KEY_VARIABLE, str(key))
    root = tmp_path / "run"
    text = RECIPE.replace("KEY", promised)
    run(Recipe.parse(text + PRODUCTS, tmp_path), root)
    assert {type_ for _, type_ in found(root)} == set(PLANTED)  # the tables before `clean.pii`
    assert main(["report", str(root)]) == 0
    assert main(["report", str(root), "--html"]) == 0
    assert main(["why", "https://h.example/0", "--run", str(root)]) == 0
    clean_run(root, intermediates=True)
    assert found(root) == set()
    said = capsys.readouterr().out
    assert not [value for value in PLANTED.values() if value in said]
    secret = key.read_text().strip()
    assert not [name for name, body in contents(root) if secret in body]
    assert any(promised in body for name, body in contents(root) if name.endswith("lock.json"))

    out = tmp_path / "audit.jsonl"
    assert main(["pii", "--spans", str(root), str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert len(rows) == 9  # eight and one of the two that are the same
    lines = (tmp_path / "input" / "a.jsonl").read_text().splitlines()
    raw = [json.loads(line)["text"] for line in lines]
    for row in rows:
        source = raw[int(row["url"].rpartition("/")[2])]
        removed = {type_: source[low:high] for type_, low, high, _ in row["spans"]}
        assert removed == PLANTED
        assert {t: p for t, _, _, p in row["spans"]}["email"] == "pseudonym"
    assert not [v for v in PLANTED.values() if v in out.read_text("utf-8")]
