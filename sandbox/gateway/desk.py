"""Where the frames of the wire meet the gateway: requests are put together, responses taken apart, a thread for each.

    guest -> host   request {id, method, path, headers, more} + body    request-body {id, more} + body    request-gone {id}
    host -> guest   response {id, status, headers, more} + body         response-body {id, more, cut?} + body

`more: false` ends either; `cut: true` ends a response that did not come to its end, so that the agent must see a
connection that broke.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Protocol

from ..errors import WireBroken
from .exchange import BODY_LIMIT, Gone, Headers, HttpRequest, ResponsePart
from .refusal import Refusal
from .routes import provider_of

# More requests than this at one time are no agent's work.
LIVE_LIMIT: Final = 64
# What all requests may hold together, from their first byte until they are answered.
HELD_LIMIT: Final = 512 << 20
# An empty list is three bytes of JSON and takes so many here.
_VALUE_BYTES: Final = 72
TYPES: Final = frozenset(["request", "request-body", "request-gone"])


class Handler(Protocol):
    """What answers requests: a Gateway."""

    def handle(self, request: HttpRequest, gone: Gone | None = None) -> Iterator[ResponsePart]:
        """The response to a request, as it comes."""


@dataclass
class _Incoming:
    method: str
    path: str
    headers: Headers
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0


class Desk:
    """Takes the guest's frames of these TYPES; `send` writes a frame to the guest and may be called by any thread.

    A handler that raises is broken: the agent sees a connection that breaks, and `on_broken` is called, once.
    """

    def __init__(
        self,
        handler: Handler,
        send: Callable[[Mapping[str, Any], bytes], None],
        on_broken: Callable[[], None] = lambda: None,
    ) -> None:
        self.broken: BaseException | None = None
        self._handler = handler
        self._send = send
        self._on_broken = on_broken
        self._incoming: dict[int, _Incoming] = {}
        self._gone: dict[int, Gone] = {}
        self._threads: set[threading.Thread] = set()
        self._held = 0
        self._open = True
        self._lock = threading.Lock()

    def take(self, header: Mapping[str, Any], body: bytes) -> None:
        """Take one frame. Raises WireBroken for one that cannot be; nothing here waits."""
        kind, number = header.get("t"), header.get("id")
        if not isinstance(number, int) or isinstance(number, bool):
            raise WireBroken("a request from the sandbox has no number")
        if kind == "request":
            self._begin(number, header)
            self._more(number, header, body)
        elif kind == "request-body":
            self._more(number, header, body)
        elif kind == "request-gone":
            with self._lock:
                dropped = self._incoming.pop(number, None)
                self._held -= dropped.size if dropped else 0
                gone = self._gone.get(number)
            if gone is not None:
                gone.set()
        else:
            raise WireBroken(f"a request from the sandbox has an unknown type {str(kind)[:40]!r}")

    def close(self, seconds: float = 1.0) -> None:
        """The agent is gone: no response goes out any more. Waits so long for the threads; close the gateway next."""
        with self._lock:
            self._open = False
            for gone in self._gone.values():
                gone.set()
            threads = list(self._threads)
        deadline = time.monotonic() + seconds
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _begin(self, number: int, header: Mapping[str, Any]) -> None:
        with self._lock:
            if number in self._incoming or number in self._gone:
                raise WireBroken(f"the sandbox used the number of request {number} again")
            method, path = header.get("method"), header.get("path")
            if not isinstance(method, str) or not isinstance(path, str):
                raise WireBroken("a request from the sandbox has no method or no path")
            self._incoming[number] = _Incoming(method, path, _headers(header.get("headers")))

    def _more(self, number: int, header: Mapping[str, Any], body: bytes) -> None:
        with self._lock:
            incoming = self._incoming.get(number)
            if incoming is None:
                # It was refused, or is gone: frames that were under way.
                return
            incoming.size += len(body)
            self._held += len(body)
            fits = incoming.size <= BODY_LIMIT and self._held <= HELD_LIMIT and len(self._gone) < LIVE_LIMIT
            if fits:
                incoming.pieces.append(body)
                if header.get("more") is True:
                    return
            del self._incoming[number]
            data = b"".join(incoming.pieces)
            weight = _weight(data) if fits else 0
            fits = fits and self._held - incoming.size + weight <= HELD_LIMIT
            self._held += (weight if fits else 0) - incoming.size
            if not self._open:
                return
        request = HttpRequest(incoming.method, incoming.path, incoming.headers, data)
        if not fits:
            busy = incoming.size <= BODY_LIMIT and weight <= HELD_LIMIT
            message = "Too many requests at one time." if busy else "The request is too large."
            self._respond(number, Refusal(provider_of(request), 404 if busy else 413, message).parts())
            return
        gone = Gone()
        thread = threading.Thread(
            target=self._work, args=(number, request, gone, weight), name=f"gateway-{number}", daemon=True
        )
        with self._lock:
            self._gone[number] = gone
            self._threads.add(thread)
        thread.start()

    def _work(self, number: int, request: HttpRequest, gone: Gone, weight: int) -> None:
        try:
            with _Boundary(lambda error: self._broke(number, error, gone)):
                self._respond(number, self._handler.handle(request, gone), gone)
        finally:
            with self._lock:
                self._gone.pop(number, None)
                self._held -= weight
                self._threads.discard(threading.current_thread())

    def _broke(self, number: int, error: BaseException, gone: Gone) -> None:
        with self._lock:
            first, self.broken = self.broken is None, self.broken or error
        if first:
            self._on_broken()
        self._respond(number, iter([ResponsePart(cut=True)]), gone)

    def _respond(self, number: int, parts: Iterator[ResponsePart], gone: Gone | None = None) -> None:
        """Send the parts. When the agent is gone, the iterator still runs to its end: it keeps the books."""
        for part in parts:
            if not self._open or (gone is not None and gone.is_set()):
                continue
            header: dict[str, Any] = {"t": "response-body", "id": number, "more": part.more}
            if part.status is not None:
                header.update(t="response", status=part.status, headers=[list(one) for one in part.headers])
            if part.cut:
                header["cut"] = True
            try:
                self._send(header, part.body)
            except (OSError, ValueError, WireBroken):
                # The wire is gone, and with it the agent.
                if gone is None:
                    return
                gone.set()


class _Boundary:
    """Nothing leaves a thread's work but to whom it is told."""

    def __init__(self, tell: Callable[[BaseException], None]) -> None:
        self._tell = tell

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self._tell(error)
        return True


def _weight(body: bytes) -> int:
    """What a body takes while it is answered: as it is, as it goes out, and as the values that it may hold."""
    return 2 * len(body) + _VALUE_BYTES * sum(map(body.count, (b",", b"[", b"{")))


def _headers(value: Any) -> Headers:
    pairs = value if isinstance(value, list) else []
    made = [tuple(pair) for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2]
    return tuple((str(name), str(one)) for name, one in made)
