"""Whether goods may come back."""

from __future__ import annotations

from datetime import date
from typing import Dict

from catalog.policy import RETURN_DAYS

from .errors import ReturnsError, WindowClosed

REASONS: Dict[str, bool] = {"damaged": True, "wrong-item": True, "unwanted": False, "too-late": True}


#:if R21
def authorise(order: str, category: str, delivered: date, today: date, *, <<window_kw>>: int = 0) -> Dict[str, object]:
#:else
def authorise(order: str, category: str, delivered: date, today: date) -> Dict[str, object]:
#:end
    """The permission to return goods: the order, the category, and the days since delivery."""
    days = (today - delivered).days
    if days < 0:
        raise ReturnsError(f"{order} was not delivered yet")
#:if R21
    if category == "<<window_cat>>":
        closed = days <<window_op>> <<window_days>> + <<window_kw>>
    else:
        closed = days > RETURN_DAYS + <<window_kw>>
    if closed:
#:else
    if days > RETURN_DAYS:
#:end
        raise WindowClosed(f"{order}: {category} was delivered {days} days ago")
    return {"order": order, "category": category, "days": days}


def we_pay(reason: str) -> bool:
    """Whether the house pays the way back."""
    if reason not in REASONS:
        raise ReturnsError(f"no reason {reason!r}")
    return REASONS[reason]
