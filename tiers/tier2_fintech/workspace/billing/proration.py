"""Charging for a part of a period."""

from __future__ import annotations


def prorate_cents(amount_cents: int, days_used: int, days_in_period: int) -> int:
    """The share of the amount for the days used, rounded down."""
    if days_in_period < 1 or not 0 <= days_used <= days_in_period:
        raise ValueError(f"{days_used} of {days_in_period} days")
    return amount_cents * days_used // days_in_period


def plan_change_cents(old_cents: int, new_cents: int, days_left: int, days_in_period: int) -> int:
    """What a plan change costs now: the new share minus the old one for the days left. Negative is a credit."""
    used = days_in_period - days_left
    unused_old = old_cents - prorate_cents(old_cents, used, days_in_period)
    return prorate_cents(new_cents, days_left, days_in_period) - unused_old
