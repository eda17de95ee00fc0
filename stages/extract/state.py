"""Pages that are no pages: what a server or a site shows in place of its content.

`page_state` names one of these, or nothing:

    parked        a domain that is for sale, expired or not yet used
    bot_check     the reader is asked to prove to be human, or is refused
    soft_404      "not found", sent with a status that says otherwise
    login_wall    the text is for members who have logged in
    cookie_wall   a request to accept cookies, and nothing else
    needs_script  no text without JavaScript

Told by what the page says of itself, in the languages of `_SAYS`, and only where it says little:
an article about such pages is no such page. Lower case is taken once; no other table of Unicode
is used.
"""

from __future__ import annotations

import html as entities
import re
from typing import Literal, get_args

State = Literal["parked", "bot_check", "soft_404", "login_wall", "cookie_wall", "needs_script"]
STATES: tuple[State, ...] = get_args(State)

SMALL_PAGE = 250
"""Only pages with fewer words in all are looked at whole; of larger ones the title and the main
text."""
SHORT_TEXT = 120
"""Words of main text from which a page is what it seems."""
ASKING_WORDS = 60
"""A page with as many words has a text, if it asks for JavaScript in one of its lines or not."""
FEW_WORDS = 20
"""A page with fewer words and an empty element for a script to fill has no text without it."""
COOKIE_PERCENT = 4
"""Least share of words about cookies in a cookie wall, in hundredths, and `COOKIE_WORDS`."""
COOKIE_WORDS = 3

_FLAGS = re.ASCII | re.DOTALL


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases), _FLAGS)


