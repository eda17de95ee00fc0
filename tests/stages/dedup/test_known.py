"""What is known already, or must not come back, is found by an index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.pipeline.cli import main
from corpusmill.pipeline.document import Document, Drop, document_id
from corpusmill.pipeline.errors import AssetError, ConfigError, InputError
from corpusmill.pipeline.stage import Asset
from corpusmill.stages.dedup.index import Index, build_index, content_hash
from corpusmill.stages.dedup.known import Known, Params
from corpusmill.stages.dedup.sets import sets_of

ABOUT = {"run": "old", "plan_id": "p", "purpose": "known"}


def words(first: int, count: int = 300) -> list[str]:
    return [f"word{first + n}" for n in range(count)]


def text(first: int, count: int = 300) -> str:
    return " ".join(words(first, count))


def named(*texts: str) -> pa.Table:
    ids = [document_id("old", "a", 9, n) for n in range(len(texts))]
    return pa.table({"id": ids, "text": list(texts)})


def known(tmp_path: Path, *tables: pa.Table, about: dict[str, str] = ABOUT, **params: Any) -> Known:
    path = tmp_path / f"{about['run']}.index"
    path.write_bytes(build_index(tables, about))
    stage = Known(Params((Asset(str(path)),), **params))
    stage.setup()
    return stage


def docs(*texts: str) -> list[Document]:
    return [Document(document_id("new", "b", 9, n), t, "new") for n, t in enumerate(texts)]


def test_same_near_and_new(tmp_path: Path) -> None:
    old = named(text(0), text(1000), "", "  ", "two words")
    ids = old["id"].to_pylist()
    changed = words(1000)
    changed[150] = "other"
    batch = docs(
        "  " + text(0).replace(" ", "\n"), " ".join(changed), text(2000), "", "Two words", "three"
    )
    outcomes = known(tmp_path, old).apply(batch)
    assert outcomes == [
        Drop("known_content", f"old/{ids[0]}"), Drop("known_near", f"old/{ids[1]}"),
        batch[2], batch[3], Drop("known_near", f"old/{ids[4]}"), batch[5],
    ]  # fmt: skip


def test_similarity_decides_and_is_near_the_truth(tmp_path: Path) -> None:
    """Pairs of all similarities: none is taken far below the threshold, none left far above."""
    size, ngram = 400, 5
    old = named(*(text(10_000 * n, size) for n in range(40)))
    cut = [8 * n for n in range(40)]  # words that a copy loses at its end and gets others for
    new = [
        text(10_000 * n, size - c) + " " + text(10**7 + 10_000 * n, c) for n, c in enumerate(cut)
    ]
    stage = known(tmp_path, old, min_jaccard=0.7)
    found = stage._indexes[0].near(stage._indexes[0].sketcher()(new), 0)
    errors = []
    for n, copy in enumerate(new):
        one, other = (
            set(made.values[made.start[0] : made.stop[0]].tolist())
            for made in (sets_of([t], ngram) for t in (old["text"][n].as_py(), copy))
        )
        true = len(one & other) / len(one | other)
        if n in found:
            errors.append(found[n].similarity - true)
            assert abs(errors[-1]) < 4 * (true * (1 - true) / 112) ** 0.5 + 1e-6, (n, true)
        else:
            assert true < 0.85, (n, true)  # 1 - (1 - s^8)^14 is .99 there
    assert abs(np.mean(errors)) < 0.03
    taken = [isinstance(o, Drop) for o in stage.apply(docs(*new))]
    assert taken[:8] == [True] * 8
    assert not any(taken[20:])


@pytest.mark.parametrize(("least", "minima"), [(0.7, 79), (0.5, 56), (0.0, 0), (1.0, 112)])
def test_how_many_minima_are_enough(tmp_path: Path, least: float, minima: int) -> None:
    assert known(tmp_path, named(text(0)), min_jaccard=least)._least == [minima]  # of 112


def test_the_most_similar_and_of_equals_the_first_id(tmp_path: Path) -> None:
    base = words(0)
    near, nearer = list(base), list(base)
    near[10:30] = [f"x{n}" for n in range(20)]
    nearer[100] = "y"
    old = named(" ".join(near), " ".join(nearer), " ".join(nearer))
    ids = old["id"].to_pylist()
    (outcome,) = known(tmp_path, old).apply(docs(text(0)))
    assert outcome == Drop("known_near", f"old/{min(ids[1:])}")
    (outcome,) = known(tmp_path, old).apply(docs("  " + " ".join(nearer)))
    assert outcome == Drop("known_content", f"old/{min(ids[1:])}")


def test_what_shares_a_band_and_is_not_like_enough_stays(tmp_path: Path) -> None:
    old = named(*(text(10_000 * n, 400) for n in range(150)))
    new = [text(10_000 * n, 310) + " " + text(10**7 + 10_000 * n, 90) for n in range(150)]
    stage = known(tmp_path, old, min_jaccard=0.7)
    index = stage._indexes[0]
    found = index.near(index.sketcher()(new), 0)
    below = [n for n, match in found.items() if match.similarity < 0.7]
    assert len(below) > 10  # their similarity is .62
    outcomes = stage.apply(docs(*new))
    assert {n for n, o in enumerate(outcomes) if isinstance(o, Drop)} == found.keys() - set(below)


def test_two_indexes_and_what_is_forgotten(tmp_path: Path) -> None:
    paths = []
    for run, purpose, first in (
        ("gone", "forgotten", 0),
        ("old", "known", 0),
        ("more", "known", 5000),
    ):
        path = tmp_path / f"{run}.index"
        path.write_bytes(
            build_index([named(text(first))], {**ABOUT, "run": run, "purpose": purpose})
        )
        paths.append(Asset(str(path)))
    stage = Known(Params(tuple(paths)))
    stage.setup()
    outcomes = stage.apply(docs(text(0), text(0, 299), text(5000)))
    key = named("x")["id"][0].as_py()
    assert outcomes == [
        Drop("forgotten_content", f"gone/{key}"), Drop("forgotten_near", f"gone/{key}"),
        Drop("known_content", f"more/{key}"),
    ]  # fmt: skip


def test_the_bytes_do_not_depend_on_the_order_of_documents() -> None:
    tables = [named(*(text(100 * (n % 7), 120) for n in range(30)))]
    turned = tables[0].take(pa.array(range(29, -1, -1)))
    assert build_index(tables, ABOUT) == build_index([turned.slice(0, 7), turned.slice(7)], ABOUT)


def test_a_full_bucket_is_cut_at_the_smallest_ids(tmp_path: Path) -> None:
    old = named(*[text(0)] * 500)
    (outcome,) = known(tmp_path, old).apply(docs(text(0) + " end"))
    assert outcome == Drop("known_near", f"old/{min(old['id'].to_pylist())}")


@pytest.mark.parametrize(
    "change", ["cut", "flip first", "flip last", "head", "seed", "lengths", "empty", "text", "long"]
)
def test_an_index_that_is_not_whole_is_refused(tmp_path: Path, change: str) -> None:
    data = build_index([named(text(0), text(500))], ABOUT)
    head = data.index(b"\n") + 1
    bad = {
        "cut": data[:-224],  # the minima of one document
        "flip first": data[:head] + bytes([data[head] ^ 1]) + data[head + 1 :],
        "flip last": data[:-1] + bytes([data[-1] ^ 1]),
        "head": data.replace(b'"documents": 2', b'"documents": 3').replace(b"index/2", b"index/9"),
        "seed": data.replace(b'"seed": 1', b'"seed": 2'),
        "lengths": data.replace(b'"documents": 2', b'"documents": 3'),
        "empty": b"", "text": b"no index\n", "long": data + bytes(16),
    }[change]  # fmt: skip
    path = tmp_path / "bad.index"
    path.write_bytes(bad)
    with pytest.raises(AssetError, match=r"bad\.index"):
        Index(path)


@pytest.mark.parametrize("rule", ["words", "sketches", "schema"])
def test_an_index_made_by_another_rule_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    from corpusmill.stages.dedup import index

    with monkeypatch.context() as patch:
        if rule == "schema":
            patch.setattr(index, "SCHEMA", "corpusmill/dedup-index/1")
        else:
            patch.setitem(index._RULES, rule, "corpusmill/0")
        data = build_index([named(text(0))], ABOUT)
    path = tmp_path / "old.index"
    path.write_bytes(data)
    with pytest.raises(AssetError, match=r"old\.index (was made by the rule|has the schema)") as e:
        Index(path)
    assert "make it again of its run" in (e.value.hint or "")


def test_content_hash_is_that_of_the_exact_stage() -> None:
    from corpusmill.stages.dedup.exact import ExactDedup, ExactParams, _digest

    for t in ("a  b\n", "ä\u00a0b", "\ud800 x"):
        key = ExactDedup(ExactParams())._key(Document("0" * 32, t, "s"))
        assert content_hash(t) == _digest(key)
    assert content_hash(" \n") == b""


def test_nothing_to_index() -> None:
    with pytest.raises(InputError, match="no document"):
        build_index([named()], ABOUT)
    for bad in ({"indexes": ()}, {"indexes": (Asset("x"),), "min_jaccard": 1.5}):
        with pytest.raises(ConfigError):
            Params(**bad)


RECIPE = """
schema: corpusmill/recipe/1
name: {name}
version: "1"
sources:
  - {{name: rows, stage: sources.jsonl, root: {name}, paths: ["*.jsonl"], licence: CC0-1.0}}
