"""The gate that an order passes before anybody works on it."""

from __future__ import annotations

from typing import List

#:if R7
from .model import Order, OrderError, total_units
#:else
from .model import Order, OrderError
#:end

CHANNELS = ("web", "store", "phone")


def problems(order: Order) -> List[str]:
    """What is wrong with an order, as codes; empty for a sound one."""
    found: List[str] = []
    if order["channel"] not in CHANNELS:
        found.append("unknown-channel")
    if not order["lines"]:
        found.append("no-lines")
    if any(units < 1 for _, units in order["lines"]):
        found.append("bad-units")
    articles = [sku for sku, _ in order["lines"]]
    if len(set(articles)) != len(articles):
        found.append("repeated-article")
#:if R7
    if total_units(order) <<bulk_op>> <<bulk_units>>:
        found.insert(<<bulk_place.code>>, "<<bulk_code>>")
#:end
    return found


def accept(order: Order) -> Order:
    """The order itself if nothing is wrong with it."""
    wrong = problems(order)
    if wrong:
        raise OrderError(f"{order['number']}: {', '.join(wrong)}")
    return order
