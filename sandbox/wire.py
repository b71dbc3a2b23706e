"""Frames over a container's attached standard streams, with a deadline on every wait.

Deadlines are points of `time.monotonic()`. What arrives is hostile until decoded: memory stays bounded by one
frame, one read and the tail of the guest's own diagnostics.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from .errors import InputError, WireBroken, WireTimeout
from .guest.frames import MAX_BODY, MAX_HEADER, Decoder, FrameError, encode

Frame = tuple[dict[str, Any], bytes]

STDERR_TAIL: Final = 8 * 1024
_READ: Final = 256 * 1024
# While we wait to send we also read, so that two full pipes never wait for each other; this much is kept.
_BACKLOG: Final = 4 * (MAX_HEADER + MAX_BODY)
_STREAM_HEADER: Final = struct.Struct(">BxxxL")
_STDOUT: Final = 1
_STDERR: Final = 2
_WOULD_BLOCK: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Closable(Protocol):
    """Anything with a `close`."""

    def close(self) -> None: ...


class WireClosed(WireBroken):
    """The other end of the wire is gone: who holds the container says why."""


class Demultiplexer:
    """Takes the engine's attach stream apart (8-byte headers: stream, length)."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._stream = 0
        self._left = 0
        self._stderr = bytearray()

    @property
    def stderr(self) -> bytes:
        """The last of what the container wrote to its standard error."""
        return bytes(self._stderr[-STDERR_TAIL:])

    def feed(self, data: memoryview) -> Iterator[memoryview]:
        """The pieces of standard output in `data`; WireBroken for a stream that cannot be."""
        while data:
            if not self._left:
                data = self._take_header(data)
                continue
            piece, data = data[: self._left], data[self._left :]
            self._left -= len(piece)
            if self._stream == _STDOUT:
                yield piece
            else:
                self._stderr += piece
                del self._stderr[: -2 * STDERR_TAIL]

    def _take_header(self, data: memoryview) -> memoryview:
        missing = _STREAM_HEADER.size - len(self._header)
        self._header += data[:missing]
        if len(self._header) == _STREAM_HEADER.size:
            self._stream, self._left = _STREAM_HEADER.unpack(self._header)
            self._header.clear()
            if self._stream not in (_STDOUT, _STDERR):
                raise WireBroken(f"the engine sent a stream {self._stream} that nobody asked for")
        return data[missing:]


class Wire:
    """One container's standard streams. One thread receives; others may `send` beside it, and `close` may come from any."""

    def __init__(self, connection: socket.socket, owner: Closable | None = None) -> None:
        self._socket = connection
        # The connection is closed for good only when the file object made from it is closed too.
        self._owner = owner
        self._socket.setblocking(False)
        self._demultiplexer = Demultiplexer()
        self._decoder = Decoder()
        self._buffer = memoryview(bytearray(_READ))
        self._ended = False
        self._sending = threading.Lock()  # a frame goes out in one piece
        self._calling = threading.Lock()  # TLS does not read and write at the same time

    @property
    def stderr(self) -> str:
        """The last of the guest's own diagnostics, for messages."""
        return self._demultiplexer.stderr.decode("utf-8", "replace").strip()

    def send(self, header: Mapping[str, object], body: bytes = b"", *, deadline: float, beside: bool = False) -> None:
        """Send one frame; WireTimeout, WireClosed, or InputError if it is larger than a frame may be.

        `beside`: from another thread than the one that receives.
        """
        try:
            data = encode(header, body)
        except FrameError as error:
            raise InputError(f"too much for one request to a sandbox: {error}") from None
        self.send_bytes(data, deadline=deadline, beside=beside)

    def send_bytes(self, data: bytes, *, deadline: float, beside: bool = False) -> None:
        """Send bytes as they are."""
        view = memoryview(data)
        with self._sending:
            while view:
                try:
                    with self._calling:
                        sent = self._socket.send(view)
                except _WOULD_BLOCK:
                    self._wait(select.POLLOUT, deadline, "take what it was sent", fill=not beside)
                    # Nobody is left to take it: the engine keeps such a stream half open for as long as we would wait.
                    if self._ended:
                        raise WireClosed("the sandbox closed its wire") from None
                except OSError as error:
                    raise WireClosed(f"the wire to the sandbox broke: {error.strerror or error}") from error
                else:
                    view = view[sent:]

    def receive(self, *, deadline: float) -> Frame:
        """The next frame; WireTimeout, WireClosed, or WireBroken if what came is no frame."""
        while (frame := self._next()) is None:
            if self._ended:
                raise WireClosed("the sandbox closed its wire")
            if not self._fill():
                self._wait(select.POLLIN, deadline, "answer")
        return frame

    def pending(self) -> Iterator[Frame]:
        """Frames that arrived before the wire ended; for a post-mortem, so broken ones end it silently."""
        with contextlib.suppress(WireBroken):
            while not self._ended and self._fill():
                pass
            while (frame := self._next()) is not None:
                yield frame

    def close(self) -> None:
        """Hang up: the guest reads end-of-file and ends everything."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        # First the owner: what it has wrapped around the socket must still find it open.
        if self._owner is not None:
            self._owner.close()
        with contextlib.suppress(OSError):
            self._socket.close()

    def _next(self) -> Frame | None:
        try:
            return self._decoder.next()
        except FrameError as error:
            raise WireBroken(f"the sandbox sent what is no frame: {error}") from error

    def _fill(self) -> bool:
        try:
            with self._calling:
                count = self._socket.recv_into(self._buffer)
        except _WOULD_BLOCK:
            return False
        except OSError as error:
            self._ended = True
            raise WireClosed(f"the wire to the sandbox broke: {error.strerror or error}") from error
        if not count:
            self._ended = True
        for piece in self._demultiplexer.feed(self._buffer[:count]):
            self._decoder.feed(bytes(piece))
        return True

    def _wait(self, events: int, deadline: float, what: str, *, fill: bool = False) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise WireTimeout(
                f"the sandbox did not {what} in time", hint="Is the machine overloaded, or the engine stuck?"
            )
        if fill and not self._ended and self._decoder.pending < _BACKLOG:
            events |= select.POLLIN
        poll = select.poll()
        try:
            poll.register(self._socket, events)
            ready = poll.poll(left * 1000)
        except (OSError, ValueError) as error:
            raise WireClosed("the wire was closed") from error
        if fill and any(mask & select.POLLIN for _, mask in ready):
            self._fill()
