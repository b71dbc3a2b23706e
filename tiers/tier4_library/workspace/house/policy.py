"""Numbers that more than one department goes by, so that no department has to import another for them.

Days of the week count from 0, Monday. Money is whole cents.
"""

from __future__ import annotations

from typing import Dict

OPEN_WEEKDAYS = (1, 2, 3, 4, 5)
LOAN_DAYS: Dict[str, int] = {"book": 30, "film": 10, "game": 15}
MAX_RENEWALS = 2
ADULT_AGE = 15
#:if R6
LOST_DAYS = <<lost_days>>
#:else
#:if R12
LOST_DAYS = <<lost_days>>
#:end
#:end
#:if R7
YOUTH_AGE = <<youth_age>>
#:else
#:if R15
YOUTH_AGE = <<youth_age>>
#:end
#:end
#:if R11
BLOCK_CENTS = <<block_cents>>
#:else
#:if R23
BLOCK_CENTS = <<block_cents>>
#:end
#:end


def kinds() -> list:
    """Everything that can be lent, in alphabetical order."""
    return sorted(LOAN_DAYS)
