"""`try`: one page through the steps of a recipe, and what each of them makes of it.

The stages are those of a run. What needs the whole corpus (deduplication) is not judged on one
page, and said so. A page that a step drops goes on all the same, so that every rule speaks.
"""

from __future__ import annotations

import copy
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .assets import Places, placed, resolve_assets
from .document import Document, Drop, Failure, Page, Record
from .errors import ConfigError, InputError, StageError
from .flow import weight
from .input_files import place, reopened, still_there
from .plots import number
from .recipe import Recipe, Step
from .registry import build, room_module
from .replay import Remade, from_run
from .stage import Barrier, InputFile, Source
from .tables import value_text
from .terminal import printable

FETCH_SECONDS = 20.0
FETCH_BYTES = 16 << 20
_TEXTS = (".txt", ".md", ".text")


@dataclass(frozen=True, slots=True)
class Judged:
    """One bound of a step, and where the page lies. `value` is None where it was not measured."""

    reason: str
    signal: str
    value: float | None
    bound: float
    side: str
    broken: bool


@dataclass(frozen=True, slots=True)
class View:
    """What one step made of the page.

    `verdict`: kept, dropped, error, or skipped (with a `note` that says why). `before` and `after`
    are bytes of the page, or of the text in UTF-8.
    """

    step: str
    stage: str
    verdict: str
    before: int
    after: int
    reason: str = ""
    value: str = ""
    note: str = ""
    also: tuple[str, ...] = ()
    """Further reasons by which the step would drop it."""
    signals: Mapping[str, Any] = field(default_factory=dict)
    """What it measured, or measured anew."""
    bounds: tuple[Judged, ...] = ()
    text: str | None = None
    """The text after the step, where the step made or changed it."""


def ready_steps(recipe: Recipe) -> list[Step]:
    """The steps of a recipe with their assets in place, as a task has them before `setup`."""
    places = Places()
    steps = []
    for step in recipe.steps:
        resolve_assets(step.params, recipe.base, places)
        ready = placed(step.made, places.paths)
        steps.append(Step(step.id, step.stage, ready.params, ready))
    return steps


def walk(item: Page | Document, steps: Sequence[Step]) -> Iterator[View]:
    """Takes `item` through `steps`, which are set up and closed here. Ends at an error."""
    made: Page | Document = item
    unknown = _of_barriers(steps)
    for step in steps:
        size = weight(made)
        missing = [s for s in step.made.reads if s in unknown and s not in made.signals]
        note = _not_for(step, made, missing)
        if note:
            yield View(step.id, step.stage, "skipped", size, size, note=note)
            continue
        step.made.setup()
        try:
            outcome, view = _one(made, step)
        finally:
            step.made.close()
        yield view
        if isinstance(outcome, Failure):
            return
        made = outcome


def _of_barriers(steps: Iterable[Step]) -> set[str]:
    return {s for step in steps if step.is_barrier for s in step.made.writes}


def _not_for(step: Step, item: Page | Document, missing: Sequence[str]) -> str:
    """Why a step is passed over; empty if it is not."""
    if isinstance(step.made, Barrier):
        return "needs the whole corpus: not judged on one page"
    if missing:
        return f"reads {', '.join(missing)}, which deduplication writes: not judged on one page"
    takes = step.made.takes
    if takes != "any" and (takes == "page") != isinstance(item, Page):
        return f"takes a {takes}; this is none"
    return ""


def _one(item: Page | Document, step: Step) -> tuple[Page | Document | Failure, View]:
    size, old = weight(item), dict(item.signals)
    text = item.text if isinstance(item, Document) else None
    outcome = step.made.apply([item])[0]
    if isinstance(outcome, Drop):
        drops = step.made.broken([copy.deepcopy(item)])[0]
        others = [d.reason for d in drops if d.reason != outcome.reason]
        return item, View(
            step.id, step.stage, "dropped", size, size, outcome.reason, value_text(outcome) or "",
            also=tuple(dict.fromkeys(others)), bounds=_bounds(item, step, drops),
        )  # fmt: skip
    if isinstance(outcome, Failure):
        message = value_text(outcome) or ""
        return outcome, View(step.id, step.stage, "error", size, 0, outcome.type, message)
    if not isinstance(outcome, Page | Document):
        raise StageError(f"step {step.id} gave back {type(outcome).__name__}")
    new = {k: v for k, v in outcome.signals.items() if old.get(k) != v}
    after = outcome.text if isinstance(outcome, Document) else None
    return outcome, View(
        step.id, step.stage, "kept", size, weight(outcome), signals=dict(sorted(new.items())),
        bounds=_bounds(outcome, step, ()), text=after if after != text else None,
    )  # fmt: skip


