"""Numbers that more than one department goes by, so that no department has to import another for them.

Days of the week count from 0, Monday. Times of day are minutes after midnight.
"""

from __future__ import annotations

from datetime import date, timedelta

WORKDAYS = (0, 1, 2, 3, 4)
ORDER_DEADLINE = 720
RETURN_DAYS = 30
#:if R2
NEAR_EXPIRY_DAYS = <<near_days>>
#:else
#:if R22
NEAR_EXPIRY_DAYS = <<near_days>>
#:end
#:end
#:if R9
EXPRESS_DEADLINE = <<express_minute>>
#:else
#:if R20
EXPRESS_DEADLINE = <<express_minute>>
#:end
#:end
#:if R17
MM3_PER_GRAM = <<divisor>>
#:else
#:if R18
MM3_PER_GRAM = <<divisor>>
#:end
#:end


def is_workday(day: date) -> bool:
    """Whether the house works on this day."""
    return day.weekday() in WORKDAYS


def next_workday(day: date) -> date:
    """The first working day after this one."""
    day += timedelta(days=1)
    while not is_workday(day):
        day += timedelta(days=1)
    return day
