"""The ways to reach a customer."""

from __future__ import annotations

from typing import List

PREFERENCE = ("app", "email", "sms")


class Unreachable(LookupError):
    """A customer who allows none of our channels."""


def channel_for(allowed: List[str], *, urgent: bool = False) -> str:
    """The channel to use: our preference among those allowed; urgent messages try it backwards."""
    order = PREFERENCE[::-1] if urgent else PREFERENCE
    for channel in order:
        if channel in allowed:
            return channel
    raise Unreachable(", ".join(allowed) or "no channel allowed")
