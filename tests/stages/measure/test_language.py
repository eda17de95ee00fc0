"""`measure.language`: floors on a committed set and on the full ones, and each joining rule."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import ConfigError
from corpusmill.stages.measure.language import (
    First,
    MeasureLanguage,
    Params,
    Verdict,
    ask_cld2,
    join,
    langid,
)
from corpusmill.stages.measure.language_codes import CLD2_CODES, LANGID_CODES, LANGUAGES

DATA = Path(__file__).parents[2] / "data" / "langid"

# The declaration's files under codes other than ours; the rest have ISO 639-3 codes of their own.
UDHR = dict(
    pair.split("=")
    for pair in (
        "afr=af aka_asante=ak aka_fante=ak als=sq amh=am arb=ar ayr=ay azj_latn=az bel=be ben=bn "
        "bod=bo bos_latn=bs bre=br bul=bg cat=ca ceb=ceb ces=cs chr=chr cmn_hans=zh "
        "cmn_hant=zh-Hant cos=co crs=crs cym=cy dan=da deu=de deu_1901=de div=dv dzo=dz "
        "ell_monotonic=el eng=en epo=eo est=et eus=eu fao=fo fij=fj fin=fi fra=fr fri=fy gla=gd "
        "gle=ga glg=gl gug=gn guj=gu hat_kreyol=ht hau_NG=ha haw=haw heb=he hin=hi hrv=hr hun=hu "
        "hye=hy ibo=ig ike=iu ina=ia ind=id isl=is ita=it jav=jv jpn=ja kal=kl kan=kn kat=ka "
        "kaz=kk kha=kha khk=mn khm=km kin=rw kir=ky kor=ko lao=lo lat=la lav=lv lin=ln lit=lt "
        "ltz=lb lug=lg mal=ml mar=mr mkd=mk mlt=mt mri=mi mya=my nbl=nr nep=ne nld=nl nno=nn "
        "nob=nb nso=nso nya_chinyanja=ny pan=pa pes_1=fa plt=mg pol=pl por_BR=pt por_PT=pt quz=qu "
        "roh=rm ron=ro run=rn rus=ru sag=sg san=sa sco=sco slk=sk slv=sl smo=sm sna=sn som=so "
        "sot=st spa=es srp_cyrl=sr ssw=ss sun=su swe=sv swh=sw tam=ta tat=tt tgk=tg tgl=tl tha=th "
        "tir=ti ton=to tsn=tn tso_MZ=ts tuk_latn=tk tur=tr uig_arab=ug ukr=uk urd=ur uzn_latn=uz "
        "ven=ve vie=vi war=war wol=wo xho=xh ydd=yi yor=yo zul=zu"
    ).split()
)
TLDR = {"no": "nb", "pt_BR": "pt", "pt_PT": "pt", "zh_TW": "zh-Hant"}


@pytest.fixture(scope="module")
def stage() -> MeasureLanguage:
    made = MeasureLanguage(Params())
    made.setup()
    return made


def measured(stage: MeasureLanguage, texts: list[str]) -> list[dict[str, Any]]:
    documents = [Document("0" * 32, text, "s") for text in texts]
    stage.apply(documents)
    return [dict(document.signals) for document in documents]


def rows(path: Path) -> Iterator[dict[str, str]]:
    raw = path.read_bytes()
    if path.suffix == ".gz":
        raw = gzip.decompress(raw)
    yield from map(json.loads, raw.decode("utf-8").splitlines())


def shares(stage: MeasureLanguage, pairs: list[tuple[str, str]]) -> tuple[float, float, float]:
    """Share that is right, share right among those over 0.5, foreign share called English."""
    signals = measured(stage, [text for _, text in pairs])
    right = [s["lang"] == code for s, (code, _) in zip(signals, pairs, strict=True)]
    sure = [r for r, s in zip(right, signals, strict=True) if s["lang_score"] > 0.5]
    foreign = [s["lang"] == "en" for s, (code, _) in zip(signals, pairs, strict=True)
               if code != "en"]  # fmt: skip
    return sum(right) / len(right), sum(sure) / len(sure), sum(foreign) / len(foreign)


def test_committed_set(stage: MeasureLanguage) -> None:
    pairs = [(row["lang"], row["text"]) for row in rows(DATA / "udhr_small.jsonl")]
    assert Counter(Counter(code for code, _ in pairs).values()) == {4: 50}
    right, sure, english = shares(stage, pairs)
    assert right >= 0.98
    assert sure >= 0.98
    assert english == 0.0


def full(name: str) -> Path:
    folder = os.environ.get("CORPUSMILL_DATA")
    if folder is None:
        pytest.skip("CORPUSMILL_DATA is not set")
    return Path(folder) / "langid" / name


@pytest.mark.fulldata
def test_declaration_in_all_supported_languages(stage: MeasureLanguage) -> None:
    by_language: dict[str, list[str]] = defaultdict(list)
    unknown: dict[str, list[str]] = defaultdict(list)
    for row in rows(full("udhr.jsonl.gz")):
        known = UDHR.get(row["lang"])
        (by_language[known] if known else unknown[row["lang"]]).append(row["text"])
    assert set(by_language) == set(UDHR.values())
    articles = [(code, text) for code, texts in by_language.items() for text in texts]
    right, sure, english = shares(stage, articles)
    assert right >= 0.965
    assert sure >= 0.975
    assert english <= 0.006  # Scots, mostly
    documents = [
        (code, "\n".join(texts[i : i + 8]))
        for code, texts in by_language.items()
        for i in range(0, len(texts), 8)
    ]
    right, sure, english = shares(stage, documents)
    assert right >= 0.97
    assert sure >= 0.98
    assert english <= 0.006
    # Languages that no judge knows are mostly called undetermined, hardly ever English.
    texts = ["\n".join(texts[:8]) for texts in unknown.values()]
    found = Counter(s["lang"] for s in measured(stage, texts))
    assert found["und"] >= 0.6 * len(texts)
    assert found["en"] <= 0.02 * len(texts)


@pytest.mark.fulldata
def test_short_technical_sentences(stage: MeasureLanguage) -> None:
    pairs = [(TLDR.get(r["lang"], r["lang"]), r["text"]) for r in rows(full("tldr.jsonl.gz"))]
    right, sure, english = shares(stage, pairs)
    assert right >= 0.95
    assert sure >= 0.995
    assert english <= 0.008


@pytest.mark.parametrize(
    ("first", "second", "probability", "verdict"),
    [
        (("fr", 98), "fr", 0.9, Verdict("fr", 0.94, "agree")),
        (("zh-Hant", 90), "zh", 1.0, Verdict("zh-Hant", 0.95, "agree")),
        (("und", 0, 50), "sv", 0.6, Verdict("sv", 0.3, "langid")),
        (("und", 0, 50), "sv", 0.4, Verdict("und", 0.0, "none")),
        (("und", 0, 200), "sv", 1.0, Verdict("und", 0.0, "none")),
        (("und", 0, 50), "und", 1.0, Verdict("und", 0.0, "none")),
        (("haw", 100), "es", 1.0, Verdict("haw", 0.95, "cld2_only")),
        (("en", 80), "fr", 0.8, Verdict("fr", 0.4, "langid")),
        (("en", 80), "fr", 0.6, Verdict("en", 0.4, "cld2")),
        (("en", 80), "grc", 0.8, Verdict("en", 0.4, "cld2")),  # CLD2 could not have said that
        (("hr", 80, 50), "bs", 0.8, Verdict("bs", 0.4, "langid")),
        (("hr", 80, 500), "bs", 0.8, Verdict("hr", 0.4, "cld2")),
    ],
)
def test_joining(first: tuple[Any, ...], second: str, probability: float, verdict: Verdict) -> None:
    code, percent, *size = first
    got = join(First(code, percent, "", 0, *(size or [500])), second, probability)
    assert (got.code, round(got.score, 6), got.judges) == (
        verdict.code,
        verdict.score,
        verdict.judges,
    )


def test_no_letters_is_undetermined(stage: MeasureLanguage) -> None:
    for signals in measured(stage, ["", " \r\n", "12.5 % -- 2024", "🙂🙂", "\x00\x01"]):
        assert signals == {"lang": "und", "lang_score": 0.0, "lang_judges": "none"}


def test_two_languages_are_both_named(stage: MeasureLanguage) -> None:
    english = "The committee will meet again in the autumn to decide on the new building. " * 4
    german = "Der Ausschuss tritt im Herbst wieder zusammen und entscheidet über den Neubau. " * 2
    (signals,) = measured(stage, [english + "\n" + german])
    assert (signals["lang"], signals["lang_second"]) == ("en", "de")
    assert 0.2 < signals["lang_second_share"] < 0.5


def test_control_characters_capitals_and_composition(stage: MeasureLanguage) -> None:
    text = "Où est la bibliothèque, s'il vous plaît ? Nous avons déjà demandé trois fois."
    dirty = "\x00" + text.replace(" ", "\x01 ") + "\ufffe\U0001ffff\x85\udc80"
    decomposed = text.replace("è", "e\u0300").replace("é", "e\u0301")
    for signals in measured(stage, [text, dirty, text.upper(), decomposed]):
        assert signals["lang"] == "fr"


def test_only_the_beginning_is_read() -> None:
    stage = MeasureLanguage(Params(cld2_chars=200, langid_chars=200))
    stage.setup()
    english = "The committee will meet again in the autumn to decide on the new building. " * 3
    (signals,) = measured(stage, [english + "Der Ausschuss tritt im Herbst zusammen. " * 100])
    assert signals["lang"] == "en"
    assert "lang_second" not in signals
    with pytest.raises(ConfigError):
        Params(cld2_chars=0)


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


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.text(max_size=200))
def test_any_text_has_a_verdict(text: str) -> None:
    first = ask_cld2(text)
    assert first.code in LANGUAGES
    assert 0 <= first.percent <= 100
    ((code, probability),) = langid().ask([text])
    assert code in LANGUAGES
    assert 0 <= probability <= 1
