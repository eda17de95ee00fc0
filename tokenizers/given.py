"""A tokenizer that exists already: the folder that `tokenizers.bpe` or `tokenizers.spm` wrote.

For a second corpus that must have the ids of the first. The folder (the ``tokenizer/`` of a run)
is an asset: its digest stands in the plan and in the lock, so a replay uses the same files. They
are checked against their card, and so are the card's claims (`corpusmill.tokenizers.encode`).
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from corpusmill.pipeline.stage import Asset, AuxPhase, Sink

from .encode import CARD, files_in, load, read_card

if TYPE_CHECKING:
    from corpusmill.pipeline.context import TaskContext


@dataclass(frozen=True, slots=True)
class GivenParams:
    """Parameters of `Given`: `folder` holds ``card.json`` and the files that it names."""

    folder: Asset


class Given(Sink):
    """Makes an existing tokenizer the tokenizer of this run, byte for byte.

    Raises AssetError where the folder holds no tokenizer, IntegrityError where its files are not
    what its card says.
    """

    name: ClassVar[str] = "tokenizers.given"
    version: ClassVar[int] = 1
    pins: ClassVar[tuple[str, ...]] = ("tokenizers", "sentencepiece")
    Params: ClassVar[type] = GivenParams
    phases: ClassVar[tuple[AuxPhase, ...]] = (AuxPhase("take", "one", "take", reads="nothing"),)

    params: GivenParams

    def check_assets(self) -> None:
        read_card(files_in(Path(self.params.folder)), self.params.folder)

    def setup(self) -> None:
        """One process uses one slot of the machine: no threads of the library's own."""
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

    def take(self, ctx: TaskContext) -> None:
        folder = Path(self.params.folder)
        load(folder)
        card = json.loads((folder / CARD).read_bytes())
        for name in sorted([CARD, *card["files"]]):
            ctx.new_file(f"tokenizer/{name}").write_bytes((folder / name).read_bytes())
        ctx.note("digest", card["digest"])
        ctx.note("vocab_size", card["vocab_size"])


STAGE = Given
