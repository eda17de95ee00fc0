"""Which of two sets of documents teaches a model more: equal tokens of each, one small model.

A filter is worth what a model learns from what it keeps. The model is the n-gram model of
`ngram_counts`, which a CPU trains in seconds, so that several seeds and an interval cost little. It
learns words and phrases, nothing that takes reasoning: it sees whether text is the right kind of
language, clean, and varied, and is a first judge, not the last. The second is a small transformer
(`ablate_transformer`), which takes hours on a CPU.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from corpusmill.pipeline.errors import ConfigError

from .ablate_transformer import TransformerParams, fit_transformer
from .ngram_model import UNIT, fit_ngrams
from .perplexity_text import Cutter, cutter

if TYPE_CHECKING:
    import numpy.typing as npt

    Pieces = list[npt.NDArray[np.int32]]

SHARED_LINE = 60
"""Characters from which on a line that also stands in a held-out text makes a document unfit."""
PIECE_BYTES = 1_000_000
"""Text of each side that the pieces are learnt from: the same pieces for both."""
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class AblateParams:
    """`tokens` of each side to train on, 0 for half of what the smaller side has; `seeds`: how
    often, each time other documents; `pieces` that texts are cut into; `model`: which kind learns;
    `order` of the n-gram model, `transformer`: the shape of the other; `most_bytes` of each side
    held in memory, the documents with the smallest keys."""

    tokens: int = 0
    seeds: int = 5
    pieces: int = 4_000
    model: Literal["ngram", "transformer"] = "ngram"
    order: int = 5
    transformer: TransformerParams = field(default_factory=TransformerParams)
    most_bytes: int = 200_000_000

    def __post_init__(self) -> None:
        if self.tokens < 0 or self.seeds < 2 or not 300 <= self.pieces < 1 << 16:
            raise ConfigError(
                f"tokens {self.tokens}, seeds {self.seeds}, pieces {self.pieces}",
                hint="two seeds or more, 300 to 65,535 pieces",
            )


def _key(text: str, seed: int) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(raw, digest_size=16, key=seed.to_bytes(8, "little")).digest()


def choose(texts: Iterable[str], most_bytes: int) -> list[str]:
    """Different texts in the order of their keys, as many from the first on as fit `most_bytes`
    (one at least), whatever order they come in."""
    heap: list[tuple[bytes, int, str]] = []  # of the negated keys: the largest is at the top
    size, seen = 0, set()
    least = b""  # the smallest key that had no room: none behind it may come in
    for text in texts:
        key = bytes(255 - b for b in _key(text, 0))
        if key in seen or key <= least or not text.strip():
            continue
        seen.add(key)
        length = len(text.encode("utf-8", "surrogatepass"))
        heapq.heappush(heap, (key, length, text))
        size += length
        while size > most_bytes and len(heap) > 1:
            least, gone, _ = heapq.heappop(heap)
            size -= gone
            seen.discard(least)
    return [text for _, _, text in sorted(heap, reverse=True)]


def _fit_for_training(texts: Sequence[str], heldout: set[str]) -> list[str]:
    return [
        text for text in texts
        if not any(len(line) >= SHARED_LINE and line in heldout for line in text.split("\n"))
    ]  # fmt: skip


def _pieces(sides: Sequence[Sequence[str]], count: int) -> Cutter:
    from corpusmill.tokenizers.spm import SpmParams, lines_of, train_spm

    sample: list[str] = []
    for texts in sides:
        size = 0
        for text in texts:
            sample.append(text[: PIECE_BYTES - size])
            size += len(text)
            if size >= PIECE_BYTES:
                break
    lines, _ = lines_of(sorted(sample))
    params = SpmParams(vocab_size=count, newline_runs=(1,), space_runs=(2, 4), allow_smaller=True)
    return cutter(train_spm(lines, params))


def _cut(cut: Cutter, texts: Sequence[str]) -> list[Pieces]:
    return [cut.cut(text.split("\n")) for text in texts]


def _drawn(texts: Sequence[str], pieces: Sequence[Pieces], tokens: int, seed: int) -> Pieces:
    """The lines of documents in the order of `seed`, `tokens` pieces after the starts of lines."""
    made: Pieces = []
    left = tokens
    for i in sorted(range(len(texts)), key=lambda i: _key(texts[i], seed)):
        for row in pieces[i]:
            made.append(row[: left + 1])
            left -= len(made[-1]) - 1
            if left <= 0:
                return made
    return made


def _learnt(
    lines: Pieces, vocabulary: int, seed: int, params: AblateParams
) -> tuple[Callable[[Pieces], float], int]:
    """What tells the bits of a document after training on `lines`, and the model's size: n-grams,
    or parameters."""
    if params.model == "transformer":
        return fit_transformer(lines, vocabulary, seed, params.transformer)
    model = fit_ngrams([row.astype(np.int64) for row in lines], vocabulary, params.order)
    return lambda document: sum(model.bits(document)) / UNIT, len(model.last)


def ablate(
    a: Iterable[str], b: Iterable[str], heldout: Mapping[str, Sequence[str]],
    params: AblateParams | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Bits per byte on each held-out set after training on `a` and on `b`.

    For each set: ``a`` and ``b``, means over the seeds; ``difference``, a minus b; ``low`` and
    ``high``, its 95 % interval, both sides and the held-out set being samples; ``better``: ``a``,
    ``b``, or none where the interval holds 0. Documents that share a line of `SHARED_LINE`
    characters with a held-out text are left out and counted.

    Raises ConfigError where a side or a held-out set has too little text.
    """
    p = params or AblateParams()
    lines = {line for texts in heldout.values() for text in texts for line in text.split("\n")}
    chosen = [choose(side, p.most_bytes) for side in (a, b)]
    sides = [_fit_for_training(texts, lines) for texts in chosen]
    for name, texts in zip("ab", sides, strict=True):
        if len(texts) < 2:
            raise ConfigError(f"side {name} has {len(texts)} documents to train on")
    if not heldout or not all(any(t.strip() for t in texts) for texts in heldout.values()):
        raise ConfigError("there is no held-out text to judge with")
    cut = _pieces(sides, p.pieces)
    pieces = [_cut(cut, texts) for texts in sides]
    have = [sum(len(row) - 1 for doc in side for row in doc) for side in pieces]
    tokens = p.tokens or min(have) // 2
    if not 0 < tokens <= min(have) // 2:
        raise ConfigError(
            f"{tokens} tokens asked for, the smaller side has {min(have)}",
            hint="at most half of a side can be drawn several times with a difference",
        )
    judged = {
        name: (_cut(cut, texts), [len(t.encode("utf-8", "replace")) + 1 for t in texts])
        for name, texts in heldout.items()
    }
    bits: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in judged}
    for seed in range(1, p.seeds + 1):
        pair: dict[str, list[list[float]]] = {name: [] for name in judged}
        for texts, cuts in zip(sides, pieces, strict=True):
            ask, size = _learnt(_drawn(texts, cuts, tokens, seed), cut.vocabulary, seed, p)
            for name, (docs, _) in judged.items():
                pair[name].append([ask(doc) for doc in docs])
        for name, two in pair.items():
            bits[name].append(np.array(two, np.float64))
    return {
        "tokens": tokens,
        "seeds": p.seeds,
        "model": {"kind": p.model, "pieces": cut.vocabulary - 1, "size": size} | (
            {"order": p.order} if p.model == "ngram" else asdict(p.transformer)
        ),
        "sides": {
            name: {
                "documents": len(first), "tokens": count,
                "left_out": len(first) - len(texts),
            }
            for name, first, texts, count in zip("ab", chosen, sides, have, strict=True)
        },
        "heldout": {
            name: _figures(np.stack(bits[name]), np.array(sizes, np.float64), tokens / min(have))
            for name, (_, sizes) in judged.items()
        },
    }  # fmt: skip


