"""The pickup shelf, on which copies wait for members."""

from __future__ import annotations

#:if R9
from datetime import date, timedelta
#:else
from datetime import date
#:end
from typing import Collection, List, Tuple

from house import days

PICKUP_DAYS = 5


def ready_until(ready: date, closed: Collection[date] = ()) -> date:
    """The last day on which a copy that is ready on a day can be fetched."""
    return days.open_days_after(ready, PICKUP_DAYS, closed)


def expired(waiting: List[Tuple[int, date]], day: date) -> List[int]:
    """The members whose copy goes back, from pairs (member, day on which it was ready)."""
    return [member for member, ready in waiting if ready_until(ready) < day]
#:if R9


def collect_by(ready: date, remote: bool, *, <<col_kw>>: int = <<col_days>>) -> date:
    """The last day on which a copy waits at a branch."""
    day = ready + timedelta(days=<<col_kw>> + (<<col_more>> if remote else 0))
    return <<col_shift.code>>
#:end
#:if R22


def slot(number: int, *, <<slot_kw>>: int = <<slot_count>>) -> int:
    """The compartment of the pickup shelf for a member's number."""
    return number * <<slot_step>> % <<slot_kw>> + <<slot_base>>
#:end
