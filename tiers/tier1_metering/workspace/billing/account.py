"""Accounts: statements against payments."""

from __future__ import annotations

from typing import List


def open_cents(totals: List[int], payments: List[int]) -> int:
    """What is still to be paid."""
#:if BASE
    return max(sum(totals) - sum(payments), 0)
#:else
    raise NotImplementedError
#:end


def credit_cents(totals: List[int], payments: List[int]) -> int:
    """What was paid too much."""
#:if BASE
    return max(sum(payments) - sum(totals), 0)
#:else
    raise NotImplementedError
#:end
