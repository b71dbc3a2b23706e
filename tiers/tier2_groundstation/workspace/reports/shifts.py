"""Who works when, and what one shift tells the next."""

from __future__ import annotations

from typing import List

from booking.plan import Contact, clock

SHIFT_SECONDS = 28_800
SHIFTS = ("night", "early", "late")
AHEAD_SECONDS = 3_600


def shift_of(second: int) -> str:
    """The shift that is on duty; three in a day, from midnight on."""
    return SHIFTS[second // SHIFT_SECONDS % len(SHIFTS)]


def handover(plan: List[Contact], second: int) -> List[str]:
    """Lines on the contacts that run at that time or begin within the hour after it, by start."""
    lines = []
    for one in sorted(plan, key=lambda contact: (contact["start"], contact["dish"])):
        if one["start"] <= second < one["end"]:
            lines.append(f"{one['dish']} hears {one['satellite']} until {clock(one['end'])}")
        elif second < one["start"] <= second + AHEAD_SECONDS:
            lines.append(f"{one['dish']} expects {one['satellite']} at {clock(one['start'])}")
    return lines
