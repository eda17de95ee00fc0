"""Parts of the pages that Corpusmill writes: tables, differences, the frame and its style.

Nothing here runs or loads anything; every text goes through `safe`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from html import escape
from typing import Any

MOST_WORDS = 600
"""Words of each text that a difference is drawn of."""
_AROUND = 8
_CONTROLS = {c: "\ufffd" for c in (*range(9), 11, 12, *range(14, 32), *range(127, 160))}
_CONTROLS |= {c: f"[U+{c:04X}]" for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E,
                                          0x200F, 0x061C)}  # fmt: skip
STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--soft:#5d666f;--line:#d5dae0;--page:#fff;--bar:#1f5f90;
--other:#a3490a;--added:#dcf3e0;--gone:#fbe0dc;--field:#f4f6f8}
@media(prefers-color-scheme:dark){:root{--ink:#e4e7ea;--soft:#a3adb7;--line:#3a4148;--page:#15181b;
--bar:#7ab5e2;--other:#eba56a;--added:#173d22;--gone:#4d211b;--field:#22272c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:62rem;
margin:0 auto;padding:1rem}
h1{font-size:1.5rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid var(--line)}
h3{font-size:1rem;margin-bottom:.3rem;overflow-wrap:anywhere}nav a{margin-right:.9rem}
a{color:var(--bar)}.scroll{overflow-x:auto;margin-bottom:.6rem}
table{border-collapse:collapse;font-size:.9rem}
th,td{padding:.15rem .6rem;text-align:right;border-bottom:1px solid var(--line);vertical-align:top;
white-space:nowrap}th{white-space:normal}
th:first-child,td:first-child,td.l,th.l,td.p,th.p{text-align:left}
td.p{white-space:normal;overflow-wrap:anywhere;min-width:12rem}
figure{margin:0 0 .6rem}figcaption,.soft{color:var(--soft);font-size:.9rem}
svg{width:100%;max-width:30rem;height:auto;font-size:11px}svg text{fill:var(--ink)}
@media(max-width:30rem){svg{font-size:12px}}
.bar,.series0{fill:var(--bar)}.series1{fill:var(--other)}polygon{fill-opacity:.55}
.bound{stroke:var(--other);stroke-width:2;stroke-dasharray:4 3}
.curve{fill:none;stroke:var(--bar);stroke-width:2}.axis{stroke:var(--soft)}
details{border:1px solid var(--line);border-radius:4px;padding:.3rem .7rem;margin:.4rem 0}
summary{cursor:pointer;overflow-wrap:anywhere}pre{white-space:pre-wrap;overflow-wrap:anywhere;
font-size:.85rem}code{overflow-wrap:anywhere}code.t0{white-space:pre-wrap}p{overflow-wrap:anywhere}
ins{background:var(--added);text-decoration:none}del{background:var(--gone)}
mark{background:var(--added);color:inherit;outline:1px solid var(--soft)}
.t0{background:var(--field)}.t1{background:var(--added)}
"""


def safe(text: str) -> str:
    """For the page: markup escaped, control characters and marks that turn the direction of text
    shown as what they are not."""
    return escape(text.translate(_CONTROLS))


def table(
    header: Sequence[str], rows: Sequence[Sequence[Any]], left: int = 1, *, prose: bool = False
) -> str:
    """A table; the first `left` columns are text, the others numbers, and with `prose` the last one
    is text of several lines."""
    kinds = [" class=l" if n < left else "" for n in range(len(header))]
    if prose:
        kinds[-1] = " class=p"

    def cells(tag: str, values: Sequence[Any]) -> str:
        return "".join(
            f"<{tag}{kind}>{safe(str(v))}</{tag}>" for kind, v in zip(kinds, values, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        '<div class="scroll" tabindex="0"><table><thead>'
        f"<tr>{cells('th', header)}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def figure(drawn: str, base: str) -> str:
    """A plot and the documents that it is made of; empty where nothing was drawn."""
    return f"<figure>{drawn}<figcaption>{safe(base)}</figcaption></figure>" if drawn else ""


def word_diff(old: str, new: str) -> str:
    """What `new` has and `old` has not, and the other way round, by words. Of long equal stretches
    the ends are shown."""
    a, b = old.split()[:MOST_WORDS], new.split()[:MOST_WORDS]
    parts: list[str] = []
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(_stretch(a[a0:a1]))
            continue
        if a1 > a0:
            parts.append(f"<del>{safe(' '.join(a[a0:a1]))}</del>")
        if b1 > b0:
            parts.append(f"<ins>{safe(' '.join(b[b0:b1]))}</ins>")
    return " ".join(parts)


def _stretch(words: Sequence[str]) -> str:
    if len(words) <= 3 * _AROUND:
        return safe(" ".join(words))
    start, end = " ".join(words[:_AROUND]), " ".join(words[-_AROUND:])
    return f"{safe(start)} <em>… {len(words) - 2 * _AROUND} equal words …</em> {safe(end)}"


def frame(title: str, head: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """A whole page: `head` stands under the title, a section is (anchor, title, body)."""
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name, _ in sections)
    body = "".join(f'<section id="{k}"><h2>{t}</h2>{text}</section>' for k, t, text in sections)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{safe(title)}</title><style>{STYLE}</style></head><body><main>"
        f"<h1>{safe(title)}</h1>{head}<nav>{links}</nav>{body}</main></body></html>\n"
    )


__all__ = ["STYLE", "figure", "frame", "safe", "table", "word_diff"]
