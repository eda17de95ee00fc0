"""National numbers, keys, wallets, MAC addresses, e-mail in words, digits of other scripts."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.document import Document
from corpusmill.stages.clean import national
from corpusmill.stages.clean.keys import base58check, bech32
from corpusmill.stages.clean.pii import STAGE, PiiParams, find
from corpusmill.stages.clean.spans import DEFAULT_TYPES, SCANNED, TYPES, as_ascii

LABELLED = Path(__file__).parents[2] / "data" / "pii" / "labelled_more.jsonl"
ROWS = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
BODY = "aZ3kQ9xW7mPbT5vRyL2nC8dFgH4jSeU6wXqM1oKi"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["text"][:30])
def test_labelled(row: dict[str, Any]) -> None:
    found = find(row["text"], SCANNED, spelled=True)
    assert [(s.type, s.start, s.end) for s in found] == [
        (s["type"], s["start"], s["end"]) for s in row["spans"]
    ]


def test_every_country_of_the_module_is_labelled() -> None:
    """By one number that its authority or an encyclopedia prints (France to South Africa)."""
    numbers = [
        row["text"][s["start"] : s["end"]]
        for row in ROWS
        for s in row["spans"]
        if s["type"] == "national_id"
    ]
    seen = set()
    for number in numbers:
        plain = "".join(c for c in as_ascii(number).upper() if c.isalnum())
        for kind, form, _ in national._compiled():
            if form.fullmatch(as_ascii(number)) and kind.check(plain):
                seen.add(kind.name)
    assert len(seen) >= 19
    assert set(national.COUNTRIES) - seen <= {"ca", "kr"}


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (national.canadian, "130692544", "130692545"),
        (national.korean, "9001011234568", "9001011234569"),
        (national.belgian, "85073003328", "85073003329"),
        (national.swedish, "8112189876", "8112189875"),
    ],
)
def test_checks(check: Any, good: str, bad: str) -> None:
    assert check(good)
    assert not check(bad)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.sampled_from(["44051401359", "111222333", "86095742719", "9434765919", "52998224725",
                        "234123412346", "8001015009087", "10000000146"]), st.data())  # fmt: skip
def test_one_wrong_digit_fails_every_check(number: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(number) - 1))
    digit = data.draw(st.sampled_from([d for d in "0123456789" if d != number[at]]))
    checks = {
        "44051401359": national.polish, "111222333": national.dutch,
        "86095742719": national.german, "9434765919": national.british_health,
        "52998224725": national.brazilian, "234123412346": national.indian,
        "8001015009087": national.south_african, "10000000146": national.turkish,
    }  # fmt: skip
    assert checks[number](number)
    assert not checks[number](number[:at] + digit + number[at + 1 :])


def jwt(header: str) -> str:
    parts = [header, '{"sub":"1","name":"n"}']
    return ".".join(
        [*(base64.urlsafe_b64encode(p.encode()).decode().rstrip("=") for p in parts), BODY]
    )


SECRETS = {
    "aws": "AK" + "IAJ4QZ7RT2MNB5XWKD",
    "github": "gh" + "p_" + BODY[:36],
    "github fine": "github" + "_pat_" + BODY[:22] + "_" + BODY + BODY[:19],
    "gitlab": "gl" + "pat-" + BODY[:20],
    "slack": "xo" + "xb-2481632-" + BODY[:24],
    "google": "AI" + "za" + BODY[:35],
    "stripe": "sk" + "_live_" + BODY[:24],
    "openai": "sk" + "-proj-" + BODY + BODY[:8],
    "hugging face": "hf" + "_" + "".join(c for c in BODY * 2 if c.isalnum())[:34],
    "npm": "np" + "m_" + BODY[:36],
    "sendgrid": "S" + "G." + BODY[:22] + "." + BODY + "abc",
    "slack hook": "https://hooks.slack" + ".com/services/T02AB4CD6/B03EF5GH7/" + BODY[:24],
    "gitlab routable": "gl" + "pat-" + BODY[:27] + ".01." + "0a1b2c3d4",
    "gitlab runner": "gl" + "rt-" + BODY[:20],
    "slack app": "xa" + "pp-1-A02AB4CD6EF-2481632481632-" + "0a1b2c3d" * 8,
    "google client": "GOC" + "SPX-" + BODY[:28],
    "stripe test": "sk" + "_test_" + BODY[:24],
    "stripe hook": "wh" + "sec_" + BODY[:32],
    "openrouter": "sk" + "-or-v1-" + "0a1b2c3d4e5f6789" * 4,
    "deepseek": "sk" + "-" + "0a1b2c3d4e5f6789" * 2,
    "groq": "gs" + "k_" + BODY + BODY[:12],
    "replicate": "r8" + "_" + BODY[:37],
    "vault": "hv" + "s." + BODY,
    "grafana": "gl" + "sa_" + BODY[:32] + "_0a1b2c3d",
    "docker": "dckr" + "_pat_" + BODY[:20] + "_-" + BODY[:5],
    "square": "sq0" + "atp-" + BODY[:22],
    "atlassian": "ATATT3" + "xFfGF0" + BODY * 3,
    "age": "AGE-SECRET" + "-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" + "QPZRY9X8GF2TVDW0S3JN54KHCE",
    "jwt": jwt('{"alg":"HS256"}'),
    "pem": "-----BEGIN RSA PRIV" + "ATE KEY-----\n" + (BODY + BODY[:24] + "\n") * 4
    + "-----END RSA PRIV" + "ATE KEY-----",
}  # fmt: skip


@pytest.mark.parametrize("name", SECRETS)
def test_secrets(name: str) -> None:
    text = f"config = {SECRETS[name]} # keep"
    (span,) = find(text)
    assert (span.type, text[span.start : span.end]) == ("secret", SECRETS[name])


def test_the_value_of_an_aws_secret() -> None:
    text = "AWS_SECRET_ACCESS" + f'_KEY="{BODY}"'
    (span,) = find(text)
    assert text[span.start : span.end] == BODY


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"Secret' + f'AccessKey": "{BODY}"', BODY),
        ("Account" + f"Key={BODY * 2}{BODY[:6]}==;", BODY * 2 + BODY[:6] + "=="),
        (f'api_key: "{BODY[:24]}"', BODY[:24]),
        (f"client-secret={BODY[:20]}; x", BODY[:20]),
        ("DB_PASSWORD = 'Xk9fPq22z!'", "Xk9fPq22z!"),
        ('"passwd":"Xk9fPq22z!"', "Xk9fPq22z!"),
        ("postgres://app:Xk9fPq22z@db.corp.net/main", "Xk9fPq22z"),
        ("redis://:Xk9fPq22z@[2a00::1]:6379", "Xk9fPq22z"),
        ("-----BEGIN PRIV" + f"ATE KEY-----\n{BODY}\n{BODY}\n\nand then",
         "-----BEGIN PRIV" + f"ATE KEY-----\n{BODY}\n{BODY}"),
    ],
)  # fmt: skip
def test_secrets_by_their_place(text: str, value: str) -> None:
    found = [text[s.start : s.end] for s in find(text, ("secret",))]
    assert found == [value]
    assert find(text.replace(value, "<SECRET>"), ("secret",)) == []


@pytest.mark.parametrize(
    "text",
    [
        "password = 'password123' and password: 'my_secret_word1'",
        "password = getpass('Enter 1 Password: ')",
        "password: hunter2, the password is 'Xk9fPq22z!'",
        "api_key = os.environ['API_KEY_2024_PRODUCTION']",
        "secret_key = generate_secret_key_2024_for(x)",
        "public_key = " + BODY[:24],
        "http://user:Xk9fPq22z@localhost/ http://user:Xk9fPq22z@www.example.com/",
        "http://user:password1@host.org http://host.org:8080/a:b@c",
        "see http://tiny.io:80/x1y2z3 and @tiny",
        "AK" + "IAIOSFODNN7EXAMPLE",
        "gh" + "p_" + "x" * 36,
        "gh" + "p_" + BODY[:20],
        "AI" + "za" + BODY[:30],
        "sk-learn and sk-image-0.19 of scikit, key-value, SG.1.2",
        jwt('{"kid":"no algorithm"}'),
        "-----BEGIN CERTIFICATE-----\n" + BODY * 4 + "\n-----END CERTIFICATE-----",
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "aws_secret_access" + "_key = <your secret key, 40 characters long, here>",
    ],
)
def test_no_secrets(text: str) -> None:
    assert find(text, TYPES) == []


def test_sums_of_wallets() -> None:
    """The address of the first block, and the examples of BIP 173 and BIP 350."""
    assert base58check("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")
    assert not base58check("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNz")
    assert bech32("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")
    assert bech32("bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0")
    assert not bech32("bc1Qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")
    assert not bech32("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3tb")


def test_what_is_on_and_what_is_off() -> None:
    text = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa 3c:22:fb:8a:10:7e PESEL 44051401359 ann [at] tiny.io"
    assert set(TYPES) - set(DEFAULT_TYPES) == {"wallet", "mac", "private_ip", "street"}
    assert [s.type for s in find(text)] == ["national_id"]
    assert {s.type for s in find(text, TYPES, spelled=True)} == {
        "wallet", "mac", "national_id", "email",
    }  # fmt: skip


def test_tags_and_the_option_of_the_stage() -> None:
    stage = STAGE(PiiParams(types=("email", "wallet", "national_id"), spelled_email=True))
    stage.setup()
    document = Document("0" * 32, "ann [at] tiny.io, CPF 529.982.247-25, ＢＣ１ ann@tiny.io", "s")
    stage.apply([document])
    assert document.text == "<EMAIL>, CPF <NATIONAL_ID>, ＢＣ１ <EMAIL>"
    assert document.signals == {
        "pii_email": 2,
        "pii_email_role": 0,
        "pii_wallet": 0,
        "pii_national_id": 1,
    }


def test_long_lists_take_no_time_to_speak_of() -> None:
    assert len(find("PESEL 44051401359, " * 20_000)) == 20_000
    assert len(find("529.982.247-25 " * 20_000)) == 20_000
    for text in ("dni " * 50_000, "eyJhbGciOi." * 20_000, "a [at] " * 30_000, "a dot " * 30_000,
                 "-----BEGIN PRIVATE KEY-----" * 3_000, "13LM" * 50_000):  # fmt: skip
        assert find(text, TYPES, spelled=True) == []


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.text(max_size=40))
def test_digits_of_other_scripts_keep_their_place(text: str) -> None:
    assert len(as_ascii(text)) == len(text)
    assert not text.isascii() or as_ascii(text) is text


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.sampled_from([
    "PESEL", "44051401359", "BSN", "111222333", "nhs", "943 476 5919", "cpf", "52998224725", " ",
    ", ", "\n", "dni", "12345678Z", "AB 12 34 56 C", "nino", "3c:22:fb:8a:10:7e", "ann [at] tiny.io",
    "x at y dot com", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "<SECRET>", "steuer-id", "86095742719",
    "（", "１２３", "tel", SECRETS["github"], SECRETS["aws"]]), max_size=12))  # fmt: skip
def test_prefilter_and_second_pass(pieces: list[str]) -> None:
    text = " ".join(pieces)
    stage = STAGE(PiiParams(types=TYPES, spelled_email=True))
    once = Document("0" * 32, text, "s")
    stage.apply([once])
    assert find(once.text, TYPES, spelled=True) == []
