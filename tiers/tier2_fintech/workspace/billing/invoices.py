"""Invoices: lines, totals, numbers."""

from __future__ import annotations

from typing import Dict, List, TypedDict

from ledger.models import Line

from .tax import tax_cents


class InvoiceLine(TypedDict):
    """One position of an invoice."""

    text: str
    quantity: int
    unit_cents: int


def subtotal_cents(lines: List[InvoiceLine]) -> int:
    """The net sum of all positions."""
    return sum(line["quantity"] * line["unit_cents"] for line in lines)


def totals(lines: List[InvoiceLine], region: str) -> Dict[str, int]:
    """Net, tax and gross of an invoice; tax is taken once, on the net sum."""
    net = subtotal_cents(lines)
    tax = tax_cents(net, region)
    return {"net_cents": net, "tax_cents": tax, "gross_cents": net + tax}


def invoice_number(year: int, sequence: int) -> str:
    """The printed number, such as INV-2024-000007."""
    if sequence < 1:
        raise ValueError("invoice numbers start at 1")
    return f"INV-{year}-{sequence:06d}"


def posting_lines(lines: List[InvoiceLine], region: str) -> List[Line]:
    """The ledger lines that book an invoice; a tax line only where there is tax."""
    sums = totals(lines, region)
    booked: List[Line] = [
        {"account": "1100", "amount_cents": sums["gross_cents"]},
        {"account": "4000", "amount_cents": -sums["net_cents"]},
    ]
    if sums["tax_cents"]:
        booked.append({"account": "2100", "amount_cents": -sums["tax_cents"]})
    return booked
