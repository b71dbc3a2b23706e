"""What connects a run's session with the loop: events, paused calls, times."""

from __future__ import annotations

import time

from . import barrier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .loop import Loop
    from .run import Run
    from .session import Session

LOOK_FOR_TESTS = 0.05


class Supervision:
    """Watches over one run; `finish` is called when its session is cut."""

    def __init__(self, loop: Loop, run: Run, session: Session, finish: Callable[[], None]) -> None:
        self._loop, self._run, self._session, self._finish = loop, run, session, finish
        session.tell(run.edit, run.test)
        self._names = {what: "%s %d" % (what, run.id) for what in ("cutoff", "tests", "held")}

    def begin(self, machine: str, no_barrier: str) -> None:
        """Listen from here on; `no_barrier` is why, if the run has come without a listener."""
        session, listener = self._session, self._run.child.listener
        self._loop.add(session.watch.fd, self.look, urgent=True)
        if listener is not None:
            session.gate.listener = barrier.Listener(listener, machine)
            self._loop.add(listener, self._call_arrived, urgent=True)
        elif session.rule.barrier:
            session.problem = no_barrier
        if session.rule.watches_tests:
            self._look_for_tests()
        if session.rule.name == "seconds":
            self._loop.at(self._names["cutoff"], self._run.began + session.rule.n, self._time_is_up)

    def look(self) -> None:
        """Look at what has happened, and let go on what waited for that."""
        self._session.settle()
        self._session.gate.release()
        self._after_look()

    def end(self) -> None:
        """Listen no more; before the session is closed."""
        for name in self._names.values():
            self._loop.cancel(name)
        session = self._session
        descriptors = [session.watch.fd, *session.tests.descriptors]
        if session.gate.listener:
            descriptors.append(session.gate.listener.fd)
        for descriptor in descriptors:
            self._loop.remove(descriptor)

    def _call_arrived(self) -> None:
        gate = self._session.gate
        if self._loop.hung_up and gate.listener:
            self._loop.remove(gate.listener.fd)  # nobody is left behind the barrier
            return
        gate.arrived()
        self._after_look()

    def _after_look(self) -> None:
        patience = self._session.gate.patience
        if self._session.cut:
            self._finish()
        elif patience:
            self._loop.at(self._names["held"], patience, self.look)

    def _time_is_up(self) -> None:
        self._session.settle()
        self._session.end("time")
        self._after_look()

    def _look_for_tests(self) -> None:
        for descriptor in self._session.tests.look():
            self._loop.add(descriptor, lambda descriptor=descriptor: self._test_ended(descriptor))  # type: ignore[misc]
        self._loop.at(self._names["tests"], time.monotonic() + LOOK_FOR_TESTS, self._look_for_tests)

    def _test_ended(self, descriptor: int) -> None:
        self._loop.remove(descriptor)
        self._session.settle()
        self._session.tests.ended(descriptor)
        self._after_look()
