"""Other detectors of encodings, in the environment that `make peers` made, for `bench.charset`.

    PYTHON detect.py --detector NAME     answers: a line of JSON for each body
    PYTHON detect.py --prove             each does what it should on a page or a word
    PYTHON detect.py --list              names and versions, as JSON

A body is its length in eight bytes, big-endian, and its bytes; the answer ``{"name": …, "text": …,
"cpu": seconds}`` has one of the two: what the detector says, or the text that it decodes to.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

Detect = Callable[[bytes], str]


def chardet() -> Detect:
    from chardet import detect

    return lambda body: str(detect(body)["encoding"] or "")


def charset_normalizer() -> Detect:
    from charset_normalizer import from_bytes

    def name(body: bytes) -> str:
        best = from_bytes(body).best()
        return best.encoding if best is not None else ""

    return name


def faust_cchardet() -> Detect:
    from cchardet import detect

    return lambda body: str(detect(body)["encoding"] or "")


def resiliparse(labels: bool) -> Callable[[], Detect]:
    def make() -> Detect:
        from resiliparse.parse.encoding import detect_encoding

        if labels:
            return lambda body: str(
                detect_encoding(body, html5_compatible=True, from_html_meta=True)
            )
        return lambda body: str(detect_encoding(body))

    return make


def turbohtml() -> Detect:
    from turbohtml import parse

    return lambda body: parse(body, detect_encoding=True).encoding or ""


def trafilatura() -> Detect:
    from trafilatura.utils import decode_file

    return lambda body: decode_file(body)


def ftfy(whole: bool) -> Callable[[], Detect]:
    """Of a body in UTF-8: the text as ftfy would have it."""

    def make() -> Detect:
        from ftfy import fix_encoding, fix_text

        fix = fix_text if whole else fix_encoding
        return lambda body: fix(body.decode("utf-8", "replace"))

    return make


DETECTORS: dict[str, tuple[str, Callable[[], Detect], bool]] = {
    "chardet": ("chardet", chardet, False),
    "charset-normalizer": ("charset-normalizer", charset_normalizer, False),
    "faust-cchardet": ("faust-cchardet", faust_cchardet, False),
    "resiliparse": ("resiliparse", resiliparse(False), False),
    "resiliparse, labels": ("resiliparse", resiliparse(True), False),
    "turbohtml": ("turbohtml", turbohtml, False),
    "trafilatura": ("trafilatura", trafilatura, True),
    "ftfy fix_encoding": ("ftfy", ftfy(False), True),
    "ftfy fix_text": ("ftfy", ftfy(True), True),
}
"""Row → (distribution, what makes the detector, whether its answer is the text already)."""
REPAIRS = frozenset({"ftfy fix_encoding", "ftfy fix_text"})
"""What looks at text alone, and is no detector."""


def versions() -> dict[str, str | None]:
    """Row → the version of its distribution, None where it is not installed."""
    found: dict[str, str | None] = {}
    for name, (distribution, _, _) in DETECTORS.items():
        try:
            found[name] = version(distribution)
        except PackageNotFoundError:
            found[name] = None
    return found


def prove() -> int:
    """0 where detectors know a page in windows-1251, and repairs a word that was encoded twice."""
    text = "<html><p>" + "Вчера вечером мы долго гуляли по старому городу, играл оркестр. " * 9
    failed = 0
    for name, found in versions().items():
        repairs = name in REPAIRS
        given = "caf\u00c3\u00a9".encode() if repairs else text.encode("cp1251")
        said = DETECTORS[name][1]()(given) if found is not None else "(not installed)"
        if said not in (text, "caf\u00e9") and "1251" not in said:
            print(f"error: {name} says {said[:40]}", file=sys.stderr)
            failed = 1
    return failed


def serve(name: str) -> int:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _, make, is_text = DETECTORS[name]
    detect = make()
    while head := sys.stdin.buffer.read(8):
        body = sys.stdin.buffer.read(int.from_bytes(head))
        began = time.process_time()
        try:
            said = detect(body)
        except Exception:  # noqa: BLE001 - whatever a library raises, it has no answer
            said = ""
        took = time.process_time() - began
        answer = {"name": "" if is_text else said, "text": said if is_text else "", "cpu": took}
        print(json.dumps(answer), file=answers, flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--detector", choices=DETECTORS)
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.prove:
        return prove()
    if args.list:
        print(json.dumps(versions()))
        return 0
    if not args.detector:
        parser.error("--detector, --prove or --list is needed")
    return serve(args.detector)


if __name__ == "__main__":
    sys.exit(main())
