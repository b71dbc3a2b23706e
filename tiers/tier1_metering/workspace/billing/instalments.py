#:if R6
"""Paying in parts."""

from __future__ import annotations

from typing import List


def plan(total_cents: int, *, <<plan_kw>>: int = <<plan_parts>>) -> List[int]:
    """The parts in which a total is paid."""
    if total_cents <<plan_op>> <<plan_min>>:
        return [total_cents]
    each = -(-total_cents // (<<plan_kw>> * <<plan_step>>)) * <<plan_step>>
    whole, rest = divmod(total_cents, each)
    parts = [each] * whole
    if rest:
        parts.insert(<<plan_rest.code>>, rest)
    return parts
#:end
