"""Makes the bounds and stop words by language of this folder from FineWeb-2's published ones.

    python configs/languages/build.py FINEWEB2 DATA

FINEWEB2 is a checkout of huggingface/fineweb-2 (Apache-2.0): ``configs/*.yml`` and
``fineweb2-language-distribution.csv``. Of a language with several scripts the one with the most
documents there is taken. DATA is the folder that CORPUSMILL_DATA names: the Declaration of Human
Rights in it says which lists of stop words fit our words. See README.md beside this file.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from corpusmill.pipeline.document import Document
from corpusmill.pipeline.stage import Asset
from corpusmill.stages.measure import gopher
from corpusmill.stages.measure.language_codes import LANGUAGES
from corpusmill.stages.measure.language_sets import UDHR, UDHR_MORE, rows
from corpusmill.stages.measure.stop_words import LISTS
from corpusmill.stages.words import word_hashes

HERE = Path(__file__).parent
OUTSIDE = {"en", "und"}
"""English is no part of FineWeb-2."""
NO_SPACES = {"Hani", "Jpan", "Thai", "Laoo", "Khmr", "Mymr"}
"""Scripts in which ours counts pairs of characters: no word lengths, no stop words."""

_ISO = (
    "aa:aar ab:abk af:afr ak:twi am:amh ar:arb as:asm ay:ayr az:azj ba:bak be:bel bg:bul bi:bis "
    "bm:bam bn:ben bo:bod br:bre bs:bos ca:cat co:cos cs:ces cy:cym da:dan de:deu dv:div dz:dzo "
    "ee:ewe el:ell eo:epo es:spa et:ekk eu:eus fa:fas fi:fin fj:fij fo:fao fr:fra fy:fry ga:gle "
    "gd:gla gl:glg gn:gug gu:guj gv:glv ha:hau he:heb hi:hin hr:hrv ht:hat hu:hun hy:hye ia:ina "
    "id:ind ie:ile ig:ibo ii:iii ik:esi io:ido is:isl it:ita iu:ike ja:jpn jv:jav ka:kat kg:ktu "
    "ki:kik kk:kaz kl:kal km:khm kn:kan ko:kor kri:kri ks:kas ku:kmr ky:kir la:lat lb:ltz lg:lug "
    "ln:lin lo:lao lt:lit lua:lua lv:lvs mg:plt mh:mah mi:mri mk:mkd ml:mal mn:khk mr:mar ms:zsm "
    "mt:mlt my:mya na:nau nb:nob ne:npi ng:ndo nl:nld nn:nno nr:nbl nv:nav ny:nya oc:oci om:gaz "
    "or:ory os:oss pa:pan pl:pol ps:pbt pt:por qu:quy rm:roh rn:run ro:ron ru:rus rw:kin sa:san "
    "sc:srd sd:snd se:sme sg:sag si:sin sk:slk sl:slv sm:smo sn:sna so:som sq:als sr:srp ss:ssw "
    "st:sot su:sun sv:swe sw:swh ta:tam te:tel tg:tgk th:tha ti:tir tk:tuk tl:fil tn:tsn to:ton "
    "tr:tur ts:tso tt:tat ty:tah ug:uig uk:ukr ur:urd uz:uzn ve:ven vi:vie vo:vol wa:wln wo:wol "
    "xh:xho yi:ydd yo:yor za:zyb zh:cmn zh-Hant:cmn zu:zul bih:bho fuv:fuv"
)
CODES: dict[str, str] = dict(pair.split(":") for pair in _ISO.split())
"""Our codes → those of FineWeb-2; codes of three letters that are missing here are the same."""


def configurations(folder: Path) -> dict[str, Path]:
    """Language in FineWeb-2 → its configuration, of its most frequent script."""
    documents: dict[tuple[str, str], int] = {}
    with (folder / "fineweb2-language-distribution.csv").open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            if row["split"] == "train" and not row["subset"].endswith("_removed"):
                documents[row["code"], row["script"]] = int(row["documents"])
    found: dict[str, tuple[int, str, Path]] = {}
    for path in sorted((folder / "configs").glob("*.yml")):
        code, script = path.stem.split("_")
        one = (documents.get((code, script), 0), script, path)
        found[code] = max(found.get(code, one), one)
    return {code: path for code, (_, _, path) in found.items()}


def quality(given: Mapping[str, Any], spaced: bool) -> dict[str, float | None]:
    """Bounds of ``filters.gopher_quality``. Their bound "non-alpha" is a least share of words with
    a letter: that is what the parameter is compared with there."""
    lengths: dict[str, float | None] = {
        "min_mean_word": given["min_avg_word_length"], "max_mean_word": given["max_avg_word_length"]
    }  # fmt: skip
    return (lengths if spaced else {}) | {"min_alpha_words": given["max_non_alpha_words_ratio"]}


def repetition(given: Mapping[str, Any]) -> dict[str, float | None]:
    """Bounds of ``filters.gopher_repetition``."""
    grams = {f"top_{n}gram": bound for n, bound in given["top_n_grams"]}
    grams |= {f"dup_{n}gram": bound for n, bound in given["dup_n_grams"]}
    return {"dup_lines": given["dup_line_frac"], **grams}


def lines(given: Mapping[str, Any]) -> dict[str, float | None]:
    """Bounds of ``filters.fineweb``. A least share below nothing is no rule."""
    punct = given["line_punct_thr"]
    return {
        "min_line_punct": punct if punct > 0 else None,
        "max_newlines_per_word": given["new_line_ratio"],
    }


def is_word(text: str) -> bool:
    """Whether `text` is one word by our rule: not ``l'`` nor ``·``."""
    try:
        return len(word_hashes([text])) == 1 and not text.endswith("'")
    except ValueError:
        return False


