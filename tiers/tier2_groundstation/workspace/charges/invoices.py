"""Monthly invoices."""

from __future__ import annotations

from typing import List, TypedDict

from orbit.satellites import satellite

from .tariff import contact_cents

REBATE_ABOVE_CENTS = 500_000
REBATE_PERCENT = 5


class InvoiceLine(TypedDict):
    """One position of an invoice."""

    text: str
    cents: int


def contact_line(name: str, seconds: int) -> InvoiceLine:
    """The position of one contact."""
    return {"text": f"Contact {name}, {seconds} s", "cents": contact_cents(seconds, satellite(name)["band"])}


def rebate_cents(sum_cents: int) -> int:
    """What is taken off: a share of that part of the sum that is above the limit, rounded down."""
    return max(0, sum_cents - REBATE_ABOVE_CENTS) * REBATE_PERCENT // 100


def total_cents(lines: List[InvoiceLine]) -> int:
    """What a customer pays."""
    gross = sum(line["cents"] for line in lines)
    return gross - rebate_cents(gross)


def invoice_number(year: int, month: int, sequence: int) -> str:
    """The printed number, such as HM-2025-04-0007."""
    if not 1 <= month <= 12 or sequence < 1:
        raise ValueError(f"no invoice {sequence} of month {month}")
    return f"HM-{year}-{month:02d}-{sequence:04d}"
