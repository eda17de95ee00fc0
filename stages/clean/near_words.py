"""Words that make a number near them a telephone, social security or national one, or a network's.

The compiled pass compares whole words, so that "design 5550166" is no candidate for "desk". The
lists say how each alternative of the detectors' expressions can begin, as far as it is literal.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

PHONE, SSN, NATIONAL, NETWORK = 1, 2, 4, 8

_PHONE_WORDS: Final = """
tel$ tél$ téle télé telef teleph telecop telem tlf$ phone iphone smartphone fax$ faks$ whatsapp
whats␣app viber$ sms$ gsm$ hotline$ helpline$ handy
rufnummer mobilnumm móvil$ movil$ celular$ portable$ cellulare$ puhelin$ puh$ numer␣tele mob$ desk$
mobile$ cell$ contact$ office$ home$ work$ direct$ main$ voice$ toll␣free␣ toll-free␣
call$ called$ calling$ calls$ dial$ dialed$ dialled$ dialing$ ring$ rang$ reach$ reached$ reachable$
contacted$ text$ texted$ answer$ answered$ answering$ message$ messages$ anrufen$ appelez$ llame$
llama$ llamar$ llamad$ chiama$ chiamare$ ligue$
ph:␣ ph.␣ p:␣ t:␣ m:␣ f:␣ fon$ telp$ telepon$ hp:␣ cep$ number␣is$ điện␣thoạ
फ़ फो मोबा โท те фа мо τη טל ها تل 電 电 手 傳 传 携 전 휴 팩
"""
_SSN_WORDS: Final = """
ssn ss# s.s.n social$ socialsecur social␣insu soc␣sec$ soc.␣sec$ tax␣id$ taxpayer␣id
seguro␣soci sozialversi
"""
_NATIONAL_WORDS: Final = """
nir$ sécu$ sécurité␣ securite␣ n°␣ss n°ss insee$ id␣no$ id␣number identity␣nu south␣afric aadhaar$
aadhar$ uidai$ आध cpf$ rijksregist registre␣na numéro␣nati insz$ niss$ pesel$ fødselsn personnumme
personnr$ d-nummer$ steuerid steuer-id steuerlich idnr$ t.c.␣kim tc␣kim tc.␣kim t.c␣kim kimlik␣no$
kimlik␣num tckn$ pnr$ samordnings rodn rč r.č r␣č r.␣č cpr$ cprn nhs$ nin$ nino$ national␣in
ni␣no$ ni␣number$ bsn$ burgerserv sofi nif$ contribuint dni$ nie$ documento␣ sin: sin␣no$
sin␣number$ social␣insu tfn$ tax␣file␣
"""
_NETWORK_WORDS: Final = """
ipv4$ ip4$ inet$ addr adress direcci indirizzo server client peer gateway router
resolver dns$ nameserver subnet$ proxy$ proxies$ login$ logged$ ping traceroute tracert whois$ dig$
nslookup$ telnet$ connect listen bind$ src$ dst$ ban$ bans$ bann baned$ firewall$ attack visitor
came␣from$ forward port$ remote block unblock abuse spam vpn$ netmask$ mask$ ад
"""
WORDS: Final = (
    (PHONE, _PHONE_WORDS),
    (SSN, _SSN_WORDS),
    (NATIONAL, _NATIONAL_WORDS),
    (NETWORK, _NETWORK_WORDS),
)
"""(what they make of a number, how the words begin), of three bytes or more; ``␣`` is a space, and
``$`` at the end says that the word ends there. `corpusmill.stages.clean.digits`, ``national`` and
``addresses`` have the words themselves."""

_LONGEST: Final = 14
BITS, SIZE, FIRST = 0, 1, 2
"""Columns of the table: what a word makes of a number; its bytes, 128 more where the next row has
the same head; its first byte."""
_MORE: Final = 0x80


def head(word: bytes) -> int:
    """The head under which a word is looked for: a hash of its first three bytes, small letters."""
    code = 0
    for b in word[:3]:
        code = code << 4 ^ b
    return code & 0xFFF


def _cases(word: str) -> set[str]:
    """`word` with those of its letters that are no ASCII in either case, for the few that are."""
    forms = {""}
    for c in word:
        forms = {form + x for form in forms for x in ({c} if c.isascii() else {c, c.upper()})}
    return forms


@lru_cache(maxsize=1)
def table() -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    """(first row by head, rows); row 0 is none."""
    rows: set[tuple[int, bytes, int]] = set()
    for bit, words in WORDS:
        for entry in words.split():
            for form in _cases(entry.replace("␣", " ")):
                word = form.encode()
                rows.add((head(word), word, bit))
    heads = np.zeros(1 << 12, np.uint16)
    content = np.zeros((len(rows) + 1, FIRST + _LONGEST), np.uint8)
    last = -1
    for n, (code, word, bit) in enumerate(sorted(rows), 1):
        if code == last:
            content[n - 1, SIZE] |= _MORE
        else:
            heads[code] = n
        content[n, BITS], content[n, SIZE] = bit, len(word)
        content[n, FIRST : FIRST + len(word)] = list(word)
        last = code
    return heads, content
