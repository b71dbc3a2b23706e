"""Renewals."""

from __future__ import annotations

from datetime import date, timedelta
#:if R21
from typing import Dict, List
#:end

from house.days import next_open
from house.policy import LOAN_DAYS, MAX_RENEWALS

from .errors import NotRenewable
from .model import Loan


def renewals_left(loan: Loan) -> int:
    """How often a loan may still be renewed."""
    return max(MAX_RENEWALS - loan["renewed"], 0)


def renew(loan: Loan, day: date, waiting: int = 0) -> Loan:
    """The loan as it is after a renewal on a day; `waiting` is how many others want the title."""
    if waiting or not renewals_left(loan):
        raise NotRenewable(f"{loan['barcode']} was renewed {loan['renewed']} times, {waiting} wait for it")
    if day > loan["due"]:
        raise NotRenewable(f"{loan['barcode']} was due on {loan['due']}")
    due = next_open(day + timedelta(days=LOAN_DAYS[loan["kind"]]))
    return {**loan, "due": max(due, loan["due"]), "renewed": loan["renewed"] + 1}
#:if R2


def renewal_days(before: int, *, <<ren_kw>>: int = <<ren_days>>) -> int:
    """The days that a renewal adds, after some others before it."""
    return max(<<ren_kw>> - before * <<ren_less>>, <<ren_min>>)
#:end
#:if R21


def renewable(loans: List[Loan], day: date, *, <<all_kw>>: int = <<all_days>>) -> Dict[str, List[str]]:
    """What of some loans can be renewed on a day, and what cannot."""
    found: Dict[str, List[str]] = {"<<all_yes>>": [], "rest": []}
    for loan in loans:
        left = (loan["due"] - day).days
        fits = left >= 0 and left <<all_op>> <<all_kw>> and renewals_left(loan) > 0
        found["<<all_yes>>" if fits else "rest"].append(loan["barcode"])
    return found
#:end
