"""Groups, survivors and signals of exact deduplication, worked out by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest

from corpusmill.pipeline.document import Document, Drop
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.stages.dedup.exact import STAGE, ExactParams

TEXT = "Été à la plage"


def kinds(outcomes: list[Any]) -> list[str]:
    return [o.reason if isinstance(o, Drop) else "kept" for o in outcomes]


@pytest.mark.parametrize(
    ("normalise", "copies"),
    [("none", 2), ("whitespace", 3), ("fold", 5)],
)
def test_what_counts_as_the_same_text(make: Any, run: Any, normalise: Any, copies: int) -> None:
    texts = [TEXT, TEXT, f"\n {TEXT.replace(' ', chr(0xA0))}\t", TEXT.upper(),
             "E\u0301te\u0301 a\u0300 la plage", "Ete a la plage"]  # fmt: skip
    docs = [make(n, t) for n, t in enumerate(texts)]
    _, outcomes, _ = run(STAGE(ExactParams(normalise=normalise)), docs)
    group = docs[:copies]
    best = min(doc.id for doc in group)
    for doc, outcome in zip(docs, outcomes, strict=True):
        if doc in group and doc.id != best:
            assert outcome == Drop("duplicate_content", best)
        else:
            assert doc.signals == {"exact_copies": copies if doc.id == best else 1}


def test_survivors(make: Any, run: Any) -> None:
    dates = ["2026-01-01T00:00:00Z", "2026-03-01T00:00:00.5Z", "2026-03-01T00:00:00Z"]
    spaces = ["", " ", "\n\n"]
    docs = [
        make(n, TEXT + space, date=date)
        for n, (date, space) in enumerate(zip(dates, spaces, strict=True))
    ]
    docs.append(make(3, TEXT))  # no date
    for keep, survivor in (("newest", docs[1]), ("longest", docs[2])):
        _, outcomes, _ = run(STAGE(ExactParams(keep=keep)), docs)  # type: ignore[arg-type]
        assert [o for o in outcomes if isinstance(o, Document)] == [survivor]
    same = [make(n, TEXT, date=dates[0]) for n in range(10)]
    for keep in ("newest", "longest", "smallest_id"):
        _, outcomes, _ = run(STAGE(ExactParams(keep=keep)), same)  # type: ignore[arg-type]
        assert [o.id for o in outcomes if isinstance(o, Document)] == [min(d.id for d in same)]


def test_urls(make: Any, run: Any) -> None:
    docs = [
        make(0, "one", url="http://E.org/a?utm_source=x"),
        make(1, "two", url="https://e.org/a#frag"),
        make(2, "two", url="https://e.org/b"),
        make(3, "three"),
        make(4, "four"),
    ]
    stage = STAGE(ExactParams(by="url"))
    verdicts, outcomes, _ = run(stage, docs)
    first = min(docs[:2], key=lambda d: d.id)
    other = docs[1] if first is docs[0] else docs[0]
    assert set(verdicts) == {docs[0].id, docs[1].id}
    assert outcomes[docs.index(other)] == Drop("duplicate_url", first.id)
    assert [d.signals.get("url_copies") for d in (first, *docs[2:])] == [2, 1, 1, 1]
    assert stage.reasons == ("duplicate_url",)
    assert stage.writes == {"url_copies": "int"}


def test_empty_texts_are_nobodys_copies(make: Any, run: Any) -> None:
    docs = [make(0, ""), make(1, " \n"), make(2, "x")]
    _, outcomes, _ = run(STAGE(ExactParams()), docs)
    assert kinds(outcomes) == ["kept"] * 3
    _, outcomes, _ = run(STAGE(ExactParams(empty="drop")), docs)
    assert kinds(outcomes) == ["empty_text", "empty_text", "kept"]
    _, outcomes, _ = run(STAGE(ExactParams()), [])
    assert outcomes == []


def test_the_same_for_any_order_partitions_and_batches(make: Any, run: Any) -> None:
    r = random.Random(3)
    docs = [make(n, f"text {r.randrange(120)}") for n in range(300)]
    want, outcomes, _ = run(STAGE(ExactParams(keep="longest")), docs)
    texts = {doc.text for doc in docs}
    assert kinds(outcomes).count("kept") == len(texts)
    assert sum(int(d.signals["exact_copies"]) for d in outcomes if isinstance(d, Document)) == 300
    for partitions, batch, shuffle in ((4, 7, 1), (16, 300, 2), (1, 1, None)):
        again, _, _ = run(
            STAGE(ExactParams(keep="longest")), docs,
            partitions=partitions, batch=batch, shuffle=shuffle,
        )  # fmt: skip
        assert again == want


def test_the_guard_and_large_groups(make: Any, run: Any) -> None:
    docs = [make(n, f"text {n % 3}", host=f"h{n}.example") for n in range(10)]
    docs.append(make(10, ""))
    for partitions in (1, 4):
        _, _, ctx = run(
            STAGE(ExactParams(max_removed_share=0.7, large_group=4)), docs, partitions=partitions
        )
        best = min(docs[0:10:3], key=lambda d: d.id)
        others = sorted(doc.id for doc in docs[0:10:3] if doc is not best)
        assert ctx.notes("tally") == [
            {"documents": 10, "groups": 3, "removed": 7,
             "large_groups": [[best.id, 4, best.meta["host"], others]]}
        ]  # fmt: skip
        with pytest.raises(StageError, match=r"7 of 10 documents have a text .* = 0\.69"):
            run(STAGE(ExactParams(max_removed_share=0.69)), docs, partitions=partitions)
    for wrong in ({"max_removed_share": 1.1}, {"large_group": 1}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            ExactParams(**wrong)


def test_a_source_that_loses_too_much(make: Any, run: Any) -> None:
    docs = [make(n, f"text {n % 3 if n < 6 else n}") for n in range(20)]
    for doc in docs[3:6]:
        doc.source = "few"
    ids = sorted((doc.id, doc) for doc in docs)
    for place in (0, 3):  # the copies of the source "few" are those that go
        docs[place].id, docs[place + 3].id = sorted((docs[place].id, docs[place + 3].id))
    docs[1].id, docs[4].id = sorted((docs[1].id, docs[4].id))
    docs[2].id, docs[5].id = sorted((docs[2].id, docs[5].id))
    assert len(ids) == 20
    run(STAGE(ExactParams(max_source_share=1.0, max_removed_share=0.15)), docs)
    match = r"of the source 'few' 3 of 3 documents have a text .* max_source_share = 0\.99"
    with pytest.raises(StageError, match=match):
        run(STAGE(ExactParams(max_source_share=0.99)), docs)


def test_the_highest_signal_stays(make: Any, run: Any) -> None:
    scores = [0.25, None, 0.7500001, 0.75, -1.0]
    docs = [make(n, "one text") for n in range(5)]
    for doc, score in zip(docs, scores, strict=True):
        if score is not None:
            doc.signals["quality"] = score
    stage = STAGE(ExactParams(keep="highest", signal="quality"))
    assert stage.reads == ("quality",)
    _, outcomes, _ = run(stage, docs)
    best = min(docs[2].id, docs[3].id)  # equal in 6 decimals
    assert [o.id for o in outcomes if isinstance(o, Document)] == [best]
    docs[0].signals["quality"] = "high"
    with pytest.raises(StageError, match="'quality' is 'high'"):
        run(stage, docs)
    for wrong in ({"keep": "highest"}, {"signal": "quality"}):
        with pytest.raises(ConfigError, match="keep is"):
            ExactParams(**wrong)  # type: ignore[arg-type]
