"""The list that goes with a truck."""

from __future__ import annotations

from typing import Dict, List, Tuple

from packing.labels import check_digit

from .errors import ShippingError


def build(parcels: List[Tuple[str, int]]) -> Dict[str, object]:
    """The manifest of pairs (parcel number, grams): lines by number, each with its check digit, and totals."""
    numbers = [number for number, _ in parcels]
    if len(set(numbers)) != len(numbers):
        raise ShippingError("a parcel stands twice on the manifest")
    lines = [(number, check_digit(number), grams) for number, grams in sorted(parcels)]
    return {"lines": lines, "count": len(lines), "total_g": sum(grams for _, grams in parcels)}


def split(parcels: List[Tuple[str, int]], capacity_g: int) -> List[List[str]]:
    """Parcel numbers by truck: in the given order, a new truck whenever the next parcel would overload one."""
    trucks: List[List[str]] = []
    load = 0
    for number, grams in parcels:
        if grams > capacity_g:
            raise ShippingError(f"{number} is too heavy for any truck")
        if not trucks or load + grams > capacity_g:
            trucks.append([])
            load = 0
        trucks[-1].append(number)
        load += grams
    return trucks
