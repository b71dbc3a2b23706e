"""When to order, and how much."""

from __future__ import annotations

from catalog.units import full_cases

from .errors import InventoryError


def reorder_point(daily_demand: int, lead_days: int, safety: int = 0) -> int:
    """The stock at which an order must go out: demand until the delivery, and the safety stock."""
    if daily_demand < 0 or lead_days < 0:
        raise InventoryError(f"demand {daily_demand}, lead time {lead_days} days")
    return daily_demand * lead_days + safety


def order_units(on_hand: int, on_order: int, target: int, case_size: int) -> int:
    """How many units to order to come up to the target, in whole cases; 0 when the target is reached."""
    missing = target - on_hand - on_order
    return full_cases(missing, case_size) if missing > 0 else 0


def days_of_stock(on_hand: int, daily_demand: int) -> int:
    """For how many whole days the stock lasts; 1000 when nothing is asked for."""
    return on_hand // daily_demand if daily_demand else 1000
#:if R1


def safety_stock(daily_demand: int, <<cover_kw>>: int) -> int:
    """Units kept back against late deliveries, for the given days of cover."""
    percent = <<cover_fast_pct>> if daily_demand <<cover_op>> <<cover_fast>> else <<cover_pct>>
    return -(-daily_demand * <<cover_kw>> * percent // 100)
#:end
