"""Decoding of pages whose labels are right, wrong, or not there."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.document import Page
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.extract import charset_model
from corpusmill.stages.extract.charset import (
    Decoded,
    decode,
    encoding_name,
    header_charset,
    meta_charset,
)
from corpusmill.stages.extract.charset_labels import LABELS, PYTHON_CODECS
from corpusmill.stages.sources.warc import Warc, WarcParams

TEXTS = {
    "fr": "L’été dernier, nous avons visité une forêt près de la frontière. Les élèves ont "
    "préparé le dîner à côté du château, où coûte que coûte la fête a continué jusqu’à l’aube.",
    "de": "Die Mühle gehört seit Jahren dem Müller Jörg. Er mahlt früh am Morgen, wenn die Vögel "
    "schon über den Bäumen hören lassen, daß es Frühling wird, und die Straße noch naß ist.",
    "es": "El niño pequeño comió una manzana en el jardín. Mañana irá con su tío a la montaña, y "
    "después escribirá una canción. ¿Qué más quería? Ningún otro año fue así de cálido.",
    "cs": "Příliš mnoho lidí dnes čeká na nádraží. Vlak má zpoždění, protože ve městě Plzeň "
    "napadlo třicet centimetrů sněhu a dělníci ještě čistí koleje. Řidiči autobusů říkají totéž.",
    "pl": "W zeszłym tygodniu pojechaliśmy nad jezioro. Było zimno, więc zostaliśmy w domu i "
    "czytaliśmy książki. Później przyszła babcia i przyniosła świeże pączki oraz gorącą herbatę.",
    "hu": "A tegnapi előadás nagyon érdekes volt. A főszereplő gyönyörű hangon énekelt, és a "
    "közönség hosszú ideig tapsolt. Később a szülők kint vártak ránk az esőben, fűtött autóval.",
    "tr": "Dün akşam İstanbul’da yağmur yağdı. Çocuklar okuldan çıkınca şemsiyelerini açtılar ve "
    "güle oynaya eve yürüdüler. Annesi ona sıcak çorba pişirdi, babası ise ışığı açtı.",
    "lt": "Praėjusią vasarą keliavome po Lietuvą. Mūsų kelionė prasidėjo Vilniuje, o baigėsi prie "
    "jūros. Žmonės čia draugiški, ežerai švarūs, o miškuose galima rinkti uogas ir grybus.",
    "ru": "Вчера вечером мы долго гуляли по старому городу. На площади играл оркестр, и люди "
    "слушали музыку под открытым небом. Потом пошёл дождь, но никто не хотел уходить домой.",
    "uk": "Учора ввечері ми довго гуляли старим містом. На площі грав оркестр, і люди слухали "
    "музику просто неба. Потім пішов дощ, але ніхто не хотів іти додому, бо їжа ще була тепла.",
    "el": "Χθες το βράδυ περπατήσαμε για πολλή ώρα στην παλιά πόλη. Στην πλατεία έπαιζε μια "
    "ορχήστρα και ο κόσμος άκουγε μουσική. Ύστερα άρχισε να βρέχει, αλλά κανείς δεν έφυγε.",
    "he": "אתמול בערב הלכנו זמן רב בעיר העתיקה. בכיכר ניגנה תזמורת והאנשים הקשיבו למוזיקה תחת "
    "כיפת השמיים. אחר כך התחיל לרדת גשם, אבל אף אחד לא רצה ללכת הביתה.",
    "ar": "مشينا مساء أمس طويلا في المدينة القديمة. كانت فرقة موسيقية تعزف في الساحة وكان الناس "
    "يستمعون إلى الموسيقى. ثم بدأ المطر يهطل ولكن لم يرغب أحد في العودة إلى البيت.",
    "th": "เมื่อวานตอนเย็นเราเดินเล่นในเมืองเก่าเป็นเวลานาน ที่จัตุรัสมีวงดนตรีบรรเลงเพลง "
    "และผู้คนฟังดนตรีกลางแจ้ง หลังจากนั้นฝนก็เริ่มตก แต่ไม่มีใครอยากกลับบ้าน",
    "ja": "昨日の夕方、私たちは古い町を長い間歩きました。広場では楽団が演奏し、人々は空の下で"
    "音楽を聞いていました。それから雨が降り始めましたが、誰も家に帰りたくありませんでした。",
    "zh": "昨天晚上我们在老城里走了很久。广场上有一支乐队在演奏,人们在露天听音乐。后来下起了雨,"
    "但是没有人愿意回家。孩子们在屋檐下唱歌,老人们喝着热茶,讲着过去的故事。",
    "zh-Hant": "昨天晚上我們在老城裡走了很久。廣場上有一支樂隊在演奏,人們在露天聽音樂。後來下起了雨,"
    "但是沒有人願意回家。孩子們在屋簷下唱歌,老人們喝著熱茶,講著過去的故事。",
    "ko": "어제 저녁에 우리는 오래된 도시를 오랫동안 걸었습니다. 광장에서는 악단이 연주하고 사람들은 "
    "야외에서 음악을 들었습니다. 그 후 비가 내리기 시작했지만 아무도 집에 가고 싶어하지 않았습니다.",
}
ENCODINGS = {
    "fr": "windows-1252 macintosh iso-8859-15", "de": "windows-1252 macintosh",
    "es": "windows-1252 iso-8859-15", "cs": "windows-1250 iso-8859-2",
    "pl": "windows-1250 iso-8859-2", "hu": "windows-1250 iso-8859-2", "tr": "windows-1254",
    "lt": "windows-1257 iso-8859-13", "ru": "windows-1251 koi8-r iso-8859-5 ibm866 x-mac-cyrillic",
    "uk": "windows-1251 koi8-u iso-8859-5", "el": "windows-1253 iso-8859-7",
    "he": "windows-1255 iso-8859-8", "ar": "windows-1256 iso-8859-6", "th": "windows-874",
    "ja": "shift_jis euc-jp iso-2022-jp", "zh": "gb18030", "zh-Hant": "big5", "ko": "euc-kr",
}  # fmt: skip
PAIRS = [(lang, name) for lang, names in ENCODINGS.items() for name in names.split()]


def page(lang: str, name: str, label: str = "") -> tuple[bytes, str]:
    """(bytes, text) of a small page; typographic quotes become ASCII where the encoding has none."""
    codec = PYTHON_CODECS.get(name, (name,))[0]
    text = TEXTS[lang]
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        text = text.replace("’", "'")
    meta = f'<meta http-equiv="Content-Type" content="text/html; charset={label}">' if label else ""
    whole = (
        f"<!DOCTYPE html>\n<html><head>{meta}<title>A page</title></head><body>\n"
        f'<div class="menu"><a href="/index.html">Home</a></div>\n<p>{text}</p>\n<p>{text}</p>\n'
        "</body></html>\n"
    )
    return whole.encode(codec), whole


def test_the_table_covers_enough() -> None:
    assert len({name for _, name in PAIRS}) >= 20


@pytest.mark.parametrize(("lang", "name"), PAIRS)
@pytest.mark.parametrize("where", ["none", "header", "meta", "utf-8 header", "utf-8 meta"])
def test_legacy_pages(lang: str, name: str, where: str) -> None:
    body, text = page(lang, name, {"meta": name, "utf-8 meta": "utf-8"}.get(where, ""))
    header = {"header": name, "utf-8 header": "UTF-8"}.get(where)
    decoded = decode(body, header)
    assert decoded.text == text
    assert decoded.replaced == 0
    if where in ("header", "meta") and name != "iso-2022-jp":
        assert (decoded.codec, decoded.rule) == (name, where)
        assert decoded.declared == name


@pytest.mark.parametrize(
    ("lang", "name"), [p for p in PAIRS if p[1] not in ("windows-1252", "iso-8859-15")]
)
def test_the_servers_default_label_is_not_believed(lang: str, name: str) -> None:
    body, text = page(lang, name)
    assert decode(body, "ISO-8859-1").text == text


@pytest.mark.parametrize(
    ("lang", "name", "label"),
    [("ru", "koi8-r", "windows-1250"), ("el", "windows-1253", "windows-1251"),
     ("he", "windows-1255", "windows-1251"), ("ja", "shift_jis", "windows-1251"),
     ("ko", "euc-kr", "windows-1251"), ("fr", "windows-1252", "shift_jis"),
     ("th", "windows-874", "windows-1250"), ("zh", "gb18030", "windows-1251")],
)  # fmt: skip
def test_labels_of_another_script(lang: str, name: str, label: str) -> None:
    body, text = page(lang, name)
    assert decode(body, label).text == text


def test_utf8_needs_no_label_and_takes_no_other() -> None:
    for lang in TEXTS:
        body, text = page(lang, "utf-8", "windows-1252")
        decoded = decode(body, "iso-8859-2")
        assert decoded == Decoded(text, "utf-8", "iso-8859-2", "utf8", 0)


@pytest.mark.parametrize(
    ("mark", "codec"),
    [(b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"),
     (b"\xff\xfe\0\0", "utf-32-le"), (b"\0\0\xfe\xff", "utf-32-be")],
)  # fmt: skip
def test_byte_order_marks(mark: bytes, codec: str) -> None:
    decoded = decode(mark + "<p>čaj</p>".encode(codec), "windows-1252")
    assert (decoded.text, decoded.rule) == ("<p>čaj</p>", "bom")
    assert decoded.codec == codec.replace("f-16-", "f-16").replace("f-32-", "f-32")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("lang", ["fr", "ru", "ja", "ar"])
def test_wide_pages_without_a_mark(codec: str, lang: str) -> None:
    _, text = page(lang, "utf-8")
    decoded = decode(text.encode(codec), "utf-8")
    assert (decoded.text, decoded.rule) == (text, "utf16")


def test_stray_nuls_are_no_utf16() -> None:
    decoded = decode(b"<p>a\0b\0c</p>" + "é".encode() * 30)
    assert (decoded.codec, decoded.rule) == ("utf-8", "utf8")


def test_a_last_character_cut_in_the_middle() -> None:
    body = ("<p>" + TEXTS["ja"]).encode()
    decoded = decode(body[:-1])
    assert (decoded.text, decoded.rule) == ("<p>" + TEXTS["ja"][:-1], "utf8")
    sjis = ("<p>" + TEXTS["ja"]).encode("cp932")
    assert decode(sjis[:-1], "shift_jis").text == "<p>" + TEXTS["ja"][:-1]


def test_few_broken_bytes_in_utf8() -> None:
    body = TEXTS["ru"].encode()
    at = body.index(b" ")
    broken = body[:at] + b"\xff" + body[at:]
    decoded = decode(broken)
    assert (decoded.codec, decoded.rule, decoded.replaced) == ("utf-8", "utf8_mostly", 1)
    assert decoded.replaced_share == round(1 / len(decoded.text), 6)
    assert decoded.text.replace("�", "") == TEXTS["ru"]


def test_open_places_of_code_pages_are_control_characters() -> None:
    decoded = decode(b"<p>caf\xe9 \x81 \x92quoted\x94</p>", "windows-1252")
    assert decoded.text == "<p>café \x81 ’quoted”</p>"


def test_ascii_and_empty() -> None:
    assert decode(b"plain", "windows-1251") == Decoded("plain", "utf-8", "windows-1251", "utf8", 0)
    assert decode(b"") == Decoded("", "utf-8", "", "utf8", 0)
    assert decode(b"").replaced_share == 0.0


def test_escape_sequences_shown_as_text_are_not_believed() -> None:
    """A page about encodings that says charset=iso-2022-jp in its text is still UTF-8."""
    body = ("<p>" + "x" * 1100 + "charset=iso-2022-jp charset=utf-16 é</p>").encode()
    assert decode(body).codec == "utf-8"


def test_meta_charset() -> None:
    assert meta_charset(b"<meta charset=koi8-r>") == "koi8-r"
    assert meta_charset(b'<META HTTP-EQUIV="x" content="text/html; charset=EUC-JP">') == "EUC-JP"
    assert meta_charset(b'<?xml version="1.0" encoding="windows-1250"?><html>') == "windows-1250"
    assert meta_charset(b'<!-- <meta charset="big5"> --><meta charset="gbk">') == "gbk"
    assert meta_charset(b"<p>" + b" " * 1100 + b"<meta charset=gbk>") == ""


@pytest.mark.parametrize(
    ("header", "label"),
    [("text/html; charset=UTF-8", "UTF-8"), ('text/html;charset="gbk"', "gbk"), ("text/html", ""),
     ("text/html; Charset = 'big5' ; x=y", "big5"), ("text/html; charset=", "")],
)  # fmt: skip
def test_header_charset(header: str, label: str) -> None:
    assert header_charset(header) == label


def test_labels() -> None:
    assert encoding_name(" ISO-8859-1 ") == "windows-1252"
    assert encoding_name("GB2312") == "gb18030"
    assert encoding_name("iso-8859-9") == "windows-1254"
    assert encoding_name("ks_c_5601-1987") == "euc-kr"
    assert encoding_name("no-such") == encoding_name(None) == ""
    labels = [label for names in LABELS.values() for label in names.split()]
    assert len(labels) == len(set(labels))
    for name in LABELS:
        for codec in PYTHON_CODECS.get(name, (name,)):
            assert b"abc".decode(codec if "16" not in codec and "32" not in codec else "ascii")


def test_utf8_read_as_windows_1252_and_written_again() -> None:
    for lang in ("fr", "ru", "ja", "th", "el"):
        twice = TEXTS[lang].encode().decode("cp1252", "corpusmill-c1")
        decoded = decode(f"<p>{twice}</p>".encode(), "utf-8")
        assert (decoded.text, decoded.rule) == (f"<p>{TEXTS[lang]}</p>", "utf8_twice")


@pytest.mark.parametrize("char", "ÂÝéôÀ\u0302“☃")
def test_each_character_that_was_encoded_twice_is_found_by_its_first_byte(char: str) -> None:
    twice = " ".join([char.encode().decode("cp1252", "replace")] * 4)
    assert decode(twice.encode()).text == " ".join([char] * 4)


def test_what_is_utf8_already_is_known_in_bytes() -> None:
    for body in ("naïve <p>".encode(), b"plain"):
        assert decode(body).utf8 is body
    assert decode("naï".encode()[:-1]).utf8 == b"na"
    for body in ("\ufeffnaïve".encode(), "naïve".encode("cp1252"), "Ã© Ã© Ã© Ã©".encode()):
        assert decode(body).utf8 is None


@pytest.mark.parametrize("text", [
    "Why does the page say Ã© where I wrote é, and â€™ for ’, Ã¼ for ü, ö for ö?",
    "LE CAFÉ» DE LA LIBERTÉ»", "Â© Ã‰", *TEXTS.values(),
])  # fmt: skip
def test_what_is_no_double_encoding(text: str) -> None:
    assert decode(text.encode()).text == text


def test_bytes_that_read_like_nothing() -> None:
    noise = b"".join(hashlib.sha256(bytes([i])).digest() for i in range(200))
    decoded = decode(noise)
    assert (decoded.codec, decoded.rule) == ("windows-1252", "fallback")


def test_the_model_is_the_one_that_is_pinned() -> None:
    model = charset_model.load()
    assert len(model.languages) == 51
    assert (model.pairs[1:] > model.pairs[:-1]).all()
    assert charset_model.scores(["", "ascii"], charset_model.habit("ascii")) == [0, 0]


@pytest.mark.parametrize(("right", "wrong"), [
    ("cs cp1250", "iso-8859-2"), ("pl iso-8859-2", "cp1250"), ("ru koi8-r", "cp1251"),
    ("ru cp1251", "koi8-r"), ("ru cp866", "cp1251"), ("tr cp1254", "iso-8859-2"),
    ("fr mac_roman", "cp1252"), ("zh-Hant big5hkscs", "gb18030"), ("ko cp949", "gb18030"),
    ("th cp874", "cp1252"), ("he cp1255", "cp1253"), ("lt cp1257", "cp1250"),
])  # fmt: skip
def test_scores_tell_encodings_apart(right: str, wrong: str) -> None:
    lang, codec = right.split()
    body = TEXTS[lang].encode(codec, "replace")
    habits = charset_model.habit(body.decode("latin-1"))
    one, other = charset_model.scores(
        [body.decode(codec, "replace"), body.decode(wrong, "replace")], habits
    )
    assert one > other + 5 * charset_model.UNIT


@settings(derandomize=True, deadline=None, max_examples=200)
@given(body=st.binary(max_size=300), label=st.sampled_from([None, "", "utf-8", "euc-kr", "x"]))
def test_any_bytes(body: bytes, label: str | None) -> None:
    decoded = decode(body, label)
    assert decoded == decode(body, label)
    assert decoded.codec in LABELS
    assert decoded.replaced == decoded.text.count("�")
    decoded.text.encode("utf-8")  # no lone surrogates


# The gold charset of the crawl's manifest to the codec that its pages were written with.
GOLD = {"iso-8859-1": "cp1252", "shift_jis": "cp932", "euc-kr": "cp949", "gb2312": "gb18030",
        "gbk": "gb18030", "big5": "big5hkscs", "iso-8859-9": "cp1254"}  # fmt: skip
FLOOR = 0.993
"""Share of the 1,052 crawl pages in legacy charsets whose text must equal the gold decoding."""


@pytest.mark.fulldata
def test_the_sample_crawl() -> None:
    if "CORPUSMILL_DATA" not in os.environ:
        pytest.skip("CORPUSMILL_DATA is not set")
    root = Path(os.environ["CORPUSMILL_DATA"]) / "crawl"
    source = Warc(WarcParams())
    counts: Counter[str] = Counter()
    wrong = []
    with gzip.open(root / "manifest.jsonl.gz") as lines:
        for line in lines:
            row = json.loads(line)
            utf8 = row["charset"] in ("", "utf-8")
            if row["kind"].startswith("synthetic") or (utf8 and row["offset"] % 10):
                continue
            path = root / row["file"]
            file = InputFile("crawl", str(path), row["file"], path.stat().st_size)
            record = source.read_one(file, row["offset"])
            assert record is not None
            assert isinstance(record.outcome, Page)
            found = record.outcome
            decoded = decode(found.body, header_charset(found.headers.get("content-type", "")))
            gold = found.body.decode(GOLD.get(row["charset"], row["charset"]), "replace")
            same = decoded.text == gold.removeprefix("\ufeff")
            counts["utf-8" if utf8 else "legacy"] += 1
            if not same:
                wrong.append((row["charset"], row["charset_mode"], row["url"], decoded.codec))
    assert counts["legacy"] == 1052
    assert counts["utf-8"] > 900
    assert not [w for w in wrong if w[0] == "utf-8"]
    assert len(wrong) <= (1 - FLOOR) * counts["legacy"], wrong