_PARKED = _any(
    r"(?:buy|purchase|acquire|inquire about|get) this domain\b", r"domain (?:name )?(?:is|may be|"
    r"might be|could be) (?:available )?for sale", r"this domain (?:name )?(?:has expired|has been "
    r"registered|is parked|is available|has recently been registered|was recently registered)",
    r"\bparked (?:free|domain|page|by|at)\b", r"domain parking", r"the owner of this domain has "
    r"not", r"future home of something", r"diese domain (?:ist|steht|wurde|kaufen)", r"domain ist "
    r"zu verkaufen", r"ce (?:nom de )?domaine est (?:à vendre|en vente|disponible)", r"este "
    r"dominio (?:está|esta) (?:en venta|à venda|a la venta)", r"questo dominio è in vendita",
    r"dit domein is te koop", r"домен (?:продается|продаётся|припаркован)", r"этот домен "
    r"прода", r"域名(?:出售|转让|已过期)", r"このドメインは(?:売|お名前)",
)  # fmt: skip
_BOT_CHECK = _any(
    r"checking (?:if the site connection is secure|your browser)", r"verify(?:ing)? (?:that )?you "
    r"are (?:a )?human", r"(?:confirm|prove) (?:that )?you are (?:not a (?:ro)?bot|(?:a )?human)",
    r"attention required! \| cloudflare", r"enable javascript and cookies to continue",
    r"ddos protection by", r"unusual traffic from your", r"why have i been blocked",
    r"you have been blocked", r"access (?:to this page has been )?denied.{0,200}(?:reference #|"
    r"permission to access|automated|security (?:service|solution))", r"complete the (?:captcha|"
    r"security check)", r"pardon our interruption", r"are you a robot\?", r"making sure you're "
    r"not a bot",
)  # fmt: skip
_NOT_FOUND = (
    r"(?:page|file|content|document|article|resource|url|site|product|item|topic|post) (?:was |is |"
    r"could |can ?|has )?(?:not|n't|no longer) (?:be |been )?(?:found|available|exist)",
    r"(?:page|site) (?:cannot|can't|can’t|could not|couldn't|couldn’t) be found",
    r"(?:page|site) (?:doesn't|doesn’t|does not) exist", r"we (?:can't|can’t|couldn't|couldn’t|"
    r"could not|cannot) find (?:the|that|this|what)", r"\A\W{0,9}(?:error )?404\b",
    r"\berror 404\b", r"\b404 (?:error|not found|page|file|-|–|:|\|)",
    r"(?:-|–|\||:) 404\Z", r"\A\W{0,9}not found\b",
    r"nothing (?:was )?found", r"seite (?:wurde )?(?:leider )?nicht (?:gefunden|verfügbar)",
    r"page (?:introuvable|non trouvée|inexistante)", r"page (?:demandée )?n'existe (?:pas|plus)",
    r"página no (?:encontrada|existe|disponible)", r"no se (?:ha encontrado|encontró) la página",
    r"página não (?:encontrada|existe)", r"pagina non (?:trovata|esiste)", r"pagina niet gevonden",
    r"sidan (?:hittades inte|kunde inte hittas)", r"siden (?:blev ikke|ble ikke|ikke) fundet",
    r"siden ble ikke funnet", r"sivua ei löy", r"strona nie (?:została znaleziona|istnieje)",
    r"nie znaleziono strony", r"stránka (?:nebyla nalezena|neexistuje)", r"az oldal nem található",
    r"sayfa bulunamadı", r"страница не (?:найдена|существует)", r"сторінк[уа] не знайдено",
    r"η σελίδα δεν βρέθηκε", r"页面不存在", r"找不到(?:该|您|页面|頁面|網頁)", r"頁面不存在",
    r"ページが見つかりません", r"페이지를 찾을 수 없", r"الصفحة غير موجودة", r"لم يتم العثور على",
    r"không tìm thấy trang", r"halaman tidak ditemukan", r"ไม่พบหน้า", r"पृष्ठ नहीं मिला",
)  # fmt: skip
_IS_NOT_FOUND = _any(*_NOT_FOUND)
_LOGIN = _any(
    r"(?:you must|you need to|please|you have to|you'll need to) (?:be logged in|be signed in|log ?"
    r"in|sign in|login) (?:to|before|in order|first)", r"(?:log|sign) ?in to (?:continue|view|see|"
    r"access|read|your account)", r"login required", r"(?:content|page|area|forum) is (?:only |"
    r"restricted |available |visible )?(?:to|for|only for) (?:registered |logged[- ]in )?(?:members"
    r"|users|subscribers)", r"not logged in", r"bitte (?:melden sie sich|loggen sie sich|anmelden|"
    r"einloggen)", r"sie müssen (?:angemeldet|eingeloggt) sein", r"(?:veuillez|vous devez) (?:vous "
    r"(?:connecter|identifier)|être connecté)", r"(?:debe|debes|inicia|inicie) (?:iniciar |estar )?"
    r"sesión para", r"(?:faça|você precisa fazer|é necessário fazer) (?:o )?login", r"devi (?:"
    r"effettuare il login|accedere|essere registrato)", r"je moet ingelogd zijn", r"musisz (?:być "
    r"zalogowan|się zalogować)", r"(?:необходимо|нужно|пожалуйста,?) (?:войти|авториз)",
    r"请(?:先)?登录", r"請(?:先)?登入", r"ログインしてください", r"로그인(?:이 필요|해 주|하세요)",
)  # fmt: skip
_LOGIN_TITLE = _any(
    r"\A\W{0,3}(?:log ?in|sign ?in|login page|anmelden|anmeldung|connexion|iniciar sesi[oó]n|"
    r"acceso|entrar|accedi|inloggen|logga in|zaloguj|вход|登录|登入|ログイン|로그인)(?:\Z|\W)",
    r"(?:\||-|–|:|›|•) ?(?:log ?in|sign ?in|login)\Z",
)  # fmt: skip
_PASSWORD = re.compile(r"""<input[^>]{0,300}\btype\s*=\s*["']?password""", _FLAGS | re.IGNORECASE)
_COOKIES = re.compile(
    r"\bcookies?\b|\bconsent\b|\bgdpr\b|\beinwilligung|\bconsentement|\bconsentimiento|\bconsenso\b"
    r"|\btoestemming|\bprivacy\b|\bdatenschutz|cookie|файл\S{0,3} куки|同意",
    _FLAGS,
)
_ACCEPT = _any(
    r"accept", r"agree", r"allow all", r"manage (?:preferences|options|settings)", r"akzeptier",
    r"zustimm", r"aceptar", r"aceitar", r"accetta", r"rifiuta", r"accepteren", r"akkoord",
    r"godkänn", r"akceptuj", r"zgadzam", r"принять", r"приня", r"接受", r"同意", r"동의",
)  # fmt: skip
_NEEDS_SCRIPT = _any(
    r"(?:enable|turn on|activate|allow|without|requires?|needs?|have|using|run) (?:the use of )?"
    r"java ?script", r"java ?script (?:is|must be|needs to be|to be|has been|seems to be|appears "
    r"to be) (?:not |currently )?(?:required|disabled|enabled|turned|off|needed|available|"
    r"supported)",
    r"(?:doesn't|does not|won't) work (?:properly )?without java ?script", r"java ?script (?:muss|"
    r"ist|aktivieren|zu aktivieren)", r"(?:activer|activez) (?:le )?java ?script", r"java ?script "
    r"(?:est|doit être) (?:désactivé|activé|requis)", r"(?:habilit|activ|ativ|abilit|attiv)\w{1,4} "
    r"(?:el |o |il )?java ?script", r"schakel java ?script",
    r"włącz\S{0,3} (?:obsługę )?java ?script", r"включ\S{1,6} (?:поддержку )?java ?script",
    r"(?:启用|開啟|啟用|打开) ?java ?script",
    r"java ?scriptを(?:有効|オン)", r"자바스크립트|java ?script를",
)  # fmt: skip
_TO_FILL = re.compile(
    r"<(?:div|main|section|body|span)[^>]{0,200}\bid\s*=\s*[\"']?(?:root|app|__next|__nuxt|"
    r"react-root|app-root|main-app|application|ember[a-z-]*|svelte|gatsby-focus-wrapper|q-app)"
    r"[\"'\s>]|<app-root\b|<[a-z]+-app\b|\bng-app\b|\bdata-reactroot\b",
    _FLAGS | re.IGNORECASE,
)
_NO_TEXT = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|svg|template|title)\b.*?(?:</\1\s*>|\Z)|<[^<>]*>",
    _FLAGS | re.IGNORECASE,
)
_SPACE = re.compile(r"\s+", re.ASCII)
_LOOK = 4000
"""Characters of a text that are looked at."""


