"""The journal of actions: a list that only grows."""

from __future__ import annotations

from typing import List, Optional, TypedDict


class JournalError(ValueError):
    """An entry that cannot be written."""


class Entry(TypedDict):
    """One thing that happened; numbers count from 1."""

    number: int
    actor: str
    action: str
    subject: str


def write(journal: List[Entry], actor: str, action: str, subject: str) -> List[Entry]:
    """The journal with one more entry at its end."""
    if not actor or not action:
        raise JournalError("an entry needs an actor and an action")
    entry: Entry = {"number": len(journal) + 1, "actor": actor, "action": action, "subject": subject}
    return [*journal, entry]


def about(journal: List[Entry], subject: str) -> List[str]:
    """Lines `actor: action` on one subject, as written."""
    return [f"{entry['actor']}: {entry['action']}" for entry in journal if entry["subject"] == subject]


def count(journal: List[Entry], actor: Optional[str] = None) -> int:
    """How many entries there are, of one actor or of all."""
    return sum(1 for entry in journal if actor is None or entry["actor"] == actor)
#:if R23


def <<tail_method>>(journal: List[Entry], limit: int = <<tail_limit>>, *, <<tail_kw>>: Optional[str] = None) -> List[int]:
    """The numbers of the last entries, of one action or of all."""
    found = [entry["number"] for entry in journal if <<tail_kw>> is None or entry["action"] == <<tail_kw>>]
    return <<tail_order.code>>
#:end
