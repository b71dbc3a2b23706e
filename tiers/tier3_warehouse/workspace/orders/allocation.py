"""Sharing out what is on hand among the lines of an order."""

from __future__ import annotations

from typing import Dict, List, Tuple, TypedDict

from .model import Order


class Allocation(TypedDict):
    """What an order gets and what it lacks, in units by article. Articles with 0 units are in neither."""

    given: Dict[str, int]
    lacking: Dict[str, int]
#:if R10
    <<fill_field>>: List[str]
#:end


#:if R10
def allocate(lines: List[Tuple[str, int]], available: Dict[str, int], *, <<fill_kw>>: int = <<fill_pct>>) -> Allocation:
#:else
def allocate(lines: List[Tuple[str, int]], available: Dict[str, int]) -> Allocation:
#:end
    """Gives each line what is available, in the order of the lines."""
    left = dict(available)
    given: Dict[str, int] = {}
    lacking: Dict[str, int] = {}
#:if R10
    refused: List[str] = []
#:end
    for sku, units in lines:
        part = min(units, left.get(sku, 0))
#:if R10
        if part * 100 <<fill_op>> <<fill_kw>> * units:
            refused.append(sku)
            part = 0
#:end
        left[sku] = left.get(sku, 0) - part
        if part:
            given[sku] = given.get(sku, 0) + part
        if units > part:
            lacking[sku] = lacking.get(sku, 0) + units - part
#:if R10
    return {"given": given, "lacking": lacking, "<<fill_field>>": refused}
#:else
    return {"given": given, "lacking": lacking}
#:end


def is_complete(order: Order, available: Dict[str, int]) -> bool:
    """Whether the order can be served in full."""
    return not allocate(order["lines"], available)["lacking"]