def pieces(data: Path) -> Iterator[Document]:
    """Articles of the Declaration, as many together as make 100 words, with their language."""
    whole: dict[str, list[str]] = defaultdict(list)
    for row in rows(data / "langid" / "udhr.jsonl.gz"):
        whole[row["lang"]].append(row["text"])
    for version, texts in whole.items():
        code = UDHR.get(version) or UDHR_MORE.get(version)
        piece: list[str] = []
        for text in texts if code else ():
            piece.append(text)
            if sum(len(part.split()) for part in piece) >= 100:
                signals = {"lang": code or ""}
                yield Document("0" * 32, "\n".join(piece), "udhr", signals=dict(signals))
                piece = []


def fitting(lists: Mapping[str, str], data: Path) -> dict[str, str]:
    """The lists of which at least two words stand in 95 % of a language's pieces. A language
    without pieces is left out."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lists.json"
        path.write_text(json.dumps({"lists": lists}), encoding="utf-8")
        measure = gopher.STAGE(gopher.Params(stop_words=Asset(str(path))))
        measure.setup()
        documents = list(pieces(data))
        measure.apply(documents)
    enough: dict[str, list[bool]] = defaultdict(list)
    for document in documents:
        if "gopher_stop_words" in document.signals:
            found = int(document.signals["gopher_stop_words"])
            enough[str(document.signals["lang"])].append(found >= 2)
    return {
        code: lists[code] for code, hits in sorted(enough.items()) if sum(hits) >= 0.95 * len(hits)
    }


def write(name: str, table: Mapping[str, Any], around: str = "") -> None:
    """NAME.json, one line a language."""
    rows = ",\n".join(
        f"{json.dumps(code)}: {json.dumps(table[code], ensure_ascii=False)}"
        for code in sorted(table)
    )
    text = f"{{\n{rows}\n}}"
    text = f'{{"{around}": {text}}}' if around else text
    (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Writes the four files."""
    paths = configurations(Path(sys.argv[1]))
    tables: dict[str, dict[str, Any]] = {name: {} for name in ("quality", "repetition", "lines")}
    lists: dict[str, str] = {}
    for code in LANGUAGES:
        path = paths.get(CODES.get(code, code))
        if code in OUTSIDE or path is None:
            continue
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
        spaced = path.stem.split("_")[1] not in NO_SPACES
        tables["quality"][code] = quality(given, spaced)
        tables["repetition"][code] = repetition(given)
        tables["lines"][code] = lines(given)
        words = [word for word in given["stopwords"] if is_word(word)]
        if spaced and len(words) >= 2:
            lists[code] = " ".join(words)
    for name, table in tables.items():
        write(f"fineweb2_{name}", table)
    ours = {code: " ".join(words) for code, words in LISTS.items()}
    write("stop_words", fitting(lists, Path(sys.argv[2])) | ours, around="lists")


if __name__ == "__main__":
    main()
