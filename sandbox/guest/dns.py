"""A name server that knows no name: a look-up fails at once instead of after its time-out."""

from __future__ import annotations

import socket
import struct

ADDRESS = ("127.0.0.1", 53)
BATCH = 32

_HEADER = struct.Struct(">HHHHHH")
_RESPONSE, _RECURSION_DESIRED, _RECURSION_AVAILABLE, _OPCODE, _NXDOMAIN = 0x8000, 0x0100, 0x0080, 0x7800, 3


def answer(query: bytes) -> bytes | None:
    """The reply to one datagram: no such name. None for what is not a question, so that no loop can begin."""
    if len(query) < _HEADER.size or len(query) > 512:
        return None
    number, flags, questions, _, _, _ = _HEADER.unpack_from(query)
    if flags & _RESPONSE or flags & _OPCODE or questions != 1:
        return None
    end = _name_end(query)
    if end is None or end + 4 > len(query):
        return None
    reply = _RESPONSE | _RECURSION_AVAILABLE | flags & _RECURSION_DESIRED | _NXDOMAIN
    return _HEADER.pack(number, reply, 1, 0, 0, 0) + query[_HEADER.size : end + 4]


def _name_end(query: bytes) -> int | None:
    position = _HEADER.size
    while position < len(query):
        length = query[position]
        if length == 0:
            return position + 1
        if length > 63:
            return None  # a question has no reason to be compressed
        position += 1 + length
    return None


def listen() -> socket.socket | None:
    """The server's socket, or None where the port may not be had."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        server.bind(ADDRESS)
    except OSError:
        server.close()
        return None
    server.setblocking(False)
    return server


def serve(server: socket.socket) -> None:
    """Answer what has come, but not for ever: the loop has more to do."""
    for _ in range(BATCH):
        try:
            query, sender = server.recvfrom(1024)
            reply = answer(query)
            if reply:
                server.sendto(reply, sender)
        except BlockingIOError:
            return
        except OSError:
            continue  # the asker has gone
