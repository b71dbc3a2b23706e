"""The shapes that the ledger works on, and what it refuses."""

from __future__ import annotations

from typing import List, TypedDict


class Line(TypedDict):
    """One leg of a posting. Debits are positive, credits negative."""

    account: str
    amount_cents: int


class Posting(TypedDict):
    """A balanced group of lines, booked on one day (ISO date)."""

    id: str
    day: str
    memo: str
    lines: List[Line]


class LedgerError(ValueError):
    """Something that must not reach the books."""


class UnbalancedPosting(LedgerError):
    """The lines of a posting do not add up to zero."""


class UnknownAccount(LedgerError):
    """A line names an account that is not in the chart."""


class PeriodClosed(LedgerError):
    """A posting falls into a period that is closed."""
