"""`why`: the story of a document, and with ``--steps`` every step again, as far as it came."""

from __future__ import annotations

import difflib
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from .document import Drop, Failure
from .errors import CorpusmillError
from .masking import Masking
from .planning import Plan
from .story import complete, story_lines
from .story import why as stories_of
from .terminal import printable
from .trying import View, lines_of, page_of_run, read_view, walk

_HEAD = 8
_CHANGES = 12
_WIDTH = 160


def retold(root: Path, story: Mapping[str, Any]) -> list[View]:
    """What each step made of the document of a story (see `corpusmill.pipeline.story.why`), from
    reading to the step that dropped it; what only the whole corpus tells is taken from the story.
    Raises InputError where its input is gone."""
    plan = Plan.load(root / "plan.json")
    record = page_of_run(root, story["id"])
    views = [read_view(record)]
    outcome = record.outcome
    if isinstance(outcome, Drop | Failure):
        return views
    steps = plan.load_steps([s["id"] for s in plan.recipe["steps"]])
    end = next((e for e in story["events"] if e["outcome"] != "kept"), None)
    if end is not None:
        ids = [s.id for s in steps]
        steps = steps[: ids.index(end["step"]) + 1] if end["step"] in ids else []
    barriers = {s.id for s in steps if s.is_barrier}
    return [*views, *(_as_run(view, barriers, end) for view in walk(outcome, steps))]


def _as_run(view: View, barriers: set[str], end: Mapping[str, Any] | None) -> View:
    """A view of a barrier with the verdict that it gave in the run."""
    if view.step not in barriers:
        return view
    if end is None or end["step"] != view.step:
        return replace(view, verdict="kept", note="")
    said = {"reason": end["reason"], "value": end["value"] or ""}
    return replace(view, verdict=end["outcome"], note="", **said)


def retold_lines(root: Path, story: Mapping[str, Any], *, raw: bool) -> Iterator[str]:
    """The same for people, with what each step changed in the text; masked as the recipe masks
    personal data, unless `raw`."""
    try:
        views = retold(root, story)
    except CorpusmillError as error:
        yield f"cannot be told again: {error.message}"
        return
    mask = _mask(root, raw)
    yield from lines_of(views)
    yield from _changes(views, mask)


def _changes(views: Sequence[View], mask: Callable[[str], str]) -> Iterator[str]:
    before: str | None = None
    for view in views:
        if view.text is None:
            continue
        yield ""
        if before is None:
            lines = mask(view.text).splitlines()
            yield f"text after {view.step}, {len(lines)} lines:"
            yield from _some([f"  {line}" for line in lines], _HEAD)
        else:
            yield f"changed by {view.step}:"
            old, new = mask(before).splitlines(), mask(view.text).splitlines()
            diff = [x for x in difflib.ndiff(old, new) if x[0] in "+-"]
            yield from _some([f"  {x}" for x in diff] or ["  personal data alone"], _CHANGES)
        before = view.text


def _some(lines: Sequence[str], most: int) -> Iterator[str]:
    yield from (line[:_WIDTH] for line in lines[:most])
    if len(lines) > most:
        yield f"  … {len(lines) - most} more lines"


def _mask(root: Path, raw: bool) -> Callable[[str], str]:
    return (lambda text: text) if raw else Masking(Plan.load(root / "plan.json"))


def _plain(root: Path, story: Mapping[str, Any], raw: bool) -> dict[str, Any]:
    """A story with its steps, for JSON."""
    mask = _mask(root, raw)
    try:
        views = retold(root, story)
    except CorpusmillError as error:
        return {**story, "steps": None, "note": error.message}
    masked = (view if view.text is None else replace(view, text=mask(view.text)) for view in views)
    return {**story, "steps": [asdict(view) for view in masked]}


def why_verb(options: Namespace) -> int:
    """The verb ``why ID|URL --run RUN``."""
    from .verbs import show_json, show_lines

    root = Path(options.run)
    stories = stories_of(root, options.document)
    complete(root, stories, raw=options.raw)
    if options.json:
        show_json([_plain(root, s, options.raw) for s in stories] if options.steps else stories)
        return 0
    for i, story in enumerate(stories):
        if i:
            print("\n" + "-" * 72 + "\n")
        show_lines(story_lines(root, story))
        if options.steps:
            lines = retold_lines(root, story, raw=options.raw)
            show_lines(["", *(printable(line) for line in lines)])
    return 0


VERBS = {"why": why_verb}
