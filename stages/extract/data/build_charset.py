"""Writes ``charset.bin``, the model of `corpusmill.stages.extract.charset_model`.

    python stages/extract/data/build_charset.py udhr.jsonl.gz stages/extract/data/charset.bin

The input has one sentence a line: ``{"lang": "ces", "text": "…"}``, the Universal Declaration of
Human Rights (public domain). Prints the SHA-256 that stands in the module.

The file is one zlib stream, little-endian: 3 uint32 (bytes of the names, pairs, entries); names;
pairs uint32; `alone` and `after`, int16 by class and language; place uint32 and score int16 of each
entry whose pair was seen in its language.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import struct
import sys
import unicodedata
import zlib
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from corpusmill.stages.extract.charset_chars import FREQUENT
from corpusmill.stages.extract.charset_model import BOUNDARY, UNIT, classes

LANGUAGES = [
    "eng",
    "fra",
    "deu_1901",
    "spa",
    "por_BR",
    "ita",
    "cat",
    "glg",
    "eus",
    "nld",
    "dan",
    "nob",
    "swe",
    "fin",
    "isl",
    "fao",
    "est",
    "lav",
    "lit",
    "pol",
    "ces",
    "slk",
    "slv",
    "hrv",
    "bos_latn",
    "hun",
    "ron_1953",
    "als",
    "tur",
    "mlt",
    "epo",
    "cym",
    "gle",
    "vie",
    "hau_NG",
    "rus",
    "ukr",
    "bel",
    "bul",
    "srp_cyrl",
    "mkd",
    "ell_monotonic",
    "heb",
    "arb",
    "pes_1",
    "urd",
    "tha",
    "jpn",
    "cmn_hans",
    "cmn_hant",
    "kor",
]
STRENGTH = 12.0
"""Weight of a class's own rate beside what was seen behind another one."""
RARE = 2e-6
"""Rate of a letter that a language was never seen to have."""
LATIN = frozenset(LANGUAGES[: LANGUAGES.index("rus")]) - {"vie"}
FOREIGN = {"éèëïöüäáàç": 4e-4, "êâåãíìîóòôõøúùûñæœšžčć": 3e-5}
"""Letters of names and loanwords, which any Latin text may have, and their rates."""
KATAKANA = (
    "ンーイスルトリアラクシドフグロックタテムプマレメデサセウジキュャョバコパオニナエカネモワソツ"
)
"""Frequent in texts of today, rare in that of the Declaration."""
TITLE, CAPITALS = 0.1, 0.03
"""Share of words that begin with a capital, or are all capitals, beyond those of the texts."""


def legacy(text: str) -> str:
    """As old encodings have it: Romanian with cedillas; Vietnamese with its marks of tone apart."""
    return text.translate({0x218: 0x15E, 0x219: 0x15F, 0x21A: 0x162, 0x21B: 0x163})


def vietnamese(text: str) -> str:
    """As windows-1258 has it: vowels composed, the marks of tone behind them. (A mark of the vowel
    may stand behind one of tone: U+0323 sorts first.)"""
    parts: list[str] = []
    for char in unicodedata.normalize("NFD", text):
        if parts and char in "\u0302\u0306\u031b":
            at = -2 if parts[-1] == "\u0323" and len(parts) > 1 else -1
            parts[at] = unicodedata.normalize("NFC", parts[at] + char)
        else:
            parts.append(char)
    return "".join(parts)


def counted(texts: list[str]) -> Counter[tuple[int, int]]:
    table = classes()
    found: Counter[tuple[int, int]] = Counter()
    for text, weight in [
        *((t, 1.0) for t in texts), *((t.title(), TITLE) for t in texts),
        *((t.upper(), CAPITALS) for t in texts),
    ]:  # fmt: skip
        before = BOUNDARY
        for char in text + "\n":
            now = int(table.of[min(ord(char), 0xFFFF)])
            if table.symbols[now]:
                now = BOUNDARY
            found[before, now] += weight  # type: ignore[assignment]
            before = now
    return found


def main(source: str, target: str) -> None:
    texts: defaultdict[str, list[str]] = defaultdict(list)
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["lang"] in LANGUAGES:
                texts[row["lang"]].append(
                    vietnamese(row["text"]) if row["lang"] == "vie" else legacy(row["text"])
                )
    table = classes()
    n = len(LANGUAGES)
    alone = np.zeros((table.count, n), np.int16)
    after = np.zeros((table.count, n), np.int16)
    seen: dict[int, dict[int, int]] = defaultdict(dict)
    for column, language in enumerate(LANGUAGES):
        counts = counted(texts[language])
        single: Counter[int] = Counter()
        context: Counter[int] = Counter()
        for (before, now), times in counts.items():
            single[now] += times
            context[before] += times
        whole = sum(single.values())
        for rank, char in enumerate(FREQUENT.get(language, "")):
            single[int(table.of[ord(char)])] += whole / 8 / (rank + 10)  # type: ignore[assignment]
        if language == "jpn":
            for char in KATAKANA:
                single[int(table.of[ord(char)])] += whole * 0.004  # type: ignore[assignment]
        whole = sum(single.values())
        if language in LATIN:
            for chars, share in FOREIGN.items():
                for char in chars:
                    single[int(table.of[ord(char)])] += whole * share  # type: ignore[assignment]
        rate = [(single[c] / whole + RARE * table.size[c]) for c in range(table.count)]
        for c in range(table.count):
            alone[c, column] = round(UNIT * math.log(rate[c] / table.size[c]))
            after[c, column] = round(UNIT * math.log(STRENGTH / (context[c] + STRENGTH)))
        for (before, now), times in counts.items():
            if now == BOUNDARY == before:
                continue
            p = (times + STRENGTH * rate[now]) / (context[before] + STRENGTH)
            seen[before * table.count + now][column] = round(UNIT * math.log(p / table.size[now]))
    pairs = sorted(seen)
    places = [(i * n + c, s) for i, pair in enumerate(pairs) for c, s in sorted(seen[pair].items())]
    names = " ".join(LANGUAGES).encode()
    data = b"".join([
        struct.pack("<3I", len(names), len(pairs), len(places)), names,
        np.array(pairs, "<u4").tobytes(), alone.astype("<i2").tobytes(),
        after.astype("<i2").tobytes(), np.array([p for p, _ in places], "<u4").tobytes(),
        np.array([s for _, s in places], "<i2").tobytes(),
    ])  # fmt: skip
    packed = zlib.compress(data, 9)
    Path(target).write_bytes(packed)
    print(hashlib.sha256(packed).hexdigest(), len(packed), "bytes,", len(pairs), "pairs")


if __name__ == "__main__":
    main(*sys.argv[1:])
