"""The PII stage as a whole: quality on labelled text, idempotence, policies, the verb."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.document import Document, Drop
from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.stages.clean import pii
from corpusmill.stages.clean.pii import STAGE, PiiParams, find, replace
from corpusmill.stages.clean.spans import SCANNED, Span, as_ascii
from corpusmill.stages.clean.verb import pii_jsonl
from corpusmill.stages.clean.windows import scan, whole

LABELLED = Path(__file__).parents[2] / "data" / "pii" / "labelled.jsonl"
FIRST = ("email", "ip", "iban", "card", "ssn", "phone")
Gold = list[tuple[str, list[tuple[str, int, int]]]]


def document(text: str) -> Document:
    return Document(id="0" * 32, text=text, source="s")


def run(text: str, **params: Any) -> Document:
    stage = STAGE(PiiParams(**params))
    stage.setup()
    (outcome,) = stage.apply([document(text)])
    assert isinstance(outcome, Document)
    return outcome


def score(rows: Gold) -> tuple[Counter[str], Counter[str], Counter[str], Counter[str]]:
    """Per type: labelled spans, those found (by overlap), spans found, those right."""
    gold: Counter[str] = Counter()
    recalled: Counter[str] = Counter()
    found: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for text, labels in rows:
        spans = find(text)
        for type_, start, end in labels:
            gold[type_] += 1
            recalled[type_] += any(
                s.type == type_ and s.start < end and start < s.end for s in spans
            )
        for s in spans:
            found[s.type] += 1
            right[s.type] += any(t == s.type and s.start < e and b < s.end for t, b, e in labels)
    return gold, recalled, found, right


def labelled() -> list[dict[str, Any]]:
    return [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]


def test_committed_set_has_enough_of_each_type() -> None:
    counts = Counter(s["type"] for row in labelled() for s in row["spans"])
    assert set(counts) == set(FIRST)
    assert min(counts.values()) >= 18
    assert sum(row["class"] == "negative" for row in labelled()) >= 45


def test_quality_on_the_committed_set() -> None:
    rows = [
        (row["text"], [(s["type"], s["start"], s["end"]) for s in row["spans"]])
        for row in labelled()
    ]
    gold, recalled, found, right = score(rows)
    for type_ in FIRST:
        assert recalled[type_] >= 0.99 * gold[type_], type_
        assert right[type_] >= 0.99 * found[type_], type_


@pytest.mark.parametrize("row", [r for r in labelled() if r["class"] == "negative"])
def test_technical_text_is_left_alone(row: dict[str, Any]) -> None:
    assert [(s.type, row["text"][s.start : s.end]) for s in find(row["text"])] == [
        (s["type"], row["text"][s["start"] : s["end"]]) for s in row["spans"]
    ]


def data_folder() -> Path:
    if "CORPUSMILL_DATA" not in os.environ:
        pytest.skip("CORPUSMILL_DATA is not set")
    return Path(os.environ["CORPUSMILL_DATA"])


@pytest.mark.fulldata
def test_quality_on_the_presidio_set() -> None:
    """Floors on the 1,500 labelled sentences (MIT). Measured when written: recall and precision
    1.000 for every type (email 49, ip 14, card 136, iban 21, ssn 16, phone 92 spans)."""
    names = {
        "EMAIL_ADDRESS": "email", "IP_ADDRESS": "ip", "CREDIT_CARD": "card", "IBAN_CODE": "iban",
        "US_SSN": "ssn", "PHONE_NUMBER": "phone",
    }  # fmt: skip
    with gzip.open(data_folder() / "pii" / "presidio_synth_v2.json.gz", "rt") as file:
        raw = json.load(file)
    rows: Gold = [
        (
            row["full_text"],
            [
                (names[s["entity_type"]], s["start_position"], s["end_position"])
                for s in row["spans"]
                if s["entity_type"] in names
            ],
        )
        for row in raw
    ]
    gold, recalled, found, right = score(rows)
    assert dict(gold) == {
        "email": 49, "ip": 14, "card": 136, "iban": 21, "ssn": 16, "phone": 92,
    }  # fmt: skip
    floors = {"email": 0.99, "ip": 0.99, "card": 0.99, "iban": 0.99, "ssn": 0.99, "phone": 0.95}
    for type_, floor in floors.items():
        assert recalled[type_] >= floor * gold[type_], type_
        assert right[type_] >= 0.98 * found[type_], type_


@pytest.mark.fulldata
def test_quality_on_the_pages_of_the_sample_crawl() -> None:
    """140 pages of contact lists with look-alikes; measured when written: 1.000 and 1.000."""
    names = {"email": "email", "phone": "phone", "credit_card": "card", "iban": "iban"}
    with gzip.open(data_folder() / "crawl" / "synthetic_gold.jsonl.gz", "rt") as file:
        raw = [json.loads(line) for line in file]
    rows: Gold = []
    for row in raw:
        if "spans" in row:
            labels = [
                (names.get(s["kind"], "ip"), s["start"], s["end"])
                for s in row["spans"]
                if s["kind"] in names or (s["kind"] == "ip" and s["is_global"])
            ]
            rows.append((row["text"], labels))
    assert len(rows) == 140
    gold, recalled, found, right = score(rows)
    assert found["ssn"] == 0  # all of them are in ranges that were never given out
    for type_ in ("email", "ip", "card", "iban", "phone"):
        assert recalled[type_] >= 0.99 * gold[type_], type_
        assert right[type_] >= 0.99 * found[type_], type_


WORDS = """
a.b@c.org bob@example.com 8.8.8.8 1.2.3.4 192.168.0.1 2a00:1450::5 4111111111111111
GB82WEST12345698765432 4111-1111-1111-1111 123-45-6789 123456789 ssn phone call card fax
+442079460123 (415) 555-0166 415-555-0166 030/12345678 12345678 @ . - : :: / , <EMAIL> <PHONE>
<IP> version server from office PESEL 44051401359 529.982.247-25 3c:22:fb:8a:10:7e BSN 111222333
1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa 131052-308T <NATIONAL_ID> ４１１１１１１１１１１１１１１１ ٤٤٠٥١٤٠١٣٥٩ [at] dot
"""
PIECES = st.one_of(
    st.sampled_from([*WORDS.split(), "", "\n"]),
    st.text(alphabet="0123456789-. ()+@:ab/\u00a0", max_size=8),
)
TEXTS = st.lists(PIECES, max_size=14).flatmap(
    lambda pieces: st.sampled_from(["", " ", ", "]).map(lambda glue: glue.join(pieces))
)


@settings(derandomize=True, deadline=None, max_examples=250)
@given(TEXTS)
def test_a_second_pass_changes_nothing(text: str) -> None:
    once = replace(text, find(text))
    assert find(once) == []


@settings(derandomize=True, deadline=None, max_examples=200)
@given(TEXTS)
def test_a_second_pass_with_annotated_types_changes_nothing(text: str) -> None:
    once = run(text, policy={"phone": "annotate", "ip": "annotate"}).text
    assert run(once, policy={"phone": "annotate", "ip": "annotate"}).text == once


@settings(derandomize=True, deadline=None, max_examples=200)
@given(TEXTS)
def test_spans_are_disjoint_and_nothing_outside_them_changes(text: str) -> None:
    spans = find(text)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    cleaned = replace(text, spans)
    at = 0
    for i, span in enumerate(spans):
        gap = text[spans[i - 1].end if i else 0 : span.start]
        assert cleaned[at : at + len(gap)] == gap
        at += len(gap) + len(f"<{span.type.upper()}>")
    assert cleaned[at:] == text[spans[-1].end if spans else 0 :]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(TEXTS)
def test_the_prefilter_hides_nothing(text: str) -> None:
    work = as_ascii(text)
    windows = scan(work)
    for type_ in SCANNED:
        found = list(pii._detect(type_, work, whole(work), "tag"))
        assert windows.may(type_) or not found
        if windows.may(type_):
            assert found == list(pii._detect(type_, work, windows, "tag"))


def test_signals_tags_and_the_digest_of_the_raw_text() -> None:
    text = "Ann <ann@brightmail.net>, phone 415-555-0166, host 8.8.8.8 or bob@tiny.io"
    d = run(text)
    assert d.text == "Ann <<EMAIL>>, phone <PHONE>, host <IP> or <EMAIL>"
    assert d.signals == {
        "pii_email": 2, "pii_email_role": 0, "pii_ip": 1, "pii_iban": 0, "pii_card": 0, "pii_ssn": 0, "pii_phone": 1,
        "pii_national_id": 0, "pii_secret": 0,
    }  # fmt: skip
    assert d.meta["text_sha256_raw"] == hashlib.sha256(text.encode()).hexdigest()


def test_a_digest_set_by_an_earlier_stage_stays_and_clean_text_gets_none() -> None:
    stage = STAGE(PiiParams())
    d = document("to ann@brightmail.net")
    d.meta["text_sha256_raw"] = "0" * 64
    stage.apply([d])
    assert (d.text, d.meta["text_sha256_raw"]) == ("to <EMAIL>", "0" * 64)
    assert "text_sha256_raw" not in run("no data here").meta


def test_annotate_counts_and_leaves_the_text() -> None:
    d = run("ann@brightmail.net at server 8.8.8.8", policy={"email": "annotate"})
    assert d.text == "ann@brightmail.net at server <IP>"
    assert (d.signals["pii_email"], d.signals["pii_ip"]) == (1, 1)


def test_types_limit_what_is_counted_and_replaced() -> None:
    d = run("ann@brightmail.net, phone 415-555-0166", types=("phone",))
    assert d.text == "ann@brightmail.net, phone <PHONE>"
    assert d.signals == {"pii_phone": 1}


def test_drop_above() -> None:
    stage = STAGE(PiiParams(drop_above=1))
    assert stage.reasons == ("pii_too_many",)
    two, one = document("a.b@tiny.io c.d@tiny.io"), document("a.b@tiny.io")
    assert stage.apply([two, one]) == [Drop("pii_too_many", 2), one]
    assert one.text == "<EMAIL>"


@pytest.mark.parametrize(
    "params",
    [
        {"types": ("email", "names")},
        {"types": ()},
        {"types": ("ip", "ip")},
        {"policy": {"ip": "hash"}},
        {"policy": {"ip": "tag"}, "types": ("email",)},
        {"drop_above": -1},
        {"reserved_domains": "some"},
    ],
)
def test_wrong_parameters_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"clean\.pii"):
        PiiParams(**params)


@pytest.mark.parametrize(
    "text", ["", "\x00\x01", "\ud800 a.b@tiny.io \udfff", "a\r\nb", "漢字 ไทย"]
)
def test_odd_texts(text: str) -> None:
    assert run(text).text == text.replace("a.b@tiny.io", "<EMAIL>")


def test_a_million_digits_take_no_time_to_speak_of() -> None:
    for text in ("1" * 200_000, "1 " * 100_000, "1.2.3." * 40_000, "a@" * 50_000, "ab12" * 50_000):
        assert find(text) == []


def test_verb(tmp_path: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl.gz"
    rows: list[dict[str, Any]] = [
        {"id": "1", "text": "an émigré: ann@brightmail.net", "more": [1]},
        {"id": "2", "text": "\ud800 nothing"},
    ]
    source.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    counts = pii_jsonl(source, target)
    assert (counts["rows"], counts["rows_with_pii"], counts["spans"]["email"]) == (2, 1, 1)
    with gzip.open(target, "rt", encoding="utf-8") as file:
        first, second = [json.loads(line) for line in file]
    assert first == {
        **rows[0], "pii": [{"type": "email", "start": 11, "end": 29}],
        "clean_text": "an émigré: <EMAIL>",
    }  # fmt: skip
    assert second == {**rows[1], "pii": [], "clean_text": "\ud800 nothing"}


@pytest.mark.parametrize("line", ["{", "[1]", '{"id": "1"}', '{"text": 3}'])
def test_verb_names_the_bad_row(tmp_path: Path, line: str) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "fine"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"in\.jsonl: line 2"):
        pii_jsonl(source, tmp_path / "out.jsonl")


def test_a_span_is_what_its_offsets_say() -> None:
    assert find("é bob@tiny.io") == [Span(2, 13, "email")]
