"""One connection of an agent to the model gateway: requests off a socket, one at a time, and responses onto it."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections import deque

from . import httptext
from . import loop as loops
from .httptext import BadRequest, Body, Framing, Head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Desk(Protocol):
        """Where whole requests go, and who knows the other connections."""

        def listen(self, connection: Connection, events: int) -> None: ...
        def pass_on(self, connection: Connection, head: Head | None, body: bytes, more: bool) -> bool: ...
        def taken(self, connection: Connection, count: int) -> None: ...
        def hung_up(self, connection: Connection) -> None: ...
        def closed(self, connection: Connection) -> None: ...


READ_SIZE = 1 << 18
# A request goes out in pieces of at least this, or whole: the host does nothing before its end anyway.
PIECE = 1 << 18
# What is taken in while a response is under way, and what may wait to be sent: whoever answers keeps within it.
MAX_AHEAD, MAX_WAITING = 64 << 10, 4 << 20
# The host is told what was sent in portions of this size.
PORTION = 1 << 18
# How long a head, or a piece of a body, may take, and a client that was refused may go on sending, in seconds.
HEAD_LIMIT, PIECE_LIMIT, LINGER_LIMIT = 30.0, 60.0, 2.0

_HEAD, _BODY, _WAIT, _LINGER, _CLOSED = range(5)
_HANG_UP = select.EPOLLRDHUP
_RESET = struct.pack("ii", 1, 0)


class Connection:
    """A socket of the agent. `id` is the exchange that is under way on it, if the host knows of it."""

    def __init__(self, desk: Desk, sock: socket.socket) -> None:
        self._desk, self._socket = desk, sock
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.fd = sock.fileno()
        self.id: int | None = None
        self.held = False  # something waits for the barrier, or for room on the wire
        self._state = _HEAD
        self._in = bytearray()
        self._out: deque[tuple[memoryview, int]] = deque()  # and how much of a response's body it is
        self._waiting = self._sent = 0
        self._head: Head | None = None
        self._body = Body(0)
        self._piece: list[bytes] = []
        self._passed = False  # the head of the request is with the host
        self._framing: Framing | None = None  # of the response that is under way
        self._since = time.monotonic()
        self._events = -1
        self._listen()

    @property
    def idle(self) -> bool:
        """Whether nothing is lost when it is closed."""
        return self._state in (_HEAD, _LINGER) and not self._out

    @property
    def idle_for(self) -> float:
        """Seconds since something last happened on it."""
        return time.monotonic() - self._since

    # What the loop calls.

    def ready(self) -> None:
        """The socket can be read or written."""
        if self._out:
            self._write()
        if self._state != _CLOSED and self._events & loops.IN:
            self._read()
        self._listen()

    def go_on(self) -> None:
        """What held it may be over."""
        self.held = False
        self._advance()
        self._listen()

    def check(self, now: float) -> None:
        """Give up on a client that is too slow."""
        waited = now - self._since
        if self._state == _HEAD and self._in and waited > HEAD_LIMIT:
            self._refuse(408, "a head that takes too long")
        elif self._state == _BODY and not self.held and waited > PIECE_LIMIT:
            self._refuse(408, "a body that takes too long")
        elif self._state == _LINGER and not self._out and waited > LINGER_LIMIT:
            self.close()
        self._listen()

    # What comes from the host.

    def respond(self, status: int, headers: list[tuple[str, str]], body: bytes, more: bool) -> None:
        """The response begins."""
        if self._head is None or self._framing is not None:
            return
        self._framing = framing = Framing(self._head, status, not more, len(body))
        if self._state == _BODY:
            framing.keep = False  # it answers what it has not read to the end
        self._send(framing.head(status, headers) + framing.piece(body), len(body))
        self._finish(more)

    def go_on_responding(self, body: bytes, more: bool) -> None:
        """A response goes on."""
        if self._framing is not None:
            self._send(self._framing.piece(body), len(body))
            self._finish(more)

    def break_off(self) -> None:
        """The response does not come to its end, and the client is to see that."""
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        except OSError:
            pass
        self.id = None
        self.close()

    def close(self) -> None:
        """Let go of it; the host is told if it answers in vain."""
        if self._state == _CLOSED:
            return
        self._state = _CLOSED
        if self.id is not None:
            self._desk.hung_up(self)
        self._desk.listen(self, 0)
        self._desk.closed(self)
        self._socket.close()
        self._in.clear()
        self._out.clear()

    # Inside.

    def _listen(self) -> None:
        if self._state == _CLOSED:
            return
        events = _HANG_UP | (loops.OUT if self._out else 0)
        if not self.held and (self._state != _WAIT or len(self._in) < MAX_AHEAD):
            events |= loops.IN
        if events != self._events:
            self._events = events
            self._desk.listen(self, events)

    def _read(self) -> None:
        try:
            data = self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            # Half of a close looks like the whole of it, and no client of a model goes on after the half.
            self.close()
            return
        if self._state == _LINGER:
            return
        if not (self._state == _HEAD and self._in):
            self._since = time.monotonic()
        self._in += data
        self._advance()

    def _advance(self) -> None:
        """Do with what was received whatever can be done."""
        try:
            while self._state == _HEAD and self._in and not self._out:
                self._head = httptext.take_head(self._in)
                if self._head is None:
                    break
                self._body = Body(self._head.length)
                self._state, self._passed, self._framing = _BODY, False, None
                if self._head.expects and not self._body.done and not self._in:
                    self._send(httptext.CONTINUE, 0)
                self._take_body()
            if self._state == _BODY:
                self._take_body()
        except BadRequest as error:
            self._refuse(error.status, str(error))

    def _take_body(self) -> None:
        body = self._body
        piece = body.take(self._in)
        if piece:
            self._piece.append(piece)
        if self._framing is not None:
            self._piece.clear()  # nobody waits for it any more
            return
        size = sum(map(len, self._piece))
        if not body.done and size < PIECE:
            return
        data = b"".join(self._piece)
        if not self._desk.pass_on(self, None if self._passed else self._head, data, not body.done):
            self.held = True
            return
        self._passed = True
        self._piece.clear()
        if body.done and self._state == _BODY:
            self._state = _WAIT

    def _finish(self, more: bool) -> None:
        framing = self._framing
        if more or framing is None or self._state == _CLOSED:
            return
        self.id, self._sent = None, 0
        self._head = self._framing = None
        self._state, self._since = (_HEAD if framing.keep else _LINGER), time.monotonic()
        self._piece.clear()
        self._send(framing.end, 0)

    def _refuse(self, status: int, why: str) -> None:
        """Say no, and end the connection: where the next request would begin is not known."""
        if self._framing is not None:
            self.break_off()
            return
        if self.id is not None:
            self._desk.hung_up(self)
            self.id = None
        self._state, self._since = _LINGER, time.monotonic()
        self._in.clear()
        self._piece.clear()
        self._send(httptext.refusal(status, why), 0)

    def _send(self, data: bytes, credit: int) -> None:
        """Queue bytes that carry `credit` bytes of a response's body, and send what the socket takes."""
        if self._state == _CLOSED:
            return
        self._out.append((memoryview(data), credit))
        self._waiting += len(data)
        if self._waiting > MAX_WAITING:
            self.close()
        else:
            self._write()
            self._listen()

    def _write(self) -> None:
        while self._out:
            data, credit = self._out[0]
            try:
                written = self._socket.send(data) if data else 0
            except BlockingIOError:
                return
            except OSError:
                self.close()
                return
            self._waiting -= written
            if written < len(data):
                self._out[0] = data[written:], credit
                continue
            self._out.popleft()
            self._sent += credit
            if self._sent >= PORTION and self.id is not None:
                self._desk.taken(self, self._sent)
                self._sent = 0
        if self._state == _LINGER:
            self._since = time.monotonic()
            try:
                self._socket.shutdown(socket.SHUT_WR)
            except OSError:
                self.close()
        elif self._state == _HEAD and self._in:
            self._advance()  # the next request was here before the last response was gone
