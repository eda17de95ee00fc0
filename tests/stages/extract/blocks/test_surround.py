"""Pages with made sections: what is added is beside the text, and the same each time."""

from __future__ import annotations

from corpusmill.stages.extract.blocks.passes import analyse, page_markup
from corpusmill.stages.extract.blocks.surround import Pool, section, surrounded
from corpusmill.stages.extract.blocks.train import block_texts

TEXTS = [f"Paragraph {i} of the keeper's own long and careful story." for i in range(6)]
PAGE = "<html><body><div><article>" + "".join(f"<p>{t}</p>" for t in TEXTS) + "</article></div>"
MARKUP = page_markup(PAGE)
POOL = Pool(
    (("a.example", "Boats & ropes", ("Ten boats lie in the harbour below the old lamp.",)),
     ("b.example", "Own", ("Never taken for a page of the same site.",))),
    (("c.example", "I do not agree with this at all."),),
)  # fmt: skip


def made(key: str) -> bytes | None:
    return surrounded(MARKUP, TEXTS, range(6), key, POOL, "b.example")


def test_the_text_stays_and_something_is_added() -> None:
    found = [m for m in (made(str(i)) for i in range(40)) if m is not None]
    assert 15 <= len(found) <= 36
    added = 0
    for markup in found:
        texts = block_texts(analyse(markup))
        assert [t for t in texts if t in TEXTS] == TEXTS
        added += len(texts) - len(TEXTS)
        assert b"Never taken" not in markup
    assert added > len(found)


def test_draws_are_keyed_by_the_page() -> None:
    assert [made(str(i)) for i in range(5)] == [made(str(i)) for i in range(5)]
    assert len({made(str(i)) for i in range(20)}) > 5


def test_too_little_text_is_left_alone() -> None:
    assert surrounded(MARKUP, TEXTS, range(3), "1", POOL, "b.example") is None
    assert all(surrounded(b"<p>x", TEXTS, range(6), str(i), POOL, "b.") is None for i in range(9))


def test_sections_are_escaped() -> None:
    import random

    made_ones = [section(random.Random(i), POOL, "b.example") for i in range(60)]
    assert any("Boats &amp; ropes" in s for s in made_ones)
    assert not any("Boats & ropes" in s for s in made_ones)
