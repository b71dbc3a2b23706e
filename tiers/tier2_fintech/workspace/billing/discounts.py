#:if R2
"""Discounts on list prices."""

from __future__ import annotations

BASIS_POINTS = 10_000


def volume_discount_cents(amount_cents: int, seats: int, *, <<loyal_kw>>: int = <<loyal_default>>) -> int:
    """The discount for large and for long-standing customers."""
    bps = 0
    if seats <<op_seats>> <<seats_big>>:
        bps = <<bps_big>>
    elif seats <<op_seats>> <<seats_mid>>:
        bps = <<bps_mid>>
    bps += <<loyal_bps>> * min(<<loyal_kw>>, <<loyal_max>>)
    scaled = amount_cents * bps
    return min(<<disc_round.code>>, <<disc_cap>>)
#:end
