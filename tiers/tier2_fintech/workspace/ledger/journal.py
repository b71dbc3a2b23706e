"""The journal: booked postings and the balances that follow from them."""

from __future__ import annotations

from typing import Dict, Iterable, List

from .accounts import normal_side
#:if refuses_doubles
from .models import LedgerError, PeriodClosed, Posting
#:else
from .models import PeriodClosed, Posting
#:end
from .periods import fiscal_period
from .rules import clean_memo, validate_lines


def book(journal: List[Posting], posting: Posting, closed: Iterable[str] = ()) -> List[Posting]:
    """The journal with one more posting at its end; the given journal stays as it is."""
    validate_lines(posting["lines"])
    period = fiscal_period(posting["day"])
    if period in set(closed):
        raise PeriodClosed(f"{period} is closed")
#:if refuses_doubles
    if any(booked["id"] == posting["id"] for booked in journal):
        raise LedgerError(f"posting {posting['id']} is booked already")
#:end
    entry: Posting = {
        "id": posting["id"],
        "day": posting["day"],
        "memo": clean_memo(posting["memo"]),
        "lines": list(posting["lines"]),
    }
    return [*journal, entry]


def balances(journal: Iterable[Posting]) -> Dict[str, int]:
    """Cents by account, debits positive; accounts that were never touched are missing."""
    found: Dict[str, int] = {}
    for posting in journal:
        for line in posting["lines"]:
            found[line["account"]] = found.get(line["account"], 0) + line["amount_cents"]
    return found


def trial_balance(journal: Iterable[Posting]) -> List[List[object]]:
    """Rows [account, side, cents] by account, each amount as seen from its normal side; zero rows left out."""
    rows: List[List[object]] = []
    for account, cents in sorted(balances(journal).items()):
        side = normal_side(account)
        seen = cents if side == "debit" else -cents
        if seen:
            rows.append([account, side, seen])
    return rows