steps:
{known}  - dedup.exact
execution: {{partitions: 2}}
"""


def test_a_second_crawl_against_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the verbs, as a user does it; and one document of the first is not to come back."""
    pages = {n: text(1000 * n) for n in range(6)}

    def run(name: str, numbers: list[int], steps: str = "") -> Path:
        (tmp_path / name).mkdir()
        rows = [{"text": pages[n], "url": f"http://a.test/{n}"} for n in numbers]
        (tmp_path / name / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        (tmp_path / f"{name}.yaml").write_text(RECIPE.format(name=name, known=steps))
        root = tmp_path / f"run-{name}"
        words = [
            "run",
            str(tmp_path / f"{name}.yaml"),
            "--out",
            str(root),
            "--workers",
            "1",
            "--quiet",
        ]
        assert main(words) == 0
        return root

    first = run("first", [0, 1, 2, 3])
    gone = tmp_path / "gone.txt"
    gone.write_text("http://a.test/2\n")

    def index(name: str, *more: str) -> int:
        return main(["dedup", "index", str(tmp_path / name), "--run", str(first), *more])

    assert index("all.index") == 0
    assert index("gone.index", "--only", str(gone)) == 0
    assert "1 forgotten documents of" in capsys.readouterr().out
    second = run("second", [1, 2, 3, 4, 5], "  - dedup.known: {indexes: [gone.index, all.index]}\n")
    ledger = json.loads((second / "ledger.json").read_text())
    assert ledger["records"]["kept"] == 2
    assert ledger["records"]["dropped"] == {
        "known:known_content": 2, "known:forgotten_content": 1,
    }  # fmt: skip
    assert main(["why", "http://a.test/3", "--run", str(second)]) == 0
    assert "known_content" in (said := capsys.readouterr().out)
    assert "first/" in said
    assert main(["dedup", "clusters", "--run", str(second)]) == 0
    assert "no step found a group" in capsys.readouterr().out
    gone.write_text("http://a.test/9\nhttp://a.test/2\n")
    assert index("x.index", "--only", str(gone)) == 2
    assert "1 of 2 names are of no kept document, http://a.test/9 first" in capsys.readouterr().err
    assert not (tmp_path / "x.index").exists()


@pytest.mark.slow
def test_large_groups_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows").mkdir()
    rows = [{"text": f"page {n % 2}", "url": f"http://h{n}.test/"} for n in range(9)]
    (tmp_path / "rows" / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    recipe = RECIPE.format(name="rows", known="").replace(
        "dedup.exact", "dedup.exact: {large_group: 5}"
    )
    (tmp_path / "r.yaml").write_text(recipe)
    root = str(tmp_path / "run")
    assert main(["run", str(tmp_path / "r.yaml"), "--out", root, "--workers", "1", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["dedup", "clusters", "--run", root, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["step"], found["size"], len(found["some"])) == ("exact", 5, 3)
    assert main(["dedup", "clusters", "--run", root]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in [*found["some"], found["host"]])
    assert main(["why", found["some"][0], "--run", root]) == 0
    assert "duplicate_content" in capsys.readouterr().out
