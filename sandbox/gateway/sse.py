"""Streams taken apart as they arrive, whatever the chunks: server-sent events, and Gemini's growing JSON array.

Nothing is lost or changed: the raw bytes of what came out, in order, are the bytes that went in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Protocol

# A last event can hold the whole answer once more, pictures included.
EVENT_LIMIT: Final = 64 << 20
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_STRUCTURE: Final = re.compile(rb'["{}\[\]]')
_IN_STRING: Final = re.compile(rb'["\\]')


@dataclass(frozen=True, slots=True)
class Event:
    """One event: `data` is None for what carries none, such as a comment that keeps the connection alive."""

    raw: bytes
    data: bytes | None
    name: str = ""


class StreamParser(Protocol):
    """Takes a stream apart."""

    overflow: bool

    def feed(self, data: bytes) -> list[Event]:
        """The events that are complete now."""

    def end(self) -> list[Event]:
        """What is left when the stream has ended; some servers leave out the last empty line."""

    def rest(self) -> bytes:
        """Take what is no event yet, after an overflow."""


class SseParser:
    """Server-sent events; lines may end in LF, CRLF or CR."""

    def __init__(self) -> None:
        self.overflow = False
        self._buffer = bytearray()
        self._scanned = 0
        self._line = 0
        self._data: list[bytes] = []
        self._name = ""
        self._first = True

    def feed(self, data: bytes) -> list[Event]:
        """The events that are complete now. Beyond the limit nothing is read any more."""
        if self.overflow:
            return []
        self._buffer += data
        events: list[Event] = []
        while (match := _LINE_END.search(self._buffer, self._scanned)) is not None:
            if match.group() == b"\r" and match.end() == len(self._buffer):
                # The LF that may belong to it has not arrived.
                self._scanned = match.start()
                break
            self._take(match.start(), match.end(), events)
        else:
            self._scanned = len(self._buffer)
        self.overflow = len(self._buffer) > EVENT_LIMIT
        return events

    def end(self) -> list[Event]:
        """What is left, as one event."""
        events: list[Event] = []
        if self._line < len(self._buffer) and not self.overflow:
            line = bytes(self._buffer[self._line :]).rstrip(b"\r")
            self._field(line)
            self._line = len(self._buffer)
        if self._buffer:
            events.append(self._event(len(self._buffer)))
        return events

    def rest(self) -> bytes:
        """Take what is no event yet."""
        left = bytes(self._buffer)
        self._buffer.clear()
        return left

    def _take(self, start: int, end: int, events: list[Event]) -> None:
        line = bytes(self._buffer[self._line : start])
        if self._first and line.startswith(b"\xef\xbb\xbf"):
            line = line[3:]
        self._first = False
        if line:
            self._field(line)
            self._line = self._scanned = end
        else:
            events.append(self._event(end))

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._name = value.decode("utf-8", "replace")

    def _event(self, end: int) -> Event:
        data = b"\n".join(self._data) if self._data else None
        event = Event(bytes(self._buffer[:end]), data, self._name)
        del self._buffer[:end]
        self._scanned = self._line = 0
        self._data, self._name = [], ""
        return event


class ArrayParser:
    """The objects of a JSON array, each as soon as it is closed."""

    def __init__(self) -> None:
        self.overflow = False
        self._buffer = bytearray()
        self._scanned = 0
        self._depth = 0
        self._start = -1
        self._outer = 0
        self._string = False

    def feed(self, data: bytes) -> list[Event]:
        """The objects that are complete now. Beyond the limit nothing is read any more."""
        if self.overflow:
            return []
        self._buffer += data
        events: list[Event] = []
        while (match := (_IN_STRING if self._string else _STRUCTURE).search(self._buffer, self._scanned)) is not None:
            if match.group() == b"\\":
                if match.end() == len(self._buffer):
                    self._scanned = match.start()
                    break
                self._scanned = match.end() + 1
                continue
            self._scanned = match.end()
            self._mark(match.group(), match.start(), events)
        else:
            self._scanned = len(self._buffer)
        self.overflow = len(self._buffer) > EVENT_LIMIT
        return events

    def end(self) -> list[Event]:
        """What is left, which is no object."""
        if not self._buffer:
            return []
        rest = Event(bytes(self._buffer), None)
        self._buffer.clear()
        return [rest]

    def rest(self) -> bytes:
        """Take what is no object yet."""
        left = bytes(self._buffer)
        self._buffer.clear()
        return left

    def _mark(self, mark: bytes, at: int, events: list[Event]) -> None:
        if mark == b'"':
            self._string = not self._string
        elif mark in (b"{", b"["):
            if mark == b"{" and self._start < 0:
                self._start, self._outer = at, self._depth
            self._depth += 1
        else:
            self._depth = max(0, self._depth - 1)
            if self._start >= 0 and self._depth == self._outer:
                events.append(Event(bytes(self._buffer[: at + 1]), bytes(self._buffer[self._start : at + 1])))
                del self._buffer[: at + 1]
                self._scanned, self._start = 0, -1
