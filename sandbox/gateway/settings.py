"""What a run has decided for its model calls, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .volatile import NOTHING_VOLATILE, Volatile

# What happens to errors of the provider: the agent sees them; we try again until the first byte of an answer has
# gone to the agent; or whole answers are held back, so that even one that was cut off is ours to ask for again.
ErrorPolicy = Literal["pass", "retry", "hold"]


@dataclass(frozen=True, slots=True)
class Pinned:
    """What every request must say; None leaves it to the agent.

    With policy `record` a request for another model gets the pinned one, and it is written down; with `strict` it is
    refused, and so is an answer from another model.
    """

    model: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    output_cap: int | None = None
    policy: Literal["record", "strict"] = "record"
    server_tools: Literal["pass", "strip"] = "pass"


@dataclass(frozen=True, slots=True)
class Retries:
    """How we try again; waits in seconds, doubled each time, with jitter."""

    attempts: int = 5
    wait: float = 0.5
    longest_wait: float = 30.0
    # So many failures one after the other, with no answer between, and the provider counts as gone.
    give_up: int = 25


@dataclass(frozen=True, slots=True)
class Settings:
    """All of it. `turns` says which requests are turns of the agent: those that offer tools, or all.

    `drain` is how long (seconds) the rest of an answer is awaited when the agent is gone, so that its usage is known.
    """

    pinned: Pinned = Pinned()
    errors: ErrorPolicy = "pass"
    retries: Retries = Retries()
    turns: Literal["tools", "all"] = "tools"
    drain: float = 5.0
    volatile: Volatile = NOTHING_VOLATILE
    models: tuple[str, ...] = ()
