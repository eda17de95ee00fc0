"""Addresses of roles and lists (``bugs@``, ``dev@lists.…``) beside those of persons.

Decided by the address alone: words before the @ that name a task, and hosts that carry lists,
reports and packages. What neither says is taken for a person's. The words were chosen on the
addresses of manuals; docs/pii.md has what was measured on those and on others.
"""

from __future__ import annotations

import re
from typing import Final

from .spans import as_ascii, ascii_lower

_ALONE_WORDS: Final = """
abuse accounts admin administration administrator admissions advertising all announce
billing booking bookings bug bugreport bugreports bugs careers contact contacto contactus
contato control customercare customerservice customersupport dev devel developer developers
donotreply dpo editor editorial editors enquiries enquiry events everyone feedback ftpmaster
general hello help helpdesk hi hostmaster hr info information inquiries inquiry jobs kontakt
legal letters library list listmaster lists mailerdaemon maintainer maintainers marketing
media member members membership news newsletter noc noreply notifications office order
orders owner packages postmaster pr press presse pressoffice privacy reception recruitment
redaktion registrar request reservations root sales secretariat secretary security service
services staff submissions submit subscribe subscriptions support sysadmin team tech
unsubscribe users web webmaster webteam www
"""
_ALONE: Final = frozenset(_ALONE_WORDS.split())
"""Whole local parts, without separators, that name a task: ``no-reply`` and ``noreply`` alike."""

_PARTS_WORDS: Final = """
admin announce bug bugs changes commits core dev devel developers discuss discussion doc
docs feedback hackers help info l10n list lists maintainers news noreply office owner
patches press qa request sales security support team test tester testers translators user
users webmaster www
"""
_PARTS: Final = frozenset(_PARTS_WORDS.split())
"""First or last parts, at a hyphen or an underscore: ``lilypond-devel``, ``bug-make``."""

_LIST_HOSTS_WORDS: Final = """
bugs bugzilla debbugs groups list lista listas liste listes listor lists mailman packages rt
sympa tracker vger
"""
_LIST_HOSTS: Final = frozenset(_LIST_HOSTS_WORDS.split())
"""Labels left of a registered name at which no person has a mailbox."""

_GROUPS: Final = "googlegroups.com"

_PARTED: Final = re.compile("[-_]")
_SEPARATORS: Final = re.compile("[-_.]")


def is_role(address: str) -> bool:
    """Does `address` (with its ``@``) stand for a task, a list or a package, not for a person?"""
    local, _, host = ascii_lower(as_ascii(address)).rpartition("@")
    labels = host.split(".")
    if host == _GROUPS or not _LIST_HOSTS.isdisjoint(labels[:-2]):
        return True
    local = local.partition("+")[0]
    if _SEPARATORS.sub("", local) in _ALONE:
        return True
    if "." in local and all(part in _ALONE for part in local.split(".")):
        return True
    first, *rest = _PARTED.split(local)
    if not rest:
        return False
    return first in _PARTS or rest[-1] in _PARTS or first in labels[:-1]
