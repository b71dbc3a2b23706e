"""Giving money back."""

from __future__ import annotations

from typing import Dict, List, Tuple

from ledger.models import Line


class RefundError(ValueError):
    """A refund that cannot be made."""
#:if R3


class <<ref_error>>(RefundError):
    """The time in which a refund can be asked for is over."""
#:end


def refundable_cents(paid_cents: int, refunded_cents: List[int]) -> int:
    """What can still be refunded of a payment."""
    left = paid_cents - sum(refunded_cents)
    if left < 0:
        raise RefundError("more was refunded than paid")
    return left


def refund(paid_cents: int, refunded_cents: List[int], amount_cents: int) -> List[int]:
    """The refunds of a payment with one more at the end."""
    if amount_cents <= 0:
        raise RefundError("a refund is a positive amount")
    if amount_cents > refundable_cents(paid_cents, refunded_cents):
        raise RefundError(f"{amount_cents} is more than can be refunded")
    return [*refunded_cents, amount_cents]


def refunds_by_method(refunds: List[Tuple[str, int]]) -> Dict[str, int]:
    """Cents by payment method, from pairs of method and cents; methods by name."""
    found: Dict[str, int] = {}
    for method, cents in sorted(refunds):
        found[method] = found.get(method, 0) + cents
    return found


def refund_lines(amount_cents: int) -> List[Line]:
    """The ledger lines that book a refund."""
    return [{"account": "4000", "amount_cents": amount_cents}, {"account": "1000", "amount_cents": -amount_cents}]
#:if R3


def refund_outcome(paid_cents: int, days_since: int) -> Dict[str, object]:
    """What a customer gets back, by the days since the payment."""
    if days_since <<op_full>> <<full_days>>:
        return {"<<ref_key>>": "<<ref_full>>", "refund_cents": paid_cents}
    if days_since <<op_part>> <<part_days>>:
        share = paid_cents * <<part_pct>> // 100 - <<ref_fee>>
        return {"<<ref_key>>": "<<ref_part>>", "refund_cents": max(0, share)}
    raise <<ref_error>>(f"<<ref_text>> after {days_since} days")
#:end
