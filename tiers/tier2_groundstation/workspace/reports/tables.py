"""Tables and figures as text."""

from __future__ import annotations

from typing import List


def aligned(rows: List[List[str]]) -> str:
    """Rows as lines, the columns two blanks apart, nothing behind the last one."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "".join(line + "\n" for line in lines)


def duration(seconds: int) -> str:
    """A time for people: 5400 is 1 h 30 min; seconds only where there is no full minute."""
    if seconds < 60:
        return f"{seconds} s"
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"


def euros(cents: int) -> str:
    """An amount for people: 123450 is 1 234.50, credits with a minus behind."""
    whole, rest = divmod(abs(cents), 100)
    text = f"{whole:,}".replace(",", " ") + f".{rest:02d}"
    return text + "-" if cents < 0 else text
