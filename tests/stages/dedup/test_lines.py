"""Lines that stand in many documents: counts, spans and texts worked out by hand."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.document import Document, Drop
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.stages.dedup.lines import STAGE, LinesParams, without
from corpusmill.stages.unicode_data import IGNORABLE, fold, tables

MENU = "Home | About us | Contact us"
NOTE = "Copyright of everybody, 2026"


def body(n: int) -> str:
    return f"This is the own text of page {n}."


def test_a_hosts_frame_goes_and_texts_are_mended(make: Any, run: Any) -> None:
    texts = [
        f"{MENU}\n\n{body(0)}\n\n{NOTE}\n",
        f"{MENU}\r\n{body(1)}\r\n{NOTE}",
        f"  {MENU.upper()} \n{body(2)}\n{NOTE}\n\nMore of it.\n",
        f"{body(3)}\n\n{MENU}\n\n{NOTE}\n\nMore of it here.\n",
        f"{MENU}\n{NOTE}\n\n",
        "",
    ]
    docs = [make(n, text, host="a.example") for n, text in enumerate(texts)]
    other = [make(10 + n, f"{MENU}\n{body(n)}", host="b.example") for n in range(4)]
    verdicts, outcomes, ctx = run(STAGE(LinesParams(documents=0)), docs + other)
    assert [doc.text for doc in docs if doc in outcomes] == [
        body(0),
        body(1),
        f"{body(2)}\n\nMore of it.\n",
        f"{body(3)}\n\nMore of it here.\n",
        "",
    ]
    assert outcomes[4] == Drop("only_boilerplate", 2)
    assert [doc.text for doc in other] == [f"{MENU}\n{body(n)}" for n in range(4)]
    assert docs[0].signals == {
        "lines_removed": 2, "lines_removed_chars": len(texts[0]) - len(body(0)),
    }  # fmt: skip
    assert docs[0].meta["text_sha256_raw"] == hashlib.sha256(texts[0].encode()).hexdigest()
    assert docs[5].signals == other[0].signals == {"lines_removed": 0, "lines_removed_chars": 0}
    assert "text_sha256_raw" not in docs[5].meta
    assert set(verdicts) == {doc.id for doc in docs[:5]}
    assert verdicts[docs[3].id]["spans"] == [
        texts[3].index(MENU), texts[3].index("More"),
    ]  # fmt: skip
    assert ctx.notes("tally")[0]["frame_lines"] == 2
    assert ctx.notes("tally")[0]["documents"] == 10


@pytest.mark.parametrize(
    ("params", "on", "of", "goes"),
    [
        ({}, 5, 25, True),
        ({}, 5, 26, False),  # .2 of 26 is 5.2
        ({}, 4, 4, False),
        ({"host_documents": 2, "host_share": 1.0}, 2, 2, True),
        ({"host_documents": 2, "host_share": 1.0}, 2, 3, False),
        ({"host_documents": 0}, 9, 9, False),
    ],
)
def test_how_many_documents_of_a_host(
    make: Any, run: Any, params: dict[str, Any], on: int, of: int, goes: bool
) -> None:
    docs = [
        make(n, f"{MENU}\n{MENU}\n{body(n)}" if n < on else body(n), host="a.example")
        for n in range(of)
    ]
    run(STAGE(LinesParams(documents=0, **params)), docs)
    assert [doc.signals["lines_removed"] for doc in docs] == [
        2 * goes * (n < on) for n in range(of)
    ]


@pytest.mark.parametrize(
    ("hosts", "goes"),
    [([1, 1, 2, 2, 3], False), ([1, 1, 2, 3, 4], True), ([1, 2, 3, 4], False),
     ([1, 1, 2, None, None], True), ([None] * 5, True)],
)  # fmt: skip
def test_how_many_hosts(make: Any, run: Any, hosts: list[int | None], goes: bool) -> None:
    docs = [
        make(n, f"{MENU}\n{body(n)}", **({"host": f"h{h}"} if h else {}))
        for n, h in enumerate(hosts)
    ]
    run(STAGE(LinesParams(host_documents=0, documents=5, hosts=4)), docs)
    assert {doc.signals["lines_removed"] for doc in docs} == {int(goes)}


def test_paragraphs_go_whole(make: Any, run: Any) -> None:
    frame = f"{MENU}\n{NOTE}"
    docs = [make(n, f"{body(n)}\n\n{frame}\n\n{MENU}\nand {n}", host="h") for n in range(5)]
    run(STAGE(LinesParams(unit="paragraph")), docs)
    assert [doc.text for doc in docs] == [f"{body(n)}\n\n{MENU}\nand {n}" for n in range(5)]
    assert docs[0].signals["lines_removed"] == 2


def test_short_lines_stay(make: Any, run: Any) -> None:
    docs = [make(n, f"fourteen chars\nfifteen chars !\n{body(n)}", host="h") for n in range(5)]
    run(STAGE(LinesParams()), docs)
    assert [doc.text for doc in docs] == [f"fourteen chars\n{body(n)}" for n in range(5)]


def test_a_line_is_as_long_as_it_is_written(make: Any, run: Any) -> None:
    """Both spellings of a line are equal; only the one of 18 code points is long enough to go."""
    short, long = "é" * 9, "e\u0301" * 9
    docs = [make(n, f"{long}\n{short}\n{body(n)}", host="h") for n in range(5)]
    run(STAGE(LinesParams()), docs)
    assert [doc.text for doc in docs] == [f"{short}\n{body(n)}" for n in range(5)]


def corpus(make: Any) -> list[Document]:
    r = random.Random(7)
    frames = [f"Frame line number {n} «É»" for n in range(30)]
    docs = []
    for n in range(300):
        parts = [r.choice([r.choice(frames[: r.choice([4, 30])]), "", f"Own line of text {r.randrange(10**6)}"])
                 for _ in range(r.randrange(9))]  # fmt: skip
        parts = [part.upper() if r.random() < 0.5 else part for part in parts]
        docs.append(make(n, r.choice(["\n", "\r\n"]).join(parts), host=f"h{n % 12}"))
    return docs


@pytest.mark.parametrize("params", [{}, {"documents": 20, "hosts": 9, "host_documents": 0}])
def test_the_same_for_any_order_and_partitions_and_as_counted_by_hand(
    make: Any, run: Any, params: dict[str, Any]
) -> None:
    stage = STAGE(LinesParams(host_documents=6) if not params else LinesParams(**params))
    want, _, _ = run(stage, corpus(make))
    assert 20 < len(want) < 300
    for partitions, batch, shuffle in ((4, 17, 1), (16, 1000, 2), (1, 1, 3)):
        again, _, _ = run(stage, corpus(make), partitions=partitions, batch=batch, shuffle=shuffle)
        assert again == want
    docs = corpus(make)
    on: Counter[tuple[str, str]] = Counter()
    pages = Counter(str(doc.meta["host"]) for doc in docs)
    for doc in docs:
        for line in {fold(line.strip()) for line in doc.text.splitlines()}:
            on[line, str(doc.meta["host"])] += 1
    p = stage.params
    frame = set()
    for (line, host), n in on.items():
        everywhere = [m for (other, _), m in on.items() if other == line]
        if len(line) >= 15 and (
            (p.host_documents and n >= max(p.host_documents, 0.2 * pages[host]))
            or (sum(everywhere) >= p.documents and len(everywhere) >= p.hosts)
        ):
            frame.add((line, host))
    for doc in docs:
        goes = [line for line in doc.text.splitlines()
                if (fold(line.strip()), doc.meta["host"]) in frame]  # fmt: skip
        assert want.get(doc.id, {"lines_removed": 0})["lines_removed"] == len(goes)
        if goes:
            left = without(doc.text, want[doc.id]["spans"]).splitlines()
            stay = [line for line in doc.text.splitlines() if line not in goes]
            assert [line for line in left if line] == [line for line in stay if line]


PIECES = st.sampled_from([MENU, MENU.lower(), NOTE, "own é", "", " ", "\u200d", "x" * 20])
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\u200d\n"])


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.lists(st.tuples(PIECES, ENDS), max_size=9), st.booleans())
def test_spans_hold_whole_lines_and_nothing_else(parts: Any, paragraph: bool) -> None:
    text = "".join(piece + end for piece, end in parts)
    stage = STAGE(LinesParams(unit="paragraph" if paragraph else "line"))
    found = stage.units([text, MENU])
    goes = found.chars[: found.start[1]] >= 15
    spans, count = found.cut(0, goes)
    assert spans == sorted(set(spans))
    left = without(text, spans)
    table = found.lines
    raw = text.encode()
    own = table.doc_start[1]
    lines = [
        (raw[a:b].decode(), int(u) >= 0 and bool(goes[u]))
        for a, b, u in zip(
            table.text_start[:own], table.text_end[:own], found.unit[:own], strict=True
        )
    ]
    assert count == sum(went for _, went in lines)
    kept = [line for line, went in lines if line and not went]
    again = stage.units([left])
    raw = left.encode()
    ends = zip(again.lines.text_start, again.lines.text_end, strict=True)
    assert [line for a, b in ends if (line := raw[a:b].decode())] == kept
    if not count:
        assert left == text


MORE = st.text(
    st.sampled_from(
        "aB .\t\x1c\n\r\x00\x7f\u00a0\u3000\u00ad\u0301\u0327\u0345éßﬁΐ가が日𝐀\u2028\x85"
    ),
    max_size=24,
)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(MORE, max_size=4), st.booleans())
def test_hashes_are_those_of_the_units(texts: list[str], paragraph: bool) -> None:
    stage = STAGE(LinesParams(unit="paragraph" if paragraph else "line"))
    found = stage.units(texts)
    start, hashes, chars = stage.hashes(texts)
    assert (start.tolist(), hashes.tolist(), chars.tolist()) == (
        found.start.tolist(), found.hash.tolist(), found.chars.tolist(),
    )  # fmt: skip


@pytest.mark.parametrize(
    "around", ["a{}b", "9 {} Ω seven letters more", "x" * 7 + "e\u0301{}\u0323"]
)
def test_lines_are_equal_where_their_folded_forms_are(around: str) -> None:
    t = tables()
    folds = np.flatnonzero((t.fold > 0) | (t.ccc > 0) | (t.flags & IGNORABLE > 0))
    codes = [*folds.tolist(), *range(0x20, 0x7F), *range(0x80, 0x110000, 997)]
    written = [around.format(chr(code)).strip() for code in codes]
    folded = [fold(line).strip() for line in written]
    stage = STAGE(LinesParams())
    _, hashes, chars = stage.hashes(written)
    assert chars.tolist() == [len(line) for line in written]
    _, again, _ = stage.hashes(folded)
    assert hashes.tolist() == again.tolist()
    assert len(set(hashes.tolist())) == len(set(folded)) > 4000


def test_long_lines_are_compared_to_their_end() -> None:
    r = random.Random(3)
    letters = "abcdefgh ijklmnop ÉñŒж日\u0301ﬁ\U0001d400\u1ec7"
    stage = STAGE(LinesParams())
    for length in (900, 960, 1024, 5000):
        line = "".join(r.choices(letters, k=length)) + "!"
        at = r.randrange(length - 9, length)
        other = line[:at] + "Q" + line[at + 1 :]
        early = "Q" + line[1:]
        _, hashes, _ = stage.hashes([line, fold(line), line.upper(), other, early])
        assert hashes[0] == hashes[1] == hashes[2]
        assert len(set(hashes.tolist())) == 3


def test_the_guard(make: Any, run: Any) -> None:
    docs = [make(n, f"{MENU}\n{n}", host="h") for n in range(5)]
    run(STAGE(LinesParams(max_removed_share=0.97)), docs)
    with pytest.raises(StageError, match="145 of 150 characters are in repeated lines"):
        run(STAGE(LinesParams(max_removed_share=0.96)), [
            make(n, f"{MENU}\n{n}", host="h") for n in range(5)
        ])  # fmt: skip


def test_params() -> None:
    for wrong in ({"min_chars": 0}, {"hosts": 0}, {"host_share": 1.5}, {"documents": -1}):
        with pytest.raises(ConfigError, match=f"{next(iter(wrong))} is"):
            LinesParams(**wrong)
    with pytest.raises(ConfigError, match="repeats nothing"):
        LinesParams(documents=1)


def test_verdicts_do_not_change_without_the_version(make: Any, run: Any) -> None:
    verdicts, _, _ = run(STAGE(LinesParams(host_documents=6)), corpus(make))
    digest = hashlib.sha256(json.dumps(verdicts, sort_keys=True).encode()).hexdigest()
    assert (STAGE.version, digest) == (
        3,
        "129e1c2b976e41db2248f70f84932cc17ec17089cd652b45b5492c8d4e3dfc21",
    )
