"""The dishes and where they stand."""

from __future__ import annotations

from typing import Dict, List, Optional, TypedDict


class Dish(TypedDict):
    """A dish, the bands it hears, and the lowest elevation at which hills leave its view free."""

    station: str
    bands: List[str]
    low_deg: int


DISHES: Dict[str, Dish] = {
    "N1": {"station": "Nordvik", "bands": ["S", "X"], "low_deg": 5},
    "N2": {"station": "Nordvik", "bands": ["S", "UHF"], "low_deg": 10},
    "S1": {"station": "Salar", "bands": ["X"], "low_deg": 5},
    "S2": {"station": "Salar", "bands": ["S", "X"], "low_deg": 10},
}


class UnknownDish(KeyError):
    """No dish has this name."""


def dish(name: str) -> Dish:
    """What is known of a dish."""
    if name not in DISHES:
        raise UnknownDish(name)
    return DISHES[name]


def dishes_for(band: str, station: Optional[str] = None) -> List[str]:
    """The names of all dishes that hear a band, at one station or anywhere."""
    fit = [name for name, known in DISHES.items() if band in known["bands"]]
    return sorted(name for name in fit if station in (None, DISHES[name]["station"]))


def can_see(name: str, peak_deg: int) -> bool:
    """Whether a pass with this peak rises above the hills around a dish."""
    return peak_deg > dish(name)["low_deg"]
