"""What a picker did not find."""

from __future__ import annotations

from typing import Dict, List, TypedDict

from .model import Pick, PickingError


class Short(TypedDict):
    """Units of one article that were missing at one pick."""

    order: str
    sku: str
    missing: int


def compare(picks: List[Pick], picked: List[int]) -> List[Short]:
    """The shorts of picks beside the units that were really fetched, in the order of the picks."""
    if len(picks) != len(picked):
        raise PickingError(f"{len(picks)} picks, {len(picked)} results")
    return [
        {"order": pick["order"], "sku": pick["sku"], "missing": pick["units"] - units}
        for pick, units in zip(picks, picked)
        if units < pick["units"]
    ]


def affected_orders(shorts: List[Short]) -> List[str]:
    """The orders that lack something, ascending, each once."""
    return sorted({short["order"] for short in shorts})
#:if R14


def worst(shorts: List[Short], limit: int = <<short_limit>>) -> List[Dict[str, object]]:
    """The articles that were missing most."""
    total: Dict[str, int] = {}
    for short in shorts:
        total[short["sku"]] = total.get(short["sku"], 0) + short["missing"]
    listed = sorted((sku for sku in total if total[sku] <<short_op>> <<short_min>>), reverse=<<short_tie.code>>)
    listed.sort(key=lambda sku: -total[sku])
    return [{"sku": sku, "<<short_key>>": total[sku]} for sku in listed[:limit]]
#:end
