"""The agent's HTTP requests during one command: their frames in, a thread for each, responses out.

Responses go to the guest no faster than the agent reads them: at most WINDOW bytes of one are under way at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .answers import Fields
from .errors import WireBroken
from .gateway.desk import TYPES, Desk
from .gateway.exchange import PART_LIMIT, Gone, HttpRequest, ResponsePart
from .sandbox import OnRequest

TAKEN: Final = "response-taken"
FRAMES: Final = TYPES | {TAKEN}
# More than one part and what the guest may have sent on without telling yet, or the two would wait for each other.
WINDOW: Final = 2 << 20
# What one guest can have begun; it has room for far fewer connections.
_OPEN_LIMIT: Final = 1024

Send = Callable[[Mapping[str, Any], bytes], None]


class Courier:
    """Takes responses to the guest; for any thread. What is for somebody who has hung up is dropped."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._under_way: dict[int, int] = {}  # exchange: bytes of its response that the agent has not taken yet
        self._changed = threading.Condition()

    def begin(self, number: int) -> None:
        """A request has come."""
        with self._changed:
            if len(self._under_way) >= _OPEN_LIMIT:
                raise WireBroken("the sandbox has more requests open than it has connections")
            self._under_way[number] = 0

    def taken(self, number: int, count: int) -> None:
        """The agent has taken so many bytes of a response."""
        with self._changed:
            if number in self._under_way:
                self._under_way[number] = max(0, self._under_way[number] - count)
                self._changed.notify_all()

    def forget(self, number: int) -> None:
        """Nobody waits for this response any more."""
        with self._changed:
            self._under_way.pop(number, None)
            self._changed.notify_all()

    def close(self) -> None:
        """Nobody waits for any."""
        with self._changed:
            self._under_way.clear()
            self._changed.notify_all()

    def send(self, header: Mapping[str, Any], body: bytes) -> None:
        """Send (a part of) a response when there is room for it."""
        number, last = header["id"], not header.get("more")
        for start in range(0, len(body) or 1, PART_LIMIT):
            piece = body[start : start + PART_LIMIT]
            more = not last or start + PART_LIMIT < len(body)
            if not self._has_room(number, len(piece)):
                return
            self._send({**header, "more": more}, piece)
            header = {"t": "response-body", "id": number}
        if last:
            self.forget(number)

    def _has_room(self, number: int, size: int) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: not 0 < self._under_way.get(number, 0) > WINDOW - size)
            if number not in self._under_way:
                return False
            self._under_way[number] += size
            return True


@dataclass(frozen=True, slots=True)
class _Handler:
    answer: OnRequest

    def handle(self, request: HttpRequest, gone: Gone | None = None) -> Iterator[ResponsePart]:
        return self.answer(request, gone or Gone())


class Exchanges:
    """All requests of one command; `send` writes a frame to the guest and may be called by any thread.

    `on_broken` is called once, in the thread of the request, when answering raised what `broken` then holds.
    """

    def __init__(self, on_request: OnRequest, send: Send, on_broken: Callable[[], None] = lambda: None) -> None:
        self._courier = Courier(send)
        self._desk = Desk(_Handler(on_request), self._courier.send, on_broken)

    @property
    def broken(self) -> BaseException | None:
        """What answering a request raised, which it never should."""
        return self._desk.broken

    def take(self, header: Mapping[str, Any], body: bytes) -> None:
        """Take one frame of these FRAMES; nothing here waits."""
        number = Fields(header).count("id")
        if header["t"] == TAKEN:
            self._courier.taken(number, Fields(header).count("n"))
            return
        if header["t"] == "request":
            self._courier.begin(number)
        elif header["t"] == "request-gone":
            self._courier.forget(number)
        self._desk.take(header, body)

    def close(self) -> None:
        """The agent is gone, and with it whoever asked; what still answers is told so, and not waited for."""
        self._courier.close()
        self._desk.close(0.0)
