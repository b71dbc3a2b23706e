"""How much of its limit an arm's notes take in a workspace that an agent has left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypedDict

from ..sandbox.tree import TreeItem
from .arms import Arm, state_use
from .tokens import TOKENIZER

MAX_NOTES = 256 << 10
"""Bytes; longer notes are not counted, and are over any limit."""


class NotesUse(TypedDict):
    """The notes at the end of a session. `tokens` is None, and `problem` says why, where they were not counted."""

    file: str
    tokens: int | None
    limit: int
    tokenizer: str
    within: bool | None
    problem: str | None


def notes_report(arm: Arm, manifest: Mapping[str, TreeItem], read: Callable[[str], bytes]) -> NotesUse | None:
    """The use of the arm's state file, whatever stands in its place; None if the arm has none.

    `read` is called for a regular file of bounded size only. A breach is reported, not punished.
    """
    if arm.state is None or arm.state_tokens is None:
        return None
    item = manifest.get(arm.state)
    if item is None:
        return _report(arm, 0, True, "missing")
    if item.kind != "f":
        return _report(arm, None, None, "not a regular file")
    if item.size > MAX_NOTES:
        return _report(arm, None, False, f"{item.size} bytes, more than the {MAX_NOTES} that are counted")
    use = state_use(arm, {arm.state: read(arm.state)})
    return _report(arm, use.tokens, use.within, None) if use else None


def _report(arm: Arm, tokens: int | None, within: bool | None, problem: str | None) -> NotesUse:
    return NotesUse(
        file=arm.state or "",
        tokens=tokens,
        limit=arm.state_tokens or 0,
        tokenizer=TOKENIZER,
        within=within,
        problem=problem,
    )
