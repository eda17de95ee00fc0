"""The words that the block model looks at: tags, class names, and words of menus and footers.

Lists of ours, written for the model and sorted into groups; the model learns what a group means.
`lookup` makes the open-addressing tables that the compiled passes read: a word's key is FNV-1a
(64 bits) over its code points in lower case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

FNV_START = 14695981039346656037
FNV_PRIME = 1099511628211
_MASK = (1 << 64) - 1

INLINE, BLOCK, SKIP, RAW, VOID, PRUNE, BREAK = range(7)
"""Kinds of tags: SKIP has no text of the page, RAW the same with content that is no markup,
PRUNE is left out as navigation, BREAK ends a block (``hr``) or a line (``br``)."""

_KINDS: tuple[tuple[int, str], ...] = (
    (INLINE, "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark "
             "math meter nobr output picture progress q ruby s samp small span strike strong sub "
             "sup time tt u var"),
    (BLOCK, "p li td th h1 h2 h3 h4 h5 h6 pre div dt dd blockquote figcaption article section "
            "header aside form table tbody thead tfoot tr ul ol dl figure details summary button "
            "main body html noscript address caption center dialog dir fieldset hgroup legend "
            "menu search"),
    (SKIP, "head svg template select datalist textarea object audio video canvas map rt rp "
           "option optgroup"),
    (RAW, "script style iframe noembed noframes xmp plaintext"),
    (VOID, "img area base basefont bgsound col embed frame input keygen link meta param source "
           "track wbr"),
    (PRUNE, "nav footer"),
    (BREAK, "br hr"),
    (INLINE, "title"),
)  # fmt: skip

TAGS: tuple[str, ...] = ("", *(name for _, names in _KINDS for name in names.split()))
"""Tag names by number; 0 is any other."""
TAG_KINDS: tuple[int, ...] = (INLINE, *(k for k, names in _KINDS for _ in names.split()))
TAG: dict[str, int] = {name: number for number, name in enumerate(TAGS) if name}

CLASS_GROUPS: tuple[tuple[str, str], ...] = (
    ("nav", "nav navigation navbar menu menubar submenu megamenu topnav navs subnav offcanvas "
            "hamburger dropdown sitenav mainmenu mainnav quicklinks links linklist"),
    ("breadcrumb", "breadcrumb breadcrumbs crumb crumbs bread pathway"),
    ("footer", "footer foot colophon copyright bottom pagefooter sitefooter subfooter"),
    ("sidebar", "sidebar side rail aside secondary rightcol leftcol rightcolumn leftcolumn "
                "rightbar sidenav complementary sidecol tertiary right"),
    ("cookie", "cookie cookies consent gdpr onetrust ccpa cookiebar cookiebot"),
    ("share", "share sharing social socials addthis sharedaddy sharethis follow facebook twitter "
              "linkedin pinterest whatsapp tweet shares sociable instagram"),
    ("newsletter", "newsletter subscribe subscription subscriptions signup optin mailchimp "
                   "mailing mailinglist subscriber"),
    ("related", "related recommended recommendation recommendations suggested similar readmore "
                "latest recent popular trending upnext morestories relatedposts mostread "
                "recirculation recirc outbrain taboola yarpp jp also more crosslinks"),
    ("promo", "promo promotion promos ad ads advert adverts advertisement advertising banner "
              "sponsor sponsored adsense dfp marketing cta adslot commercial affiliate"),
    ("modal", "modal popup overlay lightbox tooltip drawer toast popover dialog flyout"),
    ("pagination", "pagination pager paginate paging pagenav next prev previous pagenavi "
                   "postnav postnavigation"),
    ("toc", "toc tableofcontents outline"),
    ("comment", "comment comments disqus respond reply replies commentlist commentform "
                "discussion commenter responses"),
    ("login", "login signin register registration account auth password paywall loginform"),
    ("meta", "meta byline date time timestamp published posted dateline postmeta entrymeta "
             "metadata info pubdate datetime updated"),
    ("tags", "tag tags category categories taxonomy topics keywords hashtag badge badges"),
    ("header", "header masthead topbar head siteheader pageheader top banner"),
    ("widget", "widget widgets module modules block blocks component"),
    ("hidden", "hidden hide sr visuallyhidden screenreader invisible collapsed noprint offscreen "
               "screen reader only"),
    ("price", "price prices pricing cart buy checkout basket sku stock quantity shipping sale "
              "discount addtocart offer offers purchase"),
    ("review", "review reviews rating ratings stars star testimonial testimonials feedback"),
    ("faq", "faq faqs accordion question questions answer answers collapse collapsible qa"),
    ("card", "card cards tile tiles teaser teasers thumb thumbnail grid feed loop"),
    ("item", "item items list listing listings row result results entries"),
    ("content", "content contents main body maincontent bodycontent primary inner center"),
    ("article", "article entry post story articles stories blogpost single singular hentry"),
    ("articlebody", "articlebody entrycontent postcontent storybody articlecontent postbody "
                    "entrybody articletext bodytext storycontent richtext rte wysiwyg prose "
                    "contenttext bodycopy newstext txt reviewbody mainentity text copy paragraph"),
    ("description", "description desc details detail summary overview about synopsis"),
    ("specs", "specification specifications spec specs features feature attributes properties "
              "infobox data ingredients instructions recipe"),
    ("thread", "thread topic message messages posts forum bbs vbulletin phpbb viewtopic "
               "msg postrow postbit conversation"),
    ("docs", "docs documentation markdown md document doc manual rst sphinx docbook refentry "
             "sect section api"),
    ("caption", "caption figcaption credit credits wpcaption attribution legend"),
    ("image", "image images img gallery photo photos figure media picture video player audio "
              "podcast embed"),
    ("search", "search filter filters facet facets sort searchform sorting refine"),
    ("logo", "logo brand branding sitename"),
    ("lead", "lead intro introduction excerpt subtitle deck standfirst dek abstract subheading "
             "subhead summary teasertext"),
    ("title", "title heading headline hed titles header1 pagetitle"),
    ("quote", "quote blockquote pullquote quoted quotes cite"),
    ("signature", "signature sig signoff"),
    ("code", "code highlight pre snippet codehilite syntax syntaxhighlighter sourcecode"),
    ("author", "author authors bio authorbox avatar contributor writer username user profile "
               "poster biography member vcard"),
    ("hero", "hero jumbotron slider carousel slide slides swiper slick slideshow splash"),
    ("tab", "tab tabs panel pane tabpanel panels tabcontent"),
    ("lang", "language lang locale country translate languages region currency"),
    ("skip", "skip print backtotop jump toolbar tools actions action controls buttons button "
             "btn btns utility"),
    ("legal", "disclaimer terms privacy legal notice alert warning disclosure cookiepolicy"),
    ("event", "job jobs career careers location locations event events calendar schedule agenda "
              "map address contact"),
    ("product", "product products shop store catalog woocommerce collection "
                "category-products"),
    ("team", "team people staff services service portfolio project projects client clients "
             "partners"),
    ("layout", "container wrapper wrap layout column col columns row page site outer region"),
    ("note", "note notes tip admonition callout reference references footnote "
             "footnotes reflist citation bibliography sources"),
    ("edit", "edit editsection mw noprint navbox catlinks printfooter sitesub headerlink "
             "permalink anchor"),
)  # fmt: skip
"""Words of class names, ids, roles and itemprops, by group. A word may be in several groups."""

TEXT_GROUPS: tuple[tuple[str, str], ...] = (
    ("cookie", "cookie cookies consent gdpr privacy datenschutz confidentialité privacidad"),
    ("subscribe", "subscribe newsletter newsletters inbox unsubscribe signup subscribed "
                  "abonnieren abonnez suscríbete suscribirse iscriviti assine nieuwsbrief email "
                  "e-mail подписаться рассылка"),
    ("share", "share tweet facebook twitter linkedin pinterest whatsapp follow instagram "
              "youtube reddit telegram teilen partager compartir compartilhar condividi delen "
              "поделиться sharing"),
    ("login", "login log sign account password register registered username member join "
              "anmelden registrieren connexion войти"),
    ("related", "related recommended similar popular trending latest also recent stories "
                "articles posts suggested upcoming featured picks verwandte ähnliche liés "
                "relacionados relacionadas correlati gerelateerd похожие editors like interest "
                "recommendations gostar interessar gustar interesar recomendamos interessieren "
                "gefallen weitere thema aimerez intéresser sujet interessarti leggi lees veja leia "
                "zobacz podobne benzer ilgili související kapcsolódó также читайте смотрите "
                "関連記事 관련"),
    ("comment", "comment comments reply replies respond discussion commenting kommentar "
                "kommentare commentaire commentaires comentario comentarios comentários commenti "
                "reacties комментарии комментариев"),
    ("legal", "copyright rights reserved terms trademark trademarks disclaimer conditions "
              "inc llc ltd impressum reservados vorbehalten réservés imprint"),
    ("ad", "advertisement sponsored advertise ad ads promoted sponsor anzeige publicité "
           "publicidad реклама affiliate"),
    ("more", "read more continue view see learn click here show load full weiterlesen mehr "
             "lire leer leggi saiba lees далее подробнее"),
    ("buy", "price cart buy add checkout shipping order delivery stock basket wishlist sale "
            "usd eur qty quantity warenkorb panier carrito compare save"),
    ("by", "by author posted published updated written editor staff reporter contributor von "
           "por par автор modified edited"),
    ("date", "january february march april may june july august september october november "
             "december jan feb mar apr jun jul aug sep sept oct nov dec am pm ago minutes hours "
             "hour days monday tuesday wednesday thursday friday saturday sunday min"),
    ("menu", "menu home search skip navigation contact about sitemap close open toggle back "
             "top help language startseite accueil inicio"),
    ("tags", "tags tag categories category filed topics topic labels keywords tagged"),
    ("page", "previous next page prev pages older newer first last results sort filter showing "
             "per"),
    ("review", "review reviews rating ratings stars star helpful verified votes vote likes like "
               "views bewertung avis reseñas"),
    ("about", "description features overview details specifications specification about "
              "introduction summary benefits ingredients instructions abstract conclusion"),
    ("faq", "faq faqs frequently asked questions question answer what how why when"),
    ("video", "video watch photo photos image images credit caption gallery getty play listen "
              "podcast"),
    ("bio", "bio biography journalist contributor freelance writer covers lives born editor "
            "reporting author"),
    ("call", "contact call phone tel today free demo quote request book schedule get started "
             "trial download"),
)  # fmt: skip
"""Words of texts that tend to stand around a main text, by group."""

FUNCTION_WORDS = """
the of and to in is that it for was on are as with his they at be this from have or by one had not
but what all were when we there can an your which their said if do will each about how up out them
then she many some so these would other into has more her two like him see could no than been its
who did my over such our me because only also after most where
der die das und in den von zu mit sich des auf für ist im dem nicht ein eine als auch es an werden
aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur
oder aber vor zur bis mehr durch man sein wurde wenn können
de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce il sont avec
ou son lui nous comme mais on sa ses leur été aux cette ont être ils elle fait
el que y los del se las por un para con no una su al lo como más pero sus le ya o este sí porque
esta entre cuando muy sin sobre también me hasta hay donde quien desde todo
di che e il per è un non sono da una si con come del della anche ma al più nel alla dei dal gli
delle questo ha lo
de het een en van ik te dat die in is zijn op aan met als voor had er maar om hem dan zou of wat
mijn men dit zo door over ze bij ook tot je mij uit der daar naar heb hoe heeft wordt deze niet
o a os as do da em no na um uma com não por mais dos como mas foi ao ele das à seu sua ou quando
muito nos já eu também só pelo pela até isso ela entre era depois sem mesmo aos
och att det som en på är av för med den till inte om ett han men var jag sig från vi så kan när år
under också efter eller nu sin där vid mot ska skulle kommer
og i det er på til som med at av for en ikke den har de et om var men jeg sig han vi fra kan når
nie się na do że jest z w i to co o jak po za ale od przez dla przy jego są który być czy tak tym
a se v na je že s z do o i to jako za by ale pro si jsem po jeho jen který nebo jsou
hogy nem az egy és is meg ez csak de ha már van mint vagy volt
ve bir bu için da de ile olarak çok daha gibi sonra kadar ne var ise olan en
и в не на я быть он с что а по это она этот к но они мы весь который из у который то за свой от
так о год же для вы бы как до или его их еще уже при если чтобы было также после
та і що на не з до як це від для за про але його або був є бути які при
yang dan di itu dengan untuk tidak ini dari dalam akan pada juga saya ke karena
va de la si în pe cu nu este un o care mai din sau pentru ca se fost
ja on ei se että hän oli mutta ovat kun niin myös sen jos
του της και το να με για από στο που δεν είναι σε θα οι τα μια των
της την τον στην ένα αυτό
של את על לא זה הוא עם אני כי גם או היה
في من على إلى أن هذا التي الذي عن مع كان لا ما هو
và của là có trong được cho các một những không với này đã
के में की है और से को का पर यह भी नहीं
"""
"""Frequent function words of some 25 languages: prose has many, menus few."""


def key_of(word: str) -> int:
    """The key of a word (FNV-1a over code points, 64 bits); never 0."""
    h = FNV_START
    for char in word:
        h = ((h ^ ord(char)) * FNV_PRIME) & _MASK
    return h or 1


Table = tuple["npt.NDArray[np.uint64]", "npt.NDArray[np.int64]"]
"""Keys (0 where a slot is free) and values of an open-addressing table of a power-of-two size."""


def lookup(values: Mapping[str, int]) -> Table:
    """A table at most a quarter full; slot of a key: its middle bits, then the next free one."""
    size = 16
    while size < 4 * len(values):
        size *= 2
    keys = np.zeros(size, np.uint64)
    found = np.zeros(size, np.int64)
    for word, value in values.items():
        key = key_of(word)
        slot = (key >> 20) & (size - 1)
        while keys[slot] != 0:
            slot = (slot + 1) & (size - 1)
        keys[slot] = key
        found[slot] = value
    return keys, found


def masks(groups: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Word to bit mask of the groups that list it."""
    made: dict[str, int] = {}
    for bit, (_, words) in enumerate(groups):
        for word in words.split():
            made[word] = made.get(word, 0) | 1 << bit
    return made


FUNCTION_BIT = 62
"""Bit of the text table that marks a function word."""
PRUNED_BIT = 62
"""Bit of the class table that marks an element to leave out as navigation."""
PRUNED_CLASSES = "navheader navfooter"
"""What DocBook's style sheets call the ways to the chapters before and after. Their titles are no
links, so that nothing but the name tells them from text."""


def tag_table() -> Table:
    """Tag name to number."""
    return lookup(TAG)


def class_table() -> Table:
    """Word of a class name to the mask of its groups, and `PRUNED_BIT` of navigation's."""
    made = masks(CLASS_GROUPS)
    for word in PRUNED_CLASSES.split():
        made[word] = made.get(word, 0) | 1 << PRUNED_BIT
    return lookup(made)


def text_table() -> Table:
    """Word of a text to the mask of its groups, and `FUNCTION_BIT` for function words."""
    made = masks(TEXT_GROUPS)
    for word in FUNCTION_WORDS.split():
        made[word] = made.get(word, 0) | 1 << FUNCTION_BIT
    return lookup(made)
