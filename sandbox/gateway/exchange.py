"""HTTP as it comes from an agent and goes back to it, taken apart. Both sides of it are hostile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

Headers = tuple[tuple[str, str], ...]

# What one frame of the wire carries.
PART_LIMIT: Final = 1 << 20
# An agent's request with pictures in it is large; one beyond this is no request.
BODY_LIMIT: Final = 64 << 20
HEADERS_LIMIT: Final = 64 << 10
PATH_LIMIT: Final = 2048


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request: `path` is the target of the request line, query included."""

    method: str
    path: str
    headers: Headers = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)

    def header(self, name: str) -> str | None:
        """The first header of this name, whatever its case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class ResponsePart:
    """A piece of a response. The first one has the status; `cut` ends a response that did not come to its end."""

    body: bytes = field(default=b"", repr=False)
    more: bool = False
    status: int | None = None
    headers: Headers = ()
    cut: bool = False


class Gone:
    """Whether the agent has hung up; who waits for something on its behalf can ask to be told."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._calls: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def set(self) -> None:
        """It has."""
        with self._lock:
            self._event.set()
            calls, self._calls = self._calls, []
        for call in calls:
            call()

    def is_set(self) -> bool:
        """Whether it has."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until it has."""
        return self._event.wait(seconds)

    def tell(self, call: Callable[[], None]) -> None:
        """Call this when it has, at once if so already."""
        with self._lock:
            if not self._event.is_set():
                self._calls.append(call)
                return
        call()


def whole(status: int, headers: Headers, body: bytes) -> Iterator[ResponsePart]:
    """A response that is known as a whole, in parts that a frame can carry."""
    first, rest = body[:PART_LIMIT], body[PART_LIMIT:]
    yield ResponsePart(first, bool(rest), status, headers)
    yield from pieces(rest, last=True)


def pieces(body: bytes, *, last: bool = False) -> Iterator[ResponsePart]:
    """More of a body, in parts that a frame can carry."""
    for start in range(0, len(body), PART_LIMIT):
        end = start + PART_LIMIT
        yield ResponsePart(body[start:end], more=not last or end < len(body))
