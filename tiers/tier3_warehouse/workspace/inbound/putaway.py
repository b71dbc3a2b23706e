"""Finding a place for goods that came in."""

from __future__ import annotations

from typing import Dict, List, Tuple

#:if R5
from inventory.locations import in_order, parse, sort_key
#:else
from inventory.locations import in_order
#:end

from .errors import NoSlot
#:if R5

HEAVY_G = <<heavy_g>>
HEAVY_ZONE = "<<heavy_zone>>"
#:end


def slot_for(weight_g: int, free: List[str]) -> str:
    """The free location that a unit of this weight goes to: the first in the order of the house."""
#:if R5
    if weight_g <<heavy_op>> HEAVY_G:
        fitting = [place for place in in_order(free) if parse(place)["zone"] == HEAVY_ZONE]
        if not fitting:
            raise NoSlot(f"{weight_g} g, and nothing is free in zone {HEAVY_ZONE}")
        return min(fitting, key=lambda place: <<heavy_bay.code>>)
#:end
    if not free:
        raise NoSlot(f"nothing is free for {weight_g} g")
    return in_order(free)[0]


def plan(arrivals: List[Tuple[str, int]], free: List[str]) -> Dict[str, str]:
    """Location by article for pairs (article, grams), heaviest first, equal ones by article."""
    left = list(free)
    found: Dict[str, str] = {}
    for sku, weight_g in sorted(arrivals, key=lambda pair: (-pair[1], pair[0])):
        found[sku] = slot_for(weight_g, left)
        left.remove(found[sku])
    return found
