"""`why` and `trace`: what became of one document, and which document a token came from."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .errors import ConfigError
from .input_files import place
from .ledger import sealed_docs_phases
from .lookup import ids_of_url, is_id, matching, rows_of, tables_of, tasks_that_read
from .masking import Masking
from .object_store import is_address
from .planning import Phase, Plan
from .publish import run_sources
from .registry import room_module
from .terminal import printable


def why(root: Path, word: str) -> list[dict[str, Any]]:
    """The stories of the document with this id, or of all records with this URL.

    A story: ``id``, ``url``, ``source``, ``events`` in order (phase, what happened, reason,
    value), ``text`` of the last phase that kept it, ``record`` (what its row says besides), and
    ``tokens`` (shard, position) of what went into shards. Raises ConfigError if the run knows no
    such record.
    """
    plan = Plan.load(root / "plan.json")
    run = RunFolder(root, plan)
    phases = sealed_docs_phases(run)
    by_id = is_id(word)
    ids = [word] if by_id else ids_of_url(run, phases, word)
    stories = [story for doc_id in ids if (story := _story(run, phases, doc_id))]
    if not stories:
        raise ConfigError(
            f"this run read no record with the {'id' if by_id else 'url'} {word!r}",
            hint="an id has 32 hexadecimal digits; a URL is compared as it was sent",
        )
    for story in stories:
        story["tokens"] = list(_positions(run, story["id"]))
        story["survivor"] = _survivor(plan, story)
    return stories


def _story(run: RunFolder, phases: Sequence[Phase], doc_id: str) -> dict[str, Any] | None:
    """What the phases say of an id; None if no phase has a row of it."""
    end = _end(run, phases, doc_id)
    if end is None:
        return None
    last, dropped = end
    kept_by = phases if dropped is None else phases[:last]
    events: list[dict[str, Any]] = [{"phase": p.name, "outcome": "kept"} for p in kept_by]
    there = [p for p in kept_by if not run.phase_folder(p).cleaned().exists()]
    row = _kept_row(run, there[-1], doc_id, dropped) if there else {}
    text = row.pop("text", None)
    record = {k: v for k, v in row.items() if v is not None}
    if dropped is not None:
        event = {k: dropped[k] for k in ("step", "outcome", "reason", "value")}
        events.append({"phase": phases[last].name, **event})
        record |= {k: dropped[k] for k in ("file", "offset", "length") if dropped[k] is not None}
        row = dropped
    return {
        "id": doc_id, "url": row["url"], "source": row["source"], "events": events, "text": text,
        "record": record,
    }  # fmt: skip


def _end(
    run: RunFolder, phases: Sequence[Phase], doc_id: str
) -> tuple[int, dict[str, Any] | None] | None:
    """The number of the last phase that had a record, and its row of rejects if it ended there.
    Looked for from the end: a later phase has one file for an id, the first as many as tasks."""
    last = len(phases) - 1
    if next(rows_of(run, phases[last], "docs", doc_id, only=("id",)), None) is not None:
        return last, None
    for number in range(last, -1, -1):
        dropped = next(rows_of(run, phases[number], "rejects", doc_id), None)
        if dropped is not None:
            return number, dropped
    return None


def _kept_row(
    run: RunFolder, phase: Phase, doc_id: str, dropped: dict[str, Any] | None
) -> dict[str, Any]:
    """What a phase wrote of a record, with its text; `dropped` is its row of later rejects."""
    tasks = None if dropped is None else tasks_that_read(run.plan, [dropped])
    (held,) = tables_of(run, phase, "docs", [doc_id], tasks=tasks)
    (row,) = held.to_pylist()
    return dict(row)


def _survivor(plan: Plan, story: dict[str, Any]) -> str | None:
    """For a document dropped as a duplicate: the id of the one that was kept in its place."""
    barriers = {p.decide for p in plan.phases if p.decide}
    for event in story["events"]:
        if (
            event.get("step") in barriers
            and event["outcome"] == "dropped"
            and is_id(event["value"] or "")
        ):
            return str(event["value"])
    return None


def complete(root: Path, stories: list[dict[str, Any]], *, raw: bool) -> None:
    """Adds to each story what takes more time: ``kept_instead`` (of a duplicate: id, URL,
    similarity and the differing words of what was kept in its place, else None; no similarity
    where a text was removed by `clean`). Texts of dropped documents are masked as the recipe masks
    personal data, unless `raw`."""

    @cache  # to load it takes most of a second, and many stories need none
    def mask() -> Callable[[str], str]:
        return Masking(Plan.load(root / "plan.json"))

    def shown(story: dict[str, Any]) -> str | None:
        text: str | None = story["text"]
        return text if raw or not text else mask()(text)

    for story in stories:
        if story["events"][-1]["outcome"] != "kept":
            story["text"] = shown(story)
        story["kept_instead"] = None
        if story["survivor"] is not None:
            (kept,) = why(root, story["survivor"])
            story["kept_instead"] = {
                "id": kept["id"], "url": kept["url"], "outcome": kept["events"][-1]["outcome"],
                **_compared(shown(kept), story["text"]),
            }  # fmt: skip


SHINGLE = 5
"""Words of a run by which `why` compares a duplicate with what was kept."""
_DIFFERENCES = 12
_NEARBY = 30
"""Tokens before and behind one that are shown with it."""


def _compared(stayed: str | None, own: str | None) -> dict[str, Any]:
    """The share of runs of words that two texts have in common, and words that differ."""
    if stayed is None or own is None:
        return {"similarity": None, "words": []}
    a, b = stayed.split(), own.split()
    sets = [
        {" ".join(w).lower() for w in zip(*(words[n:] for n in range(SHINGLE)), strict=False)}
        for words in (a, b)
    ]
    union = sets[0] | sets[1]
    shared = len(sets[0] & sets[1]) / len(union) if union else float(a == b)
    lines = []
    matcher = difflib.SequenceMatcher(None, a[:2000], b[:2000], autojunk=False)
    for kind, a0, a1, b0, b1 in matcher.get_opcodes():
        if kind != "equal":
            lines += [f"- {' '.join(a[a0:a1])}"] if a1 > a0 else []
            lines += [f"+ {' '.join(b[b0:b1])}"] if b1 > b0 else []
    return {"similarity": round(shared, 3), "words": lines[:_DIFFERENCES]}


def _positions(run: RunFolder, doc_id: str) -> Iterator[dict[str, Any]]:
    for phase in run.plan.phases:
        place = run.phase_folder(phase)
        if phase.step != "shards" or not place.seal().exists():
            continue
        for name, entry in run.seal(phase.name).files("shards/").items():
            if not name.endswith(".docs.parquet"):
                continue
            for held in matching(place.root / entry["path"], "id", [doc_id]):
                for row in held.to_pylist():
                    yield {"shard": name.removesuffix(".docs.parquet") + ".bin", **row}


def trace_position(root: Path, shard: str, offset: int) -> dict[str, Any]:
    """The document that the token at `offset` of a shard belongs to, with URL and licence, the
    place of its record in the input, and `around`, the text of the tokens about this one.

    `shard` is a path below the run folder (``shards/web/web-00000.bin``), with or without its
    suffix. Raises ConfigError if there is no such shard or position.
    """
    relative = shard.removesuffix(".bin")
    sidecar = root / f"{relative}.docs.parquet"
    if not sidecar.is_file():
        raise ConfigError(f"there is no shard {shard!r} in {root}", hint="write shards/NAME:OFFSET")
    row = room_module("tokenizers.formats").locate(sidecar, offset)
    plan = Plan.load(root / "plan.json")
    licences = {s["name"]: s["licence"] for s in plan.recipe["sources"]}
    found = {"shard": f"{relative}.bin", "offset": offset, **dict(row)}
    found["source_licence"] = licences.get(str(row.get("source")))
    found |= _input_of(RunFolder(root, plan), row["id"])
    found["around"] = _around(root, sidecar, row, offset)
    return found


def _input_of(run: RunFolder, doc_id: str) -> dict[str, Any]:
    """File, offset and length of a kept document's record; nothing where no table has it any more,
    as in a run that was published without them."""
    phases = sealed_docs_phases(run)
    if not phases:
        return {}
    only = ("file", "offset", "length")
    for row in rows_of(run, phases[-1], "docs", doc_id, only=only):
        return {f"record_{name}": value for name, value in row.items()}
    return {}


def _around(root: Path, sidecar: Path, row: Mapping[str, Any], offset: int) -> str | None:
    """The text of the tokens about one, within its document; None without the tokenizer."""
    if not (root / "tokenizer").is_dir():
        return None
    tokens, _ = room_module("tokenizers.formats").read_shard(sidecar)
    first, last = max(row["start"], offset - _NEARBY), min(row["end"], offset + _NEARBY)
    text: str = room_module("tokenizers.encode").load(root / "tokenizer").decode(tokens[first:last])
    return text


def reread(root: Path, record: dict[str, Any], source: str) -> dict[str, Any] | None:
    """Where the raw record lies now: path, offset, length; None if the input is gone. Whether an
    object is still in its store is not asked."""
    plan = Plan.load(root / "plan.json")
    root_of = plan.data["places"]["sources"].get(source)
    if root_of is None or "file" not in record:
        return None
    path = place(root_of, str(record["file"]))
    if not is_address(path) and not Path(path).exists():
        return None
    return {"path": path, "offset": record.get("offset"), "length": record.get("length")}


def run_behind(root: Path, source: str) -> Path | None:
    """The folder of the finished run that a source reads; None for a source that reads files."""
    plan = Plan.load(root / "plan.json")
    if source not in run_sources(plan):
        return None
    return Path(plan.data["places"]["sources"][source])


def story_lines(root: Path, story: dict[str, Any]) -> list[str]:
    """A story for people; nothing of the crawl steers their terminal."""
    return [printable(line) for line in _lines(root, story)]


def _lines(root: Path, story: dict[str, Any]) -> list[str]:
    lines = [f"id      {story['id']}", f"url     {story['url']}", f"source  {story['source']}"]
    behind = run_behind(root, story["source"])
    where = None if behind else reread(root, story["record"], story["source"])
    if behind:
        lines.append(f"run     corpusmill why {story['id']} --run {behind} tells what was before")
    elif where:
        lines.append(f"record  {where['path']} at {where['offset']}, {where['length']} bytes")
    elif "file" in story["record"]:
        lines.append(f"record  {story['record']['file']} is no longer at its place")
    lines.append("")
    for event in story["events"]:
        if event["outcome"] == "kept":
            lines.append(f"{event['phase']:<14} kept")
        else:
            value = f" ({event['value']})" if event["value"] else ""
            what = f"{event['outcome']} by {event['step']}: {event['reason']}{value}"
            lines.append(f"{event['phase']:<14} {what}")
    if story["survivor"]:
        lines.append(f"{'':<14} kept in its place: {story['survivor']}")
    instead = story.get("kept_instead")
    if instead:
        lines.append(f"{'':<14} {instead['url']}")
        if instead["outcome"] != "kept":
            lines.append(f"{'':<14} which a later step {instead['outcome']}")
        if instead["similarity"] is None:
            lines.append(f"{'':<14} one of the two texts is no longer there")
        else:
            share = f"{instead['similarity']:.1%}"
            lines.append(f"{'':<14} {share} of all runs of {SHINGLE} words are in both")
        lines += [f"{'':<14} {line[:160]}" for line in instead["words"]]
    for row in story["tokens"]:
        start, end = row.get("start"), row.get("end")
        lines.append(f"tokens         {row['shard']}:{start}..{end} (copy {row.get('copy', 0)})")
    signals = {k: v for k, v in story["record"].items() if k not in ("id", "url", "source")}
    if signals:
        lines.append("")
        lines += [f"{k:<22} {v}" for k, v in sorted(signals.items())]
    if story["text"]:
        lines += ["", story["text"][:2000]]
        if len(story["text"]) > 2000:
            lines.append(f"… {len(story['text']) - 2000} more characters")
    return lines


__all__ = ["complete", "reread", "story_lines", "trace_position", "why"]
