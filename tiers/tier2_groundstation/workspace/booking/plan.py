"""The contact plan: which dish listens to which satellite, and when."""

from __future__ import annotations

from typing import List, Tuple, TypedDict

from antennas.slew import slew_seconds, turn_degrees
from orbit.windows import Window, gaps

DAY_SECONDS = 86_400


class Contact(TypedDict):
    """A planned contact; azimuths are where the dish points at its start and at its end."""

    id: str
    dish: str
    satellite: str
    start: int
    end: int
    rise_deg: int
    set_deg: int


class PlanConflict(ValueError):
    """Two contacts that one dish cannot both serve."""


def clock(second: int) -> str:
    """A time as the plan shows it: the day of the mission, a slash, hours, minutes and seconds."""
    day, rest = divmod(second, DAY_SECONDS)
    return f"{day}/{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"


def ready_at(before: Contact, after: Contact) -> int:
    """The second at which a dish that served one contact can serve another."""
    return before["end"] + slew_seconds(turn_degrees(before["set_deg"], after["rise_deg"]))


def conflicts(plan: List[Contact]) -> List[Tuple[str, str]]:
    """Pairs of contacts that follow each other on a dish too closely, by dish and start."""
    found = []
    order = sorted(plan, key=lambda one: (one["dish"], one["start"]))
    for before, after in zip(order, order[1:]):
        if before["dish"] == after["dish"] and after["start"] < ready_at(before, after):
            found.append((before["id"], after["id"]))
    return found


def add(plan: List[Contact], contact: Contact) -> List[Contact]:
    """The plan with one more contact, by start and then by dish."""
    longer = sorted([*plan, contact], key=lambda one: (one["start"], one["dish"]))
    if conflicts(longer):
        raise PlanConflict(f"{contact['dish']} is not free at {clock(contact['start'])}")
    return longer


def free_spans(plan: List[Contact], dish: str, frame: Window) -> List[Window]:
    """When a dish has nothing to do within a frame."""
    return gaps([(one["start"], one["end"]) for one in plan if one["dish"] == dish], frame)


def day_sheet(plan: List[Contact], dish: str) -> List[str]:
    """The lines that hang beside a dish."""
    mine = sorted((one for one in plan if one["dish"] == dish), key=lambda one: one["start"])
    return [f"{clock(one['start'])} {one['satellite']}" for one in mine]
