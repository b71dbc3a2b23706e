"""What it costs when something is lost."""

from __future__ import annotations

from .errors import FeeError

HANDLING_CENTS = 500
REFUND_DAYS = 90


def lost_cents(price_cents: int) -> int:
    """What a member pays for a lost copy: its price, and the work that it makes."""
    if price_cents < 0:
        raise FeeError(f"a price of {price_cents} cents")
    return price_cents + HANDLING_CENTS


def refund_cents(price_cents: int, days_since: int) -> int:
    """What is paid back for a lost copy that turned up so many days after it was paid."""
    return price_cents if days_since <= REFUND_DAYS else 0
#:if R24


def replacement_cents(price_cents: int, age_years: int, *, <<rep_kw>>: int = <<rep_fee>>) -> int:
    """What a copy of some age costs to replace."""
    percent = max(100 - age_years * <<rep_pct>>, <<rep_floor>>)
    return <<rep_round.code>> + <<rep_kw>>
#:end
