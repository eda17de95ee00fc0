"""The languages that `measure.language` can name, and how the judges' own codes map to ours."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from corpusmill.classifiers.fasttext_language import SHORTER
from corpusmill.pipeline.errors import ConfigError, CorpusmillError

UNDETERMINED = "und"

_CLD2 = (
    "aa ab af ak am ar as ay az ba be bg bi bn bo br bs ca ceb chr co crs cs cy da de dv dz el en "
    "eo es et eu fa fi fj fo fr fy ga gd gl gn gu gv ha haw hi hmn hr ht hu hy ia id ie ig ik is "
    "it iu ja ka kha kk kl km kn ko ks ku ky la lb lg lif ln lo lt lv mfe mg mi mk ml mn mr ms mt "
    "my na ne nl nn nr nso ny oc om or pa pl ps pt qu rm rn ro ru rw sa sco sd sg si sk sl sm sn "
    "so sq sr ss st su sv sw syr ta te tg th ti tk tl tlh tn to tr ts tt ug uk ur uz ve vi vo war "
    "wo xh yi yo za zh zh-Hant zu"
)
_LANGID = (
    "ace af am an ar as az ba bcl be bg bn br bs ca crh cs cy da de dz el en eo es et eu ext fa fi "
    "fo fr fuv fy ga gcf gcr gd gl gom grc gu guw ha hbo he hi hr ht hu hy id ig is it ja jv ka "
    "kab kk km kn ko ku ky la lb lg lij ln lo lt ltg lv mg mk ml mn mr ms mt my ne nl nn nso oc om "
    "or pa pcm pl ps pt qu ro ru rw sa sdh se si sk sl sn so sq sr st sv sw ta te tg th tk tl tr "
    "tt ug uk ur uz uzs vec vi vo wa xh yo zh zu"
)

CLD2_CODES: dict[str, str] = {
    **{code: code for code in _CLD2.split()},
    "bh": "bih",
    "iw": "he",
    "jw": "jv",
    "no": "nb",
    "xx-Bugi": "bug",
    "xx-Goth": "got",
}
"""CLD2's codes; others ("un", its pig Latin) are undetermined."""

LANGID_CODES: dict[str, str] = {
    **{code: code for code in _LANGID.split()},
    "ary": "ar",
    "arz": "ar",
    "gug": "gn",
    "kik": "ki",
    "no": "nb",
    "wuu": "zh",
    "yue": "zh",
}
"""py3langid's labels; "zxx" (no language) is undetermined. Kinds of Arabic and of Chinese that
CLD2 does not tell apart are one code."""

_MODEL = (
    "bem bho bi bm ckb dsb ee fon fur gaa hil hsb ii ilo io kea kg kri lad loz lua lus mai mh min "
    "mos nds ng nv os pam pnb rmy sah sc skr ty tet tiv tpi tyv udm umb syr ast"
)
"""Languages that only our own model names, or a script."""

LANGUAGES: tuple[str, ...] = tuple(
    sorted({*CLD2_CODES.values(), *LANGID_CODES.values(), *_MODEL.split(), UNDETERMINED})
)
"""Every value that the signal `lang` can have."""

_OTHER_NAMES = {
    **SHORTER,
    "english": "en", "in": "id", "jp": "ja", "kr": "ko", "no": "nb", "zh-CN": "zh",
    "zh-Hans": "zh", "zh-HK": "zh-Hant", "zht": "zh-Hant",
    "alb": "sq", "arm": "hy", "baq": "eu", "bur": "my", "chi": "zh", "cze": "cs", "dut": "nl",
    "fre": "fr", "geo": "ka", "ger": "de", "gre": "el", "ice": "is", "mac": "mk", "mao": "mi",
    "may": "ms", "per": "fa", "rum": "ro", "slo": "sk", "tib": "bo", "wel": "cy",
}  # fmt: skip
"""Codes that languages have elsewhere, and ours."""


def check_codes(
    codes: Iterable[str], where: str, kind: type[CorpusmillError] = ConfigError
) -> None:
    """Raises an error of a `kind`, which names `where`, for a code that no document is ever given.
    Three letters that are no language's other code pass: a user's own model may give them."""
    for code in codes:
        other = code in _OTHER_NAMES or not re.fullmatch("[a-z]{3}", code)
        if code not in LANGUAGES and other:
            raise kind(f"{where} has {code!r}, which no document is ever given", hint=_likely(code))


def _likely(code: str) -> str:
    """The hint for a code that is none: the one that was likely meant, else all."""
    close = get_close_matches(code, LANGUAGES, n=1, cutoff=0.5)
    first = code[:2].lower()
    likely = _OTHER_NAMES.get(code) or (
        close[0] if close else first if first in LANGUAGES else None
    )
    return f"did you mean {likely!r}?" if likely else f"one of {', '.join(LANGUAGES)}"
