"""Sides of `bench.pii_peers` in an environment of their own, a process each.

    PYTHON sides.py presidio|scrubadub TEXTS OUT
    PYTHON sides.py --prove

TEXTS: JSON Lines with ``text``. ``presidio``: the recognisers of its analyzer that need no model
(patterns, check digits, words of context), over spaCy's blank English pipeline, since the registry
has the model that it asks for only as uploads of others; ``scrubadub``: its default detectors. OUT
has one line a text, the spans as ``[type, start, end]`` under our names of types, and a last line
``{"cpu_seconds"}`` of the work alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Find = Callable[[str], list[tuple[str, int, int]]]

PRESIDIO = {
    "EMAIL_ADDRESS": "email", "IP_ADDRESS": "ip", "CREDIT_CARD": "card", "IBAN_CODE": "iban",
    "US_SSN": "ssn", "PHONE_NUMBER": "phone", "MAC_ADDRESS": "mac", "CRYPTO": "wallet",
}  # fmt: skip
SCRUBADUB = {
    "email": "email", "phone": "phone", "credit_card": "card", "social_security_number": "ssn",
}  # fmt: skip


def presidio() -> Find:
    import spacy
    import tldextract
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine

    tldextract.extract = tldextract.TLDExtract(suffix_list_urls=())  # the list that it brings

    class Blank(SpacyNlpEngine):
        def __init__(self) -> None:
            super().__init__(ner_model_configuration=NerModelConfiguration())
            pipeline = spacy.blank("en")
            pipeline.max_length = 10**8
            self.nlp = {"en": pipeline}

    registry = RecognizerRegistry(supported_languages=["en"])
    registry.load_predefined_recognizers(languages=["en"])
    engine = AnalyzerEngine(registry=registry, nlp_engine=Blank(), supported_languages=["en"])
    wanted = sorted(set(PRESIDIO) & set(engine.get_supported_entities("en")))

    def find(text: str) -> list[tuple[str, int, int]]:
        results = engine.analyze(text, language="en", entities=wanted)
        return sorted((PRESIDIO[r.entity_type], r.start, r.end) for r in results)

    return find


def scrubadub() -> Find:
    import scrubadub

    scrubber = scrubadub.Scrubber()

    def find(text: str) -> list[tuple[str, int, int]]:
        filths = [f for f in scrubber.iter_filth(text) if f.type in SCRUBADUB]
        return sorted((SCRUBADUB[f.type], f.beg, f.end) for f in filths)

    return find


def work(name: str, source: Path, target: Path) -> None:
    find = {"presidio": presidio, "scrubadub": scrubadub}[name]()
    find("Write to ann.lee@tinyharbour.org, or call 212 555 0142.")
    with source.open(encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    began = time.process_time()
    found = [find(text) for text in texts]
    seconds = time.process_time() - began
    with target.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(spans) + "\n" for spans in found)
        file.write(json.dumps({"cpu_seconds": seconds}) + "\n")


def prove() -> None:
    for name, make in (("presidio", presidio), ("scrubadub", scrubadub)):
        text = "Write to ann.lee@tinyharbour.org"
        found: Any = make()(text)
        if ("email", 9, len(text)) not in found:
            raise SystemExit(f"{name}: found {found} in {text!r}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--prove"]:
        prove()
    else:
        work(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
