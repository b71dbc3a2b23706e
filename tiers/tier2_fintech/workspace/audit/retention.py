"""How long entries are kept."""

from __future__ import annotations

from typing import List

from .trail import Entry

DEFAULT_DAYS = 365
FINANCIAL_DAYS = 3650
FINANCIAL_PREFIXES = ("invoice.", "payment.", "refund.", "period.")


def keep_days(action: str) -> int:
    """The days for which an entry about this action is kept."""
    return FINANCIAL_DAYS if action.startswith(FINANCIAL_PREFIXES) else DEFAULT_DAYS


def expired(action: str, age_days: int) -> bool:
    """Whether an entry of this age may be removed."""
    return age_days > keep_days(action)


def removable(trail: List[Entry], ages: List[int]) -> List[int]:
    """The numbers of the entries that may go: only a head of the chain, up to the first that must stay."""
    found: List[int] = []
    for entry, age in zip(trail, ages):
        if not expired(entry["action"], age):
            break
        found.append(entry["seq"])
    return found
