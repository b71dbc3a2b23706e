#:if R7
"""When and how an unpaid invoice is chased."""

from __future__ import annotations

from typing import List, Tuple

FRIDAY = 4


def dunning_plan(due_day: int, amount_cents: int, *, <<dun_kw>>: int = <<dun_pause>>) -> List[Tuple[int, str]]:
    """Pairs of day and channel for the three steps; days are numbered from a Monday."""
    if amount_cents <<op_least>> <<dun_least>>:
        return []
    final = "<<dun_last>>" if amount_cents <<op_final>> <<dun_amount>> else "email"
    steps = [(<<dun_first>>, "email"), (<<dun_second>>, "<<dun_middle>>"), (<<dun_third>>, final)]
    return [(_workday(due_day + offset + <<dun_kw>>), channel) for offset, channel in steps]


def _workday(day: int) -> int:
    weekday = day % 7
    if weekday <= FRIDAY:
        return day
    return <<dun_shift.code>>
#:end
