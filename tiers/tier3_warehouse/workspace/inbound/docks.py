"""Doors of the dock and the trucks that stand at them."""

from __future__ import annotations

from typing import Dict, List, Tuple

from .errors import InboundError
#:if doors_cleaned

CHANGEOVER_MINUTES = 10
#:end


def assign(trucks: List[Tuple[str, int, int]], doors: List[str]) -> Dict[str, Tuple[str, int]]:
    """Door and start by truck. Trucks are (number, arrival, minutes) and are served as they arrive.

#:if doors_cleaned
    Each takes the door that is free first, the first in the list among equals; between two trucks a door is cleaned.
#:else
    Each takes the door that is free first, the first in the list among equals.
#:end
    """
    if not doors:
        raise InboundError("no doors")
    free = dict.fromkeys(doors, 0)
    plan: Dict[str, Tuple[str, int]] = {}
    for number, arrival, minutes in sorted(trucks, key=lambda truck: (truck[1], truck[0])):
        door = min(doors, key=lambda name: free[name])
        start = max(arrival, free[door])
#:if doors_cleaned
        free[door] = start + minutes + CHANGEOVER_MINUTES
#:else
        free[door] = start + minutes
#:end
        plan[number] = (door, start)
    return plan


def waiting(trucks: List[Tuple[str, int, int]], doors: List[str]) -> int:
    """Minutes that all trucks together wait for a door."""
    plan = assign(trucks, doors)
    return sum(plan[number][1] - arrival for number, arrival, _ in trucks)
#:if R6


def unload_seconds(pallets: int, *, <<unload_kw>>: bool = False) -> int:
    """How long a truck keeps a door."""
    each = <<unload_hand>> if <<unload_kw>> else <<unload_each>>
    return min(<<unload_base>> + pallets * each, <<unload_cap>>)
#:end
