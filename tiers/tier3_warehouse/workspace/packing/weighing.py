"""The scale at the end of the packing line."""

from __future__ import annotations

from typing import Dict, List, Tuple

from .errors import PackingError


def expected_g(contents: List[Tuple[int, int]], tare_g: int) -> int:
    """The weight of a packed carton from pairs (units, grams of one unit) and the empty carton."""
    if tare_g < 0:
        raise PackingError(f"a carton of {tare_g} g")
    return tare_g + sum(units * each for units, each in contents)


def heaviest(weights: Dict[str, int]) -> str:
    """The parcel that weighs most, the first by number among equals."""
    if not weights:
        raise PackingError("no parcels")
    return min(weights, key=lambda number: (-weights[number], number))
#:if R16


def check_scale(expected: int, measured: int) -> Dict[str, object]:
    """Whether a parcel weighs what it should."""
    allowed = max(<<scale_g>>, expected * <<scale_bps>> // 10_000)
    off = <<scale_sign.code>>
    return {"<<scale_key>>": off, "ok": abs(off) <<scale_op>> allowed}
#:end
