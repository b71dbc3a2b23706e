"""The link budget: how much stronger a signal is than it has to be, in tenths of a decibel."""

from __future__ import annotations

from typing import Dict

from antennas.weather import rain_loss
from orbit.satellites import satellite

CLEAR_SKY: Dict[str, int] = {"UHF": 120, "S": 95, "X": 75}

# From an elevation on, what the way through the air takes.
ELEVATION_LOSS = ((60, 0), (30, 10), (10, 45))

# From a margin on, the share of its full rate at which a satellite can send, in quarters.
RATE_QUARTERS = ((60, 4), (30, 2), (0, 1))


class LinkError(ValueError):
    """No link can be made."""


def elevation_loss(elevation_deg: int) -> int:
    """What the way through the air takes; below ten degrees there is no link."""
    for from_deg, loss in ELEVATION_LOSS:
        if elevation_deg >= from_deg:
            return loss
    raise LinkError(f"elevation {elevation_deg}")


def margin(band: str, elevation_deg: int, rain_mm: int = 0) -> int:
    """The margin of a link; below zero nothing is heard."""
    if band not in CLEAR_SKY:
        raise LinkError(f"no band {band}")
    return CLEAR_SKY[band] - elevation_loss(elevation_deg) - rain_loss(rain_mm, band)


def rate_kbps(name: str, elevation_deg: int, rain_mm: int = 0) -> int:
    """The rate at which a satellite can be heard, in kilobits a second; 0 if it cannot."""
    known = satellite(name)
    left = margin(known["band"], elevation_deg, rain_mm)
    for from_margin, quarters in RATE_QUARTERS:
        if left >= from_margin:
            return known["rate_kbps"] * quarters // 4
    return 0
