"""Carriers, zones and who takes which parcel."""

from __future__ import annotations

from typing import Dict, List, TypedDict

from .errors import NoCarrier, ShippingError

ZONES: Dict[str, str] = {"1": "metro", "2": "metro", "3": "north", "4": "north", "5": "west", "6": "west"}
FAR = "far"


class Carrier(TypedDict):
    """What a carrier takes, and for how many cents a kilogram."""

    name: str
    zones: List[str]
    max_g: int
    cents_per_kg: int


def zone_for(postcode: str) -> str:
    """The zone of a postcode, by its first digit."""
    if not postcode.isdigit() or len(postcode) != 5:
        raise ShippingError(f"not a postcode: {postcode!r}")
    return ZONES.get(postcode[0], FAR)


def price_cents(carrier: Carrier, weight_g: int) -> int:
    """What a carrier charges; a kilogram that is begun counts."""
    return -(-weight_g // 1000) * carrier["cents_per_kg"]


def cheapest(carriers: List[Carrier], weight_g: int, zone: str) -> str:
    """The name of the cheapest carrier that takes the parcel, the first by name among equals."""
    fitting = [c for c in carriers if zone in c["zones"] and weight_g <= c["max_g"]]
    if not fitting:
        raise NoCarrier(f"nobody takes {weight_g} g to {zone}")
    return min(fitting, key=lambda c: (price_cents(c, weight_g), c["name"]))["name"]
