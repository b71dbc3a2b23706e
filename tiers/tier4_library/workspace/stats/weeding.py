#:if R13
"""What might make room for something else."""

from __future__ import annotations

from datetime import date
from typing import Dict, List


def idle(lent: Dict[str, date], today: date, *, <<idle_kw>>: int = <<idle_days>>) -> List[str]:
    """The codes that nobody borrowed for long, from the day on which each was last lent."""
    found = [code for code, last in lent.items() if (today - last).days <<idle_op>> <<idle_kw>>]
    return sorted(found, key=lambda code: (<<idle_order.code>>, code))
#:end
