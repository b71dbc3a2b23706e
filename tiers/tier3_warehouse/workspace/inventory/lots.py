"""Lots: units of one article that came together and expire together."""

from __future__ import annotations

from datetime import date
from typing import List, Optional, Tuple, TypedDict
#:if R2

from catalog.policy import NEAR_EXPIRY_DAYS
#:end

from .errors import NotEnough


class Lot(TypedDict):
    """One lot. Goods that do not expire have no day."""

    code: str
    units: int
    expires: Optional[date]


def usable(lots: List[Lot], on: date) -> List[Lot]:
    """The lots that may still go out on a day; the day of expiry itself is the last."""
    return [lot for lot in lots if lot["expires"] is None or lot["expires"] >= on]


def first_expiring(lots: List[Lot]) -> List[Lot]:
    """The lots in the order in which they go out: by expiry, then by code; lots without a day come last."""
    return sorted(lots, key=lambda lot: (lot["expires"] is None, lot["expires"] or date.max, lot["code"]))


def take(lots: List[Lot], units: int, on: date) -> List[Tuple[str, int]]:
    """Pairs (lot code, units) that make up the wanted units from usable lots, first expiring first."""
    taken: List[Tuple[str, int]] = []
    for lot in first_expiring(usable(lots, on)):
        part = min(units, lot["units"])
        if part:
            taken.append((lot["code"], part))
        units -= part
    if units:
        raise NotEnough(f"{units} units short on {on}")
    return taken
#:if R2


def near_expiry(lots: List[Lot], on: date, <<near_kw>>: int = NEAR_EXPIRY_DAYS) -> List[Tuple[object, object]]:
    """The lots that must be sold soon, with the days that they have left."""
    found = []
    for lot in lots:
        if lot["expires"] is None or lot["expires"] < on:
            continue
        left = (lot["expires"] - on).days
        if left <<near_op>> <<near_kw>>:
            found.append((lot, left))
    found.sort(key=lambda pair: (<<near_order.code>>, pair[0]["code"]))
    return [<<near_shape.code>> for lot, left in found]
#:end
