"""How much data a contact brings down, in kilobytes."""

from __future__ import annotations

#:if R3
from typing import Dict, List, Tuple

#:end
BITS = 8


class VolumeError(ValueError):
    """An amount of data, or a rate, that makes no sense."""
#:if R3


class <<down_error>>(VolumeError):
    """A contact that holds less than nothing."""
#:end


def kilobytes(seconds: int, kbps: int) -> int:
    """What comes down in that time, rounded down."""
    if seconds < 0 or kbps < 0:
        raise VolumeError(f"{seconds} s at {kbps} kbit/s")
    return seconds * kbps // BITS


def seconds_for(kilobytes_wanted: int, kbps: int) -> int:
    """How long so much data takes, rounded up."""
    if kbps < 1:
        raise VolumeError("nothing comes down without a rate")
    return -(-kilobytes_wanted * BITS // kbps)


def fits(kilobytes_wanted: int, seconds: int, kbps: int) -> bool:
    """Whether so much data comes down in that time."""
    return kilobytes(seconds, kbps) >= kilobytes_wanted
#:if R3


def fill_pass(files: List[Tuple[str, int]], capacity_kb: int, *, <<reserve_kw>>: int = <<reserve_pct>>) -> Dict[str, object]:
    """Which files a contact brings down; each file is a name and its kilobytes."""
    if capacity_kb < 0:
        raise <<down_error>>(f"capacity_kb is {capacity_kb}")
    reserve = -(-capacity_kb * <<reserve_kw>> // 100)
    left = capacity_kb - reserve
    taken: List[str] = []
    by_name = sorted(files, key=lambda file: file[0], reverse=<<down_ties.code>>)
    for name, size in sorted(by_name, key=lambda file: <<down_order.code>>):
        needed = size + <<head_kb>> if size <<op_bulk>> <<bulk_kb>> else size
        if needed <= left:
            taken.append(name)
            left -= needed
    return {"<<down_key>>": taken, "spare_kb": left + reserve}
#:end
