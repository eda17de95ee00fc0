"""Layout kept by extraction, against annotators' Markdown, beside trafilatura and resiliparse.

    python -m bench.layout [--quick] [--json] [--weights FOLDER] [--misses WHAT]

Pages: the development split of WCXB in the folder named by ``CORPUSMILL_DATA`` (every page with
gold Markdown; ``--quick``: one of six). The figures are means over the pages whose gold has any:

- ``code``: lines of fenced code, blank ones aside, that stand in the output as a line, exactly but
  for white space at its end; ``indented``: those of them that begin with white space; ``blank``:
  blank lines inside code, found between the same two lines;
- ``items``: list items whose words stand in the output one after the other (letters, where there
  are many: the gold joins words at links and code); ``item_lines``: those that are a line of it;
- ``rows``: table rows with at least two filled cells, all words of which stand in one line of the
  output one after the other;
- ``headings``: headings that are a line of the output;
- ``short``: share of pages whose output has fewer than 50 words where the gold has as many;
- ``f1``: word-bag F1, and ``formulas``: of eight ways to write one, those that come out as TeX,
  once and unescaped.

Gold Markdown drafted by a model and corrected by people has changed some code, and has tables of
what is none in the markup: ``code_true``, ``indented_true`` and ``rows_true`` are the same shares
of those lines that the page's own ``<pre>`` elements have, and of those rows that are a ``<tr>``.

The weights of the tier ``own`` have seen these pages. For figures that are fair to the others,
``--weights`` names a folder of cross-validation weights (``fold0.bin`` and so on, where they are
missing they are made, which needs the extra ``train`` and takes some minutes): each page is then
read with weights that no page of its site has shaped.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.stages.extract import extract
from corpusmill.stages.extract.scoring import word_bag, words

from .harness import Bar, BenchError, Report, finish, parser
from .layout_gold import measure, read_gold

FOLDS = 5
QUICK_EVERY = 6
SHORT = 50

Side = Callable[[str, str], str]
"""From a page's markup and address to its text."""

PROBES: tuple[tuple[str, str], ...] = (
    (r"Script: <script type='math/tex'>a_1 < b_2</script> holds.", "Script: $a_1 < b_2$ holds."),
    (
        "Display: <script type='math/tex; mode=display'>\\sum_{i=1}^n i</script>",
        r"$$\sum_{i=1}^n i$$",
    ),
    (
        "KaTeX: <span class='katex'><span class='katex-mathml'><math><semantics><mfrac><mi>a</mi>"
        "<mi>b</mi></mfrac><annotation encoding='application/x-tex'>\\frac{a}{b}</annotation>"
        "</semantics></math></span><span class='katex-html' aria-hidden='true'>ab</span></span> is "
        "a fraction.",
        r"KaTeX: $\frac{a}{b}$ is a fraction.",
    ),
    (
        "Alttext: <math alttext='\\sqrt{c}'><msqrt><mi>c</mi></msqrt></math> is a root.",
        r"Alttext: $\sqrt{c}$ is a root.",
    ),
    (
        "Wiki: <span class='mwe-math-element'><span style='display:none'><math alttext="
        "'{\\displaystyle E=mc^{2}}'><mi>E</mi></math></span><img class='mwe-math-fallback-image-"
        "inline' alt='{\\displaystyle E=mc^{2}}' src='x.svg'></span> is known.",
        "Wiki: $E=mc^{2}$ is known.",
    ),
    (
        "Bare: <math><mfrac><mi>x</mi><msup><mi>y</mi><mn>2</mn></msup></mfrac></math> has none.",
        r"Bare: $\frac{x}{y^{2}}$ has none.",
    ),
    (
        "Image: <img class='latex' alt='p^2+q^2' src='/latex.php?latex=p^2'> from a service.",
        "Image: $p^2+q^2$ from a service.",
    ),
    ("Plain: $k_1 * k_2$ was written so.", "Plain: $k_1 * k_2$ was written so."),
)
_AROUND = (
    "The proof begins with a statement that is longer than most of them, so that the paragraph "
    "counts as text for every extractor that looks at the length of paragraphs."
)


# -- the sides ---------------------------------------------------------------------------------


