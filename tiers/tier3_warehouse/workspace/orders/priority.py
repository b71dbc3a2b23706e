"""Which order is worked on first."""

from __future__ import annotations

from datetime import date
from typing import List

#:if R8
from .model import Order, RankedOrder
#:else
from .model import Order
#:end


def days_late(order: Order, today: date) -> int:
    """Days since the order should have left; 0 when it still has time."""
    return max((today - order["ship_by"]).days, 0)


def ranked(orders: List[Order]) -> List[str]:
    """Order numbers by the day on which they must leave, equal days by number."""
    return [order["number"] for order in sorted(orders, key=lambda order: (order["ship_by"], order["number"]))]


def overdue(orders: List[Order], today: date) -> List[str]:
    """Numbers of the orders that should have left before today, as `ranked`."""
    return ranked([order for order in orders if days_late(order, today)])
#:if R8


def score(order: RankedOrder, today: date) -> int:
    """Points of urgency."""
    return <<rank_day>> * days_late(order, today) + <<rank_weight>> * order.get("<<rank_field>>", 0)


def by_score(orders: List[RankedOrder], today: date) -> List[str]:
    """Order numbers by their points."""
    found = sorted(orders, key=lambda order: (<<rank_order.code>>, order["number"]))
    return [order["number"] for order in found]
#:end
