"""What the report says of the models that a run used: classifiers by their cards, the tokenizer by
an audit on a sample of the kept texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .html_parts import figure, safe, table
from .params import list_assets
from .planning import Plan
from .plots import bars
from .registry import build, room_module
from .samples import first_rows, kept_texts

_AUDITED = 400
"""Texts that a tokenizer is audited on."""
_EXAMPLES = ("unreachable", "of_one_text", "never_produced")


def model_cards(plan: Plan) -> str:
    """For each step with a model that has a card beside it: how well it judged texts of hosts that
    it was not trained on, and its reliability."""
    text = ""
    for step, name, card in _cards(plan):
        held = card.get("heldout")
        if not isinstance(held, dict):
            continue
        text += f"<h3>{safe(step)}: {safe(str(card.get('name', name)))}</h3>"
        numbers = [[k, v] for k, v in sorted(held.items()) if isinstance(v, int | float | str)]
        text += table(["on groups held out", "value"], numbers)
        bins = held.get("reliability") or []
        if bins:
            rows = [
                (f"{b['low']} to {b['high']}, mean {b['mean_score']}", float(b["share_good"]),
                 f"{float(b['share_good']):.0%} of {b['count']} good")
                for b in bins
            ]  # fmt: skip
            drawn = bars(rows, "Share of good texts by score: reliable is what it says")
            text += figure(drawn, f"{held.get('texts', '?')} texts of the card, not of this run")
        failures = [str(f) for f in card.get("known_failures") or ()]
        if failures:
            text += "<p>Known failures:</p><ul>"
            text += "".join(f"<li>{safe(f)}</li>" for f in failures) + "</ul>"
    return text or "<p>No step used a model that has a card.</p>"


def _cards(plan: Plan) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Step, name of the model and card of every model, where it is still there."""
    for entry in plan.recipe["steps"]:
        params = build(entry["stage"], entry["params"], f"step {entry['id']}").params
        for asset in list_assets(params):
            path = Path(plan.data["places"]["assets"][str(asset)])
            for place in (
                path / "card.json", path.with_name(f"{path.stem}.card.json"),
                path.with_name("card.json"),
            ):  # fmt: skip
                card = _read(place)
                if card is not None:
                    yield entry["id"], path.name, card
                    break


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None  # a report is not stopped by a card that is gone or is none
    return found if isinstance(found, dict) else None


def tokenizer_audit(run: RunFolder, root: Path, kept: Sequence[Mapping[str, Any]]) -> str:
    """The audit of the run's tokenizer on a sample of the kept texts, by language."""
    folder = root / "tokenizer"
    if not (folder / "card.json").is_file():
        return "<p>The run made no tokenizer.</p>"
    checkup = room_module("tokenizers.checkup")
    groups = _by_language(run, kept)
    found = checkup.check(
        checkup.open_any(folder), [checkup.Group(n, t) for n, t in sorted(groups.items())]
    )
    text = "<ul>" + "".join(f"<li>{safe(f)}</li>" for f in found.faults) + "</ul>"
    if not found.faults:
        text = "<p>Nothing is wrong with it, as far as this sample tells.</p>"
    count = sum(map(len, groups.values()))
    text += f'<p class="soft">{count} kept texts, chosen by the keyed order; fewer tokens are rare '
    text += "or unused in the whole. Words are what stands between spaces: of Chinese or Japanese, "
    text += "tokens a word say little.</p>"
    columns = ("texts", "bytes_per_token", "tokens_per_word")
    rows = [[name, *(g[c] for c in columns)] for name, g in found.groups.items()]
    text += table(["language", "texts", "bytes a token", "tokens a word"], rows)
    text += table(["figure", "value"], [[_words(k), _value(v)] for k, v in found.figures.items()])
    for name in _EXAMPLES:
        pieces = found.examples.get(name)
        if pieces:
            listed = " ".join(f'<code class="t0">{safe(piece)}</code>' for piece in pieces)
            text += f"<p>{_words(name)}: {listed}</p>"
    return text


def _words(key: str) -> str:
    return key.replace("_", " ")


def _value(figure: Any) -> str:
    """A figure of the audit; one that is a mapping as what it says of each key."""
    if isinstance(figure, Mapping):
        return ", ".join(f"{k}: {v}" for k, v in figure.items())
    return str(figure)


def _by_language(run: RunFolder, kept: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Texts of the first kept documents by the run's keyed order."""
    chosen = first_rows(run, kept, _AUDITED)
    texts = kept_texts(run, chosen)
    groups: dict[str, list[str]] = {}
    for row in chosen:
        groups.setdefault(str(row.get("lang") or "all"), []).append(texts[row["id"]])
    return groups
