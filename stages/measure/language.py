"""Which language a text is in, by judges that need no download.

Read are `Params.chars` characters of a text, in pieces from its beginning to its end, and four
times as many where a fifth of the letters in those is in a second language. The judges:

- **Script.** A script that one language alone writes (Greek, Thai, Hangul …) settles it, and kana
  Japanese. Where letters of a non-Latin script are a quarter of the text or more, by bytes, Latin
  letters do not count: they are names and code.
- **Our model** (`language_model.py`), a linear one over letter n-grams, on every other text. It
  settles the text alone if it gives a language 0.9 or more, on 15 letters or more, and that
  language had more than the declaration of human rights to learn from and no twin (`_WELL_READ`).
- **CLD2** (package pycld2), asked about the rest, and **py3langid**'s model (`langid_kernel.py`),
  asked where those two differ. Two that agree have it, unless our model gives 0.8 to a language
  that py3langid does not know (and so could not have named). Where all three differ: a language
  that our model does not know, if py3langid gives it 0.7 or CLD2 0.8 of the text; CLD2's, then
  py3langid's at 0.5, where our model gives less than 0.5 to its own, or less than 0.9 to one that
  it knows but never names; ``und`` for such a one; else our model's.

The thresholds were set on a quarter of the declaration and of tldr sentences that the model had
not seen (`language_sets.py`; `bench/language.py` gives the figures on another quarter).

What these take for English, of a text that was not read whole, is looked at again by lines where
the model is not sure or saw a second language (`language_lines.py`): another language has it if
more letters are in its lines, by a tenth.

With `Params.model`, a user's fastText model (lid.176, OpenLID, GlotLID) takes the place of all of
these; `lang_judges` is ``fasttext`` then, and `lang_score` its probability.

`lang_judges` is who decided: ``none``, ``script``, ``model``, ``agree`` (two of three), ``lines``,
or ``model_only``, ``cld2``, ``langid`` where no two agreed. `lang_score` is between 0 and 1: above
0.5 where the text was settled or two agreed, 0.5 or less where not; the share of the letters for
``lines``. `lang_share` is the share of the
letters read that are in the language, `lang_second` and `lang_second_share` the next language and
its share, by pieces of about 120 letters; absent where only one is seen.

Codes are BCP 47: ``zh`` (simplified or not told apart), ``zh-Hant``, ``nb`` and ``nn``, ``he``,
``jv``; ``und`` for undetermined.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from corpusmill.classifiers.fasttext_language import FastTextLanguage, check_language_model
from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import Asset, Kind, SignalType, Stage
from corpusmill.stages.unicode_data import ALPHA, class_pattern

from .language_codes import CLD2_CODES, LANGID_CODES, LANGUAGES, UNDETERMINED
from .language_judges import First, ask_cld2, langid
from .language_lines import CHARS, doubtful, letters_by_language, not_english
from .language_lines import PIECES as LINE_PIECES
from .language_model import LanguageModel, Opinion, language_model
from .language_scripts import GROUP_LANGUAGE

PIECES = 6
CLOSER = 4
"""How many times as much is read of a text in two languages, before one of them has it."""
MIXED = 0.2
"""Share of the letters in a second language from which on a text is read again."""
SETTLED = 0.9
ENOUGH_LETTERS = 15
TRUST_OWN = 0.8
TRUST_OTHER = 0.7
TRUST_CLD2 = 80

_LATIN_BLANK = dict.fromkeys(
    (*range(65, 91), *range(97, 123), *range(0xC0, 0x250), *range(0x1E00, 0x1F00)), " "
)
_MARKS = re.compile("[\u0300-\u036f]")
_KANA = re.compile("[\u3041-\u30ff\uff66-\uff9f]")
_READ = (
    "af ar ast az be bg br ca ckb cs cy de el en eo es et eu fa fi fr fy ga gd gl he hi hsb hu hy "
    "is it ja ka kab kk km kn ko ky lb lt lv mk ml mn mr my ne nl os pa pl pt ro ru sk sl sq sv "
    "sw ta te tg th tk tr tt udm ug uk ur uz vi zh zh-Hant"
)
_LANGID = frozenset(LANGID_CODES.values())
_WELL_READ = frozenset(_READ.split())
"""Languages of which our model had translations of programs to learn from, without those that have
a twin that it is mistaken for (bn, bo, bs, da, hr, id, ms, nb, nn, sr, xh, zu)."""


@dataclass(frozen=True, slots=True)
class Params:
    """How the language is found."""

    chars: int = 600
    """How much of each text is read at first, in characters: in six pieces, evenly spread. A text
    that is not longer is read whole."""
    model: Asset | None = None
    """A fastText model that decides in place of our judges."""

    def __post_init__(self) -> None:
        if self.chars < PIECES:
            raise ConfigError(
                f"measure.language: chars is {self.chars}", hint="give 6 or more; 600 is enough"
            )


@dataclass(frozen=True, slots=True)
class Verdict:
    """The joint verdict on a text."""

    code: str
    score: float
    judges: str


_NONE = Verdict(UNDETERMINED, 0.0, "none")


def sample(text: str, chars: int, pieces: int = PIECES) -> str:
    """`pieces` pieces of a text, evenly spread from its beginning to its end, each in a line of its
    own; the whole text if it is not longer than `chars`."""
    if len(text) <= chars:
        return text
    size = chars // pieces
    last = len(text) - size
    starts = (i * last // (pieces - 1) for i in range(pieces))
    return "\n".join([text[start : start + size] for start in starts])


def settled(text: str, own: Opinion) -> Verdict | None:
    """The verdict where no second opinion is needed."""
    if not own.code:
        return _NONE
    only = GROUP_LANGUAGE.get(own.group)
    if only is not None:
        return Verdict(only, 1.0, "script")
    if own.group == "han" and 10 * len(_KANA.findall(text)) >= own.letters:
        return Verdict("ja", 1.0, "script")
    sure = own.probability >= SETTLED and own.letters >= ENOUGH_LETTERS
    if sure and own.code in _WELL_READ:
        return Verdict(own.code, own.probability, "model")
    return None


def same(one: str, other: str) -> bool:
    """Whether two judges agree. py3langid does not tell the scripts of Chinese apart."""
    return one == other != UNDETERMINED or (one in ("zh", "zh-Hant") and other == "zh")


def join(own: Opinion, first: First, second: str, probability: float,
         known: frozenset[str]) -> Verdict:  # fmt: skip
    """The verdict of all three judges; `known` are the classes of our model."""
    share = first.percent / 100
    if same(first.code, own.code) or (own.code == "zh-Hant" and first.code == "zh"):
        return Verdict(first.code, 0.5 + (own.probability + share) / 4, "agree")
    if same(own.code, second):
        return Verdict(own.code, 0.5 + (own.probability + probability) / 4, "agree")
    if first.code == "bih" and own.code in ("bho", "mai"):
        return Verdict(own.code, 0.5 + (own.probability + share) / 4, "agree")
    hidden = own.code.startswith("x-")
    if not hidden and own.probability >= TRUST_OWN and own.code not in _LANGID and own.code != "bo":
        return Verdict(own.code, own.probability / 2, "model_only")
    if same(first.code, second) and not (hidden and own.probability >= SETTLED):
        return Verdict(first.code, 0.5 + (share + probability) / 4, "agree")
    if not hidden or own.probability < SETTLED:
        if second not in known and probability >= TRUST_OTHER and second != UNDETERMINED:
            return Verdict(second, probability / 2, "langid")
        if first.code not in known and first.percent >= TRUST_CLD2:
            return Verdict(first.code, share / 2, "cld2")
    if own.probability < (SETTLED if hidden else 0.5) and first.code != UNDETERMINED:
        return Verdict(first.code, share / 2, "cld2")
    if hidden and own.probability < SETTLED and probability >= 0.5:
        return Verdict(second, probability / 2, "langid")
    if hidden:
        return _NONE
    return Verdict(own.code, own.probability / 2, "model_only")


class Judges:
    """All judges on batches of texts."""

    def __init__(self, chars: int) -> None:
        self._chars = chars
        self._letter = re.compile(f"[{class_pattern(ALPHA)}]")
        self._model: LanguageModel = language_model()
        self._known = frozenset(self._model.classes)

    def read(self, text: str, times: int = 1) -> str:
        """What is read of a text, `times` as much as usual: from its first letter on where the
        sample has none, composed."""
        part = sample(text, times * self._chars, times * PIECES)
        if not part.isascii():
            if _MARKS.search(part) is not None:
                from unicodedata import ucd_3_2_0  # one table, whatever the Python

                part = ucd_3_2_0.normalize("NFC", part)
        elif len(part) < len(text) and self._letter.search(part) is None:
            found = self._letter.search(text)
            return "" if found is None else text[found.start() : found.start() + self._chars]
        return part

    def share(
        self, texts: Sequence[str], theirs: FastTextLanguage
    ) -> list[tuple[Verdict, Opinion]]:
        """The verdict of a user's model on each text, and the opinion of ours."""
        parts = [self.read(text) for text in texts]
        return [
            (Verdict(code, score, "fasttext") if own.code and code else _NONE, own)
            for (code, score), own in zip(theirs.ask(parts), self._model.ask(parts), strict=True)
        ]

    def ask(self, texts: Sequence[str]) -> list[tuple[Verdict, Opinion]]:
        """The verdict on each text, and our model's opinion."""
        parts = [self.read(text) for text in texts]
        opinions = self._model.ask(parts)
        mixed = [
            i for i, own in enumerate(opinions)
            if own.second_share >= MIXED and len(texts[i]) > self._chars
        ]  # fmt: skip
        closer = [self.read(texts[i], CLOSER) for i in mixed]
        for i, part, own in zip(mixed, closer, self._model.ask(closer), strict=True):
            parts[i], opinions[i] = part, own
        verdicts = [settled(part, own) for part, own in zip(parts, opinions, strict=True)]
        open_ones = [i for i, verdict in enumerate(verdicts) if verdict is None]
        firsts: dict[int, First] = {}
        differ: list[int] = []
        for i in open_ones:
            if opinions[i].group != "latin":
                parts[i] = parts[i].translate(_LATIN_BLANK)
            firsts[i] = ask_cld2(parts[i])
            if not same(firsts[i].code, opinions[i].code):
                differ.append(i)
        seconds = dict(zip(differ, langid().ask([parts[i] for i in differ]), strict=True))
        for i in open_ones:
            second, probability = seconds.get(i, (UNDETERMINED, 0.0))
            verdicts[i] = join(opinions[i], firsts[i], second, probability, self._known)
        for i, verdict in enumerate(verdicts):
            if verdict is None or verdict.code != "en" or len(texts[i]) <= self._chars:
                continue
            if doubtful(opinions[i]):
                read = sample(texts[i], CHARS, LINE_PIECES)
                other = not_english(letters_by_language(self._model, read), opinions[i])
                if other is not None:
                    verdicts[i] = Verdict(other.code, other.probability, "lines")
                    opinions[i] = other
        return [(v, o) for v, o in zip(verdicts, opinions, strict=True) if v is not None]


