"""A chain of entries, each sealed with the digest of the one before it."""

from __future__ import annotations

import hashlib
from typing import List, Optional, TypedDict

from rbac.roles import at_least

from .masking import mask_actor

DIGEST_LENGTH = 16
GENESIS = "0" * DIGEST_LENGTH


class Entry(TypedDict):
    """One thing that happened."""

    seq: int
    actor: str
    action: str
    privileged: bool
    digest: str


def seal(previous: str, seq: int, actor: str, action: str) -> str:
    """The digest of an entry that follows `previous`."""
    text = "|".join([previous, str(seq), actor, action])
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:DIGEST_LENGTH]


def append(trail: List[Entry], actor: str, role: str, action: str) -> List[Entry]:
    """The trail with one more entry at its end."""
    previous = trail[-1]["digest"] if trail else GENESIS
    seq = len(trail) + 1
    masked = mask_actor(actor)
    entry: Entry = {
        "seq": seq,
        "actor": masked,
        "action": action,
        "privileged": at_least(role, "manager"),
        "digest": seal(previous, seq, masked, action),
    }
    return [*trail, entry]


def first_broken(trail: List[Entry]) -> Optional[int]:
    """The number of the first entry whose digest does not fit; None if the chain holds."""
    previous = GENESIS
    for entry in trail:
        if entry["digest"] != seal(previous, entry["seq"], entry["actor"], entry["action"]):
            return entry["seq"]
        previous = entry["digest"]
    return None
