#:if R8
"""Trail entries as lines for an outside reviewer."""

from __future__ import annotations

from typing import List, Set, TypedDict


class Event(TypedDict):
    """An entry with its age, as the archive returns it."""

    seq: int
    actor: str
    action: str
    age_days: int


class <<exp_error>>(ValueError):
    """Two events carry the same number."""


def export_lines(events: List[Event], *, <<exp_kw>>: int = <<exp_limit>>) -> List[str]:
    """One line for each recent event, and a last one that counts what did not fit."""
    seen: Set[int] = set()
    for event in events:
        if event["seq"] in seen:
            raise <<exp_error>>(f"seq {event['seq']} twice")
        seen.add(event["seq"])
    recent = [event for event in events if event["age_days"] <<op_keep>> <<exp_days>>]
    recent.sort(key=lambda event: event["seq"], reverse=<<exp_order.code>>)
    lines = ["<<exp_sep.code>>".join(<<exp_fields.code>>) for event in recent[:<<exp_kw>>]]
    left_out = len(recent) - len(lines)
    if left_out:
        lines.append(f"<<exp_more>> {left_out}")
    return lines
#:end
