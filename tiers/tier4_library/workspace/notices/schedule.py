"""The days on which messages go out."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Collection, Dict, List, Tuple

from house.days import previous_open
#:if R12
from house.policy import LOST_DAYS
#:end

REMIND_DAYS = 2


def reminder_day(due: date, closed: Collection[date] = ()) -> date:
    """The day of the reminder for something that is due on a day."""
    return previous_open(due - timedelta(days=REMIND_DAYS), closed)


def calendar(dues: List[Tuple[str, date]]) -> Dict[date, List[str]]:
    """The reminders of each day, from pairs (what, due day), in the given order."""
    found: Dict[date, List[str]] = {}
    for what, due in dues:
        found.setdefault(reminder_day(due), []).append(what)
    return found
#:if R12


def letters(due: date) -> List[Tuple[object, object]]:
    """The letters about something that does not come back."""
    plan = [(<<let_first>>, "<<let_mild>>"), (LOST_DAYS, "<<let_last>>")]
    dated = [(due + timedelta(days=days), word) for days, word in plan]
    return [<<let_shape.code>> for day, word in dated]
#:end
