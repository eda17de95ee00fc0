"""Inputs in an object store: the same listing, the same bytes, and no short read that passes."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from corpusmill.pipeline import object_store
from corpusmill.pipeline.document import Failure, Page
from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.input_files import Folder, Objects, _reserve, opened, reopened
from corpusmill.pipeline.listing import list_files, list_names, read_paths
from corpusmill.pipeline.planning import make_plan
from corpusmill.pipeline.recipe import Recipe
from corpusmill.pipeline.stage import InputFile
from corpusmill.pipeline.worker import Worker
from corpusmill.stages.sources.jsonl import Jsonl, JsonlParams
from corpusmill.stages.sources.warc import Warc, WarcParams

from .s3_stub import Stub, serve

ROOT = "s3://crawls/cc"
TIME = 1_772_445_600_000_000_000  # 2026-03-02T10:00:00Z


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """A store of its own, to which the environment points."""
    made = Stub()
    stop = serve(made)
    monkeypatch.setenv("AWS_ENDPOINT_URL", made.address)
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "who")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setattr(object_store, "ATTEMPTS", 3)
    for cached in (object_store.store, object_store._file_system):
        cached.cache_clear()
    yield made
    for cached in (object_store.store, object_store._file_system):
        cached.cache_clear()
    stop()


def planned(stub: Stub, name: str, root: str = ROOT) -> InputFile:
    key = f"{root.removeprefix('s3://crawls/')}/{name}"
    return InputFile("web", f"{root}/{name}", name, len(stub.objects[key]))


NAMES = (
    "a.gz", "a/b.gz", "a/c/b.gz", "a/c/d.txt", "b/x/warc/1.gz", "b/x/warc/2.gz", "b/y/warc/3.gz",
    "b/y/wet/4.gz", "é/ü x.gz", "x+y&z%41.gz",
)  # fmt: skip


@pytest.mark.parametrize(
    "pattern",
    ["*.gz", "**/*.gz", "**/*", "a/*", "a/**/b.gz", "b/*/warc/*.gz", "b/?/w*/[13].gz", "a/c/b.gz",
     "**/warc/*", "*", "none/*", "a/none.gz", "é/*", "x+y&z%41.gz", "**/c/**/*"],
)  # fmt: skip
def test_patterns_match_as_in_a_folder(stub: Stub, tmp_path: Path, pattern: str) -> None:
    for name in NAMES:
        stub.objects[f"cc/{name}"] = name.encode()
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    stub.objects["ccc/other.gz"] = stub.objects["other.gz"] = b"not below the root"
    here, there = list_files(tmp_path, pattern), Objects(ROOT).list_files(pattern)
    assert [f[:2] for f in there] == [f[:2] for f in here]
    assert all(f[2] == TIME for f in there)
    assert Objects(ROOT).list_names(pattern) == list_names(tmp_path, pattern)
    some = {"a/b.gz", "a.gz"}
    assert [f[0] for f in Objects(ROOT).list_files(pattern, some)] == [
        f[0] for f in list_files(tmp_path, pattern, some)
    ]


def test_listed_paths_are_asked_for_one_by_one_or_by_their_folder(stub: Stub) -> None:
    names = [f"s/{n:03}.gz" for n in range(30)]
    stub.objects |= {f"cc/{n}": n.encode() for n in [*names, "t/1.gz", "u/1.gz"]}
    found = Objects(ROOT).stat_paths([*names, "t/1.gz"])
    assert [f[0] for f in found] == [*names, "t/1.gz"]
    assert sum(one.startswith("LIST cc/s/") for one in stub.asked) == 1
    assert not any(one.startswith("HEAD cc/s/") for one in stub.asked)
    with pytest.raises(ConfigError, match=r"2 of 32 listed paths .* 's/999.gz' first"):
        Objects(ROOT).stat_paths(["s/999.gz", *names, "t/2.gz"])


def test_more_objects_than_one_answer_lists(stub: Stub) -> None:
    names = [f"{n:04}" for n in range(2345)]
    stub.objects |= {f"cc/{name}": b"1" for name in names}
    assert [name for name, _ in object_store.store(ROOT).entries("")] == names
    assert stub.asked == ["LIST cc/ /"] * 3


def test_what_lies_beside_is_the_same(stub: Stub, tmp_path: Path) -> None:
    for name in ("a/b.cdx", "a/b.warc", "a/c/d.cdx", "e.cdx"):
        stub.objects[f"cc/{name}"] = b"12"
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"12")
    for folder, wanted in (("a/", ["a/b.cdx", "a/b.warc"]), ("", ["e.cdx"])):
        assert [f[0] for f in Objects(ROOT).beside(folder)] == wanted
        assert [f[0] for f in Folder(tmp_path).beside(folder)] == wanted


def test_odd_keys_are_told(stub: Stub) -> None:
    stub.objects["cc/a//b.gz"] = b"1"
    with pytest.raises(ConfigError, match=r"'a//b.gz' matches .* no path below the root"):
        Objects(ROOT).list_files("**/*.gz")


@pytest.mark.parametrize("root", ["s3://", "s3:///x", "s3://a", "s3://bucket//x", "s3://bucket/../x", "s3://b ucket/x"])  # fmt: skip
def test_an_address_without_a_place_is_refused(root: str) -> None:
    with pytest.raises(ConfigError, match="bucket"):
        object_store.check_address(root)


@pytest.mark.parametrize("root", ["s3://bucket", "s3://bucket/", "s3://my.bucket-1/a/b/"])
def test_good_addresses(root: str) -> None:
    object_store.check_address(root)


def test_bytes_and_digest_over_many_ranges(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "RANGE_BYTES", 1000)
    body = b"".join(n.to_bytes(2, "big") for n in range(5250))
    stub.objects["cc/x"] = body
    into = io.BytesIO()
    digest = object_store.store(ROOT).fetch("x", len(body), TIME, into)
    assert into.getvalue() == body
    assert digest == hashlib.sha256(body).hexdigest()
    assert stub.gets == [f"cc/x bytes={n}-{min(n + 999, 10499)}" for n in range(0, 10500, 1000)]


@pytest.mark.parametrize("end", [b"\x5a" * 40, b"\xa5" * 40, b"\x5a" * 16 + b"\xa5" * 16])
def test_bytes_that_look_like_those_that_did_not_come(stub: Stub, end: bytes) -> None:
    stub.objects["cc/x"] = b"1" * 1000 + end
    with opened(planned(stub, "x"), TIME) as (file, _):
        assert Path(file.path).read_bytes() == stub.objects["cc/x"]


def test_empty_objects(stub: Stub) -> None:
    stub.objects["cc/x"] = b""
    with opened(planned(stub, "x"), TIME) as (file, digest):
        assert Path(file.path).read_bytes() == b""
        assert digest == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize("fault", ["500", "503", "cut"])
def test_a_fault_that_passes_is_asked_again(stub: Stub, fault: str) -> None:
    stub.objects["cc/x"] = bytes(range(256)) * 40
    stub.fault = lambda stub, key, number: fault if number == 1 else ""
    with opened(planned(stub, "x"), TIME) as (file, digest):
        assert Path(file.path).read_bytes() == stub.objects["cc/x"]
    assert digest == hashlib.sha256(stub.objects["cc/x"]).hexdigest()
    assert len(stub.gets) == 2


@pytest.mark.parametrize("fault", ["500", "cut", "short", "403", "404"])
def test_a_fault_that_stays_is_an_error_and_no_short_file(stub: Stub, fault: str) -> None:
    stub.objects["cc/x"] = bytes(range(256)) * 40
    stub.fault = lambda stub, key, number: fault
    with (
        pytest.raises(InputError, match="s3://crawls/cc/x"),
        opened(planned(stub, "x"), TIME),
    ):
        pytest.fail("nothing may be read")


def test_an_object_that_changes_while_it_is_read(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "RANGE_BYTES", 1000)
    stub.objects["cc/x"] = b"a" * 3000

    def change(stub: Stub, key: str, number: int) -> str:
        if number == 2:
            stub.objects["cc/x"] = b"b" * 3000
        return ""

    stub.fault = change
    with pytest.raises(InputError, match="written anew"), opened(planned(stub, "x"), TIME):
        pytest.fail("a mixture may not be read")


def test_an_object_that_changed_after_it_was_planned(stub: Stub) -> None:
    stub.objects["cc/x"] = b"123"
    file = planned(stub, "x")
    stub.objects["cc/x"] = b"1234"
    with pytest.raises(InputError, match=r"size 4, planned 3"), opened(file, TIME):
        pytest.fail("another object may not be read")
    stub.objects["cc/x"] = b"999"
    stub.day = "Mon, 02 Mar 2026 10:00:01 GMT"
    with pytest.raises(InputError, match="not the object"), opened(file, TIME):
        pytest.fail("another object may not be read")


def test_a_reader_names_the_object_and_not_its_copy(stub: Stub) -> None:
    stub.objects["cc/x.warc.lz4"] = b"\x04\x22\x4d\x18 and so on"
    with (
        pytest.raises(InputError, match=r"^s3://crawls/cc/x.warc.lz4: lz4 frames"),
        opened(planned(stub, "x.warc.lz4"), TIME) as (file, _),
    ):
        list(Warc(WarcParams()).read(file))


def test_no_room_for_the_copy(stub: Stub) -> None:
    stub.objects["cc/x"] = b"123"
    with (
        open("/dev/full", "wb", buffering=0) as full,
        pytest.raises(InputError, match="no room for a copy"),
    ):
        object_store.store(ROOT).fetch("x", 3, TIME, full)
    with (
        open("/dev/null", "wb", buffering=0) as no_file,
        pytest.raises(InputError, match="no room for a copy") as caught,
    ):
        _reserve(no_file, 1 << 40)
    assert "TMPDIR" in (caught.value.hint or "")


def archive() -> bytes:
    """Three pages of different length, a gzip member each."""
    parts = []
    for n in range(3):
        body = b"<html><p>" + bytes([97 + n]) * (100 + 300_000 * n)
        block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/{n}\r\n"
            f"Content-Length: {len(block)}\r\n\r\n"
        )
        parts.append(gzip.compress(head.encode() + block + b"\r\n\r\n", mtime=0))
    return b"".join(parts)


def test_records_have_the_ids_they_have_in_a_folder(stub: Stub, tmp_path: Path) -> None:
    stub.objects["cc/a/x.warc.gz"] = archive()
    (tmp_path / "x").write_bytes(archive())
    local = InputFile("web", str(tmp_path / "x"), "a/x.warc.gz", len(archive()))
    reader = Warc(WarcParams())
    with opened(planned(stub, "a/x.warc.gz"), TIME) as (file, _):
        there = list(reader.read(file))
    assert there == list(reader.read(local))
    assert all(isinstance(record.outcome, Page) for record in there)


def test_single_records_are_read_from_parts_of_the_object(stub: Stub) -> None:
    # Bytes that do not compress: the record in the middle is 1 MB long.
    noise = b"".join(hashlib.sha256(bytes([n % 256, n // 256])).digest() for n in range(40000))
    data = archive()
    stub.objects["cc/x.warc.gz"] = data + noise + data
    file = planned(stub, "x.warc.gz")
    reader = Warc(WarcParams())
    with opened(file, TIME) as (local, _):
        whole = [r for r in reader.read(local) if isinstance(r.outcome, Page)]
    stub.gets.clear()
    last = whole[-1]
    with reopened(file, [(last.offset, last.length)]) as part:
        assert reader.read_one(part, last.offset, last.id) == last
    got = sum(int(g.split("-")[1]) - int(g.split("=")[1].split("-")[0]) + 1 for g in stub.gets)
    assert got < 200_000


def test_rows_too(stub: Stub) -> None:
    stub.objects["cc/x.jsonl"] = b'{"text": "one"}\n{"text": "two"}\n'
    with opened(planned(stub, "x.jsonl"), TIME) as (file, _):
        texts = [r.outcome.text for r in Jsonl(JsonlParams()).read(file)]  # type: ignore[union-attr]
    assert texts == ["one", "two"]


RECIPE = """
schema: corpusmill/recipe/1
name: far
version: "1"
sources:
  - {name: web, stage: sources.warc, root: "ROOT", licence: CC0-1.0, REST}
