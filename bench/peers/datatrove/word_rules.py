"""Writes down the rules of spaCy's English tokenizer. Run by the peer's own Python.

    PYTHON word_rules.py OUT

`corpusmill.stages.measure.spacy_words` applies them. Pieces of the expressions for prefixes,
suffixes and infixes, the expression for URLs, the special cases with their parts, and the
characters that end a sentence for its sentencizer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

NOTICE = """Facts from spaCy (https://github.com/explosion/spaCy), under the MIT licence:
Copyright (C) 2016-2024 ExplosionAI GmbH, 2016 spaCy GmbH, 2015 Matthew Honnibal.
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions: The above copyright notice and this
permission notice shall be included in all copies or substantial portions of the Software. THE
SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""


def main() -> int:
    from importlib import import_module

    from datatrove.utils.text import PUNCTUATION_SET, TERMINAL_PUNCTUATION

    # By name, since it is installed in the peer's environment only.
    spacy: Any = import_module("spacy")
    orth = import_module("spacy.symbols").ORTH
    ends = import_module("spacy.pipeline.sentencizer").Sentencizer.default_punct_chars

    language = spacy.blank("en")
    tokenizer = language.tokenizer
    if tokenizer.token_match is not None:
        raise SystemExit("error: this version has a token_match, which the reader does not know")
    rules = {
        text: [part[orth] for part in parts]
        for text, parts in sorted(tokenizer.rules.items())
        if not text.isspace()
    }
    facts = {
        "notice": " ".join(NOTICE.split()),
        "version": f"spacy/{spacy.__version__}/en",
        "prefixes": list(language.Defaults.prefixes),
        "suffixes": list(language.Defaults.suffixes),
        "infixes": list(language.Defaults.infixes),
        "url": tokenizer.url_match.__self__.pattern,
        "special": rules,
        "sentence_ends": "".join(sorted(ends)),
        "datatrove_punctuation": "".join(sorted(PUNCTUATION_SET)),
        "datatrove_terminal": "".join(sorted(TERMINAL_PUNCTUATION)),
    }
    Path(sys.argv[1]).write_text(json.dumps(facts, indent=0) + "\n", encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
