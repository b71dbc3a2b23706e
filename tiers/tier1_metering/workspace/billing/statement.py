"""Statements."""

from __future__ import annotations

from typing import Dict
#:if BASE

#:if R4
from units.policy import DUE_DAYS, FREE_DAYS
from units.rounding import half_up
#:else
from units.policy import DUE_DAYS
#:end
#:end


class BillingError(ValueError):
    """Something that cannot be billed."""


def statement(days: int, energy_cents: int, base_cents: int) -> Dict[str, int]:
    """What is owed for some days."""
#:if BASE
    if days < 1:
        raise BillingError(f"a statement for {days} days")
    return {"energy": energy_cents, "base": days * base_cents, "total": energy_cents + days * base_cents}
#:else
    raise NotImplementedError
#:end


def due_day(day: int) -> int:
    """When a statement of a day must be paid."""
#:if BASE
    return day + DUE_DAYS
#:else
    raise NotImplementedError
#:end
#:if R4


def reminder(total_cents: int, days_late: int) -> Dict[str, object]:
    """How somebody is reminded who does not pay."""
    if days_late <<rem_op>> FREE_DAYS:
        return {"<<rem_key>>": "<<rem_mild>>", "cents": 0}
    return {"<<rem_key>>": "<<rem_firm>>", "cents": max(half_up(total_cents * <<rem_pct>>, 100), <<rem_min>>)}
#:end
