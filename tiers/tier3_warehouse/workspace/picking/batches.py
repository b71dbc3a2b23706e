"""Orders that are fetched together on one walk."""

from __future__ import annotations

from collections import Counter
from typing import Dict, List

#:if R13
from .model import Pick, total_units
#:if R11
from .waves import MAX_UNITS
#:end
#:else
from .model import Pick
#:end


def singles(picks: List[Pick]) -> List[Pick]:
    """The picks that are the only one of their order, in the given order."""
    count = Counter(pick["order"] for pick in picks)
    return [pick for pick in picks if count[pick["order"]] == 1]


def by_article(picks: List[Pick]) -> Dict[str, int]:
    """Units to fetch by article, articles ascending."""
    found: Dict[str, int] = {}
    for pick in sorted(picks, key=lambda pick: pick["sku"]):
        found[pick["sku"]] = found.get(pick["sku"], 0) + pick["units"]
    return found
#:if R13


#:if R11
BATCH_UNITS = MAX_UNITS
#:else
BATCH_UNITS = <<wave_units>>
#:end


def batch_singles(picks: List[Pick], *, <<batch_kw>>: int = <<batch_orders>>) -> List[Dict[str, object]]:
    """Batches of single-pick orders, closed by number of orders or by units."""
    batches: List[List[Pick]] = []
    for pick in singles(picks):
        full = not batches or len(batches[-1]) >= <<batch_kw>>
        if full or total_units(batches[-1]) + pick["units"] > BATCH_UNITS:
            batches.append([])
        batches[-1].append(pick)
    return [{"<<batch_key>>": [pick["order"] for pick in batch], "units": total_units(batch)} for batch in batches]
#:end
