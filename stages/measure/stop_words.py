"""Eight to ten of the most frequent function words of a language, for Gopher's stop-word rule.

English is the list of Rae et al. 2021, appendix A1.1 (the, be, to, of, and, that, have, with). The
others were chosen by us to play the same part: articles, prepositions, conjunctions and
auxiliaries that nearly every paragraph of running text has, and that a list of products or names
has not. They lie in ``data/stop_words.json``. Languages written without spaces (Chinese, Japanese,
Thai, …) have no list, and the rule is not applied there.
"""

from __future__ import annotations

import json
from pathlib import Path

from corpusmill.pipeline.errors import AssetError

from .language_codes import check_codes

_DATA = Path(__file__).resolve().parent / "data" / "stop_words.json"


def read_lists(path: Path) -> dict[str, tuple[str, ...]]:
    """Language → words, sorted, each once, from ``{"lists": {"en": "the be …"}}``. Raises
    AssetError for a file that holds no such thing, or a language without words."""
    try:
        lists = json.loads(path.read_text(encoding="utf-8"))["lists"]
        found = {str(code): tuple(sorted(set(words.split()))) for code, words in lists.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AssetError(
            f"{path.name} cannot be read as lists of stop words: {error!r}",
            hint='a JSON object such as {"lists": {"en": "the be to of"}}',
        ) from error
    empty = [code for code, words in found.items() if not words]
    if empty or not found:
        raise AssetError(f"{path.name} has no words for {', '.join(empty) or 'any language'}")
    check_codes(found, path.name, AssetError)
    return found


LISTS = read_lists(_DATA)
"""The lists by language."""

LANGUAGES = tuple(sorted(LISTS))
"""Languages that have a list, by the codes of `measure.language`."""
