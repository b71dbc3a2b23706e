"""Sandboxes that are opened early and closed late: none is lost, whatever fails in between, and none is waited for twice."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping

import pytest
from fakes import FakeEngine, FakeSandbox

from takeover.sandbox.engine import NO_LABELS
from takeover.sandbox.errors import EngineUnavailable, ImageUnfit, SandboxDied, WireTimeout
from takeover.sandbox.limits import Limits
from takeover.trials.ahead import Ahead

LIMITS = Limits()


class Closing(FakeEngine):
    """An engine that fails as a sandbox is closed."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    @contextlib.contextmanager
    def open(self, image: str, *, limits: Limits, labels: Mapping[str, str] = NO_LABELS) -> Iterator[FakeSandbox]:
        with super().open(image, limits=limits, labels=labels) as sandbox:
            yield sandbox
            raise self._error


def test_what_was_expected_is_what_is_opened() -> None:
    """One container each, whether it was opened early or not; all are gone at the end, also those that nobody took."""
    engine = FakeEngine(images=("sandbox", "agent"))
    with Ahead(engine) as opener:
        for _ in range(2):
            opener.expect("sandbox", limits=LIMITS)
        opener.expect("agent", limits=LIMITS)
        with opener.open("sandbox", limits=LIMITS), opener.open("sandbox", limits=LIMITS):
            pass
        with opener.open("sandbox", limits=LIMITS):
            pass

    assert len(engine.opened) == 4
    assert engine.alive == 0


def test_other_limits_or_labels_are_another_sandbox() -> None:
    """What was opened for one purpose is never handed out for another."""
    engine = FakeEngine()
    with Ahead(engine) as opener:
        opener.expect("sandbox", limits=LIMITS, labels={"a": "1"})
        with opener.open("sandbox", limits=Limits(memory=1 << 28), labels={"a": "1"}):
            pass
        with opener.open("sandbox", limits=LIMITS, labels={"a": "2"}):
            pass

    assert len(engine.opened) == 3
    assert engine.alive == 0


def test_an_error_of_opening_early_is_told_to_who_opens() -> None:
    """An image that is missing is no error until somebody wants it, and is one then."""
    engine = FakeEngine(images=("sandbox",))
    with Ahead(engine) as opener:
        opener.expect("gone", limits=LIMITS)
    with Ahead(engine) as opener:
        opener.expect("gone", limits=LIMITS)
        with pytest.raises(ImageUnfit, match="gone"), opener.open("gone", limits=LIMITS):
            pass


def test_an_error_in_the_middle_closes_everything_and_stays_what_it_is() -> None:
    """The sandbox in use, the one expected and the one being closed: all are gone when the error is told."""
    engine = FakeEngine()

    def work() -> None:
        with Ahead(engine) as opener:
            opener.expect("sandbox", limits=LIMITS)
            opener.expect("sandbox", limits=LIMITS)
            with opener.open("sandbox", limits=LIMITS):
                pass
            with opener.open("sandbox", limits=LIMITS):
                raise SandboxDied("on purpose")

    with pytest.raises(SandboxDied, match="on purpose"):
        work()
    assert engine.alive == 0


@pytest.mark.parametrize("error", [EngineUnavailable("no answer"), WireTimeout("too slow")])
def test_a_sandbox_that_cannot_be_closed_takes_no_verdict_along(error: Exception) -> None:
    """What was found out in it stands; that it could not be closed is kept as a trouble."""
    with Ahead(Closing(error)) as opener, opener.open("sandbox", limits=LIMITS):
        found = "a verdict"

    assert found == "a verdict"
    assert opener.troubles == [str(error)]


def test_a_bug_in_closing_is_not_swallowed() -> None:
    """An error that is none of ours is told."""

    def work() -> None:
        with Ahead(Closing(ZeroDivisionError())) as opener, opener.open("sandbox", limits=LIMITS):
            pass

    with pytest.raises(ZeroDivisionError):
        work()


def test_slow_openings_do_not_wait_for_each_other_for_ever() -> None:
    """More sandboxes expected than threads, none taken, and an error: leaving ends."""
    gate = threading.Event()

    class Slow(FakeEngine):
        @contextlib.contextmanager
        def open(self, image: str, *, limits: Limits, labels: Mapping[str, str] = NO_LABELS) -> Iterator[FakeSandbox]:
            gate.wait(10)
            with super().open(image, limits=limits, labels=labels) as sandbox:
                yield sandbox

    engine = Slow()

    def work() -> None:
        with Ahead(engine) as opener:
            for _ in range(9):
                opener.expect("sandbox", limits=LIMITS)
            threading.Timer(0.2, gate.set).start()
            raise SandboxDied("on purpose")

    with pytest.raises(SandboxDied):
        work()
    assert (len(engine.opened), engine.alive) == (9, 0)
