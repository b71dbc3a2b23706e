"""Cards: for whom, and for how long."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TypedDict

#:if R7
from house.policy import ADULT_AGE, YOUTH_AGE
#:else
from house.policy import ADULT_AGE
#:end

CARD_DAYS = 365


class Member(TypedDict):
    """One member and the card that they carry."""

    number: int
    name: str
    born: date
    category: str
    joined: date


def age_on(born: date, day: date) -> int:
    """Full years on a day."""
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def category_for(born: date, day: date) -> str:
    """The kind of card that somebody gets on a day."""
    return "adult" if age_on(born, day) >= ADULT_AGE else "child"


def valid_until(member: Member) -> date:
    """The last day of a card."""
    return member["joined"] + timedelta(days=CARD_DAYS)


def is_valid(member: Member, day: date) -> bool:
    """Whether a card can be used on a day."""
    return member["joined"] <= day <= valid_until(member)
#:if R7


def card_fee_cents(age: int) -> int:
    """What a card costs for a year."""
    if age <<youth_op>> YOUTH_AGE:
        return 0
    return <<fee_senior>> if age <<senior_op>> <<senior_age>> else <<fee_card>>
#:end
#:if R19


def extension_days(visits: int, *, <<ext_kw>>: int = <<ext_min>>) -> int:
    """The days that are added to the card of somebody who comes often."""
    return 0 if visits <<ext_op>> <<ext_kw>> else min(visits * <<ext_each>>, <<ext_max>>)
#:end
