"""Small documents and trained tokenizers for the tests of this folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from corpusmill.pipeline.context import MemoryContext, hash_of_ids
from corpusmill.tokenizers.bpe import Bpe, BpeParams
from corpusmill.tokenizers.sampling import SampleParams
from corpusmill.tokenizers.spm import Spm, SpmParams

TEXT = (
    "the mill turns slowly and grinds every grain of wheat into flour while water falls over "
    "its wheel; for i in range(10):\n    total += i\n Müller fährt über die Brücke. Это мельница "
    "на реке. 水车 慢慢 转动。 x = 3.14159 2024-01-31 <b>bold</b> \t end\n\n\n"
)
WORDS = TEXT.split(" ")


def make_text(number: int, words: int) -> str:
    """Text that differs by `number`, from a keyed choice of words."""
    out = []
    for i in range(words):
        h = hashlib.sha256(f"{number}:{i}".encode()).digest()
        out.append(WORDS[int.from_bytes(h[:4], "little") % len(WORDS)])
        if h[4] < 40:
            out.append(h[5:8].hex())
    return " ".join(out)


def doc_id(number: int) -> str:
    return hashlib.md5(f"doc{number}".encode(), usedforsecurity=False).hexdigest()


def make_docs(count: int, *, words: int = 40) -> pa.Table:
    """`count` documents: two sources (a third from "code"), every tenth held out."""
    rows = {
        "id": [doc_id(i) for i in range(count)],
        "source": ["code" if i % 3 == 0 else "web" for i in range(count)],
        "text": [make_text(i, 1 + (i * 7) % (2 * words)) for i in range(count)],
        "url": [None if i % 5 == 0 else f"https://example.org/{i}" for i in range(count)],
        "lang": ["de" if i % 4 == 0 else "en" for i in range(count)],
        "split": ["heldout" if i % 10 == 9 else "train" for i in range(count)],
    }
    return pa.table({n: pa.array(v, pa.string()) for n, v in rows.items()})


def fill(ctx: MemoryContext, docs: pa.Table, *, pieces: int = 3) -> MemoryContext:
    """Puts `docs` into the context as table ``docs``, in several pieces."""
    size = max(1, -(-docs.num_rows // pieces))
    for at in range(0, max(1, docs.num_rows), size):
        part = docs.slice(at, size)
        ctx.write("docs", part, hash_of_ids(part.column("id").to_pylist()))
    return ctx


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> MemoryContext:
    """The finished step of a small byte-level BPE."""
    ctx = fill(MemoryContext(tmp_path_factory.mktemp("bpe"), seed=7), make_docs(120))
    stage = Bpe(BpeParams(vocab_size=600, sample=SampleParams(bytes=10**6)))
    stage.setup()
    ctx.run_phases(stage)
    return ctx


@pytest.fixture(scope="session")
def spm(tmp_path_factory: pytest.TempPathFactory) -> MemoryContext:
    """The finished step of a small sentencepiece BPE."""
    ctx = fill(MemoryContext(tmp_path_factory.mktemp("spm"), seed=7), make_docs(120))
    ctx.run_phases(Spm(SpmParams(vocab_size=600)))
    return ctx


@pytest.fixture
def helpers() -> Mapping[str, Any]:
    """The functions above, for tests that need other sizes."""
    return {"make_docs": make_docs, "make_text": make_text, "fill": fill, "doc_id": doc_id}
