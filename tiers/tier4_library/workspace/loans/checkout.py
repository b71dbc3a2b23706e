"""Lending."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Collection, List

from house.days import next_open
from house.policy import LOAN_DAYS

#:if R20
from .errors import <<late_error>>, LoanError, TooManyLoans
#:else
from .errors import LoanError, TooManyLoans
#:end
from .model import Loan, of_member
#:if R20
from .overdue import days_late
#:end

MAX_LOANS = 20


def due_day(kind: str, out: date, closed: Collection[date] = ()) -> date:
    """When something that goes out on a day is due."""
    if kind not in LOAN_DAYS:
        raise LoanError(f"nobody lends a {kind}")
    return next_open(out + timedelta(days=LOAN_DAYS[kind]), closed)


def checkout(loans: List[Loan], barcode: str, kind: str, member: int, out: date) -> List[Loan]:
    """The loans with one more."""
    if any(loan["barcode"] == barcode for loan in loans):
        raise LoanError(f"{barcode} is out already")
    if len(of_member(loans, member)) >= MAX_LOANS:
        raise TooManyLoans(f"member {member} has {MAX_LOANS} loans")
#:if R20
    late = sum(1 for loan in of_member(loans, member) if days_late(loan, out))
    if late <<late_op>> <<late_count>>:
        raise <<late_error>>(f"<<late_text>> {late}")
#:end
    loan: Loan = {
        "barcode": barcode,
        "kind": kind,
        "member": member,
        "out": out,
        "due": due_day(kind, out),
        "renewed": 0,
    }
    return [*loans, loan]
#:if R3


def points_left(kinds: List[str], *, <<pts_kw>>: int = <<pts_limit>>) -> int:
    """How much more a member may take home, from the kinds of what they have."""
    weights = {"film": <<pts_film>>, "game": <<pts_game>>}
    return <<pts_kw>> - sum(weights.get(kind, <<pts_other>>) for kind in kinds)
#:end
