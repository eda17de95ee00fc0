"""One page from bytes to text, as a plain function of its bytes and of the parameters.

This is what the worker process runs. Its answer is a JSON object with the keys of one of

    {"text", "path", "words", "all_words", "fffd", "html_bytes", "title", "charset",
     "charset_declared", "charset_rule"} and, if asked for, {"metadata": {…}}, for the tier own
    {"confidence", "page_type"}, where the page is no page {"state"}
    {"drop": reason, "value": number}
    {"error": type, "message": str}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from corpusmill.pipeline.errors import ConfigError

from .budget import Over, over_budget, over_limits
from .charset import decode
from .libraries import Format, LibraryError, self_test, trafilatura_metadata
from .limits import Limits
from .policy import TIERS, Choice, Tier, choose, choose_own, libraries_of
from .rewrite import rewrite
from .sanitise import clean_encoded, clean_markup
from .state import page_state
from .streamed import settle
from .title import read_title

Answer = dict[str, Any]
PageFunction = Callable[[dict[str, Any], bytes], Answer]
"""Of the page's head (`header`, `decoded`, `url`, `date`) and its body."""

_WIDEST = 4
"""A body of more than this times the budget is over it in every encoding."""


@dataclass(frozen=True, slots=True)
class PageParams:
    """What `extract_page` needs to know."""

    tier: Tier = "default"
    form: Format = "text"
    metadata: bool = False
    limits: Limits = Limits()  # noqa: RUF009 - frozen
    comments: bool = True


def page_function(config: dict[str, Any]) -> PageFunction:
    """The function that the worker process runs, from its JSON configuration; tests the
    libraries on a known page first (StageError)."""
    tier: Tier = config["tier"]
    if tier not in TIERS:
        raise ConfigError(f"tier {tier!r} is unknown", hint=f"one of {', '.join(TIERS)}")
    limits = Limits(**config["limits"])
    params = PageParams(
        tier, config["form"], config["metadata"], limits, config.get("comments", True)
    )
    needed = libraries_of(tier)
    if params.metadata and "trafilatura" not in needed:
        needed = (*needed, "trafilatura")
    self_test(needed)

    def run(head: dict[str, Any], body: bytes) -> Answer:
        return extract_page(head, body, params)

    return run


def extract_page(head: dict[str, Any], body: bytes, params: PageParams) -> Answer:
    """The answer for one page.

    `head` may hold ``header`` (the charset label of the HTTP header), ``decoded`` (true: the body
    is UTF-8 whatever it says of itself), ``url`` and ``date`` (for the metadata). Memory errors
    pass through: the process that had one is not to be trusted with another page.
    """
    limits = params.limits
    if len(body) > _WIDEST * limits.max_bytes:
        return {"drop": "over_budget_bytes", "value": len(body)}
    if head.get("decoded"):
        text, utf8 = body.decode("utf-8", "surrogatepass"), None
        charset = {"charset": "utf-8", "charset_declared": "", "charset_rule": "given"}
    else:
        decoded = decode(body, head.get("header") or None)
        text, utf8 = decoded.text, decoded.utf8
        charset = {
            "charset": decoded.codec,
            "charset_declared": decoded.declared,
            "charset_rule": decoded.rule,
        }
    html, encoded = clean_encoded(text, utf8)
    html_bytes = len(encoded)
    if html_bytes > limits.max_bytes:
        return {"drop": "over_budget_bytes", "value": html_bytes}
    try:
        choice = _choice(html, encoded, params)
        if isinstance(choice, tuple):
            return {"drop": f"over_budget_{choice[0]}", "value": choice[1]}
        answer: Answer = {
            "text": clean_markup(choice.text).strip(),
            "path": choice.path,
            "words": choice.words,
            "all_words": choice.all_words,
            "fffd": choice.text.count("\ufffd"),
            "html_bytes": html_bytes,
            "title": read_title(html),
            **charset,
        }
        state = page_state(html, answer["title"], answer["text"], choice.words, choice.all_words)
        if state is not None:
            answer["state"] = state
        if choice.confidence is not None:
            answer["confidence"] = choice.confidence
            answer["page_type"] = choice.page_type
        if params.metadata:
            answer["metadata"] = trafilatura_metadata(
                html, url=head.get("url", ""), crawled=head.get("date", "")
            )
    except LibraryError as err:
        return {"error": "extractor_error", "message": str(err)}
    return answer


def _choice(html: str, encoded: bytes, params: PageParams) -> Choice | Over:
    """The text of the page `html`, which in UTF-8 is `encoded`, or the budget that it is over."""
    depth, nodes = params.limits.max_depth, params.limits.max_nodes
    if params.tier != "own":
        over = over_budget(encoded, max_depth=depth, max_nodes=nodes)
        if over is not None:
            return over
        return choose(rewrite(html), params.tier, params.form, comments=params.comments)
    from corpusmill.stages.extract.blocks.intake import intake

    known = intake(encoded, stop_depth=depth, stop_nodes=nodes)
    over = over_limits(known.depth, known.nodes, max_depth=depth, max_nodes=nodes)
    if over is not None:
        return over
    if known.in_pieces:
        encoded = settle(html).encode("utf-8")
    return choose_own(encoded, params.form, comments=params.comments, to_rewrite=known.to_rewrite)
