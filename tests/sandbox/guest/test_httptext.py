"""HTTP/1.1 as bytes: what is a request, where its body ends, and how a response is written. h11 is the second opinion."""

from __future__ import annotations

import h11
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeover.sandbox.guest import httptext
from takeover.sandbox.guest.httptext import BadRequest, Body, Framing, Head, take_head

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def head_of(text: str) -> Head:
    head = take_head(bytearray(text.replace("\n", "\r\n").encode("latin-1")))
    assert head is not None
    return head


def cut_up(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def read_all(pieces: list[bytes]) -> tuple[Head, bytes, bytes]:
    """The first request in a stream that comes in pieces, and what follows it."""
    buffer, head, body, found = bytearray(), None, Body(0), b""
    for piece in pieces:
        buffer += piece
        if head is None:
            head = take_head(buffer)
            if head is None:
                continue
            body = Body(head.length)
        found += body.take(buffer)
    assert head is not None
    assert body.done
    return head, found, bytes(buffer)


@pytest.mark.parametrize(
    ("text", "length", "keep", "expects"),
    [
        ("GET / HTTP/1.1\nHost: x\n\n", 0, True, False),
        ("GET /a?b=%20c HTTP/1.1\nhost:x\n\n", 0, True, False),
        ("\nGET / HTTP/1.1\nHost: x\n\n", 0, True, False),
        ("POST /v1 HTTP/1.1\nHost: x\nContent-Length: 12\n\n", 12, True, False),
        ("POST /v1 HTTP/1.1\nHost: x\nTransfer-Encoding: Chunked\n\n", None, True, False),
        ("POST /v1 HTTP/1.1\nHost: x\nConnection: TE, Close\nExpect: 100-Continue\nContent-Length: 1\n\n", 1, False, True),
        ("POST /v1 HTTP/1.0\nContent-Length: 1\nExpect: 100-continue\n\n", 1, False, False),
        ("GET / HTTP/1.0\nConnection: Keep-Alive\n\n", 0, True, False),
        ("GET http://127.0.0.1:4000/v1 HTTP/1.1\nHost: \n\n", 0, True, False),
        ("OPTIONS * HTTP/1.1\nHost: x\nX-Empty:\nX-Odd:  a\tb\xe9 \t\n\n", 0, True, False),
    ],
)  # fmt: skip
def test_heads(text: str, length: int | None, keep: bool, expects: bool) -> None:
    """How long the body is, whether the connection goes on, and whether the client waits to be told to send."""
    head = head_of(text)

    assert (head.length, head.keep, head.expects) == (length, keep, expects)


def test_a_head_as_it_is_passed_on() -> None:
    """Method, target and headers are the client's own, in order, with the spaces around values gone."""
    head = head_of("POST /v1/x?y=1 HTTP/1.1\nHost: h\nX-Odd:  a\tb\xe9 \t\nx-odd:\n\n")

    assert (head.method, head.target) == ("POST", "/v1/x?y=1")
    assert head.headers == [("Host", "h"), ("X-Odd", "a\tb\xe9"), ("x-odd", "")]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("GET / HTTP/1.1\n\n", 400), ("GET / HTTP/1.1\nHost: a\nHost: b\n\n", 400), ("GET / HTTP/2.0\nHost: x\n\n", 400),
        ("GET  / HTTP/1.1\nHost: x\n\n", 400), ("GET /\nHost: x\n\n", 400), ("G\xe9T / HTTP/1.1\nHost: x\n\n", 400),
        ("GET /\xe9 HTTP/1.1\nHost: x\n\n", 400), ("GET / HTTP/1.1\nHost : x\n\n", 400), (" GET / HTTP/1.1\nHost: x\n\n", 400),
        ("GET / HTTP/1.1\nHost: x\n folded: y\n\n", 400), ("GET / HTTP/1.1\nHost: x\nNo colon\n\n", 400),
        ("GET / HTTP/1.1\nHost: x\nA: b\0c\n\n", 400), ("GET / HTTP/1.1\nHost: x\n: y\n\n", 400), ("\x16\x03\x01\n\n", 400),
        ("PRI * HTTP/2.0\n\nSM\n\n", 400), ("GET / HTTP/1.1\nHost: x\nA: b\rC: d\n\n", 400),
        ("POST / HTTP/1.1\nHost: x\nContent-Length: 3\nTransfer-Encoding: chunked\n\n", 400),
        ("POST / HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\nContent-Length: 3\n\n", 400),
        ("POST / HTTP/1.1\nHost: x\nContent-Length: 3\nContent-Length: 4\n\n", 400),
        ("POST / HTTP/1.1\nHost: x\nContent-Length: 3\nContent-Length: 3\n\n", 400),
        ("POST / HTTP/1.1\nHost: x\nContent-Length: 3, 3\n\n", 400), ("POST / HTTP/1.1\nHost: x\nContent-Length: -3\n\n", 400),
        ("POST / HTTP/1.1\nHost: x\nContent-Length: +3\n\n", 400), ("POST / HTTP/1.1\nHost: x\nContent-Length: 0x3\n\n", 400),
        ("POST / HTTP/1.1\nHost: x\nContent-Length: \n\n", 400), ("POST / HTTP/1.1\nHost: x\nContent-Length: \xb3\n\n", 400),
        ("POST / HTTP/1.1\nHost: x\nContent-Length: 1_0\n\n", 400),
        ("POST / HTTP/1.0\nTransfer-Encoding: chunked\n\n", 400), ("POST / HTTP/1.1\nHost: x\nTransfer-Encoding: gzip, chunked\n\n", 501),
        ("POST / HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\nTransfer-Encoding: identity\n\n", 501),
        ("POST / HTTP/1.1\nHost: x\nTransfer-Encoding: xchunked\n\n", 501), ("POST / HTTP/1.1\nHost: x\nTransfer-Encoding:\n\n", 501),
        ("POST / HTTP/1.1\nHost: x\nContent-Length: 67108865\n\n", 413), ("GET / HTTP/1.1\nHost: x\nExpect: magic\n\n", 417),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, status: int) -> None:
    """What two programs could read in two ways, or is no HTTP/1 at all, has one answer."""
    with pytest.raises(BadRequest) as caught:
        head_of(text)
    assert caught.value.status == status


