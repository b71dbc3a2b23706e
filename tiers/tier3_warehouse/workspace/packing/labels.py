"""Numbers and labels of parcels."""

from __future__ import annotations

from typing import List

from .errors import PackingError


def parcel_number(order: str, index: int) -> str:
    """The number of the index-th parcel of an order, counted from 1."""
    if index < 1:
        raise PackingError(f"parcel {index} of {order}")
    return f"{order}/{index:02d}"


def check_digit(number: str) -> int:
    """The last digit of a label: the digits of the number, every other one three times, up to the next ten."""
    digits = [int(char) for char in reversed(number) if char.isdigit()]
    return -sum(digit * (1 if place % 2 else 3) for place, digit in enumerate(digits)) % 10


def address_lines(address: str) -> List[str]:
    """An address as it is printed: one line for each part, blanks squeezed, at most five."""
    parts = [" ".join(part.split()) for part in address.split(",")]
    return [part for part in parts if part][:5]
