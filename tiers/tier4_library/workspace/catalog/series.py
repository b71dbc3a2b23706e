"""Series: titles that belong together, with a number each."""

from __future__ import annotations

from typing import Dict, List, Optional

from .titles import CatalogError

Series = Dict[int, str]


def add_volume(series: Series, number: int, code: str) -> Series:
    """The series with one more volume."""
    if number < 1:
        raise CatalogError(f"volume {number}")
    if number in series:
        raise CatalogError(f"volume {number} is {series[number]} already")
    if code in series.values():
        raise CatalogError(f"{code} is in the series already")
    return {**series, number: code}


def gaps(series: Series) -> List[int]:
    """The numbers of volumes that are missing below the last one."""
    return [number for number in range(1, max(series, default=0)) if number not in series]


def after(series: Series, code: str) -> Optional[str]:
    """The volume to read next; None after the last."""
    numbers = sorted(series)
    for number, following in zip(numbers, numbers[1:]):
        if series[number] == code:
            return series[following]
    return None