steps: [{extract.tiers: {tier: fast}}]
"""


def recipe(tmp_path: Path, rest: str, root: str = ROOT) -> Recipe:
    return Recipe.parse(RECIPE.replace("ROOT", root).replace("REST", rest), tmp_path)


def test_a_plan_holds_sizes_and_times_and_nothing_of_the_environment(
    stub: Stub, tmp_path: Path
) -> None:
    stub.objects |= {"cc/a/1.warc.gz": b"1", "cc/a/2.warc.gz": b"22", "cc/b.txt": b"3"}
    plan = make_plan(recipe(tmp_path, 'paths: ["**/*.warc.gz"]'))
    assert plan.data["inputs"] == [
        {"name": "web", "files": [["a/1.warc.gz", 1, TIME], ["a/2.warc.gz", 2, TIME]]}
    ]
    assert [f.path for f in plan.task_files(0)] == [f"{ROOT}/a/1.warc.gz", f"{ROOT}/a/2.warc.gz"]
    plan.save(tmp_path / "plan.json")
    text = (tmp_path / "plan.json").read_text()
    assert not any(word in text for word in ("secret", "127.0.0.1", "us-east"))
    assert not stub.gets


def test_a_list_of_addresses(stub: Stub, tmp_path: Path) -> None:
    stub.objects |= {"cc/a/1.warc.gz": b"1", "cc/a/2.warc.gz": b"22"}
    (tmp_path / "list").write_text(f"{ROOT}/a/2.warc.gz\na/1.warc.gz\n")
    plan = make_plan(recipe(tmp_path, "paths_from: list"))
    assert [f[0] for f in plan.data["inputs"][0]["files"]] == ["a/1.warc.gz", "a/2.warc.gz"]
    (tmp_path / "list").write_text("s3://other/a/2.warc.gz\n")
    with pytest.raises(ConfigError, match="no path below the root"):
        read_paths(tmp_path / "list", ROOT)


@pytest.mark.parametrize(
    ("root", "match"),
    [
        ("s3://crawls/none", "'s3://crawls/none' does not exist"),
        ("s3://nowhere-else/x", "does not exist|cannot be listed"),
    ],
)
def test_a_root_that_is_not_there(stub: Stub, tmp_path: Path, root: str, match: str) -> None:
    stub.objects["cc/x"] = b"1"
    with pytest.raises(ConfigError, match=match):
        make_plan(recipe(tmp_path, 'paths: ["*"]', root))


def test_a_store_that_is_not_there(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "ATTEMPTS", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(ConfigError) as caught:
        make_plan(recipe(tmp_path, 'paths: ["*"]'))
    assert "AWS_ENDPOINT_URL" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("name", "value"), [("AWS_ENDPOINT_URL", "127.0.0.1:9"), ("CORPUSMILL_S3_ANONYMOUS", "yes")]
)
def test_settings_that_mean_nothing(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=name):
        object_store.Store(ROOT)


def test_a_whole_bucket_is_a_root(stub: Stub, tmp_path: Path) -> None:
    stub.objects |= {"a/1.warc.gz": archive(), "b/2.txt": b"2"}
    plan = make_plan(recipe(tmp_path, 'paths: ["**/*.warc.gz"]', "s3://crawls/"))
    (file,) = plan.task_files(0)
    assert (file.path, file.relative) == ("s3://crawls/a/1.warc.gz", "a/1.warc.gz")
    with opened(file, plan.file_token("web", file.relative)) as (local, _):
        assert len(list(Warc(WarcParams()).read(local))) == 3


def test_an_index_comes_with_its_archive(stub: Stub, tmp_path: Path) -> None:
    data = archive()
    stub.objects |= {
        "cc/x.warc.gz": data, "cc/x.cdxj": b'a 1 {"offset": 7}\n', "cc/y.warc.gz": data,
    }  # fmt: skip
    run = make_plan(recipe(tmp_path, 'paths: ["*.warc.gz"]'))
    x, y = run.task_files(0)
    assert [b.path for b in x.beside] == [f"{ROOT}/x.cdxj"]
    assert y.beside == ()
    with ExitStack() as stack:
        local, said = Worker(tmp_path / "run", run)._opened(x, stack)
        outcomes = [r.outcome for r in Warc(WarcParams()).read(local)]
    assert [s["path"] for s in said] == ["x.cdxj", "x.warc.gz"]
    assert said[0]["sha256"] == hashlib.sha256(b'a 1 {"offset": 7}\n').hexdigest()
    assert [o.type for o in outcomes if isinstance(o, Failure)] == [
        "index_no_record", "index_incomplete",
    ]  # fmt: skip
