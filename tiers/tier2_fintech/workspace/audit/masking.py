"""Names as they may appear in the trail."""

from __future__ import annotations

VISIBLE = 2
MASK = "*"


def mask_actor(actor: str) -> str:
    """The actor with all but the first letters masked; short names are masked entirely."""
    if len(actor) <= VISIBLE:
        return MASK * len(actor)
    return actor[:VISIBLE] + MASK * (len(actor) - VISIBLE)


def mask_email(address: str) -> str:
    """An e-mail address with its local part masked."""
    local, _, domain = address.partition("@")
    return f"{mask_actor(local)}@{domain}"
