"""One measured number beside what it is measured against."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """`value` and `floor` in `unit`; `ratio` is value / floor where there is a floor; `target` bounds what `judged` names."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    target: float | None = None
    judged: str = "ratio"
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return None if not self.floor else self.value / self.floor

    @property
    def held(self) -> bool | None:
        """Whether the target is held; None where there is none."""
        measured = self.ratio if self.judged == "ratio" else self.value
        return None if self.target is None or measured is None else measured <= self.target


def interleaved(works: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The median seconds of each work, taken in turns, so that a slow moment of the machine hits them all."""
    seconds: list[list[float]] = [[] for _ in works]
    for work in works:
        work()
    for _ in range(rounds):
        for taken, work in zip(seconds, works, strict=True):
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in seconds]