class MeasureLanguage(Stage):
    """`measure.language`: see the module docstring."""

    name: ClassVar[str] = "measure.language"
    version: ClassVar[int] = 4
    kind: ClassVar[Kind] = "measure"
    pins: ClassVar[tuple[str, ...]] = ("pycld2", "py3langid")
    Params: ClassVar[type] = Params

    writes: Mapping[str, SignalType] = {
        "lang": "str",
        "lang_score": "float",
        "lang_judges": "str",
        "lang_share": "float",
        "lang_second": "str",
        "lang_second_share": "float",
    }

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        if params.model is not None:
            self.__dict__["pins"] = ("fasttext-community",)
        self._theirs: FastTextLanguage | None = None

    def check_assets(self) -> None:
        if self.params.model is not None:
            check_language_model(self.params.model)

    def setup(self) -> None:
        """Loads the models (a second or two) and compiles or loads their loops."""
        self._judges = Judges(self.params.chars)
        self._judges.ask(("",))
        if self.params.model is not None:
            self._theirs = FastTextLanguage(self.params.model)
        else:
            langid().ask(("",))

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """The documents, with the signals filled in."""
        texts = [document.text for document in batch]
        verdicts = (
            self._judges.ask(texts)
            if self._theirs is None
            else self._judges.share(texts, self._theirs)
        )
        for document, (verdict, own) in zip(batch, verdicts, strict=True):
            signals = document.signals
            signals["lang"] = verdict.code
            signals["lang_score"] = round(verdict.score, 6)
            signals["lang_judges"] = verdict.judges
            main, second = (own.code, own.share), (own.second, own.second_share)
            if second[0] == verdict.code:
                main, second = second, main
            signals["lang_share"] = main[1] if verdict.code != UNDETERMINED else 0.0
            if second[1] > 0 and not second[0].startswith("x-"):
                signals["lang_second"], signals["lang_second_share"] = second
        return list(batch)


STAGE = MeasureLanguage

__all__ = [
    "CLD2_CODES", "LANGID_CODES", "LANGUAGES", "STAGE", "Judges", "MeasureLanguage", "Params",
    "Verdict", "join", "sample", "settled",
]  # fmt: skip
