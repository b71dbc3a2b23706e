"""Opening hours. Times are minutes after midnight."""

from __future__ import annotations

from datetime import date
from typing import Collection, Dict, Tuple

from .days import is_open

# By day of the week: from when to when. Thursdays are long, Saturdays short.
HOURS: Dict[int, Tuple[int, int]] = {1: (600, 1080), 2: (600, 1080), 3: (600, 1200), 4: (600, 1080), 5: (540, 840)}
LAST_CALL = 15


def hours_on(day: date, closed: Collection[date] = ()) -> Tuple[int, int]:
    """From when to when the house is open on a day; `(0, 0)` if it is closed."""
    return HOURS[day.weekday()] if is_open(day, closed) else (0, 0)


def is_open_at(day: date, minute: int, closed: Collection[date] = ()) -> bool:
    """Whether somebody can come in at a minute; the closing minute itself is too late."""
    opens, closes = hours_on(day, closed)
    return opens <= minute < closes


def can_borrow_at(day: date, minute: int) -> bool:
    """Whether the desk still lends at a minute: not in the last minutes before the house closes."""
    return is_open_at(day, minute) and is_open_at(day, minute + LAST_CALL)


def clock(minute: int) -> str:
    """A minute as clocks show it: `9:05`."""
    return f"{minute // 60}:{minute % 60:02d}"
