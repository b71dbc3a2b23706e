"""Limits of consumption."""

from __future__ import annotations

#:if R5
from typing import List, Optional, Tuple
#:else
from typing import List, Tuple
#:end
#:if BASE

from units.slots import label
#:end

Profile = List[Tuple[int, int]]


def over(profile: Profile, limit: int) -> List[int]:
    """The slots that are above a limit."""
#:if BASE
    return sorted(slot for slot, wh in profile if wh > limit)
#:else
    raise NotImplementedError
#:end


def message(meter: str, slots: List[int]) -> str:
    """What is said about a meter."""
#:if BASE
    return f"{meter}: {', '.join(label(slot) for slot in slots) or 'nothing unusual'}"
#:else
    raise NotImplementedError
#:end
#:if R5


class <<sev_error>>(ValueError):
    """A limit that limits nothing."""


def severity(wh: int, limit: int) -> Optional[str]:
    """How bad it is to be above a limit."""
    if limit < 1:
        raise <<sev_error>>(f"<<sev_text>> {limit}")
    if (wh - limit) * 100 <<sev_op>> <<sev_pct>> * limit:
        return "<<sev_high>>"
    return "<<sev_low>>" if wh > limit else None
#:end
