"""What connects a run's session with the loop: events, paused calls, times."""

from __future__ import annotations

import time

from . import barrier
from .arming import TESTS_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .arming import VisibleTests
    from .loop import Loop
    from .run import Run
    from .session import Session

LOOK_FOR_TESTS = LOOK_FOR_COMMIT = 0.05


class Supervision:
    """Watches over one run; `finish` is called when its session is cut.

    `visible` are the tests that must pass before the session's rule is armed.
    """

    def __init__(
        self, loop: Loop, run: Run, session: Session, finish: Callable[[], None], visible: VisibleTests | None
    ) -> None:
        self._loop, self._run, self._session, self._finish = loop, run, session, finish
        self._visible = visible
        self._until = 0.0  # when the visible tests have taken too long
        session.tell(run.edit, run.test, self._armed)
        self._names = {what: "%s %d" % (what, run.id) for what in ("cutoff", "tests", "held", "commit", "visible")}

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
        if session.arming:
            session.arming.start = self._start_visible if self._visible else None
            self._look_for_commit()
        else:
            self._count_seconds(self._run.began)

    def look(self) -> None:
        """Look at what has happened, and let go on what waited for that."""
        self._session.look()
        self._session.gate.release()
        self._after_look()

    def admits(self) -> bool:
        """Look at what has happened, and say whether what the agent does next may come to pass."""
        admitted = self._session.look()
        self._after_look()
        return admitted

    def child_ended(self, pid: int, status: int) -> bool:
        """Some process has ended: whether it belongs here."""
        return self._visible is not None and self._visible.ended(pid, status)

    def children_ended(self) -> None:
        """All who have ended so far are gathered."""
        if self._visible and self._visible.over:
            self._visible_over()

    def end(self) -> None:
        """Listen no more; before the session is closed."""
        for name in self._names.values():
            self._loop.cancel(name)
        if self._visible:
            self._visible.close()
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
        session = self._session
        patience = session.gate.patience
        if session.cut:
            self._finish()
        elif patience and not (session.arming and session.arming.testing):
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

    def _look_for_commit(self) -> None:
        if self._session.arming and not self._session.arming.armed:
            # Set before it is looked: the look may be what ends all this.
            self._loop.at(self._names["commit"], time.monotonic() + LOOK_FOR_COMMIT, self._look_for_commit)
            self.look()

    def _start_visible(self) -> None:
        self._until = time.monotonic() + TESTS_LIMIT
        self._try_visible()

    def _try_visible(self) -> None:
        """Start the visible tests; again in a moment, if there can be no more processes just now."""
        started = self._visible is not None and self._visible.start()
        if started or time.monotonic() > self._until:
            self._loop.at(self._names["visible"], self._until, self._visible_over)
        else:
            self._loop.at(self._names["visible"], time.monotonic() + LOOK_FOR_COMMIT, self._try_visible)

    def _visible_over(self) -> None:
        """The visible tests have ended, or have taken too long."""
        session, visible = self._session, self._visible
        if visible is None or session.arming is None:
            return
        self._loop.cancel(self._names["visible"])
        passed, gone = visible.result()
        if not gone:
            session.problem = session.problem or "what the visible tests started could not be ended"
        session.settle()
        session.arming.tested(passed)
        self.look()

    def _armed(self, commit: bytes) -> None:
        self._run.armed(commit)
        self._count_seconds(time.monotonic())

    def _count_seconds(self, start: float) -> None:
        if self._session.rule.name == "seconds":
            self._loop.at(self._names["cutoff"], start + self._session.rule.n, self._time_is_up)
