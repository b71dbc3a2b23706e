"""HTTP/1.1 as bytes, the server's side of it. Pure: nothing is read, sent or waited for here.

Strict where leniency has been abused: what two programs could understand in two ways is refused.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Headers = list[tuple[str, str]]

MAX_HEAD, MAX_BODY = 64 << 10, 64 << 20
MAX_SIZE_LINE, MAX_TRAILERS = 256, 8 << 10

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb") ([\x21-\x7e]+) HTTP/1\.([01])")
_HEADER = re.compile(rb"(" + _TOKEN + rb"):([\t\x20-\x7e\x80-\xff]*)")
_LENGTH = re.compile(r"[0-9]{1,15}")
_SIZE = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n")
_TRAILER = re.compile(rb"[\t\x20-\x7e\x80-\xff]*\r\n")
_BAD_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]")
_BAD_NAME = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]")

# Who frames the message decides these, and that is this end of the connection.
_FRAMING = frozenset(("connection", "content-length", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"))
REASONS = {
    200: "OK", 400: "Bad Request", 404: "Not Found", 408: "Request Timeout", 413: "Content Too Large", 417: "Expectation Failed",
    429: "Too Many Requests", 431: "Request Header Fields Too Large", 500: "Internal Server Error",
    501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
}  # fmt: skip
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


class BadRequest(ValueError):
    """Not a request that is served here; with the status that says so."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Head:
    """The head of a request. `length` is None for a chunked body; `keep` says whether the connection goes on after it."""

    __slots__ = ("expects", "headers", "http_1_0", "keep", "length", "method", "target")

    def __init__(self, method: str, target: str, http_1_0: bool, headers: Headers) -> None:
        self.method, self.target, self.http_1_0, self.headers = method, target, http_1_0, headers
        self.length = self._length()
        options = {option.strip().lower() for value in self._all("connection") for option in value.split(",")}
        self.keep = "close" not in options and (not http_1_0 or "keep-alive" in options)
        expectations = [value.lower() for value in self._all("expect")]
        if expectations and expectations != ["100-continue"]:
            raise BadRequest(417, "an expectation other than 100-continue")
        self.expects = bool(expectations) and not http_1_0
        if not http_1_0 and len(self._all("host")) != 1:
            raise BadRequest(400, "not exactly one Host")

    def _all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]

    def _length(self) -> int | None:
        lengths, codings = self._all("content-length"), self._all("transfer-encoding")
        if codings:
            if lengths or self.http_1_0:
                raise BadRequest(400, "Transfer-Encoding beside Content-Length, or in HTTP/1.0")
            if [value.lower() for value in codings] != ["chunked"]:
                raise BadRequest(501, "a transfer coding other than chunked")
            return None
        if len(lengths) > 1 or (lengths and not _LENGTH.fullmatch(lengths[0])):
            raise BadRequest(400, "Content-Length is not one number")
        length = int(lengths[0]) if lengths else 0
        if length > MAX_BODY:
            raise BadRequest(413, "a body of more than %d bytes" % MAX_BODY)
        return length


def take_head(buffer: bytearray) -> Head | None:
    """Take a request's head off the front of what was received; None if it is not complete. BadRequest."""
    if buffer[:2] == b"\r\n":
        del buffer[:2]  # some clients end a body with a line too many
    end = buffer.find(b"\r\n\r\n", 0, MAX_HEAD + 4)
    if end < 0:
        if len(buffer) > MAX_HEAD:
            raise BadRequest(431, "a head of more than %d bytes" % MAX_HEAD)
        return None
    first, *lines = bytes(buffer[:end]).split(b"\r\n")
    del buffer[: end + 4]
    request = _REQUEST_LINE.fullmatch(first)
    if request is None:
        raise BadRequest(400, "not a request line of HTTP/1")
    headers = []
    for line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            raise BadRequest(400, "not a header line")
        headers.append((match[1].decode("ascii"), match[2].strip(b" \t").decode("latin-1")))
    return Head(request[1].decode("ascii"), request[2].decode("ascii"), request[3] == b"0", headers)


