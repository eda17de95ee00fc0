"""``extract.tiers``: the text of a page, by two libraries and a choice or by our own model.

Decodes the page, refuses what is over budget, rewrites formulas and code, and takes the text by
the policy of the tier (see `corpusmill.stages.extract.policy`), in a process that can be killed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from corpusmill.pipeline.document import Document, Drop, Failure, Outcome, Page, Scalar
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.stage import SignalType, Stage

from .charset import PINS as CHARSET_PINS
from .charset import header_charset
from .libraries import PINS as LIBRARY_PINS
from .libraries import Format
from .limits import Limits
from .policy import Tier
from .worker import Request, Worker, WorkerLimits

if TYPE_CHECKING:
    from .page import Answer, PageFunction

_SIGNALS: dict[str, SignalType] = {
    "extract_path": "str",
    "extract_words": "int",
    "extract_all_words": "int",
    "extract_fffd": "int",
    "html_bytes": "int",
    "page_state": "str",
}
_OWN_SIGNALS: dict[str, SignalType] = {
    "extract_confidence": "float",
    "page_type": "str",
}
_METADATA_SIGNALS: dict[str, SignalType] = {
    "page_author": "str",
    "page_date": "str",
    "page_site": "str",
}


@dataclass(frozen=True)
class TiersParams:
    """Parameters of ``extract.tiers``."""

    tier: Tier = "default"
    """fast, default, quality, own, or one library alone: trafilatura, resiliparse."""
    format: Format = "text"
    """text or markdown."""
    comments: bool = True
    """Keep what readers wrote below a page, as far as the extractor tells it apart. Answers in
    forums are the main text, and stay."""
    min_chars: int = 1
    """Texts with fewer characters are dropped as ``empty_text``."""
    metadata: bool = False
    """Also author, date, site and licence as the page states them (trafilatura): signals
    ``page_author``, ``page_date``, ``page_site``, absent where not stated, and ``licence``."""
    limits: Limits = Limits()  # noqa: RUF009 - frozen
    worker: WorkerLimits = WorkerLimits()  # noqa: RUF009 - frozen
    isolate: bool = True
    """Extract in a process that can be killed. False: in this one, without safety net."""

    def __post_init__(self) -> None:
        if self.min_chars < 0:
            raise ConfigError(f"min_chars is {self.min_chars}", hint="give 0 or more")

    def page_config(self) -> dict[str, Any]:
        """The configuration of the page function, as JSON values."""
        return {
            "tier": self.tier,
            "form": self.format,
            "comments": self.comments,
            "metadata": self.metadata,
            "limits": asdict(self.limits),
        }


class ExtractTiers(Stage):
    """Pages to documents.

    Signals: ``extract_path`` (which path gave the text: resiliparse, resiliparse_all, trafilatura
    or own), ``extract_words`` and ``extract_all_words`` (words of the text, and of all text of
    the page), ``extract_fffd`` (U+FFFD in the text), ``html_bytes`` (decoded page in UTF-8), and
    ``page_state`` where the page is something in place of content (soft_404, login_wall, …: see
    `corpusmill.stages.extract.state`), absent on all others.
    The tier ``own`` also writes ``extract_confidence`` (expected F1 of its choice, 0 to 1) and
    ``page_type`` (article, forum, product, …; see the model card).
    """

    name = "extract.tiers"
    version = 10
    kind = "map"
    pins = tuple(sorted({*LIBRARY_PINS, *CHARSET_PINS}))
    takes = "page"
    Params = TiersParams

    def __init__(self, params: TiersParams) -> None:
        super().__init__(params)
        self.writes: Mapping[str, SignalType] = {
            **_SIGNALS,
            **(_OWN_SIGNALS if params.tier == "own" else {}),
            **(_METADATA_SIGNALS if params.metadata else {}),
        }
        self.reasons = ("empty_text", "over_budget_bytes", "over_budget_depth", "over_budget_nodes")
        self.errors = ("extractor_crash", "extractor_error", "extractor_timeout")
        self._worker: Worker | None = None
        self._function: PageFunction | None = None

    def prepare(self) -> bool:
        """Starts a process that those of all workers are forked from; each has its own."""
        if not self.params.isolate:
            self.setup()
            return True
        self._made().share()
        return False

    def begin(self) -> None:
        """Starts the process."""
        if self.params.isolate:
            self._made().begin()

    def setup(self) -> None:
        """Starts the process (or loads the libraries here) and tests them on a known page."""
        params: TiersParams = self.params
        if params.isolate:
            self._made().start()
        else:
            from .page import page_function

            self._function = page_function(params.page_config())

    def _made(self) -> Worker:
        if self._worker is None:
            self._worker = Worker(self.params.page_config(), self.params.worker)
        return self._worker

    def apply(self, batch: Sequence[Page]) -> list[Outcome]:
        """A `Document`, `Drop` or `Failure` for each page."""
        answers = self._answers([_request(page) for page in batch])
        return [self._outcome(p, a) for p, a in zip(batch, answers, strict=True)]

    def child_cpu(self) -> float:
        """CPU seconds of the extraction processes so far, for the account."""
        return self._worker.cpu() if self._worker is not None else 0.0

    def close(self) -> None:
        """Ends the process."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def _answers(self, requests: list[Request]) -> list[Answer]:
        if self._worker is not None:
            return self._worker.run(requests)
        if self._function is None:
            raise StageError("extract.tiers was not set up", hint="call setup() before apply()")
        function = self._function
        return [function(dict(r.head), r.body) for r in requests]

    def _outcome(self, page: Page, answer: Answer) -> Outcome:
        if "error" in answer:
            return Failure(answer["error"], answer.get("message", ""))
        if "drop" in answer:
            return Drop(answer["drop"], answer["value"])
        text: str = answer["text"]
        if len(text) < self.params.min_chars:
            return Drop("empty_text", len(text))
        document = Document(page.id, text, page.source, page.meta, page.signals)
        _fill(document, answer)
        return document


def _request(page: Page) -> Request:
    head: dict[str, Any] = {}
    label = header_charset(
        page.headers.get("content-type", "") or str(page.meta.get("content_type", ""))
    )
    if label:
        head["header"] = label
    for key in ("url", "date"):
        if page.meta.get(key):
            head[key] = page.meta[key]
    return Request(head, page.body)


def _fill(document: Document, answer: Answer) -> None:
    meta: dict[str, Scalar] = document.meta
    for key in ("charset", "charset_declared", "charset_rule", "title"):
        if answer[key]:
            meta[key] = answer[key]
    signals = document.signals
    signals["extract_path"] = answer["path"]
    signals["extract_words"] = answer["words"]
    signals["extract_all_words"] = answer["all_words"]
    signals["extract_fffd"] = answer["fffd"]
    signals["html_bytes"] = answer["html_bytes"]
    if "state" in answer:
        signals["page_state"] = answer["state"]
    if "confidence" in answer:
        signals["extract_confidence"] = answer["confidence"]
        signals["page_type"] = answer["page_type"]
    stated = answer.get("metadata", {})
    for key, signal in (
        ("author", "page_author"),
        ("date", "page_date"),
        ("sitename", "page_site"),
    ):
        if key in stated:
            signals[signal] = stated[key]
    if "license" in stated and not meta.get("licence"):
        meta["licence"] = stated["license"]
        meta["licence_where"] = "page"


STAGE = ExtractTiers
