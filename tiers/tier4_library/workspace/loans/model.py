"""The loan itself."""

from __future__ import annotations

from datetime import date
from typing import List, TypedDict


class Loan(TypedDict):
    """One thing that somebody has."""

    barcode: str
    kind: str
    member: int
    out: date
    due: date
    renewed: int


def of_member(loans: List[Loan], member: int) -> List[Loan]:
    """The loans of a member, in the order in which they are due."""
    return sorted((loan for loan in loans if loan["member"] == member), key=lambda loan: (loan["due"], loan["barcode"]))