def _bounds(
    item: Page | Document, step: Step, drops: Sequence[Drop]
) -> tuple[Judged, ...]:  # fmt: skip
    reasons = {d.reason for d in drops}
    rows = []
    for reason, signal, bound, side in step.made.thresholds():
        value = item.signals.get(signal)
        shown = float(value) if isinstance(value, int | float) else None
        rows.append(Judged(reason, signal, shown, float(bound), side, reason in reasons))
    return tuple(rows)


# -- where the page comes from -----------------------------------------------------------------


def page_of_file(path: Path, url: str | None) -> Record:
    """The record of a saved page, or of a text (.txt, .md). Raises InputError."""
    if path.suffix.lower() in _TEXTS:
        try:
            text = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read as a text: {error}") from None
        document = Document("0" * 32, text, "try", {}, {})
        _address(document, url)
        return Record(document.id, 0, len(text), document, url or "")
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    source = build("sources.html", {}, "try")
    file = InputFile("try", str(path), path.name, size)
    record: Record = next(iter(source.read(file)))
    if isinstance(record.outcome, Page):
        _address(record.outcome, url)
    return record


def page_of_web(url: str) -> Record:
    """Fetches one page: http and https alone, at most 16 MiB, within 20 seconds."""
    from urllib.error import URLError
    from urllib.request import Request, urlopen

    asked = Request(url, headers={"User-Agent": "corpusmill-try/1", "Accept": "text/html"})
    try:
        with urlopen(asked, timeout=FETCH_SECONDS) as answer:
            body = answer.read(FETCH_BYTES + 1)
            headers = {k.lower(): v for k, v in answer.headers.items()}
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise InputError(
            f"{url} cannot be fetched: {reason}", hint="save the page, and give the file and --url"
        ) from None
    if len(body) > FETCH_BYTES:
        raise InputError(f"{url} is longer than {FETCH_BYTES} bytes")
    page = Page("0" * 32, "try", body, headers, {}, {})
    page.meta.update(room_module("stages.sources.page_meta").page_meta(headers, body))
    _address(page, url)
    return Record(page.id, 0, len(body), page, url)


def page_of_run(root: Path, word: str) -> Record:
    """The record with this id or URL, read from the run's input again."""
    from .planning import Plan
    from .story import why

    plan = Plan.load(root / "plan.json")
    story = why(root, word)[0]
    record, name = story["record"], story["source"]
    source = plan.load_source(name)
    source.setup()
    if source.finished:
        return _of_finished_run(plan, source, story)
    size = next(
        (int(size) for entry in plan.data["inputs"] if entry["name"] == name
         for path, size, _ in entry["files"] if path == record.get("file")), None,
    )  # fmt: skip
    where = place(plan.data["places"]["sources"][name], str(record.get("file")))
    if size is None or not still_there(where, size):
        raise InputError(f"the input of {word} is no longer there: {record.get('file')}")
    file, offset = InputFile(name, where, str(record["file"]), size), int(record["offset"])
    places = [(offset, int(record.get("length") or 0))] if source.direct else None
    with reopened(file, places) as local:
        found: Record | None = source.read_one(local, offset, story["id"])
    if found is None:
        raise InputError(f"{where} has no record {story['id']} at {offset}")
    return found


def _of_finished_run(plan: Any, source: Source, story: Mapping[str, Any]) -> Record:
    made = {story["id"]: Remade()}
    items = from_run(plan, source, [story], made)
    if not items:
        raise InputError(f"{story['id']}: {made[story['id']].note}")
    return Record(story["id"], 0, 0, items[0], items[0].url)


def _address(item: Page | Document, url: str | None) -> None:
    if url:
        item.meta["url"] = url
        host = room_module("stages.sources.archive").host_of(url)
        if host:
            item.meta["host"] = host


def record_of(options: Namespace) -> Record:
    """The record that a command line means."""
    word = str(options.page)
    if options.run is not None:
        return page_of_run(Path(options.run), word)
    if word.startswith(("http://", "https://")):
        return page_of_web(word)
    return page_of_file(Path(word), options.url)


