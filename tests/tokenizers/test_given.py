from __future__ import annotations

from pathlib import Path

import pytest

from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.errors import AssetError, IntegrityError
from corpusmill.pipeline.stage import Asset
from corpusmill.tokenizers.encode import load
from corpusmill.tokenizers.given import Given, GivenParams


def taken(folder: Path, scratch: Path) -> MemoryContext:
    ctx = MemoryContext(scratch, seed=7)
    stage = Given(GivenParams(Asset(str(folder))))
    stage.setup()
    ctx.run_phases(stage)
    return ctx


@pytest.fixture(params=["tokenizer", "spm"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    ctx: MemoryContext = request.getfixturevalue(request.param)
    there = tmp_path / "there"
    there.mkdir()
    for name, path in ctx.files().items():
        (there / name.split("/")[-1]).write_bytes(path.read_bytes())
    return there


def test_same_files_same_ids(folder: Path, tmp_path: Path) -> None:
    ctx = taken(folder, tmp_path / "run")
    files = {name.split("/")[-1]: path.read_bytes() for name, path in ctx.files().items()}
    assert files == {path.name: path.read_bytes() for path in folder.iterdir()}
    ids, _ = load(ctx.files()).encode_batch(["the mill turns"])
    assert ids.tolist() == load(folder).encode_batch(["the mill turns"])[0].tolist()
    assert len(ids) > 1


def test_files_that_the_card_does_not_name_stay_behind(folder: Path, tmp_path: Path) -> None:
    (folder / "notes.txt").write_text("private")
    names = {name.split("/")[-1] for name in taken(folder, tmp_path / "run").files()}
    assert "card.json" in names
    assert "notes.txt" not in names


def test_changed_file_is_refused(folder: Path, tmp_path: Path) -> None:
    model = next(p for p in folder.iterdir() if p.name != "card.json")
    model.write_bytes(model.read_bytes() + b" ")
    with pytest.raises(IntegrityError, match="is not what its card says"):
        taken(folder, tmp_path / "run")


def test_folder_without_tokenizer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(AssetError, match=r"no card\.json"):
        taken(tmp_path / "empty", tmp_path / "run")
