"""Passes: the times at which a satellite is above the horizon of a station."""

from __future__ import annotations

from typing import List, Optional, TypedDict

from .windows import length

MASK_DEG = 10
SHORTEST_SECONDS = 120


class Pass(TypedDict):
    """One pass; seconds are those of the mission, angles whole degrees, azimuths count from north by east."""

    satellite: str
    start: int
    end: int
    rise_deg: int
    set_deg: int
    peak_deg: int


class NoPass(LookupError):
    """There is no pass to choose from."""
#:if R1


class <<score_error>>(ValueError):
    """A pass whose peak is nowhere in the sky."""
#:end


def seconds_of(one: Pass) -> int:
    """How long a pass lasts."""
    return length((one["start"], one["end"]))


def usable(passes: List[Pass], mask_deg: int = MASK_DEG) -> List[Pass]:
    """The passes that peak at the mask or above it and are worth turning a dish; by start, then by satellite."""
    kept = [one for one in passes if one["peak_deg"] >= mask_deg and seconds_of(one) >= SHORTEST_SECONDS]
    return sorted(kept, key=lambda one: (one["start"], one["satellite"]))


def best(passes: List[Pass]) -> Pass:
    """The pass with the highest peak; of equals, the earliest."""
    if not passes:
        raise NoPass("no pass")
    return min(passes, key=lambda one: (-one["peak_deg"], one["start"]))


def trimmed(one: Pass, lead_seconds: int) -> Optional[Pass]:
    """The pass without its first and last seconds, in which the signal is weak; None if nothing is left."""
    start, end = one["start"] + lead_seconds, one["end"] - lead_seconds
    if start >= end:
        return None
    return {**one, "start": start, "end": end}
#:if R1


def pass_score(peak_deg: int, seconds: int, *, <<score_kw>>: int = <<score_cap>>) -> int:
    """How much a pass is worth, in points."""
    if not 0 <= peak_deg <= 90:
        raise <<score_error>>(f"peak_deg is {peak_deg}")
    if seconds <<op_short>> <<short_s>>:
        return min(<<short_points>>, <<score_kw>>)
    points = <<high_points>> if peak_deg <<op_high>> <<high_deg>> else <<low_points>>
    return min(points + seconds // <<score_span>>, <<score_kw>>)
#:end
