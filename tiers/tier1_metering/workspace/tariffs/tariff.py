"""Tariffs. Prices are tenths of a cent for 1,000 watt-hours."""

from __future__ import annotations

from typing import List, Tuple, TypedDict
#:if BASE

from units.rounding import half_up
from units.slots import is_night

SCALE = 10_000
#:end

Profile = List[Tuple[int, int]]


class Tariff(TypedDict):
    """One tariff; the base fee is for one day."""

    name: str
    day_price: int
    night_price: int
    base_cents: int


def price(tariff: Tariff, slot: int) -> int:
    """The price in a slot."""
#:if BASE
    return tariff["night_price"] if is_night(slot) else tariff["day_price"]
#:else
    raise NotImplementedError
#:end


def energy_cents(tariff: Tariff, profile: Profile) -> int:
    """What a profile costs, without the base fee."""
#:if BASE
    return half_up(sum(wh * price(tariff, slot) for slot, wh in profile), SCALE)
#:else
    raise NotImplementedError
#:end


def cheapest(tariffs: List[Tariff], profile: Profile) -> str:
    """The name of the tariff with which a day costs least."""
#:if BASE
    return min(tariffs, key=lambda one: (energy_cents(one, profile) + one["base_cents"], one["name"]))["name"]
#:else
    raise NotImplementedError
#:end
#:if R1


def peak_cents(cents: int, load_w: int, *, <<peak_kw>>: int = <<peak_load>>) -> int:
    """A cost with the surcharge for a high load."""
    percent = <<peak_pct>>
    if load_w <<peak_op>> <<peak_kw>>:
        cents += min(<<peak_round.code>>, <<peak_max>>)
    return cents
#:end
