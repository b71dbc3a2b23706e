"""Receipts: what was paid, on paper."""

from __future__ import annotations

from datetime import date
from typing import List

from house.text import money, plural

from .account import Entry, balance

WIDTH = 30


def line(what: str, cents: int) -> str:
    """One line: what to the left, how much to the right; what does not fit is cut."""
    amount = money(cents)
    return f"{what[: WIDTH - len(amount) - 1]:<{WIDTH - len(amount)}}{amount}"


def receipt(entries: List[Entry], day: date) -> List[str]:
    """The lines of a receipt for a payment of everything that is owed."""
    head = f"{day.isoformat()}, {plural(len(entries), 'item')}"
    return [head, *(line(what, cents) for what, cents in entries), line("paid", balance(entries))]
