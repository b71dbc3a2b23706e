"""Stock: units by article and location. Every movement gives a new stock and leaves the given one alone."""

from __future__ import annotations

from typing import Dict, List, Tuple

from .errors import InventoryError, NotEnough
#:if pick_in_order
from .locations import in_order, parse
#:else
from .locations import parse
#:end

Stock = Dict[str, Dict[str, int]]


def receive(stock: Stock, sku: str, location: str, units: int) -> Stock:
    """The stock with units more at a location."""
    if units < 1:
        raise InventoryError(f"{units} units of {sku}")
    parse(location)
    places = dict(stock.get(sku, {}))
    places[location] = places.get(location, 0) + units
    return {**stock, sku: places}


def issue(stock: Stock, sku: str, location: str, units: int) -> Stock:
    """The stock with units taken from a location; a location that is emptied disappears."""
    lies = stock.get(sku, {}).get(location, 0)
    if units < 1:
        raise InventoryError(f"{units} units of {sku}")
    if units > lies:
        raise NotEnough(f"{units} units of {sku} asked for at {location}, {lies} there")
    places = {place: count for place, count in stock[sku].items() if place != location}
    if lies > units:
        places[location] = lies - units
    return {**stock, sku: places}


def move(stock: Stock, sku: str, source: str, target: str, units: int) -> Stock:
    """The stock with units carried from one location to another."""
    return receive(issue(stock, sku, source, units), sku, target, units)


def on_hand(stock: Stock, sku: str) -> int:
    """All units of an article, wherever they lie."""
    return sum(stock.get(sku, {}).values())


def plan_pick(stock: Stock, sku: str, units: int) -> List[Tuple[str, int]]:
#:if pick_in_order
    """Where to take units from: locations in the order of the house, each emptied before the next."""
#:else
    """Where to take units from: locations as they were filled, each emptied before the next."""
#:end
    if units > on_hand(stock, sku):
        raise NotEnough(f"{units} units of {sku} asked for, {on_hand(stock, sku)} on hand")
    plan: List[Tuple[str, int]] = []
#:if pick_in_order
    for place in in_order(list(stock.get(sku, {}))):
#:else
    for place in stock.get(sku, {}):
#:end
        taken = min(units, stock[sku][place])
        if taken:
            plan.append((place, taken))
        units -= taken
    return plan
