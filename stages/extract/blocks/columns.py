# ruff: noqa: SIM905 - the names of columns read best as lines of words
"""Columns of the arrays that the compiled passes share, and the names of all features."""

from __future__ import annotations

import numpy as np

from .vocabulary import CLASS_GROUPS, TAG, TAGS, TEXT_GROUPS

# columns of an element
(
    TAG_ID, PARENT, DEPTH, GROUPS, SIGNATURE, BLOCK0, BLOCK1, IMAGES0, IMAGES1, MARKS, ORDER,
    NUMBER, IMAGE_END,
) = range(13)  # fmt: skip
ELEMENT_COLUMNS = 13
# bits of MARKS
HIDDEN, ARIA_HIDDEN, NOT_DISPLAYED, IN_NOSCRIPT, ROLE_MAIN = (1 << bit for bit in range(5))
# columns of a block
(
    OWNER, START, END, LINKS, LINK_BYTES, BOLD_BYTES, IMAGES, IS_PRE, TIMES, BREAKS, TRANSLATIONS,
) = range(11)  # fmt: skip
BLOCK_COLUMNS = 11
# columns of the stack of open elements
STACK_KEY, STACK_TAG, STACK_KIND, STACK_ELEMENT = range(4)
# what `info` of a scan returns
N_ELEMENTS, N_BLOCKS, N_BYTES, OUTSIDE_WORDS, N_FORMS, TITLE0, TITLE1 = range(7)
INFO_SIZE = 7
# what is found in the attributes of a tag
A_GROUPS, A_MARKS, A_SIGNATURE, A_NUMBER, A_PRUNE, A_TRANSLATION = range(6)
ATTRIBUTE_COLUMNS = 6
# columns of a block's measure
(
    CHARS, WORDS, UPPER, DIGITS, PUNCTUATION, COMMAS, SENTENCES, LAST, FIRST, NOT_ASCII, FUNCTION,
    SYMBOLS, CURRENCY, LONG, IN_TITLE, HASH, TEXT_GROUP_BITS, HITS, UNSPACED_CHARS, CAPITALS,
    SEEN_BEFORE, SEEN_AFTER,
) = range(22)  # fmt: skip
MEASURE_COLUMNS = 22
# columns of a group of blocks
G_FIRST, G_BLOCKS, G_WORDS, G_LINK, G_SIZE = range(5)
GROUP_COLUMNS = 5
# columns of an element's kin: the first sibling of the same tag and class, its own number among
# them; in the first one's row their count, sums and the last one; then what is inherited
(
    K_LEADER, K_NUMBER, K_COUNT, K_WORDS, K_LINK, K_SIZE, K_LAST, K_MARKS, K_ARTICLE,
) = range(9)  # fmt: skip
KIN_COLUMNS = 9

N_CLASS = len(CLASS_GROUPS)
N_TEXT = len(TEXT_GROUPS)
LEVELS = 5
"""Ancestors (the block's own element first) of which size and links are features."""
NEIGHBOURS = 3
FAR = 99
"""Distance to an ancestor that is not there."""

ANCESTOR_TAGS = (
    "li", "td", "th", "pre", "dd", "blockquote", "figcaption", "article", "section", "header",
    "aside", "form", "table", "ul", "ol", "dl", "figure", "details", "button", "main", "noscript",
    "address", "h1", "h2", "h3", "fieldset",
)  # fmt: skip
N_ANCESTOR_TAGS = len(ANCESTOR_TAGS)
TAG_SLOT = np.full(len(TAGS), -1, np.int64)
"""Tag number to its place among the ancestors' tags, -1 for none."""
for _slot, _tag in enumerate(ANCESTOR_TAGS):
    TAG_SLOT[TAG[_tag]] = _slot

_SHAPE = (
    "chars words word_length upper digits punctuation commas sentences last first not_ascii "
    "function symbols currency long in_title hits unspaced capitals pre times breaks bold "
    "link_share links link_all repeats repeated_before good"
).split()
_PLACE = (
    "index index_share from_end words_before words_before_share words_after depth tag same_as_h1 "
    "after_h1 words_after_h1 title_block_distance"
).split()
_LEVEL = ("words_share good_share link_share blocks same_siblings words position images").split()
_UNIT = (
    "level words link_share siblings sibling_words headings linked_headings position blocks "
    "images siblings_link_share run"
).split()
_DESCENT = (
    "inside_35 inside_50 inside_80 before_50 after_50 blocks_after_50 words_after_50 climb_50 "
    "below_50 share_50 link_share_50 in_run before_run after_run run_share articles in_article "
    "article_share article_number signature_share signature_blocks signature_words "
    "signature_link_share group_share group_link_share"
).split()
_HEADING = "level distance words link linked_share words_of".split()
_NEIGHBOUR = "words link_share tag good same_signature heading".split()
_WINDOW = "words link_share good".split()
_AROUND = (
    "seen_before seen_after unit_with_link unit_with_image unit_longest main_before main_after "
    "main_after_blocks main_share before20_link_share before20_good_share before20_headings "
    "after20_link_share after20_good_share after20_headings"
).split()
_PAGE = (
    "blocks words link_share good_share p_share li_share td_share headings images forms "
    "deepest_50_share run_share mean_words currency comment_share thread_share card_share "
    "not_ascii unspaced function h1 articles"
).split()
WINDOWS = (2, 5, 12)

NAMES: tuple[str, ...] = (
    *_SHAPE,
    *(f"text_{name}" for name, _ in TEXT_GROUPS),
    *_PLACE,
    *(f"class_{name}" for name, _ in CLASS_GROUPS),
    *(f"near_{tag}" for tag in ANCESTOR_TAGS),
    "hidden", "aria_hidden", "not_displayed", "in_noscript", "role_main",
    *(f"up{level}_{name}" for level in range(LEVELS) for name in _LEVEL),
    *(f"unit_{name}" for name in _UNIT),
    *_DESCENT,
    *(f"heading_{name}" for name in _HEADING),
    *(f"heading_{name}" for name, _ in TEXT_GROUPS),
    *(f"{where}{i}_{name}" for where in ("before", "after") for i in range(1, NEIGHBOURS + 1)
      for name in _NEIGHBOUR),
    *(f"window{width}_{name}" for width in WINDOWS for name in _WINDOW),
    *_AROUND,
    *(f"page_{name}" for name in _PAGE),
)  # fmt: skip
N_FEATURES = len(NAMES)
N_PAGE = len(_PAGE)
PAGE_START = N_FEATURES - N_PAGE
AROUND_START = PAGE_START - len(_AROUND)
