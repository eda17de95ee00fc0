"""What reports do not show of a text: personal data, and items of private evaluation sets."""

from __future__ import annotations

from typing import Final

from .assets import placed
from .errors import CorpusmillError
from .planning import Plan
from .registry import build
from .stage import Stage

_WHAT_IS_PII: Final = ("types", "reserved_domains", "spelled_email")


class Masking:
    """What a recipe's steps would not have shown of a text.

    Called with a text, it gives what the recipe's `clean.pii` makes of it, by this installation's
    version of it and with tags for every type (no secret key is needed), after `hidden`; without
    such steps, the text itself.
    """

    def __init__(self, plan: Plan) -> None:
        self._cleaning = []
        self._hiding = []
        for entry in plan.recipe["steps"]:
            what = f"step {entry['id']}"
            if entry["stage"] == "clean.pii":
                params = {k: v for k, v in entry["params"].items() if k in _WHAT_IS_PII}
                self._cleaning.append(build(entry["stage"], params, what))
                continue
            made = build(entry["stage"], entry["params"], what)
            if isinstance(made, Stage) and type(made).hidden is not Stage.hidden:
                self._hiding.append(placed(made, plan.data["places"]["assets"]))
        for stage in self._cleaning:
            stage.setup()

    def __call__(self, text: str) -> str:
        text = self.hidden(text)
        for stage in self._cleaning:
            text = stage.clean(text)[1]
        return text

    def hidden(self, text: str) -> str:
        """`text` without what no report may show, of kept texts neither (`Stage.hidden`). Where
        that cannot be told, a note in its place."""
        for stage in self._hiding:
            try:
                text = stage.hidden(text)
            except CorpusmillError as error:
                return f"[not shown, for it may hold what is private: {error.message}]"
        return text


__all__ = ["Masking"]
