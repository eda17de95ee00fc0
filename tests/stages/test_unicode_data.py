"""The pinned tables: the same on every Python, and equal to Python's own where that knows."""

from __future__ import annotations

import hashlib
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.errors import IntegrityError
from corpusmill.stages import unicode_data

SCALARS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]

UGLY = st.text(
    st.one_of(
        st.sampled_from("aAzZ09 _'-\n\r\t\u00ad\u200d\u200b\u0345\u0301\u0327\u0308\u0323\u3099"),
        st.sampled_from("ßẞİıſŉǅΣςᾳᾼΐﬁＡｶﾞ가각日本かガไทยกำខ្មែរမြန်မာèé"),
        st.characters(exclude_categories=["Cs", "Cn"]),
    ),
    max_size=40,
)


def test_every_code_point_gives_the_same_on_every_python() -> None:
    t = unicode_data.tables()
    h = hashlib.sha256()
    for array in (t.category, t.flags, t.script, t.ccc):
        h.update(array.tobytes())
    h.update("\n".join(map(unicode_data.fold, SCALARS)).encode())
    h.update("\n".join(unicode_data.fold(c, marks=False) for c in SCALARS[:0x3000]).encode())
    assert h.hexdigest() == "3fa0ef895295cf9a424147726ef37904043640b910de70ea6377be8eaac65743"


def test_classes_equal_pythons_own_on_code_points_that_it_knows() -> None:
    for char in SCALARS:
        category = unicodedata.category(char)
        if category == "Cn":  # not known yet to the oldest supported tables (3.11: Unicode 14.0)
            continue
        flags = unicode_data.flags_of(char)
        assert unicode_data.category_of(char) == category, ascii(char)
        assert bool(flags & unicode_data.SPACE) == char.isspace(), ascii(char)
        if not flags & unicode_data.IGNORABLE:
            assert bool(flags & unicode_data.ALPHA) == char.isalpha(), ascii(char)
            assert bool(flags & unicode_data.DIGIT) == char.isdecimal(), ascii(char)
            assert unicode_data.is_word(char) == (category[0] in "LMN"), ascii(char)


@pytest.mark.parametrize(
    ("char", "script"),
    [("日", "han"), ("〇", "han"), ("か", "kana"), ("ー", "kana"), ("ﾞ", "kana"), ("ไ", "thai"),
     ("ລ", "lao"), ("ខ", "khmer"), ("မ", "myanmar"), ("가", "other"), ("ا", "other"),
     ("๕", "other"), ("。", "other"), ("a", "other"), ("\u0301", "other")],
)  # fmt: skip
def test_script(char: str, script: str) -> None:
    number = int(unicode_data.tables().script[ord(char)])
    assert unicode_data.SCRIPTS[number] == script
    assert bool(unicode_data.flags_of(char) & unicode_data.UNSPACED) == (script != "other")


def oracle(text: str) -> str:
    kept = "".join(c for c in text if not unicode_data.flags_of(c) & unicode_data.IGNORABLE)
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", kept).casefold())


@settings(derandomize=True, deadline=None, max_examples=200)
@given(UGLY)
def test_fold_is_nfkd_casefold_nfkd_of_the_whole_text(text: str) -> None:
    assert unicode_data.fold(text) == oracle(text)
    assert unicode_data.fold(unicode_data.fold(text)) == unicode_data.fold(text)


@pytest.mark.parametrize(
    "texts",
    [("École", "ÉCOLE", "e\u0301cole", "E\u0301COLE", "ÉCO\u00adLE"),
     ("straße", "STRASSE", "STRAẞE"),
     ("ﬁve", "FIVE", "ｆｉｖｅ"), ("ΌΣΟΣ", "όσος", "ΌΣΟς"), ("ガ", "ｶﾞ", "カ\u3099"),
     ("ᾳ\u0301", "α\u0301\u0345", "α\u0345\u0301", "ΑΙ".replace("Ι", "\u0301Ι"))],
)  # fmt: skip
def test_spellings_agree(texts: tuple[str, ...]) -> None:
    assert len({unicode_data.fold(t) for t in texts}) == 1


def test_fold_without_marks() -> None:
    assert unicode_data.fold("Ångström É", marks=False) == "angstrom e"
    assert unicode_data.fold("Ångström", marks=True) == "a\u030angstro\u0308m"


def test_a_long_run_of_marks_is_put_in_order() -> None:
    text = "e" + "\u0301\u0323" * 5000
    assert unicode_data.fold(text) == "e" + "\u0323" * 5000 + "\u0301" * 5000


def test_collapse_space() -> None:
    assert unicode_data.collapse_space(" \u3000a\t\r\n b\u00a0\u2028c\x1f") == "a b c"
    assert unicode_data.collapse_space("\u200b") == "\u200b"
    assert unicode_data.collapse_space("\n") == ""


def test_class_pattern_in_a_regular_expression() -> None:
    import re

    digits = re.compile("[" + unicode_data.class_pattern(unicode_data.DIGIT) + "]+")
    assert digits.findall("a12 ٣٤ ² ๕") == ["12", "٣٤", "๕"]


def test_other_bytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    unicode_data.tables.cache_clear()
    monkeypatch.setattr(unicode_data, "PAYLOAD_SHA256", "0" * 64)
    with pytest.raises(IntegrityError, match=r"unicode\.bin: sha256"):
        unicode_data.tables()
    monkeypatch.undo()
    unicode_data.tables.cache_clear()
