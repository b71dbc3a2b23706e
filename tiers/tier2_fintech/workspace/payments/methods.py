"""Payment methods and what they cost us."""

from __future__ import annotations

from typing import Dict, List, Tuple

# Fixed cents and basis points for each payment.
FEES: Dict[str, Tuple[int, int]] = {
    "transfer": (0, 0),
    "debit": (10, 0),
    "card": (25, 140),
    "wallet": (30, 290),
}


class UnknownMethod(KeyError):
    """No payment method has this name."""


def fee_cents(method: str, amount_cents: int) -> int:
#:if fees_round_up
    """The fee for taking an amount, rounded up to a whole cent."""
#:else
    """The fee for taking an amount."""
#:end
    if method not in FEES:
        raise UnknownMethod(method)
    fixed, bps = FEES[method]
#:if fees_round_up
    return fixed + -(-amount_cents * bps // 10_000)
#:else
    return fixed + amount_cents * bps // 10_000
#:end


def cheapest_method(amount_cents: int, offered: List[str]) -> str:
    """The method with the lowest fee among those offered; of equals, the first offered."""
    if not offered:
        raise UnknownMethod("none offered")
    return min(offered, key=lambda method: fee_cents(method, amount_cents))
