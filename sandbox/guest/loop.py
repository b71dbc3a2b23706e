"""The one loop of PID 1: descriptors and times, no threads."""

from __future__ import annotations

import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

IN, OUT = select.EPOLLIN, select.EPOLLOUT


class Loop:
    """Calls back when a descriptor is ready or a time has come; urgent descriptors first."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._calls: dict[int, Callable[[], None]] = {}
        self._urgent: set[int] = set()
        self._times: dict[str, tuple[float, Callable[[], None]]] = {}
        self.hung_up = False  # for the descriptor being called: only its other end's going is to be told

    def add(self, descriptor: int, call: Callable[[], None], events: int = IN, urgent: bool = False) -> None:
        """Call when the descriptor is ready (or its other end has gone)."""
        self._poll.register(descriptor, events)
        self._calls[descriptor] = call
        if urgent:
            self._urgent.add(descriptor)

    def change(self, descriptor: int, events: int) -> bool:
        """Wait for other events of a descriptor; False if it is unknown."""
        if descriptor not in self._calls:
            return False
        self._poll.modify(descriptor, events)
        return True

    def remove(self, descriptor: int) -> None:
        """Forget a descriptor; before it is closed. Unknown ones are no error."""
        if self._calls.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)
            self._urgent.discard(descriptor)

    def at(self, name: str, when: float, call: Callable[[], None]) -> None:
        """Call once at a monotonic time; a second time of the same name replaces the first."""
        self._times[name] = when, call

    def cancel(self, name: str) -> None:
        """Forget a time."""
        self._times.pop(name, None)

    def step(self, idle: bool = True) -> None:
        """Wait for something (not at all unless `idle`), and do what is due."""
        timeout = -1.0 if idle else 0.0
        if self._times and idle:
            timeout = max(0.0, min(when for when, _ in self._times.values()) - time.monotonic())
        ready = self._poll.poll(timeout)
        if self._urgent and len(ready) > 1:
            ready.sort(key=lambda pair: pair[0] not in self._urgent)
        for descriptor, events in ready:
            call = self._calls.get(descriptor)  # an earlier call may have removed it
            if call:
                self.hung_up = not events & (IN | OUT)
                call()
        if self._times:
            now = time.monotonic()
            for name, (when, call) in list(self._times.items()):
                if when <= now and self._times.get(name) == (when, call):
                    del self._times[name]
                    call()
