"""Readings of counters."""

from __future__ import annotations

from typing import List, Tuple, TypedDict


class ReadingError(ValueError):
    """A series of readings that makes no sense."""


class Reading(TypedDict):
    """The counter of a meter on a day."""

    meter: str
    day: int
    wh: int


def problems(readings: List[Reading]) -> List[str]:
    """What is wrong with a series, as codes; empty for a sound one."""
#:if BASE
    found = [] if readings else ["empty"]
    pairs = list(zip(readings, readings[1:]))
    if any(one["meter"] != other["meter"] for one, other in pairs):
        found.append("mixed")
    if any(one["day"] >= other["day"] for one, other in pairs):
        found.append("unordered")
    if any(one["wh"] > other["wh"] for one, other in pairs):
        found.append("falling")
    return found
#:else
    raise NotImplementedError
#:end


def consumption(readings: List[Reading]) -> List[Tuple[int, int]]:
    """Pairs of a day and what was used since the reading before."""
#:if BASE
    wrong = problems(readings)
    if wrong:
        raise ReadingError(", ".join(wrong))
    return [(after["day"], after["wh"] - before["wh"]) for before, after in zip(readings, readings[1:])]
#:else
    raise NotImplementedError
#:end
#:if R2


def estimate(counter: int, days: int, *, <<est_kw>>: int = <<est_daily>>) -> int:
    """What a counter will show after some days without a reading."""
    return counter + days * <<est_kw>> + (<<est_extra>> if days <<est_op>> <<est_long>> else 0)
#:end
