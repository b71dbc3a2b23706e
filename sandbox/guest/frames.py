"""The wire's frames: two lengths, a JSON header, a binary body. Pure; both ends use it.

A frame is `>II` (bytes of the header, bytes of the body), the header as an ASCII JSON object, the body.
Paths travel in headers as strings whose undecodable bytes are lone surrogates, which ASCII JSON keeps.
"""

from __future__ import annotations

import json
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

VERSION = 1
MAX_HEADER = 1 << 20
MAX_BODY = 1 << 20

_LENGTHS = struct.Struct(">II")


class FrameError(ValueError):
    """The bytes are not the protocol, or a frame is larger than it may be."""


def encode(header: Mapping[str, Any], body: bytes = b"") -> bytes:
    """The bytes of one frame; FrameError if it would be too large."""
    text = json.dumps(header, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > MAX_HEADER:
        raise FrameError("header of %d bytes, at most %d" % (len(text), MAX_HEADER))
    if len(body) > MAX_BODY:
        raise FrameError("body of %d bytes, at most %d" % (len(body), MAX_BODY))
    return b"".join((_LENGTHS.pack(len(text), len(body)), text, body))


class Decoder:
    """Feed it bytes as they come; iterate to take the frames that are complete.

    It holds at most one incomplete frame more than what was fed, and never trusts a length beyond the limits.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Add what was read from the wire."""
        self._buffer += data

    @property
    def pending(self) -> int:
        """Bytes that belong to a frame not yet complete (or not yet taken)."""
        return len(self._buffer)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        while True:
            frame = self.next()
            if frame is None:
                return
            yield frame

    def next(self) -> tuple[dict[str, Any], bytes] | None:
        """The next complete frame, or None; FrameError when the bytes are not frames."""
        buffer = self._buffer
        if len(buffer) < _LENGTHS.size:
            return None
        header_length, body_length = _LENGTHS.unpack_from(buffer)
        if header_length > MAX_HEADER or body_length > MAX_BODY:
            raise FrameError("a frame announces %d + %d bytes" % (header_length, body_length))
        body_start = _LENGTHS.size + header_length
        end = body_start + body_length
        if len(buffer) < end:
            return None
        header = _parse(bytes(buffer[_LENGTHS.size : body_start]))
        body = bytes(buffer[body_start:end])
        del buffer[:end]
        return header, body


def _parse(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("ascii"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise FrameError("a header is not JSON: %s" % error) from None
    if not isinstance(header, dict) or not isinstance(header.get("t"), str):
        raise FrameError("a header is not an object with a type")
    return header


def _no_constant(name: str) -> None:
    raise ValueError("%s is not JSON" % name)
