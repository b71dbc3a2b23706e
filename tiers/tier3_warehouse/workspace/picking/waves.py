"""Cutting the picks of a shift into waves."""

from __future__ import annotations

from typing import Dict, List

from .model import Pick, PickingError, zone
#:if R11

MAX_UNITS = <<wave_units>>
#:end


def by_count(picks: List[Pick], size: int) -> List[List[Pick]]:
    """Waves of `size` picks in the given order; the last may be smaller."""
    if size < 1:
        raise PickingError(f"waves of {size} picks")
    return [picks[start : start + size] for start in range(0, len(picks), size)]


def by_zone(picks: List[Pick]) -> Dict[str, List[Pick]]:
    """The picks of each zone, zones ascending, each in the given order."""
    found: Dict[str, List[Pick]] = {}
    for pick in sorted(picks, key=zone):
        found.setdefault(zone(pick), []).append(pick)
    return found
#:if R11


def by_units(picks: List[Pick], *, <<wave_kw>>: int = MAX_UNITS) -> List[List[str]]:
    """The order numbers of waves that each hold a limited number of units."""
    waves: List[List[str]] = []
    units = 0
    for pick in sorted(picks, key=lambda pick: <<wave_order.code>>):
        if not waves or units + pick["units"] <<wave_op>> <<wave_kw>>:
            waves.append([])
            units = 0
        waves[-1].append(pick["order"])
        units += pick["units"]
    return waves
#:end
