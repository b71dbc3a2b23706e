"""The shape of an order, and what is refused."""

from __future__ import annotations

from datetime import date
from typing import List, Tuple, TypedDict


class OrderError(ValueError):
    """An order that cannot be taken."""


class Order(TypedDict):
    """One order. Lines are pairs (article, units); `ship_by` is the day on which it must leave."""

    number: str
    channel: str
    ship_by: date
    lines: List[Tuple[str, int]]
#:if R8


class RankedOrder(Order, total=False):
    """An order of a customer whom the house knows."""

    <<rank_field>>: int
#:end


def total_units(order: Order) -> int:
    """All units of all lines."""
    return sum(units for _, units in order["lines"])
