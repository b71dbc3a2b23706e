"""Quarter-hours of a day."""

from __future__ import annotations
#:if BASE

from .policy import SLOTS

MINUTES = 15
NIGHT_ENDS, NIGHT_BEGINS = 6 * 4, 22 * 4
#:end


class SlotError(ValueError):
    """A minute or a slot that no day has."""


def slot_of(minute: int) -> int:
    """The slot of a minute after midnight."""
#:if BASE
    slot = minute // MINUTES
    if not 0 <= slot < SLOTS:
        raise SlotError(f"no day has a minute {minute}")
    return slot
#:else
    raise NotImplementedError
#:end


def label(slot: int) -> str:
    """The time at which a slot begins."""
#:if BASE
    if not 0 <= slot < SLOTS:
        raise SlotError(f"no day has a slot {slot}")
    return f"{slot // 4:02d}:{slot % 4 * MINUTES:02d}"
#:else
    raise NotImplementedError
#:end


def is_night(slot: int) -> bool:
    """Whether a slot is in the night."""
#:if BASE
    return slot < NIGHT_ENDS or slot >= NIGHT_BEGINS
#:else
    raise NotImplementedError
#:end
