"""What customers ask for."""

from __future__ import annotations

from typing import List, TypedDict

from orbit.satellites import FLEET

FURTHEST_SECONDS = 2_592_000


class Request(TypedDict):
    """A wish for a contact; the deadline is a second of the mission."""

    id: str
    customer: str
    satellite: str
    service: str
    kilobytes: int
    deadline: int


class RequestRefused(ValueError):
    """A request with problems."""


def problems(request: Request, now: int) -> List[str]:
    """Why a request cannot be taken, in the order in which the desk asks; empty if it can."""
    found: List[str] = []
    if request["satellite"] not in FLEET:
        found.append("unknown-satellite")
    elif FLEET[request["satellite"]]["owner"] != request["customer"]:
        found.append("not-yours")
    if request["kilobytes"] < 1:
        found.append("no-data")
    if request["deadline"] <= now:
        found.append("too-late")
    elif request["deadline"] - now > FURTHEST_SECONDS:
        found.append("too-early")
    return found


def accept(requests: List[Request], request: Request, now: int) -> List[Request]:
    """The requests with one more at the end; a second one of the same id replaces the first in its place."""
    found = problems(request, now)
    if found:
        raise RequestRefused(", ".join(found))
    if any(known["id"] == request["id"] for known in requests):
        return [request if known["id"] == request["id"] else known for known in requests]
    return [*requests, request]
