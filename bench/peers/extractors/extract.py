"""Other extractors, each as its own manual calls it, in the environment that `make peers` made.

    PYTHON extract.py --extractor NAME [--limit SECONDS]     answers pages (see serving.py)
    PYTHON extract.py --prove                                each finds the known words of a page
    PYTHON extract.py --list                                 names and versions, as JSON

What gives HTML is turned into text by html-text, as the article-extraction-benchmark does. None is
given a second chance, a fallback or a setting that its manual does not have for pages in general.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from serving import Extract, missing_words, serve


def trafilatura(**settings: object) -> Callable[[], Extract]:
    def make() -> Extract:
        from trafilatura import extract

        return lambda html, url: extract(html, **settings) or ""

    return make


def resiliparse(main: bool) -> Callable[[], Extract]:
    def make() -> Extract:
        from resiliparse.extract.html2text import extract_plain_text

        return lambda html, url: extract_plain_text(html, main_content=main, alt_texts=False)

    return make


def readability_lxml() -> Extract:
    from html_text import extract_text
    from readability import Document

    return lambda html, url: extract_text(Document(html).summary())


def readability_js() -> Extract:
    from fast_readability import Readability

    reader = Readability()
    return lambda html, url: reader.get_text_content(html)


def justext() -> Extract:
    from justext import get_stoplist, justext

    stop = get_stoplist("English")

    def text(html: str, url: str) -> str:
        return "\n\n".join(p.text for p in justext(html, stop) if not p.is_boilerplate)

    return text


def boilerpy3(name: str) -> Callable[[], Extract]:
    def make() -> Extract:
        from boilerpy3 import extractors

        reader = getattr(extractors, name)()
        return lambda html, url: reader.get_content(html)

    return make


def goose3() -> Extract:
    from goose3 import Goose

    goose = Goose({"enable_image_fetching": False})
    return lambda html, url: goose.extract(raw_html=html).cleaned_text


def newspaper4k() -> Extract:
    from newspaper import Article, Config

    config = Config()
    config.fetch_images = False

    def text(html: str, url: str) -> str:
        article = Article(url, config=config)
        article.download(input_html=html)
        article.parse()
        return article.text

    return text


def magic_html() -> Extract:
    from html_text import extract_text
    from magic_html import GeneralExtractor

    reader = GeneralExtractor()
    return lambda html, url: extract_text(reader.extract(html, base_url=url)["html"])


def trafilaturacore() -> Extract:
    from html_text import extract_text
    from trafilaturacore import clean

    return lambda html, url: extract_text(clean(html).html)


def domdown() -> Extract:
    from domdown import DomdownOptions, html_to_markdown

    options = DomdownOptions(extract_metadata=False, emit_frontmatter=False)
    return lambda html, url: html_to_markdown(html, options)


def turbohtml(main: bool) -> Callable[[], Extract]:
    def make() -> Extract:
        from turbohtml import parse

        if main:
            return lambda html, url: parse(html).main_text()
        return lambda html, url: parse(html).to_text()

    return make


def html_to_markdown() -> Extract:
    from html_to_markdown import convert

    return lambda html, url: convert(html).content or ""


def html2text() -> Extract:
    from html2text import HTML2Text

    def text(html: str, url: str) -> str:
        reader = HTML2Text(bodywidth=0)
        reader.ignore_links = True
        reader.ignore_images = True
        return reader.handle(html)

    return text


def markdownify() -> Extract:
    from markdownify import markdownify

    return lambda html, url: markdownify(html, strip=["a", "img", "script", "style"])


def inscriptis() -> Extract:
    from inscriptis import get_text

    return lambda html, url: get_text(html)


def innertext() -> Extract:
    from innertext import inner_text

    return lambda html, url: inner_text(html)


def html_text() -> Extract:
    from html_text import extract_text

    return lambda html, url: extract_text(html)


def beautifulsoup() -> Extract:
    from bs4 import BeautifulSoup

    return lambda html, url: BeautifulSoup(html, "lxml").get_text("\n", strip=True)


def selectolax() -> Extract:
    from selectolax.lexbor import LexborHTMLParser

    def text(html: str, url: str) -> str:
        tree = LexborHTMLParser(html)
        tree.strip_tags(["script", "style", "noscript", "template"])
        return tree.body.text(separator="\n", strip=True) if tree.body is not None else ""

    return text


EXTRACTORS: dict[str, tuple[str, Callable[[], Extract]]] = {
    "trafilatura": ("trafilatura", trafilatura()),
    "trafilatura fast": ("trafilatura", trafilatura(fast=True)),
    "trafilatura recall": ("trafilatura", trafilatura(favor_recall=True)),
    "trafilatura precision": ("trafilatura", trafilatura(favor_precision=True)),
    "resiliparse": ("resiliparse", resiliparse(True)),
    "readability-lxml": ("readability-lxml", readability_lxml),
    "Readability.js": ("fast-readability", readability_js),
    "justext": ("justext", justext),
    "boilerpy3": ("boilerpy3", boilerpy3("DefaultExtractor")),
    "boilerpy3 article": ("boilerpy3", boilerpy3("ArticleExtractor")),
    "goose3": ("goose3", goose3),
    "newspaper4k": ("newspaper4k", newspaper4k),
    "magic-html": ("magic-html", magic_html),
    "turbohtml": ("turbohtml", turbohtml(True)),
    "trafilaturacore": ("trafilaturacore", trafilaturacore),
    "domdown": ("domdown", domdown),
    "resiliparse, all text": ("resiliparse", resiliparse(False)),
    "turbohtml, all text": ("turbohtml", turbohtml(False)),
    "html-to-markdown": ("html-to-markdown", html_to_markdown),
    "html2text": ("html2text", html2text),
    "markdownify": ("markdownify", markdownify),
    "inscriptis": ("inscriptis", inscriptis),
    "innertext": ("innertext", innertext),
    "html-text": ("html-text", html_text),
    "beautifulsoup4": ("beautifulsoup4", beautifulsoup),
    "selectolax": ("selectolax", selectolax),
}
"""Row → (distribution, what makes the extractor). From "resiliparse, all text" on, they choose
nothing: they are what choosing could keep at most."""

OPTIONAL = frozenset({"magic-html", "Readability.js"})
"""Not for every Python: see requirements.in."""


def versions() -> dict[str, str | None]:
    """Row → the version of its distribution, None where it is not installed."""
    found: dict[str, str | None] = {}
    for name, (distribution, _) in EXTRACTORS.items():
        try:
            found[name] = version(distribution)
        except PackageNotFoundError:
            found[name] = None
    return found


def prove() -> int:
    """0 where each extractor is there and gives the known words of the known page."""
    failed = 0
    for name, found in versions().items():
        if found is None:
            failed += name not in OPTIONAL
            print(f"{name} is not installed", file=sys.stderr)
            continue
        missing = missing_words(EXTRACTORS[name][1]())
        if missing:
            failed += 1
            print(f"error: {name} does not find {', '.join(missing)}", file=sys.stderr)
    return min(failed, 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--extractor", choices=EXTRACTORS)
    parser.add_argument("--limit", type=float, default=20.0, help="CPU seconds a page")
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.prove:
        return prove()
    if args.list:
        print(json.dumps(versions()))
        return 0
    if not args.extractor:
        parser.error("--extractor, --prove or --list is needed")
    return serve(args.extractor, EXTRACTORS[args.extractor][1](), args.limit)


if __name__ == "__main__":
    sys.exit(main())
