"""Units, cases and pallets."""

from __future__ import annotations

from typing import Tuple

from .goods import CatalogError

CASES_PER_PALLET = 40


def split_cases(units: int, case_size: int) -> Tuple[int, int]:
    """How many full cases the units make, and how many units remain loose."""
    if case_size < 1:
        raise CatalogError(f"a case of {case_size} units")
    return divmod(units, case_size)


def pallets(cases: int) -> int:
    """How many pallets the cases stand on; one that is begun counts."""
    return -(-cases // CASES_PER_PALLET)


def full_cases(units: int, case_size: int) -> int:
    """The units rounded up to whole cases."""
    cases, loose = split_cases(units, case_size)
    return (cases + (1 if loose else 0)) * case_size
