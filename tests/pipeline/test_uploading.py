"""Products in an object store: whole or not there, the lock last, whatever fails on the way."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Recipe, object_store, run, uploading, verify
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.errors import ConfigError, IntegrityError, TaskError
from corpusmill.pipeline.uploading import Bucket, upload

from .conftest import PRODUCTS, RECIPE, write_corpus

ENGINES = (
    Path(__file__).parents[2]
    / f".venv-peers/engines-{sys.version_info.major}.{sys.version_info.minor}"
)
"""What `.ci/engines` installs for this Python: boto3, among others."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with shards."""
    base = tmp_path_factory.mktemp("made")
    write_corpus(base / "input")
    run(Recipe.parse(RECIPE + PRODUCTS, base), base / "run", workers=1)
    return base / "run"


@pytest.fixture
def store(moto: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of an empty bucket ``out``; the environment points to it."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(ENGINES)])
    if not _has_boto3():
        reason = "boto3 is missing; hint: .ci/engines PYTHON"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    for name, value in (
        ("AWS_ENDPOINT_URL_S3", moto), ("AWS_ACCESS_KEY_ID", "who"),
        ("AWS_SECRET_ACCESS_KEY", "very-secret"), ("AWS_REGION", "us-east-1"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    for cached in (object_store.store, object_store._file_system):
        cached.cache_clear()
    client = uploading._client()
    client.create_bucket(Bucket="out")
    yield client
    for entry in client.list_objects_v2(Bucket="out").get("Contents", ()):
        client.delete_object(Bucket="out", Key=entry["Key"])
    client.delete_bucket(Bucket="out")
    client.close()
    for cached in (object_store.store, object_store._file_system):
        cached.cache_clear()


def _has_boto3() -> bool:
    try:
        import boto3  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def keys(client: Any) -> dict[str, int]:
    """Sizes of all objects by key."""
    return {e["Key"]: e["Size"] for e in client.list_objects_v2(Bucket="out").get("Contents", ())}


def open_uploads(client: Any) -> list[str]:
    return [u["Key"] for u in client.list_multipart_uploads(Bucket="out").get("Uploads", ())]


class Hooked:
    """A client one of whose calls does something else."""

    def __init__(self, client: Any, name: str, instead: Callable[..., Any]) -> None:
        self.__dict__.update(client=client, name=name, instead=instead)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.client, name)
        return (lambda **how: self.instead(call, **how)) if name == self.name else call


def failing(client: Any, name: str, at: int, code: str = "InternalError") -> Hooked:
    """The `at`-th call of `name` and all after it fail."""
    from botocore.exceptions import ClientError

    calls = []

    def instead(call: Callable[..., Any], **how: Any) -> Any:
        calls.append(how)
        if len(calls) >= at:
            raise ClientError({"Error": {"Code": code, "Message": "We encountered"}}, name)
        return call(**how)

    return Hooked(client, name, instead)


@pytest.mark.slow
def test_all_that_the_lock_names_and_verify(made: Path, store: Any, capsys: Any) -> None:
    assert main(("upload", str(made), "s3://out/a/b", "--json")) == 0
    told = json.loads(capsys.readouterr().out)
    names = {p.relative_to(made).as_posix() for room in ("shards", "tokenizer")
             for p in (made / room).rglob("*") if p.is_file()}  # fmt: skip
    names |= {"small.files.jsonl"}
    assert told["lock"] == "s3://out/a/b/small.lock.json"
    assert told["sent"] == told["files"] == len(names)
    assert set(keys(store)) == {f"a/b/{name}" for name in {*names, "small.lock.json"}}
    for name in (*names, "small.lock.json"):
        body = store.get_object(Bucket="out", Key=f"a/b/{name}")["Body"].read()
        assert body == (made / name).read_bytes(), name
    verdict = verify("s3://out/a/b")
    assert verdict.faults == []
    assert verdict.files == len(names) - 1  # the list itself is checked by the lock
    again = upload(made, Bucket("s3://out/a/b"))
    assert (again.sent, again.files) == (0, len(names))
    assert main(("verify", "s3://out/a/b/")) == 0
    assert capsys.readouterr().out.endswith("all as locked\n")


@pytest.mark.slow
def test_a_run_that_sends_what_it_made(made: Path, store: Any, capsys: Any) -> None:
    """By this machine, and by the last job of a submission; doing it again sends nothing."""
    (made.parent / "recipe.yaml").write_text(RECIPE + PRODUCTS)
    words = ("run", str(made.parent / "recipe.yaml"), "--out", str(made), "--json", "--quiet")
    assert main((*words, "--upload", "s3://out/r")) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["uploaded"] == "s3://out/r/small.lock.json"
    assert verify("s3://out/r").faults == []
    assert upload(made, Bucket("s3://out/r")).sent == 0
    last = ("run-tasks", str(made / "plan.json"), "publish", "--upload", "s3://out/s")
    assert main(last) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(made / "small.lock.json"), "s3://out/s/small.lock.json",
    ]  # fmt: skip
    assert verify("s3://out/s").faults == []
    lock = made / "small.lock.json"
    before = lock.stat().st_mtime_ns
    assert main((*words, "--upload", "s3://nowhere/r")) == 2
    assert "there is no bucket 'nowhere'" in capsys.readouterr().err
    assert lock.stat().st_mtime_ns == before  # nothing was done


@pytest.mark.parametrize("verb", ["run", "submit"])
def test_where_it_cannot_go_is_said_before_any_work(tmp_path: Path, capsys: Any, verb: str) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "profile.yaml").write_text(
        'schema: corpusmill/slurm-profile/1\ntime: "01:00:00"\nmemory: 4G\n'
    )
    words = (verb, str(tmp_path / "recipe.yaml"), "--out", str(tmp_path / "run"))
    more = ("--profile", str(tmp_path / "profile.yaml")) if verb == "submit" else ()
    assert main((*words, *more, "--upload", "/a/folder")) == 2
    assert "'/a/folder' is no address" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_verify_sees_every_change(made: Path, store: Any) -> None:
    upload(made, Bucket("s3://out/x"))
    shard = next(k for k in keys(store) if k.endswith(".bin"))
    data = store.get_object(Bucket="out", Key=shard)["Body"].read()
    store.put_object(Bucket="out", Key=shard, Body=data[:-1] + bytes([data[-1] ^ 1]))
    assert [f for f in verify("s3://out/x").faults if "sha256 differs" in f] != []
    store.put_object(Bucket="out", Key=shard, Body=data[:-1])
    assert any(f"has {len(data) - 1} bytes, listed are" in f for f in verify("s3://out/x").faults)
    store.delete_object(Bucket="out", Key=shard)
    assert verify("s3://out/x").faults == [f"s3://out/{shard} is missing"]
    store.put_object(Bucket="out", Key=shard, Body=data)
    store.put_object(Bucket="out", Key="x/shards/more.bin", Body=b"x")
    assert verify("s3://out/x").faults == [
        "s3://out/x/shards/more.bin is not listed in the lock's files"
    ]
    store.delete_object(Bucket="out", Key="x/shards/more.bin")
    store.put_object(Bucket="out", Key="x/small.files.jsonl", Body=b"{}\n")
    (fault,) = verify("s3://out/x").faults
    assert fault == "s3://out/x/small.files.jsonl is not the list that the lock names"
    with pytest.raises(ConfigError, match="holds 0 locks"):
        verify("s3://out/elsewhere")


