"""One page at a time, without a worker process: behind `corpusmill.stages.extract.extract`."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import get_args

from corpusmill.pipeline.errors import ConfigError, InputError

from . import Extracted
from .libraries import Format
from .limits import Limits
from .page import PageFunction, page_function
from .policy import Tier


@cache
def _function(tier: Tier, form: Format, metadata: bool, comments: bool) -> PageFunction:
    return page_function({
        "tier": tier, "form": form, "metadata": metadata, "comments": comments,
        "limits": asdict(Limits()),
    })  # fmt: skip


def extract_once(
    html: str | bytes,
    *,
    url: str,
    tier: Tier,
    form: Format,
    metadata: bool,
    comments: bool,
) -> Extracted:
    """See `corpusmill.stages.extract.extract`."""
    if form not in get_args(Format):
        raise ConfigError(
            f"format {form!r} is unknown", hint=f"one of {', '.join(get_args(Format))}"
        )
    function = _function(tier, form, metadata, comments)
    if isinstance(html, str):
        answer = function({"decoded": True, "url": url}, html.encode("utf-8", "surrogatepass"))
    else:
        answer = function({"url": url}, html)
    where = url or "this page"
    if "drop" in answer:
        raise InputError(
            f"{where} is over budget: {answer['drop']} with {answer['value']}",
            hint="the budgets are in corpusmill.stages.extract.limits.Limits",
        )
    if "error" in answer:
        raise InputError(f"{where} cannot be extracted: {answer['message']}")
    return Extracted(
        text=answer["text"],
        path=answer["path"],
        words=answer["words"],
        all_words=answer["all_words"],
        title=answer["title"],
        charset=answer["charset"],
        confidence=answer.get("confidence"),
        page_type=answer.get("page_type", ""),
        page_state=answer.get("state", ""),
        metadata=answer.get("metadata", {}),
    )
