"""`upload`: the products of a run into an object store that speaks S3, the lock last.

There is no rename in an object store, and none is needed: a key is there whole or not at all. So
each file goes straight to its key, in one request or in parts that the store puts together at the
end; the store checks the sha256 of every request, and an upload that fails is given up, not closed.
A lock in the store therefore speaks of files that are all there: it is removed before one of them
changes, and written after the last, only where no other is. Running again sends what is missing.

Where the store is, and who we are, comes from the environment, as for inputs
(`corpusmill.pipeline.object_store`).
"""

from __future__ import annotations

import base64
import hashlib
import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ConfigError, IntegrityError, TaskError
from .lock import Lock
from .object_store import ATTEMPTS, SCHEME, check_address, is_address
from .params import shown
from .progress import quiet, to_stderr

PART_BYTES = 16 << 20
"""Of one request; more where a file would have more parts than a store takes."""
MOST_PARTS = 10_000
_ABSENT = ("404", "NoSuchBucket", "NoSuchKey", "NotFound")
AT_ONCE = 8
"""Files that are sent at the same time; each holds one part in memory."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What `upload` did."""

    lock: str
    """Address of the lock."""
    sent: int
    files: int
    bytes: int
    """Of all files, those included that were there."""


class Bucket:
    """Keys below one ``s3://`` address, to be written."""

    def __init__(self, address: str, client: Any = None) -> None:
        check_address(address)
        self.address = address.rstrip("/")
        self.bucket, _, prefix = self.address.removeprefix(SCHEME).partition("/")
        self.prefix = f"{prefix}/" if prefix else ""
        self.client = client or _client()
        from botocore.exceptions import BotoCoreError, ClientError

        self.refusals: Any = (BotoCoreError, ClientError, OSError)

    def _key(self, name: str) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self.prefix + name}

    def check(self) -> None:
        """Raises ConfigError where there is no such bucket, TaskError where no store answers. A
        store that will not say so may still take what is sent."""
        from botocore.exceptions import ClientError

        try:
            self.client.head_bucket(Bucket=self.bucket)
        except ClientError as error:
            if _code(error) in _ABSENT:
                raise ConfigError(
                    f"there is no bucket {self.bucket!r}", hint="make it, or use another address"
                ) from None
        except self.refusals as error:
            raise self._error("", "used", error) from None

    def holds(self, name: str, size: int, sha256: str) -> bool:
        """Whether a file that we sent lies at a name. Raises TaskError if it cannot be asked."""
        told = self._told(name)
        return told is not None and (told["ContentLength"], told["Metadata"].get("sha256")) == (
            size, sha256,
        )  # fmt: skip

    def _told(self, name: str) -> dict[str, Any] | None:
        from botocore.exceptions import ClientError

        try:
            return dict(self.client.head_object(**self._key(name)))
        except ClientError as error:
            if _code(error) in _ABSENT:
                return None
            raise self._error(name, "asked for", error) from None
        except self.refusals as error:
            raise self._error(name, "asked for", error) from None

    def read(self, name: str) -> bytes | None:
        """The bytes of a small object, None where there is none."""
        if self._told(name) is None:
            return None
        try:
            return bytes(self.client.get_object(**self._key(name))["Body"].read())
        except self.refusals as error:
            raise self._error(name, "read", error) from None

    def remove(self, name: str) -> None:
        try:
            self.client.delete_object(**self._key(name))
        except self.refusals as error:
            raise self._error(name, "removed", error) from None

    def put(self, name: str, path: Path, size: int, sha256: str) -> None:
        """Sends a file. Raises IntegrityError, and leaves nothing, if it is not the file with this
        digest; TaskError if the store does not take it."""
        try:
            if size <= PART_BYTES:
                data = path.read_bytes()
                _same(path, sha256, hashlib.sha256(data))
                self.client.put_object(**self._request(name, data), Metadata={"sha256": sha256})
            else:
                self._put_parts(name, path, size, sha256)
        except self.refusals as error:
            raise self._error(name, "written", error) from None
        if not self.holds(name, size, sha256):
            raise IntegrityError(f"{self.address}/{name} is not there as it was sent")

    def put_new(self, name: str, data: bytes) -> None:
        """Writes a small object where none is. Raises IntegrityError if there is another one."""
        sha256 = hashlib.sha256(data).hexdigest()
        from botocore.exceptions import ClientError

        try:
            self.client.put_object(
                **self._request(name, data), Metadata={"sha256": sha256}, IfNoneMatch="*"
            )
        except ClientError as error:
            if _code(error) not in ("PreconditionFailed", "412"):
                raise self._error(name, "written", error) from None
            if self.read(name) != data:
                raise IntegrityError(f"somebody else has written {self.address}/{name}") from None
        except self.refusals as error:
            raise self._error(name, "written", error) from None

    def _request(self, name: str, data: bytes) -> dict[str, Any]:
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        return {**self._key(name), "Body": data, "ChecksumSHA256": digest}

    def _put_parts(self, name: str, path: Path, size: int, sha256: str) -> None:
        self._give_up_old(name)
        upload = self.client.create_multipart_upload(
            **self._key(name), ChecksumAlgorithm="SHA256", Metadata={"sha256": sha256}
        )["UploadId"]
        try:
            parts, whole = [], hashlib.sha256()
            for number, data in enumerate(_parts(path, size), 1):
                whole.update(data)
                told = self.client.upload_part(
                    **self._request(name, data), UploadId=upload, PartNumber=number
                )
                parts.append({
                    "PartNumber": number, "ETag": told["ETag"],
                    "ChecksumSHA256": told.get("ChecksumSHA256"),
                })  # fmt: skip
            _same(path, sha256, whole)
            named = [{k: v for k, v in part.items() if v is not None} for part in parts]
            self.client.complete_multipart_upload(
                **self._key(name), UploadId=upload, MultipartUpload={"Parts": named}
            )
        except BaseException:
            with suppress(self.refusals):  # what made it fail matters more
                self.client.abort_multipart_upload(**self._key(name), UploadId=upload)
            raise

    def _give_up_old(self, name: str) -> None:
        """Ends uploads of this key that a killed process has left open: a store keeps their parts,
        unseen and paid for."""
        key = self._key(name)
        found = self.client.list_multipart_uploads(Bucket=key["Bucket"], Prefix=key["Key"])
        for upload in found.get("Uploads", ()):
            if upload["Key"] == key["Key"]:
                self.client.abort_multipart_upload(**key, UploadId=upload["UploadId"])

    def _error(self, name: str, done: str, error: Exception) -> TaskError:
        said = " ".join(str(error).split())[:500]
        return TaskError(
            f"{self.address}{name and '/'}{name} cannot be {done}: {said}",
            hint="AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID; running again goes on",
        )


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _parts(path: Path, size: int) -> Iterator[bytes]:
    part = max(PART_BYTES, -(-size // MOST_PARTS))
    with open(path, "rb") as f:
        while data := f.read(part):
            yield data


def _same(path: Path, sha256: str, found: Any) -> None:
    if found.hexdigest() != sha256:
        raise IntegrityError(f"{path} is not the file that the lock names: its sha256 differs")


def _client() -> Any:
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"writing to an object store needs the package {error.name}",
            hint="pip install 'corpusmill[s3]'",
        ) from None
    env = os.environ
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
    if region is None and (env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL")):
        region = "us-east-1"
    settings = Config(
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS}, connect_timeout=10,
        read_timeout=60, max_pool_connections=AT_ONCE, request_checksum_calculation="when_required",
    )  # fmt: skip
    try:
        return boto3.client("s3", region_name=region, config=settings)
    except (BotoCoreError, ValueError) as error:
        raise ConfigError(f"the object store cannot be used: {error}") from None


def upload(
    target: Path, there: Bucket, *, replace: bool = False, say: Callable[[str], None] = quiet
) -> Uploaded:
    """Sends what the lock of a run folder (or a lock file) names, the list of files, and last the
    lock itself.

    Raises ConfigError if the place holds another result (unless `replace`), IntegrityError if a
    local file is not the one that the lock names, TaskError where the store refuses.
    """
    lock = Lock.load(target)
    rows = [r for r in lock.rows() if r["role"] != "input"]
    root = lock.path.parent
    ours = lock.path.read_bytes()
    found = there.read(lock.path.name)
    if found is not None and found != ours:
        if not replace:
            raise ConfigError(
                f"{there.address} holds another result under the name {lock.data['name']}",
                hint="use another address, or --replace",
            )
        there.remove(lock.path.name)  # first: it speaks of files that change now
    wanted = [(str(r["path"]), root / r["path"], int(r["bytes"]), str(r["sha256"])) for r in rows]
    listing = lock.files_path
    wanted.append((listing.name, listing, listing.stat().st_size, lock.files_sha256))

    def send(file: tuple[str, Path, int, str]) -> bool:
        if there.holds(file[0], file[2], file[3]):
            return False
        there.put(*file)
        say(f"{file[0]}: {file[2]} bytes")
        return True

    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [pool.submit(send, file) for file in wanted]
        try:
            sent = sum(job.result() for job in jobs)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    there.put_new(lock.path.name, ours)
    return Uploaded(
        f"{there.address}/{lock.path.name}", sent, len(wanted), sum(f[2] for f in wanted)
    )


def bucket_of(address: str) -> Bucket:
    """The place that a command line names, before any work is done for it. Raises ConfigError for
    what is no address, for a bucket that is not there, and where the package that writes there is
    missing."""
    if not is_address(address):
        raise ConfigError(f"{shown(address)} is no address", hint="s3://BUCKET/PREFIX")
    there = Bucket(address)
    there.check()
    return there


def upload_verb(options: Namespace) -> int:
    """The verb ``upload RUN s3://BUCKET/PREFIX``."""
    from .verbs import show_json

    there = bucket_of(options.address)
    say = quiet if options.json else to_stderr
    done = upload(Path(options.target), there, replace=options.replace, say=say)
    if options.json:
        show_json({
            "lock": done.lock, "sent": done.sent, "files": done.files, "bytes": done.bytes,
        })  # fmt: skip
    else:
        print(f"{done.sent} of {done.files} files sent ({done.bytes} bytes in all)")
        print(done.lock)
    return 0


VERBS = {"upload": upload_verb}
