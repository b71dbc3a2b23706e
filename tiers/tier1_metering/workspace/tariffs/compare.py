#:if R7
"""Tariffs beside each other."""

from __future__ import annotations

from typing import Dict, List, Tuple


def ranking(costs: Dict[str, int], *, <<rank_kw>>: int = <<rank_gap>>) -> List[Tuple[object, object]]:
    """The tariffs that cost little more than the cheapest, with how much more."""
    least = min(costs.values(), default=0)
    found = sorted((cents - least, name) for name, cents in costs.items() if cents - least <<rank_op>> <<rank_kw>>)
    found.sort(key=lambda pair: <<rank_order.code>>)
    return [<<rank_shape.code>> for gap, name in found]
#:end
