"""Every role that is not an honest one: those that a poisoned workspace is given to, and the dishonest."""

from __future__ import annotations

from cheats import CHEATS
from receivers import RECEIVERS
from roles import work
from tricks import TRICKS

NAMES = (*RECEIVERS, *CHEATS)


def play(role, shop):
    """One session of such a role."""
    if role in RECEIVERS:
        RECEIVERS[role](shop)
        return
    TRICKS[role].before(shop)
    work(CHEATS[role].base, shop)
    TRICKS[role].after(shop)
