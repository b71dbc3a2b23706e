"""How long a dish takes to turn."""

from __future__ import annotations

from typing import List

FULL_TURN = 360
SETTLE_SECONDS = 5
SLOW_DEG = 10
FAST_DEG_PER_SECOND = 3


class SlewError(ValueError):
    """A turn that no dish makes."""


def turn_degrees(from_deg: int, to_deg: int) -> int:
    """The degrees between two azimuths, the shorter way round."""
    turn = abs(from_deg - to_deg) % FULL_TURN
    return min(turn, FULL_TURN - turn)


def slew_seconds(degrees: int) -> int:
    """The seconds of a turn: a second for each of the first degrees, fast after them, then the dish settles."""
    if not 0 <= degrees <= FULL_TURN // 2:
        raise SlewError(f"{degrees} degrees")
    if degrees == 0:
        return 0
    fast = max(0, degrees - SLOW_DEG)
    seconds = min(degrees, SLOW_DEG) - (-fast // FAST_DEG_PER_SECOND) + SETTLE_SECONDS
    return seconds


def tour_seconds(azimuths: List[int]) -> int:
    """The seconds of all turns from each azimuth to the next."""
    return sum(slew_seconds(turn_degrees(one, other)) for one, other in zip(azimuths, azimuths[1:]))
