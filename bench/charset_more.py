"""More real pages for `bench.charset` (its ``--more``), out of Debian packages of manuals.

    python -m bench.charset_more OUT PACKAGE.deb …

OUT/LANGUAGE/… gets those pages in UTF-8 of each package whose path names a language that an
encoding of `bench.charset_pages` is for, and whose text CLD2 finds to be mostly in that language
(manuals are half translated). Packages to take: ``apt-get download`` of those in `PACKAGES`.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from corpusmill.pipeline.progress import to_stderr as say

from .charset_pages import ENCODINGS

_TRANSLATED = ("cs", "el", "hr", "hu", "lt", "ro", "ru", "sl", "uk", "zh-cn")
PACKAGES = (
    "apache2-doc",
    *(f"gimp-help-{language}" for language in _TRANSLATED),
    *(f"libreoffice-help-{language}" for language in ("et", "hu", "sl", "vi", "zh-cn", "zh-tw")),
    "squid-langpack",
)
"""What the figures in ``docs/reading.md`` were measured on (Debian 12)."""

_FOLDERS = {"zh-cn": "zh", "zh-CN": "zh", "zh-tw": "zh-Hant", "zh-TW": "zh-Hant"}
_CLD2 = {"he": "iw"}
MOSTLY = 60
"""Of 100 letters that CLD2 can tell, those in the language."""
MOST = 250
"""Pages of a package and language that are looked at."""
LEAST = 300
"""Bytes of text of a page: CLD2 is unsure of less."""


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("out", type=Path)
    options.add_argument("packages", type=Path, nargs="+", metavar="PACKAGE.deb")
    args = options.parse_args(argv)
    written: Counter[str] = Counter()
    for package in args.packages:
        for language, path, body in pages(package):
            name = f"{package.name.split('_')[0]}-{'-'.join(path.parts[-3:])}".removesuffix(".html")
            target = args.out / language / f"{name}.html"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(body)
            written[language] += 1
    say(", ".join(f"{language} {count}" for language, count in sorted(written.items())))
    return 0


def pages(package: Path) -> Iterator[tuple[str, PurePosixPath, bytes]]:
    """(language, path, bytes) of the pages of a package that are in the language of their path:
    of each folder's `MOST` at most, in the order of a keyed hash."""
    wanted = {language for encoding in ENCODINGS for language in encoding.languages.split()}
    with tempfile.TemporaryFile() as unpacked:
        subprocess.run(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=unpacked, check=True)
        unpacked.seek(0)
        with tarfile.open(fileobj=unpacked, mode="r:") as files:
            names = [entry.name for entry in files if entry.isfile()]
            names.sort(key=lambda name: hashlib.sha256(name.encode()).digest())
            taken: Counter[str] = Counter()
            for name in names:
                path = PurePosixPath(name)
                language = _language(path)
                if language not in wanted or not _is_page(path) or taken[language] >= MOST:
                    continue
                taken[language] += 1
                file = files.extractfile(name)
                body = b"" if file is None else file.read()
                if reads_as(body, language):
                    yield language, path, body


def _language(path: PurePosixPath) -> str:
    for part in path.parts[:-1]:
        if part in _FOLDERS or len(part) == 2:
            return _FOLDERS.get(part, part)
    return ""


def _is_page(path: PurePosixPath) -> bool:
    return path.suffix == ".html" or path.name.startswith("ERR_")


def reads_as(body: bytes, language: str) -> bool:
    """Whether a page is in UTF-8 and its text mostly in a language."""
    import pycld2
    from selectolax.lexbor import LexborHTMLParser

    try:
        tree = LexborHTMLParser(body.decode("utf-8"))
    except UnicodeDecodeError:
        return False
    tree.strip_tags(["script", "style", "head", "pre"])
    text = tree.body.text(separator=" ").encode() if tree.body is not None else b""
    if len(text) < LEAST:
        return False
    try:
        reliable, _, found = pycld2.detect(text, isPlainText=True)
    except pycld2.error:  # characters that it takes for broken UTF-8
        return False
    _, code, share, _ = found[0]
    return bool(reliable) and code == _CLD2.get(language, language) and share >= MOSTLY


if __name__ == "__main__":
    sys.exit(main())