class Body:
    """Takes a request's body off what is received, chunked (`length` None) or counted."""

    def __init__(self, length: int | None) -> None:
        self._chunked = length is None
        self._left = length or 0
        self._state = "size" if self._chunked else "data"
        self._trailers = 0
        self.size = 0
        self.done = length == 0

    def take(self, buffer: bytearray) -> bytes:
        """What `buffer` holds of the body, removed from it; what comes after the body stays. BadRequest."""
        parts = []
        while not self.done and buffer:
            if self._state == "data":
                part = bytes(buffer[: self._left])
                del buffer[: len(part)]
                self._left -= len(part)
                self.size += len(part)
                parts.append(part)
                if not self._left:
                    self._state, self.done = "end", not self._chunked
            elif not self._take_line(buffer):
                break
        return b"".join(parts)

    def _take_line(self, buffer: bytearray) -> bool:
        """Take a line of the chunked coding off the buffer; False if it is not complete."""
        end = buffer.find(b"\n", 0, MAX_SIZE_LINE if self._state == "size" else MAX_TRAILERS)
        if end < 0:
            if len(buffer) >= (MAX_SIZE_LINE if self._state == "size" else MAX_TRAILERS):
                raise BadRequest(400, "a line of the chunked coding that does not end")
            return False
        line = bytes(buffer[: end + 1])
        del buffer[: end + 1]
        if self._state == "size":
            match = _SIZE.fullmatch(line)
            if match is None:
                raise BadRequest(400, "not the size of a chunk")
            self._left = int(match[1], 16)
            if self.size + self._left > MAX_BODY:
                raise BadRequest(413, "a body of more than %d bytes" % MAX_BODY)
            self._state = "data" if self._left else "trailers"
        elif self._state == "end":
            if line != b"\r\n":
                raise BadRequest(400, "a chunk that does not end where it said")
            self._state = "size"
        else:
            self._trailers += len(line)
            if self._trailers > MAX_TRAILERS or not _TRAILER.fullmatch(line):
                raise BadRequest(400, "not a trailer")
            self.done = line == b"\r\n"
        return True


class Framing:
    """How one response is written for the request that it answers."""

    def __init__(self, head: Head, status: int, whole: bool, length: int) -> None:
        self.bodiless = head.method == "HEAD" or status in (204, 304)
        self._whole, self._length = whole, length
        self.chunked = not (self.bodiless or whole or head.http_1_0)
        # HTTP/1.0 knows no chunks: there the end of the connection is the end of the body.
        self.keep = head.keep and (self.bodiless or whole or self.chunked)

    def head(self, status: int, headers: Iterable[tuple[str, str]]) -> bytes:
        """The response's head; headers that could break out of it are left out."""
        lines = ["HTTP/1.1 %d %s" % (status, REASONS.get(status, ""))]
        for name, value in headers:
            kept = name.lower() not in _FRAMING or (self.bodiless and name.lower() == "content-length")
            if kept and name and not _BAD_NAME.search(name) and not _BAD_VALUE.search(value):
                lines.append("%s: %s" % (name, value))
        if self.chunked:
            lines.append("Transfer-Encoding: chunked")
        elif self._whole and not self.bodiless:
            lines.append("Content-Length: %d" % self._length)
        if not self.keep:
            lines.append("Connection: close")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def piece(self, data: bytes) -> bytes:
        """A piece of the body."""
        if self.bodiless or not data:
            return b""
        return b"%x\r\n%s\r\n" % (len(data), data) if self.chunked else data

    @property
    def end(self) -> bytes:
        """What follows the last piece."""
        return LAST_CHUNK if self.chunked else b""


def refusal(status: int, why: str) -> bytes:
    """A whole response that ends the connection."""
    body = json.dumps({"error": {"message": why, "type": "invalid_request_error"}}).encode("ascii")
    reason = REASONS.get(status, "")
    return (
        "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        % (status, reason, len(body))
    ).encode("ascii") + body
