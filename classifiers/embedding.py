"""Vectors of texts from static embeddings that ship in a package, in whole numbers.

A static model is a table with a row for each token; the vector of a text is the sum of the rows of
its tokens. The table is the one inside the package ``wordllama`` (0.4.0; MIT; L. Miller), 32,000
tokens by 256 numbers, trained so that such sums of texts alike in content point the same way. Only
its two files are read, by digest: the package is not imported and nothing is fetched.

The rows are rounded to whole numbers once, sums are of whole numbers, and a vector is scaled to a
length of `LENGTH` and rounded, so that it is the same on every machine. `LENGTH` is below 4,096:
each product of two vectors, and each part of its sum, is then a whole number below 2 ** 24, which
single-precision arithmetic holds exactly whatever the order of the additions.

Texts are cut into words first, and words into tokens one by one. That gives the tokens of the whole
text but for a few at punctuation, and lets a word that was seen be looked up.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.errors import AssetError, StageError

if TYPE_CHECKING:
    import numpy.typing as npt

    Vectors = npt.NDArray[np.int16]

PACKAGE = "wordllama"
NAME = "wordllama l2_supercat 256"
"""What a file made with these vectors names as their origin."""
DIMENSIONS = 256
LENGTH = 4000
"""Length of every vector; 0 where a text has no word."""
MAX_CHARS = 6000
"""Characters of a text that are read: what it is about shows early."""

_TABLE = Path("weights", "l2_supercat_256.safetensors")
_TABLE_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
_TOKENS = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_TOKENS_SHA256 = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
_UNIT = 2048
"""Of the table's rows: its numbers are below 9 in size, so that the rows of 100,000 tokens, more
than `MAX_CHARS` characters can be, add up to less than 2 ** 31."""
_KEPT_WORDS = 100_000

# Explicit ranges, since \\w differs between Pythons: ASCII letters, and what is beyond ASCII but
# for spaces, general punctuation, symbols, and CJK and full-width punctuation. Digits say little of
# what a text is about. What scripts without spaces run together is cut.
_WORD = re.compile(
    "[A-Za-z\u00aa-\u00b5\u00ba\u00c0-\u1fff\u2c00-\u2dff\u3041-\ud7ff\uf900-\ufeff\uff21-\uffdc"
    "\U00010000-\U0001efff\U00020000-\U000323af]{1,40}"
)
_LOWER = {ord(c): c.lower() for c in string.ascii_uppercase}


@dataclass(slots=True)
class Embedder:
    """Makes vectors. `table`: a row a token; `words`: tokens of words that were seen, as bytes."""

    table: npt.NDArray[np.int32]
    tokenizer: Any
    words: dict[str, bytes] = field(default_factory=dict)

    def vectors(self, texts: Sequence[str], max_chars: int = MAX_CHARS) -> Vectors:
        """A row for each text: `DIMENSIONS` numbers, together of length `LENGTH`."""
        cut = [words_of(text, max_chars) for text in texts]
        self._learn({word for words in cut for word in words})
        sums = np.zeros((len(texts), self.table.shape[1]), np.int64)
        for n, words in enumerate(cut):
            tokens = np.frombuffer(b"".join(map(self.words.__getitem__, words)), "<i4")
            sums[n] = self.table[tokens].sum(axis=0, dtype=np.int32)
        return unit(sums)

    def _learn(self, words: set[str]) -> None:
        new = sorted(words - self.words.keys())
        if len(self.words) + len(new) > _KEPT_WORDS:
            self.words.clear()
            new = sorted(words)
        for word, found in zip(
            new, self.tokenizer.encode_batch(new, add_special_tokens=False), strict=True
        ):
            self.words[word] = np.array(found.ids, "<i4").tobytes()


def lower(text: str) -> str:
    """ASCII letters in lower case, and no others: their tables differ between Pythons."""
    return text.translate(_LOWER)


def words_of(text: str, max_chars: int = MAX_CHARS) -> list[str]:
    """The words of the beginning of a text, as the model sees them."""
    return _WORD.findall(lower(text[:max_chars]))


def with_words(vectors: Vectors) -> npt.NDArray[np.bool_]:
    """Which of the vectors are those of texts with a word."""
    result: npt.NDArray[np.bool_] = np.asarray(vectors.any(axis=1))
    return result


def unit(sums: npt.NDArray[np.int64]) -> Vectors:
    """The rows scaled to a length of `LENGTH` and rounded; rows of zeros stay.

    Square root and division are those of IEEE 754, which are exact to the last bit everywhere.
    """
    most = np.abs(sums).max(axis=1, initial=0, keepdims=True)
    # Below 2 ** 22, so that the squares of a row add up to less than 2 ** 53.
    shift = np.maximum(0, np.frexp(most.astype(np.float64))[1].astype(np.int64) - 22)
    small = sums >> shift
    norm = np.sqrt((small * small).sum(axis=1, keepdims=True).astype(np.float64))
    scaled = np.rint(small * float(LENGTH) / np.where(norm > 0, norm, 1.0))
    result: Vectors = scaled.astype(np.int16)
    return result


def products(left: Vectors, right: Vectors) -> npt.NDArray[np.float32]:
    """The product of every row of `left` with every one of `right`: whole numbers, exact (see
    above). A cosine is one of them over ``LENGTH ** 2``."""
    result: npt.NDArray[np.float32] = left.astype(np.float32) @ right.astype(np.float32).T
    return result


def cosines(found: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """The cosines of `products`, at most 1, 4 decimals."""
    result: npt.NDArray[np.float64] = np.round(found.astype(np.float64) / LENGTH**2, 4)
    return np.minimum(result, 1.0)


def load_embedder(what: str) -> Embedder:
    """The embedder, for the stage `what`. Raises StageError where the package is not installed,
    AssetError where its files are others than those that this module knows."""
    from tokenizers import Tokenizer

    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise StageError(
            f"{what}: its vectors come with the package {PACKAGE}, which is not installed",
            hint="install the extra embed",
        )
    folder = Path(found.submodule_search_locations[0])
    raw = _checked(folder, _TABLE, _TABLE_SHA256)
    begin = 8 + int.from_bytes(raw[:8], "little")
    shape = json.loads(raw[8:begin])["embedding.weight"]["shape"]
    numbers = np.frombuffer(raw, "<f2", offset=begin).reshape(shape)
    table = np.rint(numbers.astype(np.float64) * _UNIT).astype(np.int32)
    tokens = _checked(folder, _TOKENS, _TOKENS_SHA256)
    return Embedder(table, Tokenizer.from_str(tokens.decode("utf-8")))


def _checked(folder: Path, name: Path, sha256: str) -> bytes:
    try:
        raw = (folder / name).read_bytes()
    except OSError as error:
        raise AssetError(
            f"{PACKAGE}/{name} cannot be read: {error.strerror}", hint=f"install {PACKAGE} again"
        ) from error
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise AssetError(
            f"{PACKAGE}/{name} is not the file that models were trained with",
            hint=f"install {PACKAGE} 0.4.0.post1",
        )
    return raw
