"""Trains a tiny model for a few steps on shards, by the readers that the guide shows.

    python train_steps.py GUIDE RUN DOMAIN

Prints, as JSON, for each reader the loss of every step and the tokens of its first row. Runs in an
environment with torch, Megatron-core and OLMo-core (`readers.txt`), by itself.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from read_back import Absent

LENGTH, ROWS, STEPS = 16, 8, 12


def guide(path: Path) -> dict[str, Any]:
    """What the guide's pieces of Python define."""
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(code, str(path), "exec"), names)
    return names


def train(batches: Iterator[tuple[Any, Any]], vocabulary: int) -> list[float]:
    """The loss of each step; always the same first batch, which must be learnt."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Embedding(vocabulary, 16), torch.nn.Linear(16, vocabulary))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    inputs, targets = next(batches)
    losses = []
    for _ in range(STEPS):
        logits = model(inputs).reshape(-1, vocabulary)
        loss = torch.nn.functional.cross_entropy(logits, targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(round(float(loss), 4))
    return losses


def stacked(rows: list[torch.Tensor]) -> Iterator[tuple[Any, Any]]:
    whole = torch.stack(rows).to(torch.int64)
    yield whole[:, :-1], whole[:, 1:]


def main(page: Path, run: Path, domain: str) -> None:
    pieces = guide(page)
    card = json.loads((run / "tokenizer/card.json").read_text())
    vocabulary, eos = int(card["vocab_size"]), int(card["eos"]["id"])
    paths = sorted((run / "shards" / domain).glob("*.bin"))
    found: dict[str, Any] = {}

    def as_tensors() -> Iterator[tuple[Any, Any]]:
        for pair in pieces["batches"](run, domain, LENGTH, ROWS):
            yield tuple(torch.from_numpy(x.astype(np.int64)) for x in pair)

    found["numpy"] = {"losses": train(as_tensors(), vocabulary)}
    made = pieces["megatron_rows"](paths[0].with_suffix(""), LENGTH, ROWS, eos, vocabulary)
    rows = [torch.cat([made[i]["tokens"], made[i]["labels"][-1:]]) for i in range(ROWS)]
    found["megatron"] = {"losses": train(stacked(rows), vocabulary), "first": rows[0].tolist()}
    with tempfile.TemporaryDirectory() as work:
        data = pieces["olmo_rows"](paths, LENGTH, eos, vocabulary, Path(work))
        rows = [data[i]["input_ids"] for i in range(ROWS)]
    found["olmo"] = {"losses": train(stacked(rows), vocabulary), "first": rows[0].tolist()}
    print(json.dumps(found))


if __name__ == "__main__":
    sys.meta_path.insert(0, Absent())
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
