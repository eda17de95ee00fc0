from __future__ import annotations

from pathlib import Path

import pytest

from corpusmill.pipeline.document import Document, Drop, Page
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset
from corpusmill.stages.filters.listed import Listed, Params

RECORD = "urn:uuid:6a07b1a5-2bd4-4b0c-8a3e-5a6e0a1c2d3e"
NAMES = f"# to be removed\n{'a' * 32}\n\n <{RECORD}> \nhttps://host.example/a?b=c\n"


def stage(tmp_path: Path, text: str) -> Listed:
    path = tmp_path / "names.txt"
    path.write_text(text)
    made = Listed(Params((Asset(str(path)),)))
    made.setup()
    return made


def test_a_record_is_named_by_id_by_record_id_or_by_url(tmp_path: Path) -> None:
    documents: list[Page | Document] = [
        Document("a" * 32, "text", "s"),
        Document("b" * 32, "text", "s", {"record_id": f"<{RECORD}>"}),
        Page("c" * 32, "s", b"", {}, {"record_id": RECORD}),
        Document("d" * 32, "text", "s", {"url": "https://host.example/a?b=c"}),
        Document("e" * 32, "text", "s", {"url": "https://host.example/a", "record_id": "<>"}),
        Document("f" * 32, "text", "s"),
    ]
    named = [Drop("listed", n) for n in ("a" * 32, RECORD, RECORD, "https://host.example/a?b=c")]
    assert stage(tmp_path, NAMES).apply(documents) == [*named, documents[4], documents[5]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no record"),
        ("# nothing\n", "names no record"),
        ("host.example\n", "line 1: 'host.example' names no record"),
        ("a" * 31 + "\n", "line 1"),
        ("A" * 32 + "\n", "line 1"),
    ],
)
def test_what_is_no_list(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(AssetError, match=said):
        stage(tmp_path, text)


def test_no_list_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no list"):
        Params(())
    with pytest.raises(AssetError, match="cannot be read"):
        Listed(Params((Asset(str(tmp_path / "none.txt")),))).setup()
