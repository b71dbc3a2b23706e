"""The way of a picker through the aisles."""

from __future__ import annotations

from typing import List, Tuple

from inventory.locations import parse


def serpentine(locations: List[str]) -> List[str]:
    """The locations in walking order: odd aisles with rising bays, even aisles with falling ones."""

    def key(text: str) -> Tuple[str, int, int, int]:
        place = parse(text)
        bay = place["bay"] if place["aisle"] % 2 else -place["bay"]
        return place["zone"], place["aisle"], bay, place["level"]

    return sorted(set(locations), key=key)


def aisle_changes(locations: List[str]) -> int:
    """How often a picker who takes the locations as they stand enters another aisle."""
    aisles = [(parse(text)["zone"], parse(text)["aisle"]) for text in locations]
    return sum(1 for before, after in zip(aisles, aisles[1:]) if before != after)
#:if R12


def walk_ms(locations: List[str], <<walk_kw>>: int = <<walk_start>>) -> int:
    """The milliseconds of a picker who visits the locations as they stand."""
    total = <<walk_kw>> + <<walk_stop>> * len(locations)
    places = [parse(text) for text in locations]
    for before, after in zip(places, places[1:]):
        if (before["zone"], before["aisle"]) == (after["zone"], after["aisle"]):
            total += <<walk_bay>> * abs(after["bay"] - before["bay"])
        else:
            total += <<walk_aisle>>
    return total
#:end
