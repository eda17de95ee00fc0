"""Replacements by a secret key, bounds by type, and the audit."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.document import Document, Drop
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.stages.clean.pii import STAGE, Pii, PiiParams, find
from corpusmill.stages.clean.pseudonyms import (
    KEY_VARIABLE,
    commitment,
    make_key,
    plain,
    pseudonym,
    read_key,
)
from corpusmill.stages.clean.spans import TYPES
from corpusmill.stages.clean.verb import pii_jsonl

KEY = bytes(range(32))


def made(tmp_path: Path, key: bytes = KEY, **params: Any) -> Pii:
    path = tmp_path / "key"
    path.write_text(key.hex() + "\n")
    policy = dict.fromkeys(
        params.get("types", ("email", "ip", "phone", "card", "iban")), "pseudonym"
    )
    stage = STAGE(PiiParams(**{"policy": policy, "key": commitment(key), **params}))
    stage.setup(path)
    return stage


def test_a_pseudonym_is_a_known_answer() -> None:
    assert pseudonym(KEY, "email", "ann@tiny.io") == "<EMAIL-zhtrghktztff>"
    assert pseudonym(KEY, "phone", "ann@tiny.io") != "<PHONE-zhtrghktztff>"


@pytest.mark.parametrize(
    ("type_", "one", "other"),
    [
        ("email", "Ann@Tiny.io", "ann@tiny.io"),
        ("email", "ann [at] tiny dot io", "ann@tiny.io"),
        ("email", "ann＠tiny.io", "ann@tiny.io"),
        ("ip", "2001:4860::8888", "2001:4860:0:0:0:0:0:8888"),
        ("card", "4111 1111-1111 1111", "4111111111111111"),
        ("iban", "de89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("phone", "+49 (30) 1234-567", "0049 30 1234 567"),
        ("phone", "415-555-0166 x12", "(415) 555-0166"),
        ("mac", "3c:22:fb:8a:10:7e", "3C-22-FB-8A-10-7E"),
    ],
)
def test_one_value_has_one_pseudonym_however_it_is_written(
    type_: str, one: str, other: str
) -> None:
    assert plain(type_, one) == plain(type_, other)
    assert pseudonym(KEY, type_, one) == pseudonym(KEY, type_, other)


def test_the_same_value_is_the_same_in_every_document_and_another_with_another_key(
    tmp_path: Path,
) -> None:
    texts = ["mail ann@tiny.io or bob@tiny.io", "ANN@tiny.io, server 8.8.8.8"]
    first = [made(tmp_path).clean(text)[1] for text in texts]
    ann = pseudonym(KEY, "email", "ann@tiny.io")
    assert first == [
        f"mail {ann} or {pseudonym(KEY, 'email', 'bob@tiny.io')}",
        f"{ann}, server {pseudonym(KEY, 'ip', '8.8.8.8')}",
    ]
    assert ann not in made(tmp_path, bytes(32)).clean(texts[0])[1]


PIECES = st.lists(
    st.sampled_from(
        "ann@tiny.io 8.8.8.8 tel 415-555-0166 4111111111111111 DE89370400440532013000 , : <EMAIL> "
        "<PHONE-bcdfghjkmnpq> - ssn 123-45-6789 server 1.2.3.4 bob@x.org".split()
    ),
    max_size=10,
)


@settings(derandomize=True, deadline=None, max_examples=120)
@given(PIECES, st.sampled_from([" ", ", ", ""]))
def test_a_second_pass_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], glue: str
) -> None:
    stage = made(tmp_path_factory.getbasetemp())
    once = stage.clean(glue.join(pieces))[1]
    assert stage.clean(once) == ([], once)
    assert find(once, TYPES) == []


def test_the_key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.key"
    promised = make_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert commitment(read_key(promised, path)) == promised
    with pytest.raises(ConfigError, match="exists"):
        make_key(path)
    with pytest.raises(AssetError, match="is not there"):
        read_key(promised)
    monkeypatch.setenv(KEY_VARIABLE, str(path))
    assert read_key(promised) == bytes.fromhex(path.read_text().strip())
    with pytest.raises(AssetError, match="another key") as caught:
        read_key(commitment(KEY))
    assert path.read_text().strip() not in str(caught.value)
    for content in ("", "ab" * 31, "xy" * 32, "AB" * 32):
        path.write_text(content)
        with pytest.raises(AssetError, match="holds no key") as caught:
            read_key(promised)
        assert not content or content not in str(caught.value)
    path.unlink()
    with pytest.raises(AssetError, match="unreadable"):
        read_key(promised)


def test_the_stage_does_not_start_without_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    stage = STAGE(PiiParams(policy={"email": "pseudonym"}, key=commitment(KEY)))
    with pytest.raises(AssetError, match=KEY_VARIABLE):
        stage.setup()


@pytest.mark.parametrize(
    "params",
    [
        {"policy": {"email": "pseudonym"}},
        {"policy": {"email": "pseudonym"}, "key": "sha256:ab"},
        {"key": commitment(KEY)},
        {"drop_above_of": {"wallet": 1}},
        {"drop_above_of": {"name": 1}},
        {"drop_above_of": {"ip": -1}},
    ],
)
def test_wrong_parameters_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"clean\.pii"):
        PiiParams(**params)


def run(stage: Pii, text: str) -> Document | Drop:
    (outcome,) = stage.apply([Document("0" * 32, text, "s")])
    assert isinstance(outcome, Document | Drop)
    return outcome


def test_bounds_by_type() -> None:
    stage = STAGE(PiiParams(drop_above_of={"email": 1, "ip": 0}))
    assert stage.reasons == ("pii_too_many_email", "pii_too_many_ip")
    assert run(stage, "a.b@tiny.io c.d@tiny.io") == Drop("pii_too_many_email", 2)
    assert run(stage, "server 8.8.8.8") == Drop("pii_too_many_ip", 1)
    kept = run(stage, "a.b@tiny.io, tel 415-555-0166 and 415-555-0167")
    assert isinstance(kept, Document)
    assert kept.text == "<EMAIL>, tel <PHONE> and <PHONE>"


def test_the_audit_has_places_and_policies_and_no_text() -> None:
    stage = STAGE(PiiParams(audit=True, policy={"ip": "annotate"}))
    assert stage.writes["pii_spans"] == "str"
    document = run(stage, "é ann@tiny.io at server 8.8.8.8")
    assert isinstance(document, Document)
    assert document.text == "é <EMAIL> at server 8.8.8.8"
    assert json.loads(str(document.signals["pii_spans"])) == [
        ["email", 2, 13, "tag"], ["ip", 24, 31, "annotate"],
    ]  # fmt: skip
    none = run(stage, "nothing")
    assert isinstance(none, Document)
    assert "pii_spans" not in none.signals


def test_the_verb_with_policies_key_and_audit(tmp_path: Path) -> None:
    source, target, audit = (tmp_path / n for n in ("in.jsonl", "out.jsonl", "audit.jsonl"))
    key = tmp_path / "key"
    key.write_text(KEY.hex())
    source.write_text('{"text": "nothing"}\n{"text": "ann@tiny.io on 3c:22:fb:8a:10:7e"}\n')
    counts = pii_jsonl(source, target, ["email=pseudonym", "mac=annotate"], key, audit)
    assert (counts["spans"]["email"], counts["spans"]["mac"]) == (1, 1)
    ann = pseudonym(KEY, "email", "ann@tiny.io")
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert [row["clean_text"] for row in rows] == ["nothing", f"{ann} on 3c:22:fb:8a:10:7e"]
    assert [json.loads(line) for line in audit.read_text().splitlines()] == [
        {
            "row": 2,
            "sha256": "e7715d7667246e48da7a5fc5f50e58b8f061f25ed014a64f3904f49ef9d2fa3b",
            "spans": [["email", 0, 11, "pseudonym"], ["mac", 15, 32, "annotate"]],
        }
    ]
    for policies, used in ((["email"], None), (["email=hide"], None), (["ip=tag"], key)):
        with pytest.raises(ConfigError):
            pii_jsonl(source, target, policies, used)


def test_a_pseudonym_is_a_wall_as_a_tag_is() -> None:
    number = "415 5550 1667"
    assert [s.type for s in find(f"call <EMAIL-bcdf> {number}")] == ["phone"]
    for tag in ("<EMAIL>", pseudonym(KEY, "email", "ann@tiny.io")):
        assert find(f"call {tag} {number}") == []
