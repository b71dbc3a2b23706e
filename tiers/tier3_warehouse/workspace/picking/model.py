"""The shape of a pick."""

from __future__ import annotations

from typing import List, TypedDict

from inventory.locations import parse


class PickingError(ValueError):
    """Picking work that cannot be planned."""


class Pick(TypedDict):
    """Units of one article that are fetched from one location for one order."""

    order: str
    sku: str
    units: int
    location: str


def zone(pick: Pick) -> str:
    """The zone in which a pick takes place."""
    return parse(pick["location"])["zone"]


def total_units(picks: List[Pick]) -> int:
    """The units of all picks together."""
    return sum(pick["units"] for pick in picks)
