"""Work that goes on after an interrupt, and interrupts that never end: whoever stops listening is let go at once."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

from takeover.sandbox.errors import EngineUnavailable
from takeover.trials.executor import LocalExecutor


def test_work_that_has_not_begun_is_not_waited_for() -> None:
    """With more trials than threads an interrupt ends when those under way have ended; the others never begin."""
    begun: list[int] = []
    stop = threading.Event()

    def work(number: int) -> int:
        begun.append(number)
        if number:
            stop.wait(30)
        return number

    outcomes = LocalExecutor(2, stop.set).run(range(20), work)
    assert next(outcomes) == 0
    ended = threading.Thread(target=outcomes.close, daemon=True)
    ended.start()
    ended.join(10)

    assert not ended.is_alive()
    assert len(begun) < 20


def test_an_engine_that_is_gone_does_not_hide_the_interrupt() -> None:
    """Sweeping up fails, and it is still the interrupt that is told."""
    calls: list[float] = []

    def abort() -> None:
        calls.append(time.monotonic())
        raise EngineUnavailable("gone")

    def listen() -> None:
        with contextlib.closing(LocalExecutor(1, abort).run(range(3), lambda number: number)) as outcomes:
            for _ in outcomes:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        listen()
    assert len(calls) == 2
