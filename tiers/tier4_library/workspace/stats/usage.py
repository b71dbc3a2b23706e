"""How well the stock is used."""

from __future__ import annotations

#:if R15
from typing import Collection, Dict, List, Optional, Tuple
#:else
from typing import Collection, Dict, List, Tuple
#:end
#:if R15

from house.policy import YOUTH_AGE
#:end

from .tables import percent


def turnover(loans: int, copies: int) -> int:
    """Loans for every hundred copies; 0 without copies."""
    return percent(loans, copies)


def never_lent(codes: Collection[str], lent: Dict[str, int]) -> List[str]:
    """The codes that nobody borrowed, ascending."""
    return sorted(code for code in codes if not lent.get(code))


def most_lent(lent: Dict[str, int], limit: int) -> List[Tuple[str, int]]:
    """The codes that were borrowed most, with how often; equals by code."""
    return sorted(lent.items(), key=lambda item: (-item[1], item[0]))[:limit]
#:if R15


def age_groups(ages: List[int]) -> Dict[str, Optional[int]]:
    """How many members are young and how many are not, where that tells nothing about anybody."""
    young = sum(1 for age in ages if age <<youth_op>> YOUTH_AGE)
    counts = {"<<grp_young>>": young, "<<grp_old>>": len(ages) - young}
    return {name: None if count <<grp_op>> <<grp_min>> else count for name, count in counts.items()}
#:end
