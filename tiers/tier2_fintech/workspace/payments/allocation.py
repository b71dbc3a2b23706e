"""Which invoices a payment settles."""

from __future__ import annotations

from typing import List, Tuple, TypedDict


class OpenInvoice(TypedDict):
    """An invoice with an amount still to be paid. `due` is an ISO date."""

    id: str
    due: str
    open_cents: int


class Allocation(TypedDict):
    """Pairs of invoice and cents, and what is left of the payment."""

    applied: List[Tuple[str, int]]
    left_cents: int


def allocate(payment_cents: int, invoices: List[OpenInvoice]) -> Allocation:
    """Settle the earliest due first, then by id; the last one reached may be settled in part."""
    if payment_cents <= 0:
        raise ValueError("a payment is a positive amount")
    left = payment_cents
    applied: List[Tuple[str, int]] = []
    for invoice in sorted(invoices, key=lambda one: (one["due"], one["id"])):
        part = min(left, invoice["open_cents"])
        if part > 0:
            applied.append((invoice["id"], part))
            left -= part
    return {"applied": applied, "left_cents": left}


def is_settled(invoice: OpenInvoice, allocation: Allocation) -> bool:
    """Whether an allocation pays the rest of an invoice."""
    paid = sum(cents for its_id, cents in allocation["applied"] if its_id == invoice["id"])
    return paid >= invoice["open_cents"]
