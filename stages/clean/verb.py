"""PII removal alone, over plain JSONL: what ``corpusmill pii --jsonl IN OUT`` calls."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

from corpusmill.pipeline.errors import ConfigError
from corpusmill.stages.json_rows import RowWriter, read_rows, text_of

from .pii import Pii, PiiParams, Policy
from .pseudonyms import commitment, read_key
from .spans import DEFAULT_TYPES


def pii_jsonl(
    in_path: str | Path,
    out_path: str | Path,
    policies: Sequence[str] = (),
    key: str | Path | None = None,
    audit_path: str | Path | None = None,
) -> dict[str, Any]:
    """Reads rows with a field ``text`` and writes each, in order, with two fields more.

    ``pii``: ``[{"type", "start", "end"}]``, sorted, offsets in characters of ``text``.
    ``clean_text``: the text with every span replaced. All else passes through. A path that ends in
    ``.gz`` is compressed. `policies`: as in ``email=pseudonym``; a type that is not looked for by
    default is added. `key`: the file of the key for pseudonyms. `audit_path`: a file of what was
    done: one row ``{"row", "sha256", "spans": [[type, start, end, policy]]}`` for each row with a
    span, with the digest of its text and none of it. Returns ``{"rows": n, "rows_with_pii": n,
    "spans": {type: n}}``. Raises InputError for a row that is no object or has no text,
    ConfigError for policies, AssetError for the key.
    """
    policy = _policies(policies)
    types = (*DEFAULT_TYPES, *(t for t in policy if t not in DEFAULT_TYPES))
    wanted = "pseudonym" in policy.values()
    if key is not None and not wanted:
        raise ConfigError("pii: a key, but no type has the policy pseudonym")
    given = commitment(read_key("", key)) if wanted else ""
    stage = Pii(PiiParams(types=cast(Any, types), policy=policy, key=given))
    stage.setup(key)
    counts: dict[str, int] = dict.fromkeys(stage.types, 0)
    rows = touched = 0
    with ExitStack() as files:
        out = files.enter_context(RowWriter(out_path))
        audit = files.enter_context(RowWriter(audit_path)) if audit_path is not None else None
        for number, row in read_rows(in_path):
            text = text_of(row, f"{in_path}: line {number}")
            spans, row["clean_text"] = stage.clean(text)
            row["pii"] = [{"type": s.type, "start": s.start, "end": s.end} for s in spans]
            out.write(row)
            rows += 1
            touched += bool(spans)
            for type_, count in Counter(span.type for span in spans).items():
                counts[type_] += count
            if audit is not None and spans:
                digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
                done = [[s.type, s.start, s.end, stage.policy[s.type]] for s in spans]
                audit.write({"row": number, "sha256": digest, "spans": done})
    return {"rows": rows, "rows_with_pii": touched, "spans": counts}


def _policies(written: Sequence[str]) -> Mapping[str, Policy]:
    found: dict[str, Policy] = {}
    for entry in written:
        type_, equals, policy = entry.partition("=")
        if not equals:
            raise ConfigError(f"pii: policy {entry!r}", hint="write TYPE=POLICY: email=pseudonym")
        found[type_] = cast(Policy, policy)  # checked with the other parameters
    return found
