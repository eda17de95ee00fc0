"""A user's own fastText language model in place of our judges: lid.176, OpenLID, GlotLID.

None of them is shipped or downloaded: the file is an asset, whose digest stands in the plan.
`code_of` turns their labels (``__label__en``, ``__label__eng_Latn``, ``__label__cmn_Hani``) into
the codes of `measure.language`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpusmill.pipeline.errors import AssetError

from .fasttext_format import check_file
from .fasttext_models import fasttext_module

_ISO = (
    "aar=aa abk=ab afr=af aka=ak als=sq amh=am ara=ar arb=ar asm=as ava=av aym=ay ayr=ay aze=az "
    "azj=az bak=ba bel=be ben=bn bih=bih bis=bi bod=bo bos=bs bre=br bul=bg cat=ca ces=cs che=ce "
    "chv=cv cmn=zh cor=kw cos=co cym=cy dan=da deu=de div=dv dzo=dz ekk=et ell=el eng=en epo=eo "
    "est=et eus=eu ewe=ee fao=fo fas=fa fij=fj fin=fi fra=fr fry=fy gaz=om gla=gd gle=ga glg=gl "
    "glv=gv grn=gn gug=gn guj=gu hat=ht hau=ha heb=he hin=hi hrv=hr hun=hu hye=hy ibo=ig ido=io "
    "iii=ii iku=iu ile=ie ina=ia ind=id isl=is ita=it jav=jv jpn=ja kal=kl kan=kn kas=ks kat=ka "
    "kaz=kk khk=mn khm=km kik=ki kin=rw kir=ky kmr=ku kon=kg kor=ko kur=ku lao=lo lat=la lav=lv "
    "lin=ln lit=lt ltz=lb lug=lg lvs=lv mah=mh mal=ml mar=mr mkd=mk mlg=mg mlt=mt mon=mn mri=mi "
    "msa=ms mya=my nav=nv nbl=nr ndo=ng nep=ne nld=nl nno=nn no=nb nob=nb nor=nb npi=ne nya=ny "
    "oci=oc ori=or orm=om ory=or oss=os pan=pa pbt=ps pes=fa plt=mg pol=pl por=pt prs=fa pus=ps "
    "que=qu quy=qu quz=qu roh=rm ron=ro run=rn rus=ru sag=sg san=sa sin=si slk=sk slv=sl sme=se "
    "smo=sm sna=sn snd=sd som=so sot=st spa=es sqi=sq src=sc srp=sr ssw=ss sun=su swa=sw swe=sv "
    "swh=sw tah=ty tam=ta tat=tt tel=te tgk=tg tgl=tl tha=th tir=ti ton=to tsn=tn tso=ts tuk=tk "
    "tur=tr twi=ak uig=ug ukr=uk urd=ur uzb=uz uzn=uz ven=ve vie=vi vol=vo wln=wa wol=wo wuu=zh "
    "xho=xh ydd=yi yid=yi yor=yo yue=zh zho=zh zsm=ms zul=zu zh-TW=zh-Hant fil=tl iw=he jw=jv"
)
SHORTER = dict(pair.split("=") for pair in _ISO.split())
"""Codes of models, and ours for the same languages."""
_LABEL = re.compile(r"__label__([A-Za-z-]+?)(?:_([A-Z][a-z]{3}))?(?:_[A-Za-z0-9]+)?")
_LINES = re.compile(r"[\n\r\0\v\f\x1c-\x1e\x85\u2028\u2029]")


def code_of(label: str) -> str:
    """Our code for a model's label; "" for one that names no language. ISO 639-3 codes that have
    no shorter form, and that our judges do not know, stay as they are."""
    match = _LABEL.fullmatch(label)
    if match is None or match[1] in ("zxx", "und", "unknown"):
        return ""
    code = SHORTER.get(match[1], match[1])
    return "zh-Hant" if code == "zh" and match[2] == "Hant" else code


def check_language_model(path: str | Path) -> None:
    """Raises AssetError where a file is missing, damaged, or no language model."""
    info = check_file(path)
    named = [label for label in info.labels if code_of(label)]
    if not info.supervised or len(named) < 2 or "en" not in map(code_of, named):
        raise AssetError(
            f"model {Path(path).name} names no languages; its labels: {list(info.labels)[:8]}",
            hint="give lid.176.bin, lid.176.ftz, or a model of OpenLID or GlotLID",
        )


class FastTextLanguage:
    """The language model in a file: see `check_language_model`."""

    def __init__(self, path: str | Path) -> None:
        check_language_model(path)
        module = fasttext_module()
        try:
            self._model: Any = module.FastText.load_model(str(path))
        except (ValueError, RuntimeError, MemoryError) as error:
            raise AssetError(f"model {Path(path).name} cannot be loaded: {error}") from error

    def ask(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """Most probable language and its probability (0 to 1, 4 decimals) for each text; "" where
        there is nothing to judge."""
        lines = [_LINES.sub(" ", text.encode("utf-8", "replace").decode("utf-8")) for text in texts]
        if not lines:
            return []
        labels, probabilities = self._model.predict(lines, k=1)
        return [
            (code_of(found[0]), round(min(1.0, float(values[0])), 4)) if len(found) else ("", 0.0)
            for found, values in zip(labels, probabilities, strict=True)
        ]
