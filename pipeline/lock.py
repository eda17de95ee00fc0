"""The lock: the manifest of what a run made. Reading it, and what `diff` says of two.

`identity` holds what determines the bytes, `mix_id` its digest; `outputs` what came out;
`provenance` is circumstance. The field ``seal`` is the digest of all the rest, so that no byte of
a lock can change unseen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ConfigError, IntegrityError
from .identity import canonical, fingerprint, pretty, require_sha256, sha256_hex

LOCK_SCHEMA = "corpusmill/lock/1"
_KEYS = {
    "schema", "name", "version", "recipe_id", "identity", "mix_id", "outputs", "licences",
    "funnel", "checks", "provenance", "seal",
}  # fmt: skip
_MORE = {"decontaminated"}
"""Keys of locks whose recipe has a step that looks for benchmark items; older ones lack them."""


def seal_lock(body: Mapping[str, Any]) -> dict[str, Any]:
    """The lock with its own digest added."""
    return {**body, "seal": sha256_hex(canonical(body))}


@dataclass(frozen=True)
class Lock:
    """A lock that was read and whose own digests hold."""

    path: Path
    data: dict[str, Any]

    @classmethod
    def load(cls, path: Path | str) -> Lock:
        """Reads a lock. Raises ConfigError if there is none, IntegrityError if it was changed."""
        path = Path(path)
        if path.is_dir():
            found = sorted(path.glob("*.lock.json"))
            if len(found) != 1:
                raise ConfigError(f"{path} holds {len(found)} locks, one is needed")
            path = found[0]
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise ConfigError(f"cannot read the lock {path}: {error.strerror}") from None
        try:
            data = json.loads(raw)
        except ValueError as error:
            raise IntegrityError(f"the lock {path} is damaged: {error}") from None
        if not isinstance(data, dict) or data.get("schema") != LOCK_SCHEMA:
            raise IntegrityError(f"{path} is not a lock of schema {LOCK_SCHEMA}")
        if odd := sorted((data.keys() ^ _KEYS) - _MORE):
            raise IntegrityError(f"the lock {path} has missing or unknown keys: {odd}")
        body = {k: v for k, v in data.items() if k != "seal"}
        if data["seal"] != sha256_hex(canonical(body)) or pretty(data) != raw:
            raise IntegrityError(f"the lock {path} was changed after it was written")
        if data["mix_id"] != f"sha256:{fingerprint(data['identity'])}":
            raise IntegrityError(f"the lock {path}: mix_id is not the digest of its identity")
        require_sha256(data["outputs"]["files_sha256"], f"{path}: outputs.files_sha256")
        return cls(path, data)

    @property
    def mix_id(self) -> str:
        return str(self.data["mix_id"])

    def decontaminated(self) -> list[tuple[str, list[tuple[str, str, int]]]]:
        """Each step that looked for benchmark items, and rows of (benchmark, what was done, number
        of documents)."""
        return [
            (
                step["step"],
                [(b, w, n) for b, done in step["documents"].items() for w, n in done.items()],
            )
            for step in self.data.get("decontaminated", ())
        ]

    @property
    def files_sha256(self) -> str:
        return str(self.data["outputs"]["files_sha256"])

    def of_documents(self) -> dict[str, Any]:
        """How the run's documents were made, and what they are, for a mix of them."""
        return {
            "mix_id": self.mix_id, "kept": self.data["outputs"]["kept"],
            "sample": self.data["identity"].get("sample"),
        }  # fmt: skip

    @property
    def files_path(self) -> Path:
        return self.path.parent / str(self.data["outputs"]["files"])

    def rows(self) -> list[dict[str, Any]]:
        """The listed files. Raises IntegrityError if the list is missing or changed."""
        try:
            raw = self.files_path.read_bytes()
        except OSError:
            raise IntegrityError(f"{self.files_path} is missing, the lock names it") from None
        if sha256_hex(raw) != self.files_sha256:
            raise IntegrityError(f"{self.files_path} is not the list that the lock names")
        return [json.loads(line) for line in raw.splitlines()]


