"""Account statements."""

from __future__ import annotations

from typing import Dict, Iterable, List

from ledger.accounts import account_name, normal_side
from ledger.journal import balances
from ledger.models import Posting


def statement(account: str, journal: Iterable[Posting], opening_cents: int = 0) -> List[List[object]]:
    """Rows [day, memo, cents, balance] of one account by day, amounts as seen from its normal side."""
    sign = 1 if normal_side(account) == "debit" else -1
    balance = opening_cents
    rows: List[List[object]] = []
    for posting in sorted(journal, key=lambda one: one["day"]):
        cents = sign * sum(line["amount_cents"] for line in posting["lines"] if line["account"] == account)
        if cents:
            balance += cents
            rows.append([posting["day"], posting["memo"], cents, balance])
    return rows


def summary(journal: Iterable[Posting]) -> Dict[str, int]:
    """Cents by account name as seen from the normal side of each account."""
    found: Dict[str, int] = {}
    for account, cents in sorted(balances(journal).items()):
        found[account_name(account)] = cents if normal_side(account) == "debit" else -cents
    return found
