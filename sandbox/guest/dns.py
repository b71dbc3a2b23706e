"""A name server that knows `localhost` and nothing else: a look-up fails at once instead of after its time-out.

The sandbox's /etc/hosts and /etc/resolv.conf are empty, so that every resolver asks here, on its default address.
"""

from __future__ import annotations

import socket
import struct

ADDRESS = ("127.0.0.1", 53)
BATCH = 32

_HEADER = struct.Struct(">HHHHHH")
_RESPONSE, _RECURSION_DESIRED, _RECURSION_AVAILABLE, _OPCODE, _NXDOMAIN = 0x8000, 0x0100, 0x0080, 0x7800, 3
_LOCALHOST = b"\x09localhost\0"
_A, _AAAA = b"\0\1\0\1", b"\0\x1c\0\1"
_ADDRESSES = {_A: socket.inet_aton("127.0.0.1"), _AAAA: bytes(15) + b"\1"}
# "The name in the question", then type and class, seconds to live, length of the address.
_RECORD = struct.Struct(">H4sIH")
_NAME_IN_QUESTION = 0xC000 | _HEADER.size


def answer(query: bytes) -> bytes | None:
    """The reply to one datagram: an address of localhost, or no such name. None for what is not a question, so that
    no loop can begin."""
    if len(query) < _HEADER.size or len(query) > 512:
        return None
    number, flags, questions, _, _, _ = _HEADER.unpack_from(query)
    if flags & _RESPONSE or flags & _OPCODE or questions != 1:
        return None
    end = _name_end(query)
    if end is None or end + 4 > len(query):
        return None
    reply = _RESPONSE | _RECURSION_AVAILABLE | flags & _RECURSION_DESIRED
    question, record = query[_HEADER.size : end + 4], b""
    if query[_HEADER.size : end].lower() != _LOCALHOST:
        reply |= _NXDOMAIN
    elif question[-4:] in _ADDRESSES:
        address = _ADDRESSES[question[-4:]]
        record = _RECORD.pack(_NAME_IN_QUESTION, question[-4:], 0, len(address)) + address
    return _HEADER.pack(number, reply, 1, bool(record), 0, 0) + question + record


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