@pytest.mark.slow
@pytest.mark.parametrize("code", ["InternalError", "AccessDenied", "SlowDown"])
def test_a_store_that_fails_in_the_middle_has_no_lock(made: Path, store: Any, code: str) -> None:
    bucket = Bucket("s3://out/x", failing(store, "put_object", 4, code))
    with pytest.raises(
        TaskError, match=f"cannot be written: An error occurred \\({code}\\)"
    ) as caught:
        upload(made, bucket)
    assert "running again goes on" in str(caught.value.hint)
    there = keys(store)
    assert 3 >= len(there) > 0
    assert not [k for k in there if k.endswith(".lock.json")]
    for key, size in there.items():
        assert size == (made / key.removeprefix("x/")).stat().st_size
    done = upload(made, Bucket("s3://out/x"))
    assert done.sent == done.files - len(there)
    assert verify("s3://out/x").faults == []


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, int, str]:
    """A file of three parts, the last of them short."""
    monkeypatch.setattr(uploading, "PART_BYTES", 5 << 20)  # the least that a store takes
    data = hashlib.shake_256(b"x").digest((12 << 20) + 1)
    (tmp_path / "large").write_bytes(data)
    return tmp_path / "large", len(data), hashlib.sha256(data).hexdigest()


@pytest.mark.slow
def test_a_large_file_goes_in_parts_of_which_none_stays(large: Any, store: Any) -> None:
    path, size, sha256 = large
    requests = []

    def count(call: Callable[..., Any], **how: Any) -> Any:
        requests.append((how["PartNumber"], len(how["Body"])))
        return call(**how)

    Bucket("s3://out", Hooked(store, "upload_part", count)).put("big", path, size, sha256)
    assert requests == [(1, 5 << 20), (2, 5 << 20), (3, (2 << 20) + 1)]
    assert store.get_object(Bucket="out", Key="big")["Body"].read() == path.read_bytes()
    assert open_uploads(store) == []
    assert Bucket("s3://out", store).holds("big", size, sha256)
    assert not Bucket("s3://out", store).holds("big", size, "0" * 64)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["upload_part", "complete_multipart_upload"])
