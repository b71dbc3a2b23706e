"""How much is lent, and when."""

from __future__ import annotations

from datetime import date
from typing import Dict, List, Optional


def by_kind(kinds: List[str]) -> Dict[str, int]:
    """How many loans there were of each kind, kinds ascending."""
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def by_weekday(days: List[date]) -> List[int]:
    """How many loans fell on each day of the week, from Monday to Sunday."""
    counts = [0] * 7
    for day in days:
        counts[day.weekday()] += 1
    return counts


def busiest(counts: Dict[int, int]) -> Optional[int]:
    """The hour with the most loans, the earliest among equals; None without any."""
    return min(counts, key=lambda hour: (-counts[hour], hour), default=None)
#:if R14


def peaks(counts: Dict[int, int]) -> List[int]:
    """The hours with a large part of all loans."""
    whole = sum(counts.values())
    found = [hour for hour, count in counts.items() if count * 1000 <<peak_op>> <<peak_share>> * whole]
    return sorted(found, reverse=<<peak_order.code>>)
#:end
#:if R29


def trend(now: int, before: int) -> str:
    """Where a number of loans is going."""
    change = (now - before) * 1000
    if change <<tr_op>> <<tr_share>> * before:
        return "<<tr_up>>"
    return "<<tr_down>>" if -change <<tr_op>> <<tr_share>> * before else "steady"
#:end
