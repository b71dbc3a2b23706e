"""The guest's end of the wire: frames in, frames out, and a queue that does not grow without bound."""

from __future__ import annotations

import os
from collections import deque

from . import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

READ_SIZE = 1 << 18
# Whoever can wait (output of the agent, an export) sends only while less than this is queued.
ROOM = 1 << 20


class Link:
    """Two non-blocking descriptors. `on_full(bool)` tells the loop whether to wait for the writing end."""

    def __init__(self, reading: int, writing: int, on_full: Callable[[bool], None]) -> None:
        self.reading, self.writing = reading, writing
        self._on_full = on_full
        self._decoder = frames.Decoder()
        self._queue: deque[memoryview] = deque()
        self._queued = 0
        self.closed = False
        for descriptor in (reading, writing):
            os.set_blocking(descriptor, False)

    def receive(self) -> list[tuple[dict[str, Any], bytes]]:
        """The frames that have come; sets `closed` at the end of the wire. FrameError if they are none."""
        try:
            data = os.read(self.reading, READ_SIZE)
        except BlockingIOError:
            return []
        if not data:
            self.closed = True
            return []
        self._decoder.feed(data)
        return list(self._decoder)

    def send(self, kind: str, body: bytes = b"", **fields: Any) -> None:
        """Queue a frame and write what the wire takes."""
        fields["t"] = kind
        data = frames.encode(fields, body)
        self._queue.append(memoryview(data))
        self._queued += len(data)
        if len(self._queue) == 1:
            self.flush()

    @property
    def has_room(self) -> bool:
        """Whether more may be queued by those who can wait."""
        return self._queued < ROOM

    def flush(self) -> None:
        """Write as much as the wire takes now."""
        while self._queue:
            try:
                written = os.write(self.writing, self._queue[0])
            except BlockingIOError:
                break
            except OSError:
                self.closed = True
                self._queue.clear()
                self._queued = 0
                break
            self._queued -= written
            if written == len(self._queue[0]):
                self._queue.popleft()
            else:
                self._queue[0] = self._queue[0][written:]
        self._on_full(bool(self._queue))

    def flush_all(self) -> None:
        """Write everything, waiting as long as it takes: for the last words only."""
        os.set_blocking(self.writing, True)
        self.flush()
