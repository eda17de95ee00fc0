"""A set of canaries, and the test whether a model was trained on it.

A canary set is made from a secret key: short sentences about people and towns that do not exist, in
shards, each shard in an order that the key draws too. The shards are documents, to be put into a
mix. A model that never saw them has no reason to prefer this order to another; one that was trained
on them has. So the model's log-likelihood of each shard in its own order is compared with that in
other orders, drawn at random as the first one was (the exchangeability test of Oren et al. 2023,
"Proving Test Set Contamination in Black Box Language Models").

The p-value is exact. Of a shard it counts the other orders that are at least as likely as its own:
without training every count from none to all is equally probable, and the shards are independent,
so the distribution of the sum is that of as many fair dice. No model of the likelihoods is needed,
and ties only make the test more careful. (The paper's sharded test takes means and a t-test.)

What it cannot do: see a set that was read once or twice by a large model, or say how much of the
mix was read beside it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from corpusmill.pipeline.errors import AssetError, ConfigError, InputError
from corpusmill.stages.json_rows import RowWriter, read_rows

SCHEMA: Final = "corpusmill/canaries/1"


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_GIVEN: Final = _words(
    """
Adela Bruno Corin Dagny Elias Farida Gunnel Hamza Irena Jasper Katla Leandro Mirela Nadir Oona
Pavel Quenby Rosalba Sigurd Tamsin Ulises Verena Wendel Ximena Yorick Zelda Alaric Birgit Cosimo
Delphine Emrys Fenna Goran Hesper Isolde Jorun Kester Lucasta Malin Nestor Ottilie Piran Ragna
Silvan Tindra Ulrik Vasco Wilma Yngve Zora Anselm Bettina Casimir Dorrit Edvin Frida Gervase
Hilde Ivo Junia Kasimir Linnea Magnus Nerys
"""
)
_DID: Final = _words(
    """
repaired painted measured catalogued sold borrowed described carried inspected collected rented
photographed weighed numbered polished translated
"""
)
_KIND: Final = _words(
    """
copper wooden narrow quiet blue heavy broken folding square painted northern hollow silver woven
crooked patient
"""
)
_THING: Final = _words(
    """
lantern ladder barrel compass ledger kettle anchor curtain trumpet basket mirror sundial harness
saddle hammer cradle telescope wheelbarrow quilt signpost churn kite windmill clock
"""
)
_WHEN: Final = _words(
    "winter spring summer autumn harvest rains floods frosts drought eclipse fair"
)
_FIRST: Final = _words(
    "Alder Bram Corn Dun Elm Fern Gold Hazel Iron Juniper Kestrel Larch Marsh North Oak Plover"
)
_TOWN: Final = [
    first + last for first in _FIRST for last in _words("bridge field ford haven mere wick holm by")
]

MOST_PAIRS: Final = 20_000
"""Comparisons of a set, at most: the exact p-value counts throws of that size."""


@dataclass(frozen=True, slots=True)
class CanaryParams:
    """`shards` documents of `items` sentences each; `orders` other orders of each to compare with.
    The least p-value is ``(1 / (orders + 1)) ** shards``."""

    shards: int = 20
    items: int = 12
    orders: int = 50

    def __post_init__(self) -> None:
        for name, least, most in (("shards", 1, 10_000), ("items", 2, 1000), ("orders", 1, 10_000)):
            if not least <= getattr(self, name) <= most:
                raise ConfigError(f"canary: {name}={getattr(self, name)} is not in {least}..{most}")
        if self.shards * self.orders > MOST_PAIRS:
            raise ConfigError(
                f"canary: {self.shards} shards times {self.orders} orders: above {MOST_PAIRS}",
                hint="the p-value is small enough with fewer, and each is a pass of the model",
            )


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ahead`: shards of which no other order is as likely as their own. `beaten`: other orders
    that are at least as likely, over all shards, of `pairs`; half of them are expected of a model
    that was not trained on the set. `p_value`: how probable so few are, or fewer, for such a model.
    `gain`: by how much the own order is more likely than the mean of the others, in the unit of the
    likelihoods, mean over the shards, 6 decimals."""

    shards: int
    orders: int
    ahead: int
    beaten: int
    pairs: int
    p_value: str
    gain: float


class _Draws:
    """Numbers from a key and a name: the same on every machine."""

    def __init__(self, key: bytes, name: str) -> None:
        self._key, self._name, self._at = key, name.encode(), 0

    def below(self, n: int) -> int:
        """A number below `n` < 2**32, of 64 drawn bits: even to one part in 2**32."""
        said = self._name + b"\0" + str(self._at).encode()
        self._at += 1
        digest = hashlib.blake2b(said, digest_size=8, key=self._key, person=b"corpusmill-can")
        return int.from_bytes(digest.digest(), "big") * n >> 64

    def shuffled(self, things: Sequence[str]) -> list[str]:
        """`things` in an order of which each is equally probable."""
        mixed = list(things)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.below(last + 1)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed


