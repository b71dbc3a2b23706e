"""When an order leaves the house."""

from __future__ import annotations

#:if R9
from datetime import date, timedelta

from catalog.policy import EXPRESS_DEADLINE, ORDER_DEADLINE, is_workday, next_workday
#:else
from datetime import date

from catalog.policy import ORDER_DEADLINE, is_workday, next_workday
#:end

from .model import OrderError

MINUTES_PER_DAY = 1440


def ship_by(day: date, minute: int) -> date:
    """The day on which an order leaves that came in at a minute of a day.

    On a working day before the deadline it is that day, otherwise the next working day.
    """
    if not 0 <= minute < MINUTES_PER_DAY:
        raise OrderError(f"no day has a minute {minute}")
    if is_workday(day) and minute < ORDER_DEADLINE:
        return day
    return next_workday(day)


def workdays_between(first: date, last: date) -> int:
    """Working days after the first day, up to and with the last."""
    count, day = 0, next_workday(first)
    while day <= last:
        count, day = count + 1, next_workday(day)
    return count
#:if R9


EXPRESS_REST = <<express_rest.code>>


def express_ship_by(day: date, minute: int, *, <<express_kw>>: int = EXPRESS_DEADLINE) -> date:
    """The day on which an express order leaves; trucks go on all days but those of rest."""
    if not minute <<express_op>> <<express_kw>>:
        day += timedelta(days=1)
    while day.weekday() in EXPRESS_REST:
        day += timedelta(days=1)
    return day
#:end
