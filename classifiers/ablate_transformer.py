"""A small transformer as the learner of `ablate`: what it learns takes more than words and phrases.

A decoder as GPT-2 has it (layer norm before each part, learnt positions, one matrix for input and
output), trained once over the pieces by AdamW with the rates of Hoffmann et al. 2022 (a warm-up,
then a cosine down to a tenth). Needs the extra ``hf``. Lines follow each other as in the document;
the start of a line is read and never predicted, as with the n-gram model, so that bits of both are
bits of the same pieces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.errors import ConfigError

from .model_folder import EXTRA
from .own_models import extra_module

if TYPE_CHECKING:
    import numpy.typing as npt

    Pieces = Sequence[npt.NDArray[np.int32]]

_IGNORED = -100
"""A target that costs nothing: torch's own sign."""
_LEAST_SHARE = 0.1
_HEAD = 64


@dataclass(frozen=True, slots=True)
class TransformerParams:
    """`layers` of a `width`, with one head for each 64 of it; `context`: pieces that are read at
    once; `batch`: contexts a step; `rate`: the largest learning rate; `device`: ``cpu`` or
    ``cuda``. The defaults are 12 million parameters with 4,000 pieces."""

    layers: int = 6
    width: int = 384
    context: int = 256
    batch: int = 16
    rate: float = 1e-3
    device: str = "cpu"

    def __post_init__(self) -> None:
        if min(self.layers, self.width, self.batch) < 1 or self.width % self.heads:
            raise ConfigError(
                f"transformer of {self.layers} layers, width {self.width}, batch {self.batch}",
                hint="all 1 or more, and the width a multiple of 64, or less",
            )
        if self.context < 2 or not 0 < self.rate < 1 or self.device not in ("cpu", "cuda"):
            raise ConfigError(
                f"transformer with context {self.context}, rate {self.rate}, device {self.device}",
                hint="a context of 2 or more, a rate between 0 and 1, on cpu or cuda",
            )

    @property
    def heads(self) -> int:
        """Of attention, in each layer."""
        return max(1, self.width // _HEAD)


def fit_transformer(
    lines: Pieces, vocabulary: int, seed: int, params: TransformerParams
) -> tuple[Callable[[Pieces], float], int]:
    """What tells the bits of a document's lines after training on `lines`, and the number of
    parameters. Piece `vocabulary` - 1 starts a line. Raises AssetError without torch."""
    torch = extra_module("torch", EXTRA)
    if params.device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("ablate: torch sees no cuda device here", hint="leave out --device cuda")
    start = vocabulary - 1
    inputs, targets = _contexts(lines, start, params.context)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _decoder(vocabulary, params).to(params.device)
    _train(model, inputs, targets, params)

    def bits(document: Pieces) -> float:
        return _bits(model, document, start, params)

    return bits, sum(p.numel() for p in model.parameters())


def _contexts(
    lines: Pieces, start: int, context: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows of `context` pieces and of those that follow each; the last row is filled up."""
    flow = np.concatenate([np.zeros(0, np.int64), *lines]).astype(np.int64)
    count = max(1, math.ceil((len(flow) - 1) / context))
    given = np.full(count * context, start, np.int64)
    wanted = np.full(count * context, _IGNORED, np.int64)
    given[: len(flow) - 1], wanted[: len(flow) - 1] = flow[:-1], flow[1:]
    wanted[wanted == start] = _IGNORED
    return given.reshape(count, context), wanted.reshape(count, context)


def _decoder(vocabulary: int, params: TransformerParams) -> Any:
    """The untrained model: pieces (rows of at most `context`) to scores of the next."""
    import torch
    from torch import nn

    class Layer(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            width = params.width
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.mixing, self.mixed = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            rows, length, width = x.shape
            parts = self.mixing(self.before(x)).view(rows, length, 3, params.heads, -1)
            query, key, value = parts.permute(2, 0, 3, 1, 4)
            seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.mixed(seen.transpose(1, 2).reshape(rows, length, width))
            return x + self.narrow(nn.functional.gelu(self.wide(self.between(x))))

    class Decoder(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.piece = nn.Embedding(vocabulary, params.width)
            self.place = nn.Embedding(params.context, params.width)
            self.layers = nn.ModuleList(Layer() for _ in range(params.layers))
            self.last = nn.LayerNorm(params.width)
            for name, weight in self.named_parameters():
                if weight.dim() > 1:
                    deep = name.endswith(("mixed.weight", "narrow.weight"))
                    scale = math.sqrt(2 * params.layers) if deep else 1.0
                    nn.init.normal_(weight, std=0.02 / scale)

        def forward(self, pieces: Any) -> Any:
            places = torch.arange(pieces.shape[1], device=pieces.device)
            x = self.piece(pieces) + self.place(places)
            for layer in self.layers:
                x = layer(x)
            return self.last(x) @ self.piece.weight.T

    return Decoder()


def _share_of_rate(step: int, steps: int) -> float:
    """Of the largest rate: up to it in the first tenth of the steps, then down along a cosine."""
    warm = max(1, steps // 10)
    if step < warm:
        return (step + 1) / warm
    way = (step - warm) / max(1, steps - warm)
    return _LEAST_SHARE + (1 - _LEAST_SHARE) * (1 + math.cos(math.pi * way)) / 2


def _train(
    model: Any, inputs: npt.NDArray[np.int64], targets: npt.NDArray[np.int64],
    params: TransformerParams,
) -> None:  # fmt: skip
    import torch

    optimiser = torch.optim.AdamW(
        model.parameters(), lr=params.rate, betas=(0.9, 0.95), weight_decay=0.1
    )
    steps = math.ceil(len(inputs) / params.batch)
    for step in range(steps):
        rows = slice(step * params.batch, (step + 1) * params.batch)
        for group in optimiser.param_groups:
            group["lr"] = params.rate * _share_of_rate(step, steps)
        given = torch.from_numpy(inputs[rows]).to(params.device)
        wanted = torch.from_numpy(targets[rows]).to(params.device)
        loss = torch.nn.functional.cross_entropy(
            model(given).flatten(0, 1), wanted.flatten(), ignore_index=_IGNORED
        )
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()


def _windows(length: int, context: int) -> Iterator[tuple[int, int, int]]:
    """(first, end, judged) of windows over `length` places: each place is judged once, from
    `judged` on, with half a context before it but at the beginning."""
    judged = 0
    while judged < length:
        first = max(0, judged - context // 2)
        end = min(length, first + context)
        yield first, end, judged
        judged = end


def _bits(model: Any, document: Pieces, start: int, params: TransformerParams) -> float:
    import torch

    given, wanted = (
        part.reshape(-1) for part in _contexts(document, start, max(1, sum(map(len, document)) - 1))
    )
    total = 0.0
    with torch.inference_mode():
        for first, end, judged in _windows(len(given), params.context):
            scores = model(torch.from_numpy(given[None, first:end]).to(params.device))[0]
            total += float(
                torch.nn.functional.cross_entropy(
                    scores[judged - first :].double(),
                    torch.from_numpy(wanted[judged:end]).to(params.device),
                    ignore_index=_IGNORED, reduction="sum",
                )
            )  # fmt: skip
    return total / math.log(2)
