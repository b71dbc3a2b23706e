#:if R25
"""Several messages in one."""

from __future__ import annotations

from typing import List


def digest(lines: List[str], *, <<dig_kw>>: int = <<dig_limit>>) -> str:
    """The lines one after the other, as many as fit."""
    rest = len(lines) - <<dig_kw>>
    shown = lines[: <<dig_kw>>] + ([f"<<dig_more>> {rest}"] if rest > 0 else [])
    return "<<dig_sep.code>>".join(shown)
#:end