def _figures(
    bits: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64], share: float
) -> dict[str, Any]:
    """From bits by seed, side and document, bytes by document, and the largest share of a side
    that one seed draws."""
    seeds, _, documents = bits.shape
    mean = bits.sum(axis=2).mean(axis=0) / sizes.sum()
    gain = bits[:, 0] - bits[:, 1]
    # The sides are samples themselves. Of n documents, draws of a share f without replacement vary
    # by s^2 / (f n) (1 - f), the sample as such by s^2 / n: f / (1 - f) times as much.
    drawn = float(np.var(gain.sum(axis=1) / sizes.sum(), ddof=1)) * (
        1 / seeds + share / (1 - share)
    )
    random = np.random.default_rng(1)
    found = np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        docs = random.integers(documents, size=documents)
        found[i] = gain.mean(axis=0)[docs].sum() / sizes[docs].sum()
    half = student(seeds - 1) * math.sqrt(drawn + float(np.var(found)))
    difference = float(mean[0] - mean[1])
    return {
        "documents": documents, "bytes": int(sizes.sum()),
        "a": round(float(mean[0]), 4), "b": round(float(mean[1]), 4),
        "difference": round(difference, 4),
        "low": round(difference - half, 4), "high": round(difference + half, 4),
        "better": "a" if difference < -half else "b" if difference > half else None,
    }  # fmt: skip


def student(freedom: int) -> float:
    """The .975 quantile of Student's t: exact for few degrees of freedom, else the expansion of
    Abramowitz and Stegun, 26.7.5."""
    few = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
    if freedom <= len(few):
        return few[freedom - 1]
    z, n = 1.959964, freedom
    first = (z**3 + z) / (4 * n)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    return z + first + second + third
