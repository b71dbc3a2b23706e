#:if R5
"""Commands in batches, as they are sent."""

from __future__ import annotations

from typing import List, Tuple

from .catalog import HAZARDS, level

ENVELOPE_BYTES = <<env_bytes>>
ALONE_FROM = HAZARDS["<<alone_level>>"]


class <<batch_error>>(ValueError):
    """A command that fits no batch."""


def uplink_batches(commands: List[Tuple[str, int]], *, <<batch_kw>>: int = <<batch_bytes>>) -> List[Tuple[object, object]]:
    """Batches of commands in the order given; each command is a name and the bytes of its payload."""
    batches: List[Tuple[List[str], int]] = []
    closed = True
    for name, payload in commands:
        size = payload + ENVELOPE_BYTES
        if size <<op_batch>> <<batch_kw>>:
            raise <<batch_error>>(f"<<batch_text>> {name}")
        alone = level(name) >= ALONE_FROM
        if closed or alone or batches[-1][1] + size <<op_batch>> <<batch_kw>>:
            batches.append(([name], size))
        else:
            names, total = batches[-1]
            batches[-1] = ([*names, name], total + size)
        closed = alone
    return [(<<batch_shape.code>>) for names, total in batches]
#:end