def test_a_large_file_that_fails_is_given_up(large: Any, store: Any, name: str) -> None:
    """Never the half of it at its key, and no parts that are paid for unseen."""
    bucket = Bucket("s3://out", failing(store, name, 2 if name == "upload_part" else 1))
    with pytest.raises(TaskError, match="s3://out/big cannot be written"):
        bucket.put("big", *large)
    assert keys(store) == {}
    assert open_uploads(store) == []


@pytest.mark.slow
def test_a_local_file_that_is_not_the_listed_one_is_not_sent(large: Any, store: Any) -> None:
    path, size, sha256 = large
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(IntegrityError, match="its sha256 differs"):
        Bucket("s3://out", store).put("big", path, size, sha256)
    (path.parent / "small").write_bytes(b"other")
    with pytest.raises(IntegrityError, match="its sha256 differs"):
        Bucket("s3://out", store).put("small", path.parent / "small", 5, sha256)
    assert (keys(store), open_uploads(store)) == ({}, [])


@pytest.mark.slow
def test_what_a_killed_upload_left_is_cleared_by_the_next(large: Any, store: Any) -> None:
    path, size, sha256 = large
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from corpusmill.pipeline import uploading\n"
        "uploading.PART_BYTES = 5 << 20\n"
        "bucket = uploading.Bucket('s3://out')\n"
        "def die(*_, **__):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "bucket.client.meta.events.register('after-call.s3.UploadPart', die)\n"
        f"bucket.put('big', Path({str(path)!r}), {size}, {sha256!r})\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    killed = subprocess.run([sys.executable, "-c", code], env=environment, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert keys(store) == {}
    assert open_uploads(store) == ["big"]
    Bucket("s3://out", store).put("big", path, size, sha256)
    assert open_uploads(store) == []
    assert keys(store) == {"big": size}


@pytest.mark.slow
def test_a_store_that_lost_what_it_took_is_not_believed(made: Path, store: Any) -> None:
    def nothing(call: Callable[..., Any], **how: Any) -> Any:
        return {}

    with pytest.raises(IntegrityError, match="is not there as it was sent"):
        upload(made, Bucket("s3://out/x", Hooked(store, "put_object", nothing)))


@pytest.mark.slow
def test_another_result_is_only_replaced_when_asked(made: Path, store: Any, tmp_path: Path) -> None:
    upload(made, Bucket("s3://out/x"))
    write_corpus(tmp_path / "input", files=3)
    other = tmp_path / "run"
    run(Recipe.parse(RECIPE + PRODUCTS, tmp_path), other, workers=1)
    with pytest.raises(ConfigError, match="holds another result under the name small"):
        upload(other, Bucket("s3://out/x"))
    assert verify("s3://out/x").faults == []
    bucket = Bucket("s3://out/x", failing(store, "put_object", 3))
    with pytest.raises(TaskError):
        upload(other, bucket, replace=True)
    assert not [k for k in keys(store) if k.endswith(".lock.json")], "its files are no longer there"
    upload(other, Bucket("s3://out/x"), replace=True)
    faults = verify("s3://out/x").faults
    assert all("is not listed in the lock's files" in f for f in faults)  # of the first result
    lock = store.get_object(Bucket="out", Key="x/small.lock.json")["Body"].read()
    assert lock == (other / "small.lock.json").read_bytes()


@pytest.mark.slow
def test_two_that_upload_at_the_same_time(made: Path, store: Any) -> None:
    bucket = Bucket("s3://out/x", store)
    bucket.put_new("lock", b"mine")
    bucket.put_new("lock", b"mine")
    with pytest.raises(IntegrityError, match="somebody else has written s3://out/x/lock"):
        bucket.put_new("lock", b"yours")
    assert bucket.read("lock") == b"mine"
    assert bucket.read("nothing") is None


@pytest.mark.slow
def test_a_store_that_is_not_there(made: Path, store: Any, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(uploading, "ATTEMPTS", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    assert main(("upload", str(made), "s3://out/x")) == 1
    said = capsys.readouterr().err
    assert "s3://out/x cannot be used: Could not connect" in said
    assert "hint: AWS_ENDPOINT_URL" in said


def test_without_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ConfigError, match="needs the package boto3") as caught:
        Bucket("s3://out")
    assert caught.value.hint == "pip install 'corpusmill[s3]'"


@pytest.mark.parametrize("address", ["out", "s3://", "s3://out/../x", "gs://out"])
def test_addresses_that_are_none(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(("upload", "nowhere", address)) == 2
    assert "hint: s3://BUCKET/PREFIX" in capsys.readouterr().err


def test_parts_of_a_file_that_is_larger_than_all_parts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(uploading, "PART_BYTES", 2)
    monkeypatch.setattr(uploading, "MOST_PARTS", 3)
    (tmp_path / "f").write_bytes(b"0123456789")
    assert list(uploading._parts(tmp_path / "f", 10)) == [b"0123", b"4567", b"89"]
