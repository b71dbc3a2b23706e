"""Who comes first."""

from __future__ import annotations

#:if R6
from typing import Dict, List, Tuple
#:else
from typing import Dict, List
#:end

from .requests import Request

# From the service that waits for nobody to the one that takes what is left.
RANKS: Dict[str, int] = {
    "emergency": 1,
    "launch": 2,
    "standard": 3,
    "economy": 4,
}
DISPLACES_BY = 2


class UnknownService(KeyError):
    """No service has this name."""


def rank(service: str) -> int:
    """The place of a service; the first comes first."""
    if service not in RANKS:
        raise UnknownService(service)
    return RANKS[service]


def ordered(requests: List[Request]) -> List[Request]:
    """The requests by service, then by deadline, then by id."""
    return sorted(requests, key=lambda one: (rank(one["service"]), one["deadline"], one["id"]))


def may_displace(service: str, other: str) -> bool:
    """Whether a request may take the place of one that is planned already."""
    return rank(other) - rank(service) >= DISPLACES_BY
#:if R6


def by_urgency(requests: List[Request], now: int, *, <<soon_kw>>: int = <<soon_s>>) -> List[Tuple[object, object]]:
    """The requests that still can be met with their points, the most urgent first."""
    found = []
    for request in requests:
        left = request["deadline"] - now
        if left >= 0:
            points = <<urg_weight>> * (RANKS["economy"] - rank(request["service"]))
            points += <<soon_points>> if left <<op_soon>> <<soon_kw>> else 0
            found.append((-points, <<urg_ties.code>>, request["id"]))
    return [(<<urg_shape.code>>) for less, _, name in sorted(found)]
#:end
