"""What should be back by now."""

from __future__ import annotations

from datetime import date
from typing import List

from .model import Loan


def days_late(loan: Loan, day: date) -> int:
    """For how many days a loan is overdue on a day; 0 if it is not."""
    return max((day - loan["due"]).days, 0)


def overdue(loans: List[Loan], day: date) -> List[str]:
#:if worst_first
    """The barcodes of what is overdue, the most overdue first."""
    late = [loan for loan in loans if days_late(loan, day)]
    return [loan["barcode"] for loan in sorted(late, key=lambda loan: (loan["due"], loan["barcode"]))]
#:else
    """The barcodes of what is overdue."""
    return sorted(loan["barcode"] for loan in loans if days_late(loan, day))
#:end
#:if R1


def overdue_level(days: int, *, <<lvl_kw>>: int = <<lvl_days>>) -> int:
    """How serious it is that something is so many days late."""
    if days <= 0:
        return 0
    if days >= <<lvl_top>>:
        return 3
    return 1 if days <<lvl_op>> <<lvl_kw>> else 2
#:end
