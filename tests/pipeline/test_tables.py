"""Document tables: only what was declared, only in its type, and back again."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpusmill.pipeline.document import Document, Drop, Failure, Scalar
from corpusmill.pipeline.errors import StageError
from corpusmill.pipeline.tables import (
    TableWriter,
    document_table,
    documents,
    each_piece,
    read_groups,
    value_text,
)

SIGNALS = {"score": "float", "words": "int", "lang": "str", "code": "bool"}


def doc(
    meta: dict[str, Scalar] | None = None, signals: dict[str, Scalar] | None = None
) -> Document:
    return Document("0" * 31 + "1", "text", "web", meta or {}, signals or {})


def test_rows_come_back_as_they_went() -> None:
    full = doc(
        {"url": "https://a.example/", "offset": 7},
        {"score": 0.25, "words": 3, "lang": "en", "code": False},
    )
    bare = Document("0" * 31 + "2", "", "web")
    table, _ = document_table([full, bare], SIGNALS)
    assert list(documents(table, SIGNALS)) == [full, bare]


def test_a_whole_number_is_a_float_where_one_is_declared() -> None:
    table, _ = document_table([doc(signals={"score": 1})], SIGNALS)
    assert table["score"].to_pylist() == [1.0]


@pytest.mark.parametrize(
    ("meta", "signals", "message"),
    [
        ({"adress": "x"}, {}, r"meta keys that are not known: \['adress'\]"),
        ({}, {"wrods": 3}, r"signals that nobody declared: \['wrods'\]"),
        ({}, {"words": 3.0}, r"signal 'words' .* is 3\.0 \(float\), declared as int"),
        ({}, {"words": True}, r"signal 'words' .* is True \(bool\), declared as int"),
        ({}, {"code": 1}, r"signal 'code' .* is 1 \(int\), declared as bool"),
        ({"offset": "7"}, {}, r"meta 'offset' .* is '7' \(str\), declared as int"),
    ],
)
def test_refuses_what_was_not_declared(
    meta: dict[str, Scalar], signals: dict[str, Scalar], message: str
) -> None:
    with pytest.raises(StageError, match=message):
        document_table([doc(meta, signals)], SIGNALS)


def test_a_signal_may_not_take_the_name_of_a_column() -> None:
    with pytest.raises(StageError, match="may not be called 'url'"):
        document_table([], {"url": "str"})


def test_the_content_digest_sees_rows_and_not_their_order() -> None:
    a, b = doc(signals={"words": 1}), Document("0" * 31 + "2", "other", "web")
    forth, back = document_table([a, b], SIGNALS)[1], document_table([b, a], SIGNALS)[1]
    assert forth == back
    changed = doc(signals={"words": 2})
    assert document_table([changed, b], SIGNALS)[1] != forth


def test_a_partition_is_read_alone_and_in_order(tmp_path: Path) -> None:
    import pyarrow as pa

    writer = TableWriter()
    writer.add(pa.table({"n": [5, 1, 4]}), [1, 0, 1])
    writer.add(pa.table({"n": [2, 3]}), [1, 3])
    path = tmp_path / "t.parquet"
    groups = [g.plain() for g in writer.write(path, ("n",))]
    assert groups == [[0, 0, 1, 1], [1, 1, 1, 3], [3, 2, 1, 1]]
    assert read_groups(path, 1, 1, None)["n"].to_pylist() == [2, 4, 5]
    assert read_groups(path, 1, 2, ["n"])["n"].to_pylist() == [2, 4, 5, 3]
    assert read_groups(path, 0, 0, ["n"]).num_rows == 0
    assert read_groups(path, 0, -1, ["n"])["n"].to_pylist() == [1, 2, 4, 5, 3]
    with pytest.raises(StageError, match="rows of another schema"):
        writer.add(pa.table({"m": [1]}), None)


def test_pieces_of_a_file_are_small_and_hold_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa

    writer = TableWriter()
    for partition, rows in ((0, 3), (1, 400), (2, 1), (3, 2)):
        names = [f"{partition}-{n}" for n in range(rows)]
        writer.add(pa.table({"name": names, "text": ["long text " * 9] * rows}), [partition] * rows)
    path = tmp_path / "t.parquet"
    writer.write(path)
    whole = read_groups(path, 0, -1, ["name"])["name"].to_pylist()
    assert [p.num_rows for p in each_piece(path, 0, -1, None)] == [406]
    assert [p.num_rows for p in each_piece(path, 1, 0, ["name"])] == [0]
    monkeypatch.setattr("corpusmill.pipeline.tables.PIECE", 1000)
    pieces = list(each_piece(path, 0, -1, ["name"]))
    assert [row for p in pieces for row in p["name"].to_pylist()] == whole
    sizes = [p.num_rows for p in pieces]
    assert sizes[0] == 3  # by itself, as the next group is larger than a piece
    assert sizes[-1] == 3  # two small groups together
    assert max(sizes[1:-1]) < 200
    assert [p["name"].to_pylist() for p in each_piece(path, 3, 1, ["name"])] == [["3-0", "3-1"]]


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Drop("r"), None), (Drop("r", 0.5), "0.5"), (Drop("r", 3), "3"), (Drop("r", "x"), "x"),
        (Drop("r", "a\ud800"), "a?"), (Failure("t", "m" * 400), "m" * 300), (Failure("t"), None),
    ],
)  # fmt: skip
def test_values_of_rejects(outcome: Drop | Failure, text: str | None) -> None:
    assert value_text(outcome) == text
