"""Labels of storage locations: zone, aisle, bay and level, as in `A-03-12-2`."""

from __future__ import annotations

import re
from typing import List, Tuple, TypedDict

from .errors import BadLocation

LABEL = re.compile(r"([A-Z]{1,2})-([0-9]{2})-([0-9]{2})-([0-9])")


class Location(TypedDict):
    """A label taken apart."""

    zone: str
    aisle: int
    bay: int
    level: int


def parse(label: str) -> Location:
    """The parts of a label."""
    found = LABEL.fullmatch(label)
    if found is None:
        raise BadLocation(f"no location is called {label!r}")
    zone, aisle, bay, level = found.groups()
    return {"zone": zone, "aisle": int(aisle), "bay": int(bay), "level": int(level)}


def label(location: Location) -> str:
    """The label of these parts."""
    return "{zone}-{aisle:02d}-{bay:02d}-{level}".format(**location)


def sort_key(text: str) -> Tuple[str, int, int, int]:
    """Orders labels by zone, aisle, bay, level."""
    place = parse(text)
    return place["zone"], place["aisle"], place["bay"], place["level"]


def in_order(labels: List[str]) -> List[str]:
    """The labels as they follow each other in the house."""
    return sorted(labels, key=sort_key)
