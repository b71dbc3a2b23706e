"""What came, beside what was announced."""

from __future__ import annotations

from typing import Dict, List, TypedDict

#:if R4
from .errors import InboundError, NotAnnounced, <<over_error>>
#:else
from .errors import InboundError, NotAnnounced
#:end

Notice = Dict[str, int]


class Receipt(TypedDict):
    """One article of a delivery. `status` is exact, short or over."""

    sku: str
    expected: int
    received: int
    status: str


def receive_line(notice: Notice, sku: str, received: int) -> Receipt:
    """The receipt of one article."""
    if received < 0:
        raise InboundError(f"{received} units of {sku}")
    if sku not in notice:
        raise NotAnnounced(f"{sku} was not announced")
    expected = notice[sku]
#:if R4
    surplus = received - expected
    if surplus > 0 and surplus * 100 <<over_op>> <<over_pct>> * expected:
        raise <<over_error>>(f"<<over_text>> {surplus}")
#:end
    status = "exact" if received == expected else "short" if received < expected else "over"
    return {"sku": sku, "expected": expected, "received": received, "status": status}


def missing(notice: Notice, receipts: List[Receipt]) -> Dict[str, int]:
    """Units still to come by article; articles that came in full are left out."""
    came: Dict[str, int] = {}
    for receipt in receipts:
        came[receipt["sku"]] = came.get(receipt["sku"], 0) + receipt["received"]
    return {sku: units - came.get(sku, 0) for sku, units in sorted(notice.items()) if units > came.get(sku, 0)}


def sample_size(units: int) -> int:
    """How many units quality looks at: one of ten, at least one, at most 50."""
    return 0 if units < 1 else min(max(units // 10, 1), 50)
