"""Trials side by side."""

from __future__ import annotations

import contextlib
import threading

import pytest

from takeover.trials.executor import LocalExecutor


def test_everything_is_yielded() -> None:
    """Each work's result comes once, whatever the order."""
    assert sorted(LocalExecutor(3, lambda: None).run(range(10), lambda n: n * n)) == [n * n for n in range(10)]


@pytest.mark.parametrize("how", ["close", "raise"])
def test_whoever_stops_listening_does_not_wait_for_what_has_not_begun(how: str) -> None:
    """Works under way are aborted and waited for, those still queued are dropped, and nothing hangs."""
    stop, begun = threading.Event(), []

    def work(number: int) -> int:
        begun.append(number)
        if number:
            assert stop.wait(30)
        return number

    results = LocalExecutor(2, stop.set).run(range(50), work)
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(results):
        assert next(results) == 0
        if how == "raise":
            results.throw(KeyboardInterrupt)

    assert stop.is_set()
    assert len(begun) < 50
