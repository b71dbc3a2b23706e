"""Commands that wait to be sent."""

from __future__ import annotations

from typing import Dict, List

from .catalog import HAZARDS, hazard, level

MAX_QUEUED = 50


class QueueFull(RuntimeError):
    """More commands than a satellite takes in one contact."""


def queued(names: List[str]) -> List[str]:
    """The commands in the order in which they are sent: the harmless first, equals as they were given."""
    if len(names) > MAX_QUEUED:
        raise QueueFull(f"{len(names)} commands")
    return sorted(names, key=level)


def without_repeats(names: List[str]) -> List[str]:
    """The commands without those of no hazard that follow one of the same name at once."""
    kept: List[str] = []
    for name in names:
        if not (kept and kept[-1] == name and hazard(name) == "routine"):
            kept.append(name)
    return kept


def tally(names: List[str]) -> Dict[str, int]:
    """How many commands of each hazard there are, hazards without any included."""
    found = dict.fromkeys(HAZARDS, 0)
    for name in names:
        found[hazard(name)] += 1
    return found