def sentences(key: bytes, shard: int, items: int) -> list[str]:
    """The sentences of a shard, in its own order. Drawn independently of each other, so that no
    order is more natural than another."""
    draw = _Draws(key, f"items {shard}")

    def one(words: Sequence[str]) -> str:
        return words[draw.below(len(words))]

    return [
        f"{one(_GIVEN)} {one(_DID)} {2 + draw.below(97)} {one(_KIND)} {one(_THING)}s and a "
        f"{one(_KIND)} {one(_THING)} in the {one(_WHEN)} of {1700 + draw.below(320)}, "
        f"near {one(_TOWN)}."
        for _ in range(items)
    ]


def commitment(key: bytes) -> str:
    """The digest by which a set names its key."""
    return "sha256:" + hashlib.sha256(b"corpusmill/canary-key/1\0" + key).hexdigest()


def queries(key: bytes, params: CanaryParams) -> Iterator[dict[str, Any]]:
    """Texts to be scored: ``{"id": "shard-order", "text"}``; order 0 is the shard's own."""
    for shard in range(params.shards):
        own = sentences(key, shard, params.items)
        draw = _Draws(key, f"orders {shard}")
        yield {"id": f"{shard}-0", "text": "\n".join(own)}
        for order in range(1, params.orders + 1):
            yield {"id": f"{shard}-{order}", "text": "\n".join(draw.shuffled(own))}


def make(key: bytes, out: Path, params: CanaryParams | None = None) -> dict[str, Any]:
    """Writes a set into the new folder `out`: ``documents.jsonl`` (to be put into a mix),
    ``queries.jsonl.gz`` (to be scored by a model), ``canaries.json``. Returns the last.

    Raises ConfigError where `out` exists.
    """
    params = params or CanaryParams()
    try:
        out.mkdir(parents=True)
    except FileExistsError as exc:
        raise ConfigError(f"{out}: exists", hint="name a folder that does not") from exc
    digest = hashlib.sha256()
    with RowWriter(out / "documents.jsonl") as documents:
        for shard in range(params.shards):
            text = "\n".join(sentences(key, shard, params.items))
            digest.update(hashlib.sha256(text.encode()).digest())
            documents.write({"id": f"canary-{shard}", "text": text})
    with RowWriter(out / "queries.jsonl.gz") as file:
        for row in queries(key, params):
            file.write(row)
    card = {
        "schema": SCHEMA, "key": commitment(key), "digest": digest.hexdigest(), **asdict(params),
    }  # fmt: skip
    (out / "canaries.json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    return card


def load(folder: Path) -> CanaryParams:
    """What a set was made with. Raises AssetError where there is none or of another schema."""
    path = folder / "canaries.json"
    try:
        card = json.loads(path.read_text("utf-8"))
        if card["schema"] != SCHEMA:
            raise AssetError(f"{path}: schema {card['schema']!r}, not {SCHEMA!r}")
        return CanaryParams(int(card["shards"]), int(card["items"]), int(card["orders"]))
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise AssetError(f"{path}: no canary set: {exc!r}") from exc


def read_scores(folder: Path, scores: Path) -> Verdict:
    """The verdict on a model from its scores, rows ``{"id", "logprob"}`` for every row of the set's
    queries. `logprob` is the sum over the tokens of the text, in any unit. Raises InputError for a
    score that is missing, twice there, of no query or no finite number."""
    params = load(folder)
    found: dict[str, float] = {}
    wanted = {f"{s}-{o}" for s in range(params.shards) for o in range(params.orders + 1)}
    for number, row in read_rows(scores):
        name, score = row.get("id"), row.get("logprob")
        place = f"{scores}: line {number}"
        if name not in wanted or name in found:
            raise InputError(f"{place}: {name!r} is no query of {folder}, or is there twice")
        if (
            isinstance(score, bool)
            or not isinstance(score, int | float)
            or not math.isfinite(score)
        ):
            raise InputError(f"{place}: logprob {score!r} is no finite number")
        found[name] = float(score)
    missing = len(wanted) - len(found)
    if missing:
        raise InputError(f"{scores}: {missing} of {len(wanted)} queries have no score")
    return judge(
        [[found[f"{s}-{o}"] for o in range(params.orders + 1)] for s in range(params.shards)]
    )


def judge(shards: Sequence[Sequence[float]]) -> Verdict:
    """The verdict on likelihoods: of each shard that of its own order, then those of the others, as
    many for each shard."""
    orders = len(shards[0]) - 1
    counts = [sum(other >= own for other in others) for own, *others in shards]
    gains = [own - math.fsum(others) / len(others) for own, *others in shards]
    return Verdict(
        len(shards), orders, counts.count(0), sum(counts), orders * len(shards),
        p_value(sum(counts), orders, len(shards)), round(math.fsum(gains) / len(gains), 6),
    )  # fmt: skip


def p_value(total: int, orders: int, shards: int) -> str:
    """The probability that `shards` fair dice with the sides 0 to `orders` show `total` together,
    or less: the number of such throws, counted exactly, over that of all, to four figures."""
    ways = [1] + [0] * total
    for _ in range(shards):
        running = 0
        sums = []
        for value in range(total + 1):
            running += ways[value] - (ways[value - orders - 1] if value > orders else 0)
            sums.append(running)
        ways = sums
    return f"{Decimal(sum(ways)) / Decimal((orders + 1) ** shards):.3e}"
