"""Eight to ten of the most frequent function words of a language, for Gopher's stop-word rule.

English is the list of Rae et al. 2021, appendix A1.1 (the, be, to, of, and, that, have, with). The
others were chosen by us to play the same part: articles, prepositions, conjunctions and
auxiliaries that nearly every paragraph of running text has, and that a list of products or names
has not. Languages whose function words are bound to other words or written without spaces
(Korean, Chinese, Japanese, Thai, …) have no list, and the rule is not applied there.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

_LISTS = {
    "en": "the be to of and that have with",
    "af": "die van en het in is nie om te vir",
    "ar": "في من على أن إلى عن أو لا هذا التي",
    "bg": "на и да се в от за е че не",
    "bn": "এবং ও না করে এই থেকে একটি হয় জন্য যে",
    "ca": "de i la que el en els per les no",
    "cs": "a se v na že je s z o do",
    "da": "og i at det er en til af på som",
    "de": "der die und in zu den das nicht von ist",
    "el": "και το να του η της για με που την",
    "es": "de la que el en y los se del por",
    "et": "ja on ei et see oli ka kui või mis",
    "eu": "eta da ez du dira ere bat edo zen izan",
    "fa": "و در به از که این را با است برای",
    "fi": "ja on ei se että oli hän mutta kun tai",
    "fr": "de la le et les des en un que est",
    "ga": "an agus na ar go ag le is sa bhí",
    "gl": "de a e o que do da en os por",
    "he": "של את על לא הוא זה עם גם כי או",
    "hi": "के में की है और का से को पर यह",
    "hr": "i u je se na da su za od koji",
    "hu": "a az és hogy nem is egy volt de meg",
    "id": "yang dan di itu dengan untuk tidak ini dari dalam",
    "is": "og að í er á sem var til við ekki",
    "it": "di e che la il un in per non è",
    "lt": "ir į kad iš yra su ne tai buvo kaip",
    "lv": "un ir no ar uz par ka kas bija to",
    "mk": "на и во се да од за е со што",
    "ms": "yang dan di itu dengan untuk tidak ini dari dalam",
    "nb": "og i det er på en som til av for",
    "nl": "de van het een en in is dat te op",
    "nn": "og i det er på ein som til av for",
    "pl": "w i na się z do nie że jest to",
    "pt": "de a que o e do da em os para",
    "ro": "de și în a la cu pe că nu din",
    "ru": "и в не на что с по как это к",
    "sk": "a v na sa je že s do o z",
    "sl": "in je v se na za da so ki ne",
    "sq": "të e dhe në për që një i me nga",
    "sr": "и у је да се на су за од i u je da se na",
    "sv": "och i att det som en på är av för",
    "sw": "na ya wa kwa ni katika za la kuwa yake",
    "tr": "ve bir bu da de için ile olarak çok daha",
    "uk": "і в на не з що до та у як",
    "ur": "کے میں کی ہے اور سے کا کو پر نے",
    "vi": "và của là có cho được một trong không các",
}

LANGUAGES = tuple(sorted(_LISTS))
"""Languages that have a list, by the codes of `measure.language`."""


def stop_words(language: str) -> tuple[str, ...]:
    """The list of a language, sorted, each word once. Raises KeyError where there is none."""
    return tuple(sorted(set(_LISTS[language].split())))


@lru_cache(maxsize=len(_LISTS))
def stop_hashes(language: str) -> npt.NDArray[np.uint64]:
    """The hashes (`corpusmill.stages.words.word_hashes`) of a language's list, sorted."""
    from corpusmill.stages.words import word_hashes

    return np.unique(word_hashes(stop_words(language)))
