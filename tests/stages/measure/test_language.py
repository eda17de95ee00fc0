"""`measure.language`: floors on a committed set and on the full ones, each judge, each rule."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import ConfigError, IntegrityError
from corpusmill.stages.measure import language_model as model_module
from corpusmill.stages.measure.language import (
    Judges,
    MeasureLanguage,
    Params,
    Verdict,
    join,
    sample,
    settled,
)
from corpusmill.stages.measure.language_codes import CLD2_CODES, LANGID_CODES, LANGUAGES
from corpusmill.stages.measure.language_judges import First, ask_cld2, langid
from corpusmill.stages.measure.language_model import Opinion, language_model, pack, unpack
from corpusmill.stages.measure.language_sets import (
    UDHR,
    Labelled,
    articles,
    commands,
    declaration,
    joined,
    manuals,
    rows,
)

DATA = Path(__file__).parents[2] / "data" / "langid"


@pytest.fixture(scope="module")
def stage() -> MeasureLanguage:
    made = MeasureLanguage(Params())
    made.setup()
    return made


def measured(stage: MeasureLanguage, texts: list[str]) -> list[dict[str, Any]]:
    documents = [Document("0" * 32, text, "s") for text in texts]
    stage.apply(documents)
    return [dict(document.signals) for document in documents]


def shares(stage: MeasureLanguage, found: list[Labelled]) -> tuple[float, float, float]:
    """Share that is right, share right among those over 0.5, foreign share called English."""
    signals = measured(stage, [row.text for row in found])
    right = [s["lang"] == row.code for s, row in zip(signals, found, strict=True)]
    sure = [r for r, s in zip(right, signals, strict=True) if s["lang_score"] > 0.5]
    foreign = [s["lang"] == "en" for s, row in zip(signals, found, strict=True) if row.code != "en"]
    return sum(right) / len(right), sum(sure) / len(sure), sum(foreign) / len(foreign)


def test_a_text_in_two_languages_is_read_more_closely(stage: MeasureLanguage) -> None:
    """Of six pieces four fall on the only Spanish sentences of a page in English."""
    english = "The young animals sit mostly on old chains and on the stones of the former baths. "
    spanish = "Los animales jóvenes se sientan sobre todo en las piedras de los antiguos baños. "
    page = (english * 160)[:12_000]
    for piece in (0, 1, 3, 5):
        at = piece * (len(page) - 100) // 5
        page = page[:at] + (spanish * 2)[:150] + page[at + 150 :]
    assert sample(page, 600).count("Los") + sample(page, 600).count("los") > 4
    (first, closer) = measured(stage, [sample(page, 600), page])
    assert (first["lang"], first["lang_second"]) == ("es", "en")
    assert (closer["lang"], closer["lang_second"]) == ("en", "es")
    assert closer["lang_share"] > 0.8
    assert len(sample(page, 2400, 24).split("\n")) == 24


def test_committed_set(stage: MeasureLanguage) -> None:
    found = [Labelled(r["lang"], r["text"], "", "") for r in rows(DATA / "udhr_small.jsonl")]
    assert Counter(Counter(row.code for row in found).values()) == {4: 50}
    right, sure, english = shares(stage, found)
    assert right >= 0.99
    assert sure >= 0.99
    assert english == 0.0


def full() -> Path:
    folder = os.environ.get("CORPUSMILL_DATA")
    if folder is None:
        pytest.skip("CORPUSMILL_DATA is not set")
    return Path(folder)


@pytest.mark.fulldata
def test_declaration_that_the_model_did_not_see(stage: MeasureLanguage) -> None:
    unseen = [row for row in declaration(full()) if row.part != "train"]
    known = [row for row in unseen if row.name in UDHR]
    assert {row.code for row in known} == set(UDHR.values()) - {"dz"}  # has one
    right, sure, english = shares(stage, known)
    assert right >= 0.97
    assert sure >= 0.975
    assert english <= 0.005  # Scots, mostly
    right, sure, english = shares(stage, joined(known))
    assert right >= 0.98
    assert sure >= 0.98
    assert english <= 0.005
    # Languages that no judge names are mostly called undetermined, hardly ever English.
    hidden = [row.text for row in unseen if row.code.startswith("x-")][::3]
    found = Counter(s["lang"] for s in measured(stage, hidden))
    assert found["und"] >= 0.85 * len(hidden)
    assert found["en"] <= 0.005 * len(hidden)


@pytest.mark.fulldata
def test_other_kinds_of_text(stage: MeasureLanguage) -> None:
    right, sure, english = shares(stage, [r for r in commands(full()) if r.part != "train"])
    assert right >= 0.97
    assert sure >= 0.985
    assert english <= 0.008
    right, sure, english = shares(stage, articles(full()))
    assert right >= 0.995
    assert sure >= 0.998
    assert english <= 0.004
    # The labels of manuals are a rule's, and many of the pages are half translated.
    right, _, _ = shares(stage, manuals(full())[::3])
    assert right >= 0.95


def own(code: str, probability: float) -> Opinion:
    return Opinion(code, probability, "latin", 100, 1.0, "", 0.0)


@pytest.mark.parametrize(
    ("ours", "first", "second", "verdict"),
    [
        (("fr", 0.6), ("fr", 90), ("es", 1.0), Verdict("fr", 0.875, "agree")),
        (("zh", 0.6), ("zh-Hant", 90), ("zh", 1.0), Verdict("zh-Hant", 0.875, "agree")),
        (("sv", 0.6), ("und", 0), ("sv", 0.8), Verdict("sv", 0.85, "agree")),
        (("mai", 0.6), ("bih", 60), ("ne", 0.8), Verdict("mai", 0.8, "agree")),
        (("id", 0.95), ("ms", 80), ("ms", 0.8), Verdict("ms", 0.9, "agree")),
        # py3langid has no Scots, so that its English is no vote against it.
        (("sco", 0.8), ("en", 80), ("en", 0.8), Verdict("sco", 0.4, "model_only")),
        (("sco", 0.7), ("en", 80), ("en", 0.8), Verdict("en", 0.9, "agree")),
        (("bo", 0.95), ("dz", 80), ("dz", 0.8), Verdict("dz", 0.9, "agree")),
        (("x-kwi", 0.9), ("es", 80), ("es", 0.8), Verdict("und", 0.0, "none")),
        (("x-kwi", 0.8), ("es", 80), ("es", 0.8), Verdict("es", 0.9, "agree")),
        (("x-kwi", 0.8), ("und", 0), ("es", 0.6), Verdict("es", 0.3, "langid")),
        (("x-kwi", 0.8), ("und", 0), ("es", 0.4), Verdict("und", 0.0, "none")),
        (("tr", 0.95), ("az", 80), ("crh", 0.8), Verdict("crh", 0.4, "langid")),
        (("tr", 0.95), ("az", 80), ("crh", 0.6), Verdict("tr", 0.475, "model_only")),
        (("bn", 0.95), ("as", 80), ("hi", 0.6), Verdict("as", 0.4, "cld2")),
        (("pt", 0.4), ("gl", 60), ("es", 0.6), Verdict("gl", 0.3, "cld2")),
        (("pt", 0.4), ("und", 0), ("es", 0.6), Verdict("pt", 0.2, "model_only")),
    ],
)
def test_joining(
    ours: tuple[str, float], first: tuple[str, int], second: tuple[str, float], verdict: Verdict
) -> None:
    code, percent = first
    known = frozenset(language_model().classes) - {"as"}
    got = join(own(*ours), First(code, percent, "", 0, 500), *second, known)
    assert (got.code, round(got.score, 6), got.judges) == dataclasses.astuple(verdict)


def test_settled_by_script_or_by_our_model_alone() -> None:
    greek = Opinion("es", 0.2, "greek", 40, 0.9, "", 0.0)
    assert settled("…", greek) == Verdict("el", 1.0, "script")
    han = Opinion("zh", 0.99, "han", 10, 1.0, "", 0.0)
    assert settled("日本語の文章です。漢字", han) == Verdict("ja", 1.0, "script")
    assert settled("今天天气很好", han) is None  # under 15 letters
    assert settled("x", own("sv", 0.9)) == Verdict("sv", 0.9, "model")
    assert settled("x", own("sv", 0.89)) is None
    assert settled("x", own("nb", 0.99)) is None  # Danish looks like it
    assert settled("x", own("gaa", 0.99)) is None  # known from the declaration only
    assert settled("…", Opinion("", 0.0, "none", 0, 0.0, "", 0.0)) == Verdict("und", 0.0, "none")


def test_names_and_code_in_latin_letters_do_not_count(stage: MeasureLanguage) -> None:
    code = "The apache2 server reads httpd.conf and mod_rewrite rules when it starts up. "
    korean = "서버가 시작될 때 설정 파일을 읽습니다. 다시 시작하십시오. 서버를 중지합니다. "
    russian = "Сервер читает файл при запуске, затем открывает журнал и ждёт новых соединений. "
    for text, expected in ((code + korean, "ko"), (code + russian, "ru"), (code * 9 + "ру", "en")):
        (signals,) = measured(stage, [text])
        assert signals["lang"] == expected
    (signals,) = measured(stage, [code + russian])
    assert (signals["lang_second"], signals["lang_judges"]) == ("en", "model")
    assert signals["lang_share"] + signals["lang_second_share"] == pytest.approx(1.0, abs=1e-3)
    letters = sum(c.isalpha() for c in russian) / sum(c.isalpha() for c in code + russian)
    assert signals["lang_share"] == pytest.approx(letters, abs=0.02)


def test_scripts_of_one_language(stage: MeasureLanguage) -> None:
    texts = {
        "ka": "ყველა ადამიანი იბადება თავისუფალი", "am": "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው",
        "si": "සියලු මනුෂ්‍යයෝ නිදහස්ව උපත ලබා ඇත", "te": "ప్రతిపత్తిస్వత్వముల విషయమున మానవులెల్లరును",
        "or": "ସମସ୍ତ ମନୁଷ୍ୟ ଜନ୍ମକାଳରୁ ସ୍ୱାଧୀନ", "ja": "すべての人間は、生れながらにして自由である。",
    }  # fmt: skip
    for code, signals in zip(texts, measured(stage, list(texts.values())), strict=True):
        assert signals["lang"] == code


def test_no_letters_is_undetermined(stage: MeasureLanguage) -> None:
    for signals in measured(stage, ["", " \r\n", "12.5 % -- 2024", "🙂🙂", "\x00\x01"]):
        assert signals == {
            "lang": "und", "lang_score": 0.0, "lang_judges": "none", "lang_share": 0.0,
        }  # fmt: skip


def test_two_languages_are_both_named(stage: MeasureLanguage) -> None:
    english = "The committee will meet again in the autumn to decide on the new building. " * 4
    german = "Der Ausschuss tritt im Herbst wieder zusammen und entscheidet über den Neubau. " * 8
    (signals,) = measured(stage, [english + "\n" + german])
    assert (signals["lang"], signals["lang_second"]) == ("de", "en")
    assert 0.2 < signals["lang_second_share"] < 0.45  # a third, by pieces
    assert signals["lang_share"] + signals["lang_second_share"] == pytest.approx(1.0, abs=1e-3)


def test_control_characters_capitals_and_composition(stage: MeasureLanguage) -> None:
    text = "Où est la bibliothèque, s'il vous plaît ? Nous avons déjà demandé trois fois."
    dirty = "\x00" + text.replace(" ", "\x01 ") + "\ufffe\U0001ffff\x85\udc80"
    decomposed = text.replace("è", "e\u0300").replace("é", "e\u0301")
    for signals in measured(stage, [text, dirty, text.upper(), decomposed]):
        assert signals["lang"] == "fr"


def test_pieces_from_beginning_to_end_are_read() -> None:
    assert sample("abcdefghijkl", 12) == "abcdefghijkl"
    assert sample("aabbccddeeffg", 12) == "aa\nbb\ncc\ndd\nee\nfg"
    stage = MeasureLanguage(Params(chars=300))
    stage.setup()
    english = "The committee will meet again in the autumn to decide on the new building. " * 40
    german = "Der Ausschuss tritt im Herbst wieder zusammen und prüft den Neubau. " * 6
    hidden = english[:60] + german + english[:2400]
    assert [s["lang"] for s in measured(stage, [english, hidden])] == ["en", "en"]
    mostly_german = english[:60] + german * 6
    assert [s["lang"] for s in measured(stage, [mostly_german])] == ["de"]
    (signals,) = measured(stage, ["1 2 3 4 5 " * 300 + english[:100] + " 6 7 8 9" * 300])
    assert signals["lang"] == "en"  # the sample has no letter
    with pytest.raises(ConfigError):
        Params(chars=5)


def test_a_text_has_one_verdict_whatever_its_neighbours() -> None:
    texts = [row["text"] for row in rows(DATA / "udhr_small.jsonl")][::7]
    assert [judges().ask([text])[0] for text in texts] == judges().ask(texts)


def test_model_is_the_one_that_the_code_was_made_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = language_model()
    named = [code for code in model.classes if not code.startswith("x-")]
    assert set(named) <= set(LANGUAGES)
    assert model.columns.shape == (model.table.shape[1], len(model.classes))
    other = tmp_path / "language.bin"
    other.write_bytes(model_module.PATH.read_bytes()[:-1] + b"\x00")
    monkeypatch.setattr(model_module, "PATH", other)
    with pytest.raises(IntegrityError, match="its sha256 is"):
        language_model.__wrapped__()
    monkeypatch.setattr(model_module, "PATH", tmp_path / "none")
    with pytest.raises(IntegrityError, match="cannot be read"):
        language_model.__wrapped__()


def test_model_file_round_trip() -> None:
    random = np.random.default_rng(5)
    table = random.standard_normal((64, 8)).astype(np.float32)
    columns = random.standard_normal((3, 8)).astype(np.float32)
    made = unpack(pack(("a", "b", "x-c"), table, columns))
    assert made.classes == ("a", "b", "x-c")
    # The scores of a one-word text, worked out here from the numbers in the file.
    opinion = made.ask(["Zz"])[0]
    assert opinion.letters == 2
    assert opinion == made.ask(["zz"])[0]
    assert 1 / 3 <= opinion.probability <= 1
    with pytest.raises(ValueError, match="no language model"):
        unpack(b"PK")


def test_parts_of_the_sets_do_not_overlap() -> None:
    texts = [Labelled("en", text, part, "eng") for text, part in (("a", "train"), ("b", "final"))]
    assert [row.text for row in joined(texts * 4)] == ["a\na\na\na", "b\nb\nb\nb"]


def test_integers_agree_with_the_package() -> None:
    from py3langid.langid import LanguageIdentifier

    package = LanguageIdentifier.from_model_file("data/model.npz.xz", norm_probs=True)
    texts = [row["text"] for row in rows(DATA / "udhr_small.jsonl")][::3]
    for text, (code, probability) in zip(texts, langid().ask(texts), strict=True):
        label, theirs = package.classify(text)
        assert code == LANGID_CODES[label]
        if label not in ("zh", "yue", "wuu", "ar", "ary", "arz"):  # several labels, one code
            assert probability == pytest.approx(theirs, abs=2e-3)


def test_codes_cover_both_packages() -> None:
    import pycld2

    detected = {code for name, code in pycld2.LANGUAGES if name in pycld2.DETECTED_LANGUAGES}
    assert detected - set(CLD2_CODES) == {"zzp"}  # pig Latin
    assert set(langid().codes) <= set(LANGUAGES)
    assert len(LANGUAGES) == len(set(LANGUAGES))


@lru_cache(maxsize=1)
def judges() -> Judges:
    return Judges(600)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.text(max_size=200))
def test_any_text_has_a_verdict(text: str) -> None:
    first = ask_cld2(text)
    assert first.code in LANGUAGES
    assert 0 <= first.percent <= 100
    ((code, probability),) = langid().ask([text])
    assert code in LANGUAGES
    assert 0 <= probability <= 1
    ((verdict, opinion),) = judges().ask([text])
    assert verdict.code in LANGUAGES
    assert 0 <= verdict.score <= 1
    assert 0 <= opinion.share + opinion.second_share <= 1.0002
