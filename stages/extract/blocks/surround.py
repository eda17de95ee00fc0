"""Pages with more around their text than they had, to learn from: for `train` only.

A share of the articles and manual pages is taken a second time with made sections put beside the
text: teasers of other stories in many kinds of markup, readers' comments, notices. Their words come
from other pages of the set. What is added is in no gold text, so its blocks are learnt as not
wanted. All draws are keyed by the page's id.
"""

from __future__ import annotations

import html
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

HEADINGS = (
    "Related", "Related articles", "More stories", "You may also like", "Read next", "Recommended",
    "Latest news", "Trending", "Popular", "From our partners", "More", "Today", "Editor's picks",
    "News", "Top stories", "Don't miss", "Weitere Artikel", "À lire aussi", "Lea también",
    "Leia também", "Leggi anche", "Читайте также", "相关文章", "Other news", "In this section",
    "Explore", "Around the web", "Up next", "You may like", "Others also read", "See also",
    "Você pode gostar", "Veja também", "También te puede interesar", "Te recomendamos",
    "Das könnte Sie auch interessieren", "Mehr zum Thema", "Vous aimerez aussi",
    "Sur le même sujet", "Potrebbe interessarti", "Lees ook", "Zobacz też", "Benzer haberler",
    "Похожие записи",
    "Смотрите также", "関連記事", "관련 기사", "مقالات ذات صلة", "यह भी पढ़ें",
)  # fmt: skip
_CLASS_WORDS = (
    "box", "item", "row", "col", "story", "post", "unit", "grid", "entry", "media", "block", "c",
    "list", "wrap", "inner", "js", "td", "module", "x", "tile", "el", "content", "card", "teaser",
    "related", "promo", "article",
)  # fmt: skip
_DATES = (
    "November 18, 2019", "2 hours ago", "18.11.2019", "2021-03-04", "Mar 4, 2021 at 9:15 am",
    "Monday, 4 March", "4 min read", "",
)  # fmt: skip
_NAMES = (
    "Anna Weber", "J. Smith", "Maria Silva", "editor", "K. Tanaka", "Staff", "Lee", "mike77",
    "Olga P.", "rdx",
)  # fmt: skip
_PLACES = ("NEW YORK", "BERLIN", "Lagos", "São Paulo", "WASHINGTON", "Madrid, Spain", "TOKYO")
_NOTICES = (
    "Sign up for our newsletter to get the latest stories in your inbox.",
    "Support our journalism today.", "About the author", "Follow us for more updates.",
    "This article was first published elsewhere.", "",
)  # fmt: skip
_BLOCKS = "p, li, h1, h2, h3, h4, h5, blockquote, td, div, section, figcaption, pre"
_INSIDE_TABLES = ("li", "td", "tr", "tbody", "ul", "ol", "table")
MIN_WORDS = 60
"""Pages with a shorter gold text are not taken."""
MAX_BLOCKS = 700
"""Nor pages with more blocks."""
_LEFT_OUT = 0.3


@dataclass(frozen=True, slots=True)
class Pool:
    """Where the words of made sections come from: (site, title, paragraphs) and (site, post)."""

    stories: tuple[tuple[str, str, tuple[str, ...]], ...]
    posts: tuple[tuple[str, str], ...]


def paragraphs(gold: str) -> list[str]:
    """Lines of at least fifteen words."""
    return [p.strip() for p in gold.split("\n") if len(p.split()) >= 15]


def pool_of(pages: Sequence[Any]) -> Pool:
    """The pool of some `train.Example`."""
    stories: list[tuple[str, str, tuple[str, ...]]] = []
    posts: list[tuple[str, str]] = []
    for e in pages:
        some = paragraphs(e.gold)
        if e.page_type in ("article", "documentation", "service") and some:
            title = e.gold.strip().split("\n")[0][:120]
            if len(title.split()) < 3:
                title = " ".join(some[0].split()[:9])
            stories.append((e.site, title, tuple(some)))
        if e.page_type == "forum":
            posts.extend((e.site, p) for p in some[:30])
    return Pool(tuple(stories), tuple(posts))


