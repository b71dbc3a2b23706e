"""Counting what lies there against what the books say."""

from __future__ import annotations

from typing import Dict, List, Tuple

from .errors import InventoryError


def variance(expected: int, counted: int) -> int:
    """Units found beyond the books; negative when some are missing."""
    if expected < 0 or counted < 0:
        raise InventoryError(f"expected {expected}, counted {counted}")
    return counted - expected


def differences(books: Dict[str, int], counts: Dict[str, int]) -> List[Tuple[str, int]]:
    """Pairs (location, variance) of all counted locations that are off, by location."""
    found = [(place, variance(books.get(place, 0), counted)) for place, counted in sorted(counts.items())]
    return [(place, off) for place, off in found if off]


def accuracy_percent(books: Dict[str, int], counts: Dict[str, int]) -> int:
    """How many of a hundred counted locations agree with the books, rounded down; 100 when none was counted."""
    if not counts:
        return 100
    return (len(counts) - len(differences(books, counts))) * 100 // len(counts)
#:if R3


def verdict(expected: int, counted: int, <<count_kw>>: int = <<count_slack>>) -> str:
    """What becomes of a count: it stands, or the location is looked at again."""
    off = abs(variance(expected, counted))
    return "<<count_ok>>" if off * 1000 <<count_op>> <<count_kw>> * expected else "<<count_bad>>"
#:end
