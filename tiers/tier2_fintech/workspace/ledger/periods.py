"""Fiscal periods. The fiscal year starts in April and is named after the year in which it ends."""

from __future__ import annotations

from datetime import date
from typing import Iterable

FIRST_MONTH = 4


def fiscal_year(day: str) -> int:
    """The fiscal year of an ISO date: 2024-03-31 is in 2024, 2024-04-01 in 2025."""
    when = date.fromisoformat(day)
    return when.year + 1 if when.month >= FIRST_MONTH else when.year


def fiscal_period(day: str) -> str:
    """The period of an ISO date, such as FY2025-P01 for April 2024."""
    when = date.fromisoformat(day)
    number = (when.month - FIRST_MONTH) % 12 + 1
    return f"FY{fiscal_year(day)}-P{number:02d}"


def can_close(period: str, closed: Iterable[str]) -> bool:
    """Periods close in order: all earlier ones of the same year must be closed, and the period itself open."""
    year, _, number = period.partition("-P")
    done = set(closed)
    earlier = [f"{year}-P{n:02d}" for n in range(1, int(number))]
    return period not in done and all(one in done for one in earlier)
