"""Which paused calls go on, and when: after everything before them was looked at, and source files in turn."""

from __future__ import annotations

import time
from collections import deque

from .hold import PATIENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .barrier import Call, Listener
    from .hold import Hold

# How long the effect of a call that went on may take to show up in inotify's queue, in seconds.
EFFECT = 1.0
MAX_FLIGHT = 4096


class Gate:
    """`clear()` looks at what has happened and says whether calls may go on; `passes(call)` is asked of each once."""

    def __init__(self, hold: Hold, clear: Callable[[], bool], passes: Callable[[Call], bool]) -> None:
        self.listener: Listener | None = None
        self.hold = hold
        self._clear, self._passes = clear, passes
        self._waiting: deque[Call] = deque()
        self._held: deque[tuple[Call, bytes, float]] = deque()  # calls that wait for another thread's edit
        self._flight: dict[int, tuple[Call, float]] = {}  # thread: its last call that went on, when

    def arrived(self) -> None:
        """A call has come to the barrier."""
        call = self.listener.take() if self.listener else None
        if call:
            self._waiting.append(call)
        self.release()

    def release(self) -> None:
        """Let the waiting calls go on, if the session does."""
        while self._waiting and self._clear():
            call = self._waiting.popleft()
            self.hold.moved_on(call.tid)
            if not self._passes(call):
                return
            target = self.hold.target(call)
            if target is None:
                self._let(call, None)
            else:
                self._held.append((call, target, time.monotonic() + PATIENCE))
        for _ in range(len(self._held)):
            call, target, until = self._held.popleft()
            if self._has_turn(call, until):
                self._let(call, target)
            else:
                self._held.append((call, target, until))

    @property
    def patience(self) -> float | None:
        """When a held call must be looked at again (monotonic seconds)."""
        return min((until for _, _, until in self._held), default=None)

    def renew(self) -> None:
        """Everybody was kept waiting for something else: those who wait for another's edit begin to wait anew."""
        until = time.monotonic() + PATIENCE
        self._held = deque((call, target, until) for call, target, _ in self._held)

    def took_effect(self, *names: str) -> bool:
        """Whether a call of this kind that went on may be what was just seen; it is used up then."""
        now = time.monotonic()
        for tid, (call, since) in self._flight.items():
            if call.name in names and now - since < EFFECT:
                del self._flight[tid]
                return True
        return False

    @property
    def opening(self) -> bool:
        """Whether a call that went on may be creating a file by opening it."""
        now = time.monotonic()
        return any(call.creates and now - since < EFFECT for call, since in self._flight.values())

    def close(self) -> None:
        """Give the barrier up, when nobody is left behind it."""
        if self.listener:
            self.listener.close()

    def _has_turn(self, call: Call, until: float) -> bool:
        while True:
            free = self.hold.admits(call.tid) or time.monotonic() >= until
            # Looked at after asking, not before: a writer that has gone by now has left its edit in the queue.
            if not self._clear():
                return False
            if free or not self.hold.admits(call.tid):
                return free

    def _let(self, call: Call, target: bytes | None) -> None:
        if target is not None:
            self.hold.begins(call, target)
        now = time.monotonic()
        if len(self._flight) >= MAX_FLIGHT:
            self._flight = {tid: seen for tid, seen in self._flight.items() if now - seen[1] < EFFECT}
        self._flight[call.tid] = call, now
        if self.listener:
            self.listener.let(call)
