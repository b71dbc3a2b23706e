"""Copies of titles: the things that stand on shelves, each with a barcode."""

from __future__ import annotations

from typing import Dict, List, TypedDict

STATES = ("shelf", "out", "repair", "lost")
DIGITS = 8


class Copy(TypedDict):
    """One copy."""

    barcode: str
    title: str
    state: str


def check_digit(digits: str) -> int:
    """The digit that belongs at the end: what the others, weighted 3 and 1 by turns, lack to a multiple of ten."""
    total = sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(digits))
    return -total % 10


def is_barcode(text: str) -> bool:
    """Whether a text is a barcode: eight digits, of which the last is right."""
    return len(text) == DIGITS and text.isdigit() and check_digit(text[:-1]) == int(text[-1])


def count_by_state(copies: List[Copy], title: str) -> Dict[str, int]:
    """How many copies of a title are in each state; all states are named."""
    found = dict.fromkeys(STATES, 0)
    for copy in copies:
        if copy["title"] == title:
            found[copy["state"]] += 1
    return found


def available(copies: List[Copy], title: str) -> List[str]:
    """The barcodes of the copies of a title that stand on the shelf, ascending."""
    return sorted(copy["barcode"] for copy in copies if copy["title"] == title and copy["state"] == "shelf")
#:if R4


def worn_out(lent: Dict[str, int], *, <<worn_kw>>: int = <<worn_times>>) -> List[str]:
    """The barcodes of copies that were lent too often, from a dict of barcode and times."""
    found = [barcode for barcode, times in lent.items() if times <<worn_op>> <<worn_kw>>]
    return sorted(found, key=lambda barcode: (<<worn_order.code>>, barcode))
#:end
#:if R30


def copies_wanted(waiting: int, owned: int, *, <<want_kw>>: int = <<want_ratio>>) -> int:
    """How many copies of a title to buy."""
    each = <<want_kw>>
    return min(max(<<want_round.code>> - owned, 0), <<want_max>>)
#:end
