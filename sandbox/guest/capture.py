"""What is kept of an output stream, in bounded memory. Pure."""

from __future__ import annotations

TAIL = 1 << 16


class Capture:
    """Keeps at most `limit` bytes: the head at once, and (unless `head_only`) the last bytes for the end."""

    def __init__(self, limit: int, head_only: bool) -> None:
        self._tail_size = 0 if head_only else min(limit // 4, TAIL)
        self._room = limit - self._tail_size
        self._tail = bytearray()
        self.total = 0
        self.gap = 0

    @property
    def truncated(self) -> bool:
        """Whether bytes were dropped."""
        return self.gap > 0

    @property
    def sending(self) -> bool:
        """Whether more of it will be sent at once."""
        return self._room > 0

    def feed(self, data: bytes) -> bytes:
        """Take what was read; gives what is to be sent now."""
        self.total += len(data)
        now, rest = data[: self._room], data[self._room :]
        self._room -= len(now)
        self._tail += rest
        surplus = len(self._tail) - self._tail_size
        if surplus > 0:
            del self._tail[:surplus]
            self.gap += surplus
        return now

    def end(self) -> bytes:
        """The last bytes; `gap` bytes before them are missing."""
        return bytes(self._tail)
