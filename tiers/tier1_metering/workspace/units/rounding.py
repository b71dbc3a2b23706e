"""Rounding without fractions."""

from __future__ import annotations

from typing import List


def half_up(number: int, by: int) -> int:
    """A quotient as a whole number, halves up."""
#:if BASE
    return (2 * number + by) // (2 * by)
#:else
    raise NotImplementedError
#:end


def split(total: int, count: int) -> List[int]:
    """A total in parts that are as equal as they can be."""
#:if BASE
    each, rest = divmod(total, count)
    return [each + 1] * rest + [each] * (count - rest)
#:else
    raise NotImplementedError
#:end
