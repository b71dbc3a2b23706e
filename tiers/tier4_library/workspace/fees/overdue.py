"""Fines for what comes back late."""

from __future__ import annotations

from typing import Dict, List, Tuple

from .errors import FeeError

DAILY_CENTS: Dict[str, int] = {"book": 10, "film": 50, "game": 50}
CAP_CENTS = 1_000


def fine_cents(kind: str, days_late: int) -> int:
#:if fines_have_a_cap
    """The fine for one thing that is late, up to a cap."""
    if kind not in DAILY_CENTS:
        raise FeeError(f"no fine for a {kind}")
    return min(max(days_late, 0) * DAILY_CENTS[kind], CAP_CENTS)
#:else
    """The fine for one thing that is late."""
    if kind not in DAILY_CENTS:
        raise FeeError(f"no fine for a {kind}")
    return max(days_late, 0) * DAILY_CENTS[kind]
#:end


def total_cents(late: List[Tuple[str, int]]) -> int:
    """The fines for several things, from pairs (kind, days late)."""
    return sum(fine_cents(kind, days) for kind, days in late)
#:if R10


def graded_fine_cents(days_late: int, *, <<fine_kw>>: int = <<fine_grace>>) -> int:
    """A fine that grows faster the later it gets."""
    counted = max(days_late - <<fine_kw>>, 0)
    cheap = min(counted, <<fine_span>>)
    return min(cheap * <<fine_low>> + (counted - cheap) * <<fine_high>>, <<fine_cap>>)
#:end