def test_lines_that_end_without_cr_end_nothing() -> None:
    """A lone line feed is no end of a line: neither of the head nor within it."""
    assert take_head(bytearray(b"GET / HTTP/1.1\nHost: x\n\n")) is None
    with pytest.raises(BadRequest):
        take_head(bytearray(b"GET / HTTP/1.1\nHost: x\n\r\n\r\n"))


def test_a_head_has_its_limit() -> None:
    """64 KiB of head are a head; more is refused before it is complete."""
    long = b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"b" * httptext.MAX_HEAD
    fits = long[: httptext.MAX_HEAD] + b"\r\n\r\n"

    assert take_head(bytearray(fits)) is not None
    with pytest.raises(BadRequest) as caught:
        take_head(bytearray(long))
    assert caught.value.status == 431


@pytest.mark.parametrize(
    "body",
    [b"x\r\n", b"-1\r\n", b"\r\n", b"+1\r\na\r\n", b"0x1\r\na\r\n", b"1\na\r\n", b"1\r\nab\r\n", b"1\r\na\n0\r\n\r\n", b"1 \0\r\n",
     b"4000001\r\n", b"fffffffff\r\n", b"1;" + b"x" * 300, b"0\r\na\0b\r\n", b"0\r\n" + b"a: b\r\n" * 2000, b"0\r\n" + b"a" * 9000,
     b"1\r\na\r\n4000000\r\n", b"\x31\xb2\r\n"],
)  # fmt: skip
def test_chunks_that_are_none(body: bytes) -> None:
    """Sizes, ends and trailers are checked to the byte, and the whole has its limit."""
    with pytest.raises(BadRequest):
        Body(None).take(bytearray(body))


def test_chunks() -> None:
    """Extensions and trailers are read over; what follows stays."""
    buffer = bytearray(b'3;name="v"\r\nabc\r\n00A \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nGET /')
    body = Body(None)

    assert body.take(buffer) == b"abc0123456789"
    assert (body.done, bytes(buffer), body.size) == (True, b"GET /", 13)
    assert body.take(buffer) == b""


names = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,20}", fullmatch=True).filter(
    lambda name: name.lower() not in ("host", "content-length", "transfer-encoding", "expect", "connection", "upgrade")
)
values = st.from_regex(r"([\x21-\x7e]([\t\x20-\x7e]{0,30}[\x21-\x7e])?)?", fullmatch=True)
bodies = st.lists(st.binary(min_size=1, max_size=300), max_size=6)