def _class(r: random.Random) -> str:
    kind = r.random()
    if kind < 0.2:
        return ""
    if kind < 0.45:
        letters = "".join(r.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(5))
        return f' class="{letters}{r.randrange(99)}"'
    return ' class="' + "-".join(r.choice(_CLASS_WORDS) for _ in range(r.randint(1, 2))) + '"'


def _story(r: random.Random, pool: Pool, site: str) -> tuple[str, str]:
    """Title and beginning of a text of another site, as HTML."""
    while True:
        where, title, some = r.choice(pool.stories)
        if where != site:
            break
    words = r.choice(some[:6]).split()
    n = r.choice([8, 12, 16, 20, 25, 30, 40, 55, 80, 120])
    start = " ".join(words[:n])
    if r.random() < 0.1:
        start = f"{r.choice(_PLACES)}: {start}"
    if len(words) > n:
        start += r.choice(["...", "…", "", " […]", "."])
    return html.escape(title), html.escape(start)


def _teasers(r: random.Random, pool: Pool, site: str, table: bool) -> list[str]:
    n = r.choice([1, 2, 3, 3, 4, 5, 6, 8, 10, 12])
    kind = r.randrange(10)
    c = [_class(r) for _ in range(6)]
    head = r.choice(["h2", "h3", "h4", "h5", "div", "p", "strong", "span"])
    body = r.choice(["p", "p", "p", "div", "span"])
    image = '<img src="/i.jpg">' if r.random() < 0.6 else ""
    date = r.choice(_DATES)
    more = r.choice(["", "", '<a href="/r">Read more</a>', '<a href="/c">0 comments</a>'])
    no_text = r.random() < 0.12
    linked = r.random() < 0.85
    made = []
    for i in range(n):
        t, q = _story(r, pool, site)
        a, z = (f'<a href="/s/{i}">', "</a>") if linked else ("", "")
        d = f"<span{c[4]}>{date}</span>" if date else ""
        by = f"<div{c[5]}>By {r.choice(_NAMES)}</div>" if r.random() < 0.3 else ""
        if no_text:
            q = ""
        title = f"<{head}{c[2]}>{a}{t}{z}</{head}>"
        text = f"<{body}{c[3]}>{q}</{body}>"
        if kind in (0, 1):
            made.append(f"<div{c[1]}>{a}{image}{z}{title}{text}{d}{more}</div>")
        elif kind == 2:
            made.append(
                f"<article{c[1]}>{a}{image}<{head}{c[2]}>{t}</{head}>{text}{z}{d}</article>"
            )
        elif kind == 3:
            made.append(f"<li{c[1]}>{a}{t}{z}{text}{d}</li>")
        elif kind == 4:
            made.append(
                f"<div{c[1]}><div{c[4]}>{image}</div><div{c[2]}><{head}>{t}</{head}>{text}"
                f"{more or '<a href=x>More</a>'}</div></div>"
            )
        elif kind == 5:
            made.append(f"<div{c[1]}>{title}{by}{d}{text}</div>")
        elif kind == 6:
            made.append(f"<p{c[1]}>{a}{t}{z} {q}</p>")
        elif kind == 7:
            made.append(f"<div{c[1]}>{a}{image}{z}<p{c[2]}>{q}</p></div>")
        elif kind == 8:
            made.append(f"<li{c[1]}>{image}{a}{t}{z} {q} {more}</li>")
        elif table:
            made.append(f"<tr><td{c[1]}>{image}{a}{t}{z}<br>{q}</td></tr>")
        else:
            made.append(
                f"<div{c[1]}><div{c[2]}><{head}>{a}{t}{z}</{head}><div{c[3]}><{body}>{q}</{body}>"
                f"</div>{d}</div></div>"
            )
    return made


