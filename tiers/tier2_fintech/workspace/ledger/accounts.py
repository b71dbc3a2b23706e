"""The chart of accounts."""

from __future__ import annotations

from typing import Dict, List, Tuple

from .models import UnknownAccount

CHART: Dict[str, Tuple[str, str]] = {
    "1000": ("Bank", "asset"),
    "1100": ("Receivables", "asset"),
    "1900": ("Clearing", "asset"),
    "2000": ("Payables", "liability"),
    "2100": ("Tax payable", "liability"),
    "3000": ("Equity", "equity"),
    "4000": ("Subscription revenue", "income"),
    "4900": ("Discounts granted", "income"),
    "5000": ("Payment fees", "expense"),
}

DEBIT_TYPES = ("asset", "expense")


def account_type(code: str) -> str:
    """The type of an account: asset, liability, equity, income or expense."""
    if code not in CHART:
        raise UnknownAccount(f"no account {code}")
    return CHART[code][1]


def account_name(code: str) -> str:
    """What statements call the account."""
    if code not in CHART:
        raise UnknownAccount(f"no account {code}")
    return CHART[code][0]


def normal_side(code: str) -> str:
    """The side on which the account grows: debit or credit."""
    return "debit" if account_type(code) in DEBIT_TYPES else "credit"


def accounts_of_type(kind: str) -> List[str]:
    """All codes of one type, ascending."""
    return sorted(code for code, (_, its_kind) in CHART.items() if its_kind == kind)
