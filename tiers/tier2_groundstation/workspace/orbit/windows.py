"""Spans of time as pairs (start, end) in whole seconds; the end is not part of a span."""

from __future__ import annotations

from typing import List, Tuple

Window = Tuple[int, int]


class BadWindow(ValueError):
    """A span that ends before it starts."""


def length(window: Window) -> int:
    """The seconds of a span."""
    start, end = window
    if end < start:
        raise BadWindow(f"{start} to {end}")
    return end - start


def overlap(one: Window, other: Window) -> int:
    """The seconds that two spans share."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def merged(windows: List[Window]) -> List[Window]:
#:if joins_touching
    """The same time in as few spans as possible, by start; spans that touch become one."""
#:else
    """The same time without overlaps, by start."""
#:end
    found: List[Window] = []
    for start, end in sorted(windows):
#:if joins_touching
        if found and start <= found[-1][1]:
#:else
        if found and start < found[-1][1]:
#:end
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def gaps(windows: List[Window], frame: Window) -> List[Window]:
    """What the spans leave free of a frame."""
    start, end = frame
    free: List[Window] = []
    for busy_start, busy_end in merged(windows):
        if busy_end <= start or busy_start >= end:
            continue
        if busy_start > start:
            free.append((start, busy_start))
        start = busy_end
    if start < end:
        free.append((start, end))
    return free
