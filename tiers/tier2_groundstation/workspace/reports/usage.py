#:if R8
"""How much each dish has to do."""

from __future__ import annotations

from typing import Dict, List, Tuple

from booking.plan import Contact


def usage_rows(contacts: List[Contact], *, <<use_kw>>: int = <<use_floor>>) -> List[Tuple[str, int, str]]:
    """The share of each dish in the time of all contacts, per mille, and a word for it."""
    seconds: Dict[str, int] = {}
    for one in contacts:
        seconds[one["dish"]] = seconds.get(one["dish"], 0) + one["end"] - one["start"]
    total = sum(seconds.values())
    shares = [(name, used * 1000 // total) for name, used in sorted(seconds.items(), reverse=<<use_ties.code>>)]
    shares.sort(key=lambda share: <<use_order.code>>)
    rows = [(name, share, _label(share)) for name, share in shares if not share <<op_floor>> <<use_kw>>]
    left_out = len(shares) - len(rows)
    if left_out:
        rows.append(("<<use_rest>>", left_out, "<<use_label3>>"))
    return rows


def _label(share: int) -> str:
    if share <<op_busy>> <<use_busy>>:
        return "<<use_label1>>"
    return "<<use_label2>>" if share <<op_busy>> <<use_fair>> else "<<use_label3>>"
#:end