def trafilatura_side(html: str, url: str) -> str:
    """trafilatura as it comes."""
    import trafilatura

    return trafilatura.extract(html) or ""


def trafilatura_markdown(html: str, url: str) -> str:
    """trafilatura's Markdown."""
    import trafilatura

    return trafilatura.extract(html, output_format="markdown") or ""


def resiliparse_side(html: str, url: str) -> str:
    """resiliparse's main content."""
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=True, preserve_formatting=True))


def every_block(html: str, url: str) -> str:
    """All blocks of the page, as the tier ``own`` writes them: what choosing could keep at most."""
    from corpusmill.stages.extract.blocks.passes import analyse, page_markup
    from corpusmill.stages.extract.blocks.render import render

    page = analyse(page_markup(html), prune=False)
    return render(page, range(len(page)))


def tier_side(tier: Any, form: Any) -> Side:
    """One of our tiers."""
    return lambda html, url: extract(html, tier=tier, format=form).text


class Folds:
    """The tier ``own`` with weights that have not seen the page's site."""

    def __init__(self, folder: Path, rows: Sequence[dict[str, Any]]) -> None:
        from corpusmill.stages.extract.blocks.columns import NAMES
        from corpusmill.stages.extract.blocks.forest import decode

        missing = [k for k in range(FOLDS) if not (folder / f"fold{k}.bin").exists()]
        if missing:
            folder.mkdir(parents=True, exist_ok=True)
            _train(folder, rows, missing)
        self.weights = [
            decode((folder / f"fold{k}.bin").read_bytes(), f"fold{k}.bin") for k in range(FOLDS)
        ]
        if any(w.header["features"] != list(NAMES) for w in self.weights):
            raise BenchError(
                f"the weights in {folder} are for other features", hint="name an empty folder"
            )

    def side(self, form: Any) -> Side:
        from corpusmill.stages.extract.blocks.model import main_content
        from corpusmill.stages.extract.blocks.train import fold_of, site_of
        from corpusmill.stages.extract.sanitise import clean_markup
        from corpusmill.stages.extract.streamed import settle

        def text(html: str, url: str) -> str:
            using = self.weights[fold_of(site_of(url), FOLDS)]
            whole = settle(clean_markup(html))
            return main_content(whole, form, using, to_rewrite=True).text

        return text


def _train(folder: Path, rows: Sequence[dict[str, Any]], folds: Sequence[int]) -> None:
    from corpusmill.stages.extract.blocks.forest import encode
    from corpusmill.stages.extract.blocks.train import (
        examples,
        fit,
        fold_of,
        surrounded_examples,
    )

    try:
        import lightgbm  # noqa: F401
    except ImportError as err:
        raise BenchError(
            f"{folder} has no weights and lightgbm is not installed",
            hint="install the extra train",
            exit_code=2,
        ) from err
    pages = examples(rows)
    pages += surrounded_examples(rows, pages)
    for k in folds:
        made = fit([e for e in pages if fold_of(e.site, FOLDS) != k], 1)
        header = {key: v for key, v in made.header.items() if key not in ("schema", "sizes")}
        data = encode(made.forests, made.logistic, header)
        (folder / f"fold{k}.bin").write_bytes(data)
        say(f"weights of fold {k} of {FOLDS} made")


# -- the measurement ---------------------------------------------------------------------------

COLUMNS = (
    "row", "code", "code_true", "indented", "indented_true", "blank", "items", "item_lines",
    "rows", "rows_true", "headings", "formulas", "f1", "short",
)  # fmt: skip
SHARES = COLUMNS[1:11]


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--weights", type=Path, help="folder of cross-validation weights")
    options.add_argument("--only", action="append", help="measure this row alone (repeatable)")
    options.add_argument("--misses", choices=SHARES, help="print what is missing of this figure")
    args = options.parse_args(argv)
    return finish(lambda: report(args), args.json)


