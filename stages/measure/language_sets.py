"""The labelled sets that the language model is trained, tuned and judged on, and their parts.

Each text falls into one of three parts by a keyed hash: ``train`` (half; the model's), ``tune`` (a
quarter; the rules of `language.py` were set on it) and ``final`` (a quarter; looked at last).
Versions of one language in the declaration are split by article, so that one article is never on
two sides, and a text that also occurs in ``train`` is in no other part. XQuAD's articles and the
manuals of ``html_gold`` are in no part: nothing was trained on them.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_KNOWN = (
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
)
_MORE = (
    "abk=ab ace=ace ast=ast azj_cyrl=az bam=bm bcl=bcl bem=bem bho=bho bis=bi bos_cyrl=bs "
    "bug=bug ckb=ckb ell_polytonic=el ewe=ee fon=fon fur=fur gaa=gaa hat_popular=ht hau_NE=ha "
    "hil=hil hsb=hsb ido=io iii=ii ilo=ilo kea=kea kng=kg kri=kri lad=lad lat_1=la lin_tones=ln "
    "lnc=oc loz=loz lua=lua lus=lus mah=mh mai=mai min=min mos=mos nav=nv ndo=ng nds=nds "
    "nya_chechewa=ny oss=os pam=pam pbu=ps pcm=pcm pes_2=fa pnb=pnb prv=oc quy=qu rmy=rmy "
    "ron_1953=ro ron_1993=ro sah=sah skr=skr sme=se src=sc srp_latn=sr tah=ty tet=tet tiv=tiv "
    "tpi=tpi tuk_cyrl=tk tyv=tyv uig_latn=ug umb=umb uzn_cyrl=uz vec=vec wln=wa"
)
UDHR: dict[str, str] = dict(pair.split("=") for pair in _KNOWN.split())
"""Files of the declaration whose language CLD2 knows, in the spelling most in use, by our codes."""
UDHR_MORE: dict[str, str] = dict(pair.split("=") for pair in _MORE.split())
"""Others whose language we name: other spellings, and languages that CLD2 does not know."""
TLDR = {"no": "nb", "pt_BR": "pt", "pt_PT": "pt", "zh_TW": "zh-Hant"}
PARTS = ("train", "train", "tune", "final")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, its language by our code (``x-NAME`` where we have none), its part, and the name
    that the set gives its language or version."""

    code: str
    text: str
    part: str
    name: str


def part_of(*key: str) -> str:
    """The part that a key falls into."""
    return PARTS[hashlib.sha256("|".join(("language", *key)).encode()).digest()[0] & 3]


def rows(path: Path) -> list[dict[str, Any]]:
    """The objects in a JSONL file, gzip or not."""
    raw = path.read_bytes()
    if path.suffix == ".gz":
        raw = gzip.decompress(raw)
    return [json.loads(line) for line in raw.decode("utf-8").splitlines()]


def _bare(text: str) -> str:
    return re.sub(r"[\W\d_]+", " ", text.lower()).strip()


def _without_trained(found: list[Labelled]) -> list[Labelled]:
    trained = {_bare(row.text) for row in found if row.part == "train"}
    return [row for row in found if row.part == "train" or _bare(row.text) not in trained]


def declaration(data: Path) -> list[Labelled]:
    """Articles of the Universal Declaration of Human Rights, 387 versions."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for row in rows(data / "langid" / "udhr.jsonl.gz"):
        by_name[row["lang"]].append(row["text"])
    found = []
    for name, texts in by_name.items():
        code = UDHR.get(name) or UDHR_MORE.get(name) or f"x-{name}"
        found += [
            Labelled(code, text, part_of("udhr", code, str(i)), name)
            for i, text in enumerate(texts)
        ]
    return _without_trained(found)


def commands(data: Path) -> list[Labelled]:
    """One-line descriptions of commands from tldr-pages, 39 languages, each text once a language.

    Split by text, so that a sentence that stands on a hundred pages is on one side.
    """
    found: dict[tuple[str, str], Labelled] = {}
    for row in rows(data / "langid" / "tldr.jsonl.gz"):
        code, text = TLDR.get(row["lang"], row["lang"]), row["text"]
        part = part_of("tldr", _bare(text))
        found.setdefault((code, text), Labelled(code, text, part, row["lang"]))
    return _without_trained(list(found.values()))


def articles(data: Path) -> list[Labelled]:
    """Paragraphs of XQuAD, the same 240 in 12 languages; all ``final``."""
    path = data / "text_high" / "xquad_contexts.jsonl.gz"
    return [
        Labelled(row["id"].split("/")[1], row["text"], "final", row["title"]) for row in rows(path)
    ]


def manuals(data: Path) -> list[Labelled]:
    """Main texts of manual pages in 27 languages, by a rule's label, not a person's; ``final``."""
    path = data / "html_gold" / "doc_containers.jsonl.gz"
    return [Labelled(row["lang"], row["text"], "final", row["url"]) for row in rows(path)]


def joined(found: list[Labelled], size: int = 7) -> list[Labelled]:
    """Documents of up to `size` consecutive texts of one version, at least half of that."""
    by_name: dict[tuple[str, str], list[Labelled]] = defaultdict(list)
    for row in found:
        by_name[row.name, row.part].append(row)
    made = []
    for members in by_name.values():
        for i in range(0, len(members), size):
            some = members[i : i + size]
            if 2 * len(some) >= size or len(some) == len(members):
                text = "\n".join(row.text for row in some)
                made.append(Labelled(some[0].code, text, some[0].part, some[0].name))
    return made