def diff(a: Lock, b: Lock) -> list[str]:
    """What changed from `a` to `b`, a line each, in a reviewer's words; empty if nothing did."""
    lines: list[str] = []
    one, two = a.data, b.data
    ia, ib = one["identity"], two["identity"]
    if (forgot := ib.get("forget")) is not None and forgot != ia.get("forget"):
        lines.append(
            f"forgotten: {forgot['documents']} documents, {forgot['tokens']} tokens, of "
            f"{forgot['lock'][:23]}"
        )
    lines += _diff_inputs(ia["inputs"], ib["inputs"])
    lines += identity_changes(ia, ib)
    lines += _diff_numbers("records", _flat(one["funnel"]), _flat(two["funnel"]))
    outs = [_flat({k: v for k, v in d["outputs"].items() if k != "files"}) for d in (one, two)]
    lines += _diff_numbers("outputs", *outs)
    if one["licences"] != two["licences"]:
        lines.append(f"licences: {one['licences']} -> {two['licences']}")
    return lines


def identity_changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """What differs between the recipes of two identities (of locks or of plans), in words."""
    lines: list[str] = []
    for key in ("name", "version", "seed", "sample"):
        if a.get(key) != b.get(key):
            lines.append(f"{key}: {a.get(key)} -> {b.get(key)}")
    for group in ("sources", "steps", "products"):
        lines += _diff_steps(group, a[group], b[group])
    order_a = [s["id"] for s in a["steps"] if s["id"] in {t["id"] for t in b["steps"]}]
    order_b = [s["id"] for s in b["steps"] if s["id"] in {t["id"] for t in a["steps"]}]
    if order_a != order_b:
        lines.append(f"order of steps: {', '.join(order_a)} -> {', '.join(order_b)}")
    return lines


def _diff_inputs(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> list[str]:
    lines = []
    left, right = {i["source"]: i for i in a}, {i["source"]: i for i in b}
    for name in sorted(left.keys() | right.keys()):
        x, y = left.get(name), right.get(name)
        if x is None:
            lines.append(f"source {name}: new, {_size_in_words(y)}" if y else "")
        elif y is None:
            lines.append(f"source {name}: gone")
        elif "run" in x or "run" in y:
            if x.get("run") != y.get("run"):
                before, after = (_run_in_words(i.get("run")) for i in (x, y))
                lines.append(f"source {name}: {before} -> {after}")
        elif x["sha256"] != y["sha256"]:
            what = (
                f"{x['files']} files, {x['bytes']} bytes -> {y['files']} files, {y['bytes']} bytes"
            )
            lines.append(f"source {name}: inputs differ ({what})")
        if x and y and x["licence"] != y["licence"]:
            lines.append(f"source {name}: licence {x['licence']} -> {y['licence']}")
    return lines


def _size_in_words(entry: Mapping[str, Any]) -> str:
    return _run_in_words(entry["run"]) if "run" in entry else f"{entry['files']} files"


def _run_in_words(run: Mapping[str, Any] | None) -> str:
    if run is None:
        return "files"
    return (
        f"run {run['mix_id'].removeprefix('sha256:')[:12]} of {run['kept']['documents']} documents"
    )


def _diff_steps(group: str, a: list[dict[str, Any]], b: list[dict[str, Any]]) -> list[str]:
    lines = []
    left, right = {s["id"]: s for s in a}, {s["id"]: s for s in b}
    noun = {"sources": "source", "steps": "step", "products": "product"}[group]
    for name in [*left, *(n for n in right if n not in left)]:
        x, y = left.get(name), right.get(name)
        if x is None or y is None:
            lines.append(f"{noun} {name}: {'added' if x is None else 'removed'}")
            continue
        for key in ("stage", "version"):
            if x[key] != y[key]:
                lines.append(f"{noun} {name}: {key} {x[key]} -> {y[key]}")
        before, after = _flat(x["params"]), _flat(y["params"])
        for key in sorted(before.keys() | after.keys()):
            if before.get(key) != after.get(key):
                lines.append(f"{noun} {name}: {key} {before.get(key)} -> {after.get(key)}")
        if x["pins"] != y["pins"]:
            lines.append(f"{noun} {name}: libraries {x['pins']} -> {y['pins']}")
    return lines


def _diff_numbers(what: str, a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    lines = []
    for key in sorted(a.keys() | b.keys()):
        x, y = a.get(key, 0), b.get(key, 0)
        if x == y:
            continue
        if isinstance(x, int) and isinstance(y, int):
            lines.append(f"{what} {key}: {x} -> {y} ({y - x:+d})")
        else:
            lines.append(f"{what} {key}: {str(x)[:16]} -> {str(y)[:16]}")
    return lines


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(value, Mapping):
        out: dict[str, Any] = {}
        for key, item in value.items():
            out |= _flat(item, f"{prefix}.{key}" if prefix else str(key))
        return out
    return {prefix: value}
