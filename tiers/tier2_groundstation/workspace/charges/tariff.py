"""The price list."""

from __future__ import annotations

from typing import Dict

CENTS_PER_MINUTE: Dict[str, int] = {"UHF": 150, "S": 400, "X": 900}
LEAST_MINUTES = 5
DAY_SECONDS = 86_400
HOUR_SECONDS = 3_600
#:if R7
# The services that bookings know, the dearest first; bills are made without the bookings.
SERVICES = ("emergency", "launch", "standard", "economy")
BASIS_POINTS = 10_000
#:end


class TariffError(ValueError):
    """Something that has no price."""
#:if R7


class <<sur_error>>(TariffError):
    """No service has this name."""
#:end


def billed_minutes(seconds: int) -> int:
#:if begun_minutes
    """The minutes that are charged: each begun one, and never fewer than the least."""
    return max(LEAST_MINUTES, -(-seconds // 60))
#:else
    """The minutes that are charged: each full one, and never fewer than the least."""
    return max(LEAST_MINUTES, seconds // 60)
#:end


def contact_cents(seconds: int, band: str) -> int:
    """The price of a contact."""
    if band not in CENTS_PER_MINUTE:
        raise TariffError(f"no price for band {band}")
    if seconds < 0:
        raise TariffError(f"{seconds} seconds")
    return billed_minutes(seconds) * CENTS_PER_MINUTE[band]


def cancel_cents(cents: int, notice_seconds: int) -> int:
    """What a cancelled contact still costs: nothing a day ahead, half an hour ahead or more, else all of it."""
    if notice_seconds >= DAY_SECONDS:
        return 0
    return cents // 2 if notice_seconds >= HOUR_SECONDS else cents
#:if R7


def surcharge_cents(cents: int, service: str, *, <<sur_kw>>: int = <<sur_free>>) -> int:
    """What a service costs on top of the price of its contact."""
    if service not in SERVICES:
        raise <<sur_error>>(f"no service {service}")
    steps = len(SERVICES) - 1 - SERVICES.index(service)
    scaled = max(0, cents - <<sur_kw>>) * <<sur_bps>> * steps
    return min(<<sur_round.code>>, <<sur_cap>>)
#:end