def visible_text(html: str) -> str:
    """The page's text on one line, ``noscript`` and menus included; for small pages."""
    return _SPACE.sub(" ", entities.unescape(_NO_TEXT.sub(" ", html))).strip()


def page_state(html: str, title: str, text: str, words: int, all_words: int) -> State | None:
    """What the page is in place of content. `text` is its main text, of `words` words, the whole
    page has `all_words`."""
    everything = max(words, all_words)  # not every extractor counts all that another finds
    if words >= SHORT_TEXT and everything >= SMALL_PAGE:
        return None
    head = title.lower()
    main = _SPACE.sub(" ", text[:_LOOK].lower()).strip()
    small = everything < SMALL_PAGE
    said = visible_text(html)[:_LOOK].lower() if small else main
    if small and _PARKED.search(f"{head} {said}"):
        return "parked"
    if small and (_BOT_CHECK.search(said) or head.startswith("just a moment")):
        return "bot_check"
    if words < SHORT_TEXT and (_IS_NOT_FOUND.search(head) or _IS_NOT_FOUND.search(main[:160])):
        return "soft_404"
    if words < SHORT_TEXT and _wants_login(html, head, said):
        return "login_wall"
    if small and _wants_cookies(said):
        return "cookie_wall"
    if small and _wants_script(html, said, everything):
        return "needs_script"
    return None


def _wants_login(html: str, head: str, said: str) -> bool:
    if _LOGIN.search(said[:600]):
        return True
    return _LOGIN_TITLE.search(head) is not None and _PASSWORD.search(html) is not None


def _wants_cookies(said: str) -> bool:
    found = len(_COOKIES.findall(said))
    return (
        found >= COOKIE_WORDS
        and found * 100 >= COOKIE_PERCENT * (said.count(" ") + 1)
        and _ACCEPT.search(said) is not None
    )


def _wants_script(html: str, said: str, everything: int) -> bool:
    if "<script" not in html and "<SCRIPT" not in html:
        return False
    if everything == 0 or (everything < ASKING_WORDS and _NEEDS_SCRIPT.search(said)):
        return True
    return everything < FEW_WORDS and _TO_FILL.search(html) is not None
