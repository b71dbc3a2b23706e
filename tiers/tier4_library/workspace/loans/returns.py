"""What comes back."""

from __future__ import annotations

from datetime import date
from typing import Dict, List, Tuple
#:if R6

from house.policy import LOST_DAYS
#:end

from .errors import NotLent
from .model import Loan
from .overdue import days_late


def give_back(loans: List[Loan], barcode: str, day: date) -> Tuple[List[Loan], int]:
    """The loans without the one that came back, and how many days late it was."""
    found = [loan for loan in loans if loan["barcode"] == barcode]
    if not found:
        raise NotLent(f"nobody has {barcode}")
    return [loan for loan in loans if loan["barcode"] != barcode], days_late(found[0], day)


def tally(late: List[int]) -> Dict[str, int]:
    """How many returns were on time and how many late, from the days that each was late."""
    return {"on_time": sum(1 for days in late if days <= 0), "late": sum(1 for days in late if days > 0)}
#:if R6


def lost(loans: List[Loan], day: date) -> List[str]:
    """The barcodes of what counts as lost on a day."""
    gone = sorted((loan for loan in loans if days_late(loan, day) <<lost_op>> LOST_DAYS), key=lambda one: one["barcode"])
    return [loan["barcode"] for loan in sorted(gone, key=lambda one: one["due"], reverse=<<lost_order.code>>)]
#:end
#:if R33


def sorting_bin(days: int, reserved: bool) -> str:
    """Where something that came back so many days late is put."""
    if reserved:
        return "<<bin_hold>>"
    return "<<bin_check>>" if days <<bin_op>> <<bin_days>> else "shelf"
#:end
