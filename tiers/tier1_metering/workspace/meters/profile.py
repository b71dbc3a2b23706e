"""Load profiles: watt-hours by slot."""

from __future__ import annotations

from typing import List, Optional, Tuple
#:if BASE

from units.rounding import half_up
#:if R3
from units.slots import is_night, label
#:else
from units.slots import is_night
#:end
#:end

Profile = List[Tuple[int, int]]


def total(profile: Profile) -> int:
    """The sum of a profile."""
#:if BASE
    return sum(wh for _, wh in profile)
#:else
    raise NotImplementedError
#:end


def peak(profile: Profile) -> Optional[int]:
    """The slot with the most watt-hours."""
#:if BASE
    return min(profile, key=lambda pair: (-pair[1], pair[0]))[0] if profile else None
#:else
    raise NotImplementedError
#:end


def night_percent(profile: Profile) -> int:
    """How much of a profile falls into the night."""
#:if BASE
    night = sum(wh for slot, wh in profile if is_night(slot))
    return half_up(night * 100, total(profile)) if total(profile) else 0
#:else
    raise NotImplementedError
#:end
#:if R3


def quiet_slots(profile: Profile, *, <<quiet_kw>>: int = <<quiet_wh>>) -> List[str]:
    """The times at which next to nothing is used."""
    found = sorted((wh, slot) for slot, wh in profile if wh <<quiet_op>> <<quiet_kw>>)
    found.sort(key=lambda pair: <<quiet_order.code>>)
    return [label(slot) for _, slot in found]
#:end
