"""What becomes of goods that came back."""

from __future__ import annotations

from typing import Dict, List, Tuple
#:if R22

from catalog.policy import NEAR_EXPIRY_DAYS
#:end

from .errors import UnknownGrade

DESTINATIONS: Dict[str, str] = {"A": "restock", "B": "refurbish", "C": "scrap"}


def destination(grade: str) -> str:
    """Where goods of a grade go."""
    if grade not in DESTINATIONS:
        raise UnknownGrade(f"no grade {grade!r}")
    return DESTINATIONS[grade]


def worst_grade(grades: List[str]) -> str:
    """The grade of a whole return: that of its worst part."""
    for grade in grades:
        destination(grade)
    return max(grades, default="A")


def tally(inspected: List[Tuple[str, int]]) -> Dict[str, int]:
    """Units by destination from pairs (grade, units); destinations without units are missing."""
    found: Dict[str, int] = {}
    for grade, units in inspected:
        if units:
            found[destination(grade)] = found.get(destination(grade), 0) + units
    return found
#:if R22


def resale_cents(grade: str, price_cents: int, days_left: int) -> int:
    """What returned goods are offered for."""
    going = destination(grade)
    percent = {"restock": 100, "refurbish": <<resale_b>>, "scrap": 0}[going]
    if days_left <<near_op>> NEAR_EXPIRY_DAYS and percent:
        percent = <<resale_near>>
    return <<resale_round.code>>
#:end
