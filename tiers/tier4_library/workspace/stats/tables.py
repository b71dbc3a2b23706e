"""Tables of figures."""

from __future__ import annotations

from typing import Dict, List, Tuple


def percent(part: int, whole: int) -> int:
    """A part in percent of a whole, to the nearest one, halves up; 0 if the whole is nothing."""
    return (200 * part + whole) // (2 * whole) if whole else 0


def row(values: List[object]) -> str:
    """Values as one line of a table for other programs."""
    return ";".join(str(value) for value in values)


def ranked(counts: Dict[str, int]) -> List[Tuple[str, int]]:
    """Names with their numbers, the largest first, equals by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
#:if R28


def shares(counts: Dict[str, int]) -> List[Tuple[str, int]]:
    """What each name has of the whole, in per mille; small ones together."""
    whole = sum(counts.values())
    large = {name: count for name, count in counts.items() if count * 1000 <<sh_op>> <<sh_min>> * whole}
    small = whole - sum(large.values())
    rows = ranked(large) + ([("<<sh_rest>>", small)] if len(large) < len(counts) else [])
    return [(name, <<sh_round.code>>) for name, count in rows]
#:end
