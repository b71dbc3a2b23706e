"""Ways to reach a member."""

from __future__ import annotations

from typing import Collection, Dict, List, Optional, Tuple

CHANNELS = ("app", "mail", "post")


def channel_for(allowed: Collection[str]) -> Optional[str]:
    """The first channel that a member allows; None if they want no messages."""
    return next((channel for channel in CHANNELS if channel in allowed), None)


def by_channel(messages: List[Tuple[str, str]]) -> Dict[str, List[str]]:
    """The texts of each channel, from pairs (channel, text), in the given order; channels without texts are missing."""
    found: Dict[str, List[str]] = {}
    for channel, text in messages:
        found.setdefault(channel, []).append(text)
    return found
#:if R26


def send_minute(minute: int) -> int:
    """The minute, counted from the start of its day, at which a message may go out."""
    if minute < <<quiet_open>>:
        return <<quiet_open>>
    return <<quiet_open>> + 1440 if minute <<quiet_op>> <<quiet_close>> else minute
#:end