def steps_of(options: Namespace) -> list[Step]:
    """The steps that a command line means: those of the recipe, else those of the run."""
    if options.recipe is not None:
        return ready_steps(Recipe.load(options.recipe, tuple(options.overrides)))
    if options.run is None:
        raise ConfigError("try needs a recipe", hint="--recipe FILE, or --run RUN for the run's")
    if options.overrides:
        raise ConfigError("--set is for a recipe", hint="add --recipe FILE")
    from .planning import Plan

    plan = Plan.load(Path(options.run) / "plan.json")
    return plan.load_steps([s["id"] for s in plan.recipe["steps"]])


def read_view(record: Record) -> View:
    """What reading made of a record."""
    outcome = record.outcome
    if isinstance(outcome, Drop | Failure):
        code = outcome.reason if isinstance(outcome, Drop) else outcome.type
        return View("read", "", "dropped", record.length, 0, code, value_text(outcome) or "")
    size = weight(outcome)
    return View("read", "", "kept", size, size, text=getattr(outcome, "text", None))


# -- the verb ----------------------------------------------------------------------------------


def try_page(options: Namespace) -> int:
    """The verb ``try FILE|URL --recipe R``."""
    from .verbs import show_json, show_lines

    steps = steps_of(options)
    record = record_of(options)
    views = [read_view(record)]
    if isinstance(record.outcome, Page | Document):
        views += walk(record.outcome, steps)
    if options.json:
        show_json({"verdict": verdict(views), "steps": [asdict(v) for v in views]})
    else:
        show_lines(lines_of(views, text=options.text))
    return 0


def verdict(views: Sequence[View]) -> str:
    """What a run would do with the page, as far as one page tells: one sentence."""
    for view in views:
        if view.verdict in ("dropped", "error"):
            value = f" ({view.value})" if view.value else ""
            how = "dropped by" if view.verdict == "dropped" else "an error of"
            return f"{how} {view.step}: {view.reason}{value}"
    left = [v.step for v in views if v.verdict == "skipped"]
    return "kept" + (f", as far as one page tells: not judged by {', '.join(left)}" if left else "")


def lines_of(views: Sequence[View], *, text: bool = False) -> Iterator[str]:
    """The walk for people; with `text` also the text wherever a step changed it."""
    gone = False
    for view in views:
        size = f"{view.before} bytes"
        if view.after != view.before and view.verdict == "kept":
            size = f"{view.before} -> {view.after} bytes"
        said = {"kept": "kept", "skipped": f"- {view.note}"}.get(view.verdict, view.verdict.upper())
        if view.reason:
            said += f": {view.reason}" + (f" ({printable(view.value)})" if view.value else "")
        if gone and view.verdict != "skipped":
            said += "  [dropped above]"
        yield f"{view.step:<20} {size:<22} {said}"
        if view.also:
            yield f"{'':<20} and by {', '.join(view.also)}"
        yield from (f"    {_limit(bound)}" for bound in view.bounds)
        told = [f"{name} = {_shown(value)}" for name, value in view.signals.items()]
        yield from _wrapped(told)
        if text and view.text is not None:
            yield ""
            yield from (f"    | {line}" for line in printable(view.text).split("\n"))
            yield ""
        gone = gone or view.verdict == "dropped"
    yield ""
    yield verdict(views)


def _limit(b: Judged) -> str:
    value = "not measured" if b.value is None else number(b.value)
    beyond = b.value is not None and (b.value < b.bound if b.side == "low" else b.value > b.bound)
    mark = "BROKEN" if b.broken else "passed over" if beyond or b.value is None else "holds"
    sign = ">=" if b.side == "low" else "<="
    told = f"{b.signal} = {value}, must be {sign} {number(b.bound)}"
    return f"{told:<58} {mark:<11} {b.reason}"


def _wrapped(parts: Sequence[str], width: int = 100) -> Iterator[str]:
    """Lines of parts, none broken in two."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) + 3 > width:
            yield line
            line = ""
        line = f"{line}   {part}" if line else f"    {part}"
    if line:
        yield line


def _shown(value: Any) -> str:
    return number(value) if isinstance(value, float) else printable(str(value))


VERBS = {"try": try_page}

__all__ = ["VERBS", "Judged", "View", "read_view", "ready_steps", "try_page", "verdict", "walk"]
