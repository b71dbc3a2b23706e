"""Subscription plans and their list prices."""

from __future__ import annotations

from typing import Dict, List, TypedDict


class Plan(TypedDict):
    """A plan: a base fee that covers some seats, and a price for each further one."""

    base_cents: int
    included_seats: int
    seat_cents: int


PLANS: Dict[str, Plan] = {
    "starter": {"base_cents": 900, "included_seats": 1, "seat_cents": 700},
    "team": {"base_cents": 2_900, "included_seats": 5, "seat_cents": 500},
    "company": {"base_cents": 9_900, "included_seats": 20, "seat_cents": 400},
}

YEARLY_MONTHS_CHARGED = 10


class UnknownPlan(KeyError):
    """No plan has this name."""


def price_cents(plan: str, seats: int, *, yearly: bool = False) -> int:
    """The price of a month, or of a year paid at once (two months free)."""
    if plan not in PLANS:
        raise UnknownPlan(plan)
    if seats < 1:
        raise ValueError("a subscription has at least one seat")
    terms = PLANS[plan]
    extra = max(0, seats - terms["included_seats"])
    month = terms["base_cents"] + extra * terms["seat_cents"]
    return month * YEARLY_MONTHS_CHARGED if yearly else month


def cheapest_plan(seats: int) -> str:
    """The plan with the lowest monthly price; of equals, the one that includes more seats."""
    ranked: List[str] = sorted(PLANS, key=lambda name: (price_cents(name, seats), -PLANS[name]["included_seats"]))
    return ranked[0]
