#:if R6
"""Open invoices by how long they are overdue."""

from __future__ import annotations

from typing import List, Tuple, TypedDict


class Overdue(TypedDict):
    """An unpaid invoice."""

    id: str
    open_cents: int
    days_overdue: int


def ageing_rows(invoices: List[Overdue], *, <<age_kw>>: int = <<age_floor>>) -> List[Tuple[str, str, int]]:
    """Rows of id, bucket and open cents."""
    kept = [invoice for invoice in invoices if not invoice["open_cents"] <<op_small>> <<age_kw>>]
    kept.sort(key=lambda invoice: invoice["id"], reverse=<<age_ties.code>>)
    kept.sort(key=lambda invoice: <<age_order.code>>)
    return [(invoice["id"], _bucket(invoice["days_overdue"]), invoice["open_cents"]) for invoice in kept]


def _bucket(days: int) -> str:
    if days <<op_bucket>> <<age_first>>:
        return "<<age_label1>>"
    return "<<age_label2>>" if days <<op_bucket>> <<age_second>> else "<<age_label3>>"
#:end
