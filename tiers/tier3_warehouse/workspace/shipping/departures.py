"""When trucks leave. Times are minutes after midnight."""

from __future__ import annotations

from datetime import date
from typing import List, Optional

#:if R20
from catalog.policy import EXPRESS_DEADLINE, is_workday

from .errors import <<truck_error>>
#:else
from catalog.policy import is_workday
#:end

LOADING_MINUTES = 20
#:if R20
EXPRESS_TRUCK = EXPRESS_DEADLINE + <<truck_lag>>
#:end


def next_departure(ready: int, departures: List[int]) -> Optional[int]:
    """The first departure for which a parcel that is ready at a minute can still be loaded; None if there is none."""
    return min((leaves for leaves in departures if ready + LOADING_MINUTES <= leaves), default=None)


def trucks_on(day: date, departures: List[int]) -> List[int]:
#:if one_truck_at_weekends
    """The departures of a day, in order: all on working days, otherwise the first only."""
    ordered = sorted(departures)
    return ordered if is_workday(day) else ordered[:1]
#:else
    """The departures of a day, in order; none outside working days."""
    return sorted(departures) if is_workday(day) else []
#:end
#:if R20


def express_minutes_left(minute: int) -> int:
    """How long the express truck still waits."""
    if minute <<truck_op>> EXPRESS_TRUCK:
        raise <<truck_error>>(f"the express truck left at minute {EXPRESS_TRUCK}")
    return EXPRESS_TRUCK - minute
#:end
