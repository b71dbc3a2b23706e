#:if R8
"""Many alerts in one message."""

from __future__ import annotations

from typing import List, Tuple

from units.policy import FREE_DAYS


def digest(alerts: List[Tuple[int, str]], *, <<dig_kw>>: int = <<dig_limit>>) -> List[str]:
    """The lines of a message, from pairs (age in days, text)."""
    texts = [text for age, text in alerts if age <<rem_op>> FREE_DAYS]
    rest = len(texts) - <<dig_kw>>
    return texts[: <<dig_kw>>] + ([f"<<dig_more>> {rest}"] if rest > 0 else [])
#:end