@relaxed
@given(
    st.lists(st.tuples(names, values), max_size=6),
    bodies,
    st.booleans(),
    st.binary(max_size=50),
    st.lists(st.integers(0), max_size=9),
)
def test_what_h11_writes_is_read(
    headers: list[tuple[str, str]], body: list[bytes], chunked: bool, rest: bytes, cuts: list[int]
) -> None:
    """However the bytes are cut up: the same head, the same body, and nothing of what follows is touched."""
    framing = ("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(len(b"".join(body))))
    client = h11.Connection(h11.CLIENT)
    data = client.send(h11.Request(method="POST", target="/v1/x", headers=[("Host", "h"), *headers, framing])) or b""
    for piece in body:
        data += client.send(h11.Data(data=piece)) or b""
    data += client.send(h11.EndOfMessage()) or b""

    head, found, left = read_all(cut_up(data + rest, cuts))

    assert (head.method, head.target, found, left) == ("POST", "/v1/x", b"".join(body), rest)
    assert [(name.lower(), value) for name, value in head.headers[1:-1]] == [(n.lower(), v) for n, v in headers]


@relaxed
@given(st.one_of(st.binary(max_size=400), st.from_regex(rb"(GET|POST) /[a-z]* HTTP/1\.[01]\r\n([A-Za-z-]*: ?[ -~]*\r\n){0,5}\r\n.*",
                                                       fullmatch=True)))  # fmt: skip
def test_garbage_is_refused_or_read(data: bytes) -> None:
    """Whatever comes, it is a request, the beginning of one, or refused; and what h11 refuses is not taken for one."""
    buffer = bytearray(data)
    try:
        head = take_head(buffer)
        if head is not None:
            Body(head.length).take(buffer)
    except BadRequest:
        return
    if head is not None:
        server = h11.Connection(h11.SERVER)
        server.receive_data(data)
        event = server.next_event()
        assert isinstance(event, h11.Request)
        assert event.target == head.target.encode()


@relaxed
@given(st.binary(max_size=400), st.lists(st.integers(0), max_size=5))
def test_any_chunks_are_read_alike_however_they_come(data: bytes, cuts: list[int]) -> None:
    """The pieces in which bytes arrive change nothing of what they mean."""

    def read(pieces: list[bytes]) -> tuple[bytes, bool] | None:
        buffer, body, found = bytearray(), Body(None), b""
        try:
            for piece in pieces:
                buffer += piece
                found += body.take(buffer)
        except BadRequest:
            return None
        return found, body.done

    assert read(cut_up(data, cuts)) == read([data])


def response(head: Head, status: int, headers: list[tuple[str, str]], parts: list[bytes]) -> tuple[Framing, bytes]:
    framing = Framing(head, status, len(parts) == 1, len(parts[0]))
    data = framing.head(status, headers) + b"".join(map(framing.piece, parts)) + framing.end
    return framing, data


@relaxed
@given(
    st.sampled_from(["GET", "POST", "HEAD"]), st.booleans(), st.sampled_from([200, 204, 304, 404, 529, 299]),
    st.lists(st.tuples(names, values), max_size=4), st.lists(st.binary(max_size=100), min_size=1, max_size=5),
)  # fmt: skip
def test_h11_reads_what_is_written(
    method: str, old: bool, status: int, headers: list[tuple[str, str]], parts: list[bytes]
) -> None:
    """Every response has an end that the client can tell, and the body that was meant."""
    head = Head(method, "/", old, [] if old else [("Host", "x")])
    framing, data = response(head, status, headers, parts)
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=method, target="/", headers=[("Host", "x")], http_version=b"1.1"))
    client.send(h11.EndOfMessage())
    client.receive_data(data)
    if not framing.keep:
        client.receive_data(b"")
    event = client.next_event()
    assert isinstance(event, h11.Response)
    body = b""
    while isinstance(got := client.next_event(), h11.Data):
        body += got.data

    assert isinstance(got, h11.EndOfMessage)
    assert body == (b"" if method == "HEAD" or status in (204, 304) else b"".join(parts))
    assert event.status_code == status
    assert [(n.lower().encode(), v.encode()) for n, v in headers] == [
        (n, v) for n, v in event.headers if n not in (b"transfer-encoding", b"content-length", b"connection")
    ]


def test_headers_that_would_break_out() -> None:
    """Line breaks, other alphabets, and what belongs to the framing are left out of a response's head."""
    head = head_of("GET / HTTP/1.1\nHost: x\n\n")
    evil = [("A", "b\r\nSet-Cookie: c"), ("B\r\nC", "d"), ("", "e"), ("D", "\u20ac"), ("Content-Length", "99"),
            ("Connection", "close"), ("TRANSFER-ENCODING", "x"), ("Good", "yes")]  # fmt: skip

    _, data = response(head, 200, evil, [b"body"])

    assert data == b"HTTP/1.1 200 OK\r\nGood: yes\r\nContent-Length: 4\r\n\r\nbody"


def test_the_length_of_what_is_not_sent() -> None:
    """The answer to HEAD keeps the length that the host names."""
    _, data = response(head_of("HEAD / HTTP/1.1\nHost: x\n\n"), 200, [("Content-Length", "99")], [b""])

    assert data == b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"


def test_a_refusal_is_a_response() -> None:
    """It ends the connection, and says why in the shape of an API's error."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(httptext.refusal(413, 'too "large"'))

    event, data = client.next_event(), client.next_event()
    assert isinstance(event, h11.Response)
    assert (event.status_code, dict(event.headers)[b"connection"]) == (413, b"close")
    assert isinstance(data, h11.Data)
    assert b'"too \\"large\\""' in data.data