def _comments(r: random.Random, pool: Pool) -> list[str]:
    n = r.choice([1, 2, 4, 6, 10])
    c = [_class(r) for _ in range(4)]
    kind = r.randrange(3)
    made = []
    for _ in range(n):
        _, post = r.choice(pool.posts)
        said = html.escape(" ".join(post.split()[: r.choice([5, 12, 30, 70])]))
        name, date = r.choice(_NAMES), r.choice(_DATES)
        if kind == 0:
            made.append(
                f"<li{c[0]}><div{c[1]}><b>{name}</b> {date}</div><p>{said}</p>"
                '<a href="#">Reply</a></li>'
            )
        elif kind == 1:
            made.append(f"<div{c[0]}><span{c[1]}>{name}</span><div{c[2]}>{said}</div></div>")
        else:
            made.append(
                f"<article{c[0]}><h4>{name}</h4><div{c[3]}>{date}</div><div{c[2]}><p>{said}</p>"
                "</div></article>"
            )
    return made


def section(r: random.Random, pool: Pool, site: str) -> str:
    """A made section: teasers (72 of 100), comments (14) or a notice (14)."""
    kind = r.random()
    heading = ""
    if r.random() >= 0.35:
        tag = r.choice(["h2", "h3", "h4", "div", "p", "span"])
        words = html.escape(r.choice(HEADINGS))
        heading = f"<{tag}{_class(r)}>{words}</{tag}>"
    wrapper = r.choice(["div", "section", "aside", "ul", "div", "table", "div"])
    if kind < 0.72:
        units = _teasers(r, pool, site, wrapper == "table")
    elif kind < 0.86:
        units = _comments(r, pool)
        if r.random() >= 0.3:
            says = r.choice(["Comments", "Responses", "comments on this story"])
            heading = f"<h3>{len(units)} {says}</h3>"
    else:
        title, start = _story(r, pool, site)
        c = [_class(r) for _ in range(3)]
        notice = html.escape(r.choice(_NOTICES)) or title
        tag = r.choice(["h3", "h4", "p", "strong", "div"])
        units = [f"<div{c[0]}><{tag}>{notice}</{tag}><p{c[1]}>{start}</p></div>"]
    inner = "".join(units)
    if wrapper == "ul" and "<li" not in inner:
        inner = "".join(f"<li>{unit}</li>" for unit in units)
    for _ in range(r.choice([0, 0, 1, 2])):
        inner = f"<div{_class(r)}>{inner}</div>"
    return f"<{wrapper}{_class(r)}>{'' if wrapper == 'table' else heading}{inner}</{wrapper}>"


def surrounded(markup: bytes, texts: Sequence[str], wanted: Sequence[int], key: str, pool: Pool,
               site: str) -> bytes | None:  # fmt: skip
    """`markup` (see `page_markup`) with sections beside its text, or None where the page
    is left out or its text not found. `texts` are its blocks, `wanted` the numbers of those in the
    gold text."""
    from selectolax.lexbor import LexborHTMLParser

    r = random.Random(f"a{key}")
    if r.random() < _LEFT_OUT or len(wanted) < 4:
        return None
    tree = LexborHTMLParser(markup)
    nodes: dict[str, Any] = {}
    for node in tree.css(_BLOCKS):
        nodes[re.sub(r"\s+", "", node.text(deep=True))] = node

    def put(block: int, *, before: bool, climb: int) -> bool:
        at = nodes.get(re.sub(r"\s+", "", texts[block]))
        if at is None:
            return False
        for _ in range(climb):
            if at.parent is None or at.parent.tag in ("body", "html"):
                break
            at = at.parent
        while at.tag in _INSIDE_TABLES and at.parent is not None:
            if at.parent.tag in ("body", "html") or at.tag in ("ul", "ol", "table"):
                break
            at = at.parent
        added = LexborHTMLParser(f"<body>{section(r, pool, site)}</body>").body
        for node in list(added.iter()) if added is not None else ():
            (at.insert_before if before else at.insert_after)(node)
        return True

    done = False
    for _ in range(r.choice([1, 1, 2, 3])):
        done = put(wanted[-1], before=False, climb=r.choice([0, 1, 1, 2, 2, 3, 4])) or done
    if r.random() < 0.3:
        done = put(wanted[0], before=True, climb=r.choice([0, 1, 2, 3])) or done
    if r.random() < 0.2:
        done = put(r.choice(wanted[1:-1]), before=False, climb=0) or done
    return (tree.html or "").encode("utf-8", "replace") if done else None
