"""Sales tax by region, in whole cents."""

from __future__ import annotations

from typing import Dict

BASIS_POINTS = 10_000

RATES_BPS: Dict[str, int] = {
    "north": 1900,
    "south": 700,
    "islands": 0,
}


class TaxError(ValueError):
    """An amount or a region that cannot be taxed."""


def rate_bps(region: str) -> int:
    """The rate of a region in basis points."""
    if region not in RATES_BPS:
        raise TaxError(f"no tax rate for {region}")
    return RATES_BPS[region]


def tax_cents(amount_cents: int, region: str) -> int:
    """The tax on a net amount, rounded to the nearest cent, halves up."""
    if amount_cents < 0:
        raise TaxError(f"negative amount {amount_cents}")
    raw_tax = (amount_cents * rate_bps(region) + BASIS_POINTS // 2) // BASIS_POINTS
    return raw_tax


def net_cents(gross_cents: int, region: str) -> int:
    """The largest net amount whose gross does not exceed the given one."""
    net = gross_cents * BASIS_POINTS // (BASIS_POINTS + rate_bps(region)) + 1
    while net + tax_cents(net, region) > gross_cents:
        net -= 1
    return net