def report(args: argparse.Namespace) -> Report:
    rows = read_pages()
    sides: dict[str, Side] = {}
    notes = []
    if args.weights:
        folds = Folds(args.weights, rows)
        sides["own"] = folds.side("text")
        sides["own, Markdown"] = folds.side("markdown")
        notes.append("own: cross-validated by site")
    else:
        sides["own"] = tier_side("own", "text")
        sides["own, Markdown"] = tier_side("own", "markdown")
        notes.append("own: its weights have seen these pages")
    sides["own, every block"] = every_block
    for tier in ("quality", "default", "fast"):
        sides[tier] = tier_side(tier, "text")
    sides["trafilatura"] = trafilatura_side
    sides["trafilatura, Markdown"] = trafilatura_markdown
    sides["resiliparse"] = resiliparse_side
    if args.only:
        unknown = [name for name in args.only if name not in sides]
        if unknown:
            raise BenchError(f"no row {unknown[0]!r}", hint=f"one of {', '.join(sides)}")
        sides = {name: sides[name] for name in args.only}
    chosen = rows[::QUICK_EVERY] if args.quick else rows
    table = []
    for name, side in sides.items():
        table.append({"row": name, **row_of(chosen, side, args.misses)})
        say(f"{name}: done")
    first = table[0]
    bars = {
        "code_true": Bar(first["code_true"], 0.95),
        "indented_true": Bar(first["indented_true"], 0.97),
        "items": Bar(first["items"], 0.93),
        "rows_true": Bar(first["rows_true"], 0.90),
        "formulas": Bar(first["formulas"], len(PROBES)),
        "pages_not_short": Bar(round(1 - first["short"], 4), 0.995),
    }
    return Report(
        bench="layout",
        versions={n: version(n) for n in ("corpusmill", "trafilatura", "resiliparse")},
        rows=table,
        bars=bars,
        columns=COLUMNS,
        notes=[f"{len(chosen)} pages with gold Markdown", *notes],
    )


def read_pages() -> list[dict[str, Any]]:
    """Pages with gold Markdown. Raises BenchError where there are none."""
    folder = os.environ.get("CORPUSMILL_DATA")
    path = Path(folder or ".") / "wcxb_dev" / "pages.jsonl.xz"
    if not folder or not path.exists():
        raise BenchError(
            "no pages to measure on", hint="set CORPUSMILL_DATA to the data folder", exit_code=2
        )
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if row.get("gold_markdown")]


def row_of(rows: Sequence[dict[str, Any]], side: Side, misses: str | None) -> dict[str, Any]:
    """The figures of one side."""
    shares: dict[str, list[float]] = {name: [] for name in SHARES}
    totals: dict[str, list[int]] = {name: [0, 0] for name in SHARES}
    f1 = []
    short = 0
    for row in rows:
        got = side(row["html"], row["url"])
        for name, (found, n, missing) in measure(
            row["html"], read_gold(row["gold_markdown"]), got
        ).items():
            if not n:
                continue
            shares[name].append(found / n)
            totals[name][0] += found
            totals[name][1] += n
            if name == misses and missing:
                print(f"{row['id']} {row['url']}: {found} of {n}")
                print("\n".join(f"    {line}" for line in missing))
        f1.append(word_bag(got, row["gold_text"]).f1)
        n_words = len(words(got))
        short += n_words < SHORT <= len(words(row["gold_text"]))
    return {
        **{name: round(sum(s) / len(s), 4) if s else 0.0 for name, s in shares.items()},
        "formulas": formulas(side),
        "f1": round(sum(f1) / len(f1), 4),
        "short": round(short / len(rows), 4),
        "pages": {name: len(s) for name, s in shares.items()},
        "in_all": {name: f"{found} of {n}" for name, (found, n) in totals.items()},
    }


def probe_page(markup: str) -> str:
    """A page that has `markup` as a paragraph of its text."""
    return (
        "<!doctype html><html><head><title>Formulas</title></head><body><main><article>"
        f"<h1>Formulas</h1><p>{_AROUND}</p><p>{markup}</p><p>{_AROUND}</p>"
        "</article></main></body></html>"
    )


def formulas(side: Side) -> int:
    """How many of the eight probes come out as TeX, each on its page."""
    found = 0
    for markup, expected in PROBES:
        got = side(probe_page(markup), "https://example.org/")
        found += expected in got and got.count(expected.strip("$ .")) == 1
    return found


if __name__ == "__main__":
    sys.exit(main())
