"""The measures of a parcel as carriers see them."""

from __future__ import annotations

#:if R19
from typing import Optional, Tuple

#:end
#:if R18
from catalog.policy import MM3_PER_GRAM

#:end
from .errors import ShippingError


def volume_mm3(length_mm: int, width_mm: int, height_mm: int) -> int:
    """The space that a parcel takes."""
    if min(length_mm, width_mm, height_mm) < 1:
        raise ShippingError(f"{length_mm} x {width_mm} x {height_mm} mm")
    return length_mm * width_mm * height_mm


def longest_side(length_mm: int, width_mm: int, height_mm: int) -> int:
    """The longest of the three measures."""
    return max(length_mm, width_mm, height_mm)
#:if R18


def billable_g(weight_g: int, length_mm: int, width_mm: int, height_mm: int, *, <<bill_kw>>: int = MM3_PER_GRAM) -> int:
    """The grams that a carrier bills: the real ones or those of the space, whichever is more."""
    counted = max(weight_g, volume_mm3(length_mm, width_mm, height_mm) // <<bill_kw>>)
    step = <<bill_step>>
    return <<bill_round.code>>
#:end
#:if R19


def girth(length_mm: int, width_mm: int, height_mm: int) -> Tuple[object, object]:
    """The girth of a parcel, and the word for one that is too large for the belt."""
    longest = longest_side(length_mm, width_mm, height_mm)
    around = longest + 2 * (length_mm + width_mm + height_mm - longest)
    mark: Optional[str] = "<<girth_word>>" if around <<girth_op>> <<girth_mm>> else None
    return <<girth_shape.code>>
#:end
