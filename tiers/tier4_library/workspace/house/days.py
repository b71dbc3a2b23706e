"""Days on which the house is open. `closed` are days that are closed by hand."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Collection

from .policy import OPEN_WEEKDAYS

DAY = timedelta(days=1)


def is_open(day: date, closed: Collection[date] = ()) -> bool:
    """Whether the house is open on a day."""
    return day.weekday() in OPEN_WEEKDAYS and day not in closed


def next_open(day: date, closed: Collection[date] = ()) -> date:
    """The day itself if the house is open then, otherwise the first open day after it."""
    while not is_open(day, closed):
        day += DAY
    return day


def previous_open(day: date, closed: Collection[date] = ()) -> date:
    """The day itself if the house is open then, otherwise the last open day before it."""
    while not is_open(day, closed):
        day -= DAY
    return day


def open_days_after(day: date, count: int, closed: Collection[date] = ()) -> date:
    """The open day that is so many open days after a day."""
    for _ in range(count):
        day = next_open(day + DAY, closed)
    return day
