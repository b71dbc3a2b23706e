"""What a posting must look like before it is booked."""

from __future__ import annotations

from typing import List

from .accounts import account_type
from .models import LedgerError, Line, UnbalancedPosting

MAX_LINES = 12
MEMO_LENGTH = 100
REVIEW_CENTS = 1_000_000
#:if R1


class <<hold_error>>(ValueError):
    """A hold was asked for an amount that cannot be held."""
#:end


def validate_lines(lines: List[Line]) -> None:
    """Refuse lines that are too few or too many, empty, unknown or unbalanced."""
    if len(lines) < 2:
        raise LedgerError("a posting needs at least two lines")
    if len(lines) > MAX_LINES:
        raise LedgerError(f"a posting has at most {MAX_LINES} lines")
    for line in lines:
        account_type(line["account"])
        if line["amount_cents"] == 0:
            raise LedgerError(f"empty line on {line['account']}")
    total = sum(line["amount_cents"] for line in lines)
    if total != 0:
        raise UnbalancedPosting(f"off by {total} cents")


def clean_memo(memo: str) -> str:
    """The memo on one line, blanks squeezed, cut to the length that the books store."""
    return " ".join(memo.split())[:MEMO_LENGTH]


def needs_review(lines: List[Line]) -> bool:
    """Whether the debits together reach the amount at which a person looks at a posting."""
    debits = sum(line["amount_cents"] for line in lines if line["amount_cents"] > 0)
    return debits >= REVIEW_CENTS
#:if R1


def hold_hours(amount_cents: int, account_age_days: int, *, <<hold_kw>>: int = <<hold_cap>>) -> int:
    """How many hours a posting waits before it is released."""
    if amount_cents < 0:
        raise <<hold_error>>(f"amount_cents is {amount_cents}")
    hours = <<hold_long>> if amount_cents <<op_hold>> <<hold_amount>> else <<hold_short>>
    if account_age_days <<op_age>> <<hold_age>>:
        hours += <<hold_extra>>
    return min(hours, <<hold_kw>>)
#:end
