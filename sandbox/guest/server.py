"""The model gateway's door in a sandbox: HTTP on the loopback, frames on the wire, nothing understood of what is said.

    guest -> host   request {id, method, path, headers, more} + body    request-body {id, more} + body
                    request-gone {id}    response-taken {id, n}
    host -> guest   response {id, status, headers, more} + body         response-body {id, more, cut?} + body

A request goes to the host only when everything that the agent did before it has been looked at.
"""

from __future__ import annotations

import socket
import time

from .connection import Connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .httptext import Head
    from .link import Link
    from .loop import Loop

ADDRESS = ("127.0.0.1", 4000)
MAX_CONNECTIONS = 64
# Seconds without a byte after which a connection makes way; a request that is on its way takes less.
QUIET = 0.25
ACCEPTED_AT_ONCE = 16
SWEEP = 1.0


class Server:
    """Open while a run that may use it is live. `admits()` says whether the agent's requests may go out now; it may end
    the session, and with it everything here."""

    def __init__(self, loop: Loop, link: Link, admits: Callable[[], bool]) -> None:
        self._loop, self._link, self._admits = loop, link, admits
        self._socket: socket.socket | None = None
        self._accepting = False
        self._connections: dict[int, Connection] = {}  # by descriptor
        self._exchanges: dict[int, Connection] = {}
        self._ids = 0

    def open(self) -> None:
        """Be there for the agent; OSError if the port may not be had."""
        if self._socket is not None:
            return
        server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(ADDRESS)
            server.listen(MAX_CONNECTIONS)
            server.setblocking(False)
        except OSError:
            server.close()
            raise
        self._socket = server
        self._accept_on()
        self._sweep()

    def close(self) -> None:
        """Nobody is left who could ask. The host knows, and is not told of each exchange."""
        if self._socket is None:
            return
        self._loop.cancel("gateway")
        if self._accepting:
            self._loop.remove(self._socket.fileno())
        self._accepting = False
        self._socket.close()
        self._socket = None
        self._exchanges.clear()
        for connection in list(self._connections.values()):
            connection.close()

    def answer(self, header: dict[str, Any], body: bytes) -> None:
        """A frame of a response. What comes for somebody who has hung up is dropped."""
        connection = self._exchanges.get(header["id"])
        if connection is None:
            return
        if header.get("cut"):
            del self._exchanges[header["id"]]
            connection.break_off()
            return
        more = bool(header.get("more"))
        if not more:
            del self._exchanges[header["id"]]
        if header["t"] == "response":
            connection.respond(int(header["status"]), [(str(k), str(v)) for k, v in header["headers"]], body, more)
        else:
            connection.go_on_responding(body, more)

    def resume(self) -> None:
        """In every turn of the loop: go on with what waited for the barrier or for the wire."""
        for connection in list(self._connections.values()):
            if connection.held:
                connection.go_on()

    # What connections call.

    def listen(self, connection: Connection, events: int) -> None:
        """Have the loop watch a connection; not at all for no events."""
        descriptor = connection.fd
        if not events:
            self._loop.remove(descriptor)
        elif not self._loop.change(descriptor, events):
            self._loop.add(descriptor, lambda: self._ready(connection), events)

    def pass_on(self, connection: Connection, head: Head | None, body: bytes, more: bool) -> bool:
        """Give (more of) a request to the host; False if it has to wait."""
        if not self._link.has_room or not self._admits() or self._socket is None:
            return False
        if head is None:
            self._link.send("request-body", body, id=connection.id, more=more)
            return True
        self._ids += 1
        connection.id = self._ids
        self._exchanges[self._ids] = connection
        self._link.send(
            "request", body, id=self._ids, method=head.method, path=head.target, headers=head.headers, more=more
        )
        return True

    def taken(self, connection: Connection, count: int) -> None:
        """So much of a response has gone out."""
        self._link.send("response-taken", id=connection.id, n=count)

    def hung_up(self, connection: Connection) -> None:
        """The client will not read what the host answers."""
        if connection.id is not None and connection.id in self._exchanges:
            del self._exchanges[connection.id]
            self._link.send("request-gone", id=connection.id)

    def closed(self, connection: Connection) -> None:
        """A connection is no more."""
        self._connections.pop(connection.fd, None)
        if self._socket is not None and not self._accepting:
            self._accept_on()

    # Inside.

    def _ready(self, connection: Connection) -> None:
        if self._loop.hung_up:
            connection.close()
        else:
            connection.ready()

    def _accept_on(self) -> None:
        if self._socket is not None:
            self._accepting = True
            self._loop.add(self._socket.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            if self._socket is None or not self._has_place():
                return
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return
            connection = Connection(self, accepted)
            self._connections[connection.fd] = connection
            connection.ready()  # the request has mostly come with it

    def _has_place(self) -> bool:
        """Whether there is room for another connection; the longest idle one makes it, or the next has to wait."""
        if len(self._connections) < MAX_CONNECTIONS:
            return True
        idle = next((one for one in list(self._connections.values()) if self._is_idle(one)), None)
        if idle is None and self._socket is not None:
            self._loop.remove(self._socket.fileno())
            self._accepting = False
            return False
        if idle is not None:
            idle.close()
        return True

    def _is_idle(self, connection: Connection) -> bool:
        """Whether nothing has come on it for a while; what has just come is read first, not thrown away."""
        if not connection.idle or connection.idle_for < QUIET:
            return False
        connection.ready()
        return connection.idle

    def _sweep(self) -> None:
        if not self._accepting:
            self._accept_on()
        now = time.monotonic()
        for connection in list(self._connections.values()):
            connection.check(now)
        self._loop.at("gateway", now + SWEEP, self._sweep)
