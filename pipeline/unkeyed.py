"""`reproduce` where the key of the pseudonyms is missing: everything but their letters is checked.

The plan is run with a stand-in for the key. Values that were the same or different stay so, and no
text changes its length, so that every later step decides as it did. The tokenizer and the ids of
tokens may differ, as letters in the texts do; the shards are therefore compared as the texts they
hold, in order, and each pseudonym of one side must always stand for the same one of the other.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from .errors import ConfigError
from .lock import Lock
from .planning import Plan
from .registry import room_module
from .verifying import verify

_CUT_SLACK = 32
"""Characters before the end of a document that a budget cut, which are not compared: where the
cut falls hangs on the ids of tokens."""


def missing_key(plan: Plan) -> str | None:
    """The commitment of the key that a plan needs, if the environment names no file for it."""
    found = {
        str(step["params"]["key"])
        for step in plan.recipe["steps"]
        if step["stage"] == "clean.pii" and step["params"]["key"]
    }
    if not found or os.environ.get(_pseudonyms().KEY_VARIABLE):
        return None
    return min(found)  # one file has one key, so no run has two


def check_texts_are_there(lock: Lock) -> None:
    """Raises ConfigError unless the shards that `lock` names lie beside it, unchanged."""
    faults = verify(lock.path, inputs=False).faults
    if faults:
        raise ConfigError(
            f"without the key of the pseudonyms the shards beside {lock.path} are read, and they "
            f"are not as locked: {faults[0]}",
            hint=f"name the file of the key in {_pseudonyms().KEY_VARIABLE}, or put them there",
        )


@contextmanager
def stand_in(plan: Plan, commitment: str) -> Iterator[Plan]:
    """The plan with a key that anybody can make in place of the one of `commitment`; inside, the
    environment names its file."""
    secret = hashlib.sha256(f"corpusmill/stand-in-key/1\0{commitment}".encode()).digest()
    pseudonyms = _pseudonyms()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stand-in.key"
        path.write_text(secret.hex() + "\n", encoding="ascii")
        os.environ[pseudonyms.KEY_VARIABLE] = str(path)
        try:
            yield plan.renamed(commitment, pseudonyms.commitment(secret))
        finally:
            del os.environ[pseudonyms.KEY_VARIABLE]


@dataclass
class _Names:
    """Which tag of one side stands for which of the other, one to one."""

    made: dict[str, str] = field(default_factory=dict)
    locked: dict[str, str] = field(default_factory=dict)

    def agree(self, locked: str, made: str) -> bool:
        """Are the texts the same but for the letters of pseudonyms?"""
        tag = _spans().TAG
        if len(locked) != len(made) or tag.sub(r"<\1>", locked) != tag.sub(r"<\1>", made):
            return False
        pairs = zip(tag.finditer(locked), tag.finditer(made), strict=True)
        return all(
            self.made.setdefault(a[0], b[0]) == b[0] and self.locked.setdefault(b[0], a[0]) == a[0]
            for a, b in pairs
        )


def compare_texts(lock: Lock, again: Lock) -> tuple[list[str], int]:
    """What differs between the texts of two results' shards, a line for each stream, and how many
    pseudonyms were seen. Cut documents are compared up to the cut."""
    shards = room_module("tokenizers.emitters").Shards
    one, two = (shards.open(found.path.parent) for found in (lock, again))
    streams, others = one.streams(), two.streams()
    if streams.keys() != others.keys():
        return [f"streams: {', '.join(streams)} -> {', '.join(others)}"], 0
    names = _Names()
    lines = []
    for stream in streams:
        pairs = zip_longest(_texts(one, streams[stream]), _texts(two, others[stream]))
        for number, (a, b) in enumerate(pairs):
            if a is None or b is None or not _same(a, b, names):
                lines.append(f"stream {stream}: document {number} differs")
                break
    return lines, sum("-" in tag for tag in names.made)


_Text = tuple[str, int, bool, str]
"""Id, copy, whether a budget cut it, and text of a document."""


def _texts(shards: Any, names: Sequence[str]) -> Iterator[_Text]:
    for _, row, ids in shards.documents(names):
        raw = shards.encoder.decode_bytes(ids[:-1])
        yield row["id"], row["copy"], row["cut"], raw.decode("utf-8", "ignore")


def _same(a: _Text, b: _Text, names: _Names) -> bool:
    if a[:2] != b[:2]:
        return False
    if not (a[2] or b[2]):
        return names.agree(a[3], b[3])
    shown = max(0, min(len(a[3]), len(b[3])) - _CUT_SLACK)
    tag = a[3].rfind("<", max(0, shown - _CUT_SLACK), shown)  # which `shown` may part
    shown = tag if tag >= 0 else shown
    return names.agree(a[3][:shown], b[3][:shown])


def without_letters(lock: Lock, again: Lock) -> Lock:
    """`again` as it would be called if the key and what hangs on its letters were those of `lock`:
    inputs, records and licences stay its own."""
    identity = {**lock.data["identity"], "inputs": again.data["identity"]["inputs"]}
    return Lock(again.path, {**again.data, "identity": identity, "outputs": lock.data["outputs"]})


def _pseudonyms() -> Any:
    return room_module("stages.clean.pseudonyms")


def _spans() -> Any:
    return room_module("stages.clean.spans")
