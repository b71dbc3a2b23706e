"""The satellites that the network serves."""

from __future__ import annotations

from typing import Dict, List, TypedDict


class Satellite(TypedDict):
    """Who owns it, how it sends, and how long it takes once around."""

    owner: str
    band: str
    rate_kbps: int
    orbit_minutes: int


FLEET: Dict[str, Satellite] = {
    "ASTER": {"owner": "Tern Imaging", "band": "X", "rate_kbps": 80_000, "orbit_minutes": 95},
    "BORA-1": {"owner": "Bora Weather", "band": "S", "rate_kbps": 2_000, "orbit_minutes": 100},
    "BORA-2": {"owner": "Bora Weather", "band": "S", "rate_kbps": 2_000, "orbit_minutes": 100},
    "CIRRUS": {"owner": "Tern Imaging", "band": "X", "rate_kbps": 40_000, "orbit_minutes": 90},
    "DUNE": {"owner": "Lisse University", "band": "UHF", "rate_kbps": 10, "orbit_minutes": 95},
}


class UnknownSatellite(KeyError):
    """The network serves no satellite of this name."""


def satellite(name: str) -> Satellite:
    """What is known of a satellite."""
    if name not in FLEET:
        raise UnknownSatellite(name)
    return FLEET[name]


def in_band(band: str) -> List[str]:
    """The names of all that send in a band."""
    return sorted(name for name, known in FLEET.items() if known["band"] == band)


def fleet_of(owner: str) -> List[str]:
    """The names of all that one customer owns."""
    return sorted(name for name, known in FLEET.items() if known["owner"] == owner)


def revolutions(name: str, seconds: int) -> int:
    """How often a satellite goes around the Earth in that time, whole rounds only."""
    return seconds // (satellite(name)["orbit_minutes"] * 60)
