"""The wire: frames through the engine's multiplexed stream, deadlines, bounded memory, hostile bytes."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeover.sandbox.errors import InputError, WireBroken, WireTimeout
from takeover.sandbox.guest.frames import MAX_BODY, Decoder, encode
from takeover.sandbox.wire import STDERR_TAIL, Demultiplexer, Wire, WireClosed


def packet(data: bytes, stream: int = 1) -> bytes:
    """As the engine wraps what a container writes."""
    return struct.pack(">BxxxL", stream, len(data)) + data


def soon(seconds: float = 5.0) -> float:
    return time.monotonic() + seconds


def send_forever(wire: Wire, size: int, patience: float) -> None:
    while True:
        wire.send({"t": "input"}, bytes(size), deadline=soon(patience))


@pytest.fixture
def ends() -> Iterator[tuple[Wire, socket.socket]]:
    ours, theirs = socket.socketpair()
    wire = Wire(ours)
    yield wire, theirs
    wire.close()
    theirs.close()


@given(
    parts=st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=50)), max_size=20),
    cuts=st.lists(st.integers(1, 30), min_size=1),
)
@settings(max_examples=200, deadline=None)
def test_streams_are_told_apart_however_the_bytes_are_cut(parts: list[tuple[int, bytes]], cuts: list[int]) -> None:
    """Standard output arrives whole and in order, whatever pieces the network makes; standard error beside it."""
    raw = b"".join(packet(data, stream) for stream, data in parts)
    demultiplexer, out, at, turn = Demultiplexer(), bytearray(), 0, 0
    while at < len(raw):
        step = cuts[turn % len(cuts)]
        for piece in demultiplexer.feed(memoryview(raw)[at : at + step]):
            out += piece
        at, turn = at + step, turn + 1

    assert bytes(out) == b"".join(data for stream, data in parts if stream == 1)
    assert demultiplexer.stderr == b"".join(data for stream, data in parts if stream == 2)


def test_only_the_tail_of_standard_error_is_kept() -> None:
    """However much the guest complains, 8 KiB stay."""
    demultiplexer = Demultiplexer()
    for _ in range(1000):
        assert list(demultiplexer.feed(memoryview(packet(b"x" * 1000, 2)))) == []
    list(demultiplexer.feed(memoryview(packet(b"the end", 2))))

    assert len(demultiplexer.stderr) == STDERR_TAIL
    assert demultiplexer.stderr.endswith(b"the end")


def test_frames_go_both_ways(ends: tuple[Wire, socket.socket]) -> None:
    """A frame is sent as the codec writes it, and one that arrives in packets of any size is read."""
    wire, other = ends
    wire.send({"t": "ping", "id": 1}, b"body", deadline=soon())
    decoder = Decoder()
    decoder.feed(other.recv(1 << 16))

    assert decoder.next() == ({"t": "ping", "id": 1}, b"body")
    raw = encode({"t": "pong", "id": 1}, b"\x00\xff" * 5)
    for at in range(len(raw)):
        other.sendall(packet(raw[at : at + 1]))
    assert wire.receive(deadline=soon()) == ({"t": "pong", "id": 1}, b"\x00\xff" * 5)


def test_a_silent_sandbox_is_a_timeout(ends: tuple[Wire, socket.socket]) -> None:
    """No answer until the deadline is a WireTimeout, for reading and for writing."""
    wire, _ = ends
    with pytest.raises(WireTimeout):
        wire.receive(deadline=soon(0.05))
    with pytest.raises(WireTimeout):
        send_forever(wire, MAX_BODY, 0.05)


def test_half_a_frame_is_a_timeout_and_then_a_closed_wire(ends: tuple[Wire, socket.socket]) -> None:
    """A frame that never ends is not an answer; the end of the wire is told apart from it."""
    wire, other = ends
    other.sendall(packet(encode({"t": "pong"}, b"1234")[:-1]))
    with pytest.raises(WireTimeout):
        wire.receive(deadline=soon(0.05))
    other.close()
    with pytest.raises(WireClosed):
        wire.receive(deadline=soon())


def test_what_came_before_the_end_can_still_be_read(ends: tuple[Wire, socket.socket]) -> None:
    """The last words of a sandbox are not lost when its wire ends while we send."""
    wire, other = ends
    other.sendall(packet(encode({"t": "crash", "why": "x"})))
    other.close()
    with pytest.raises(WireClosed):
        send_forever(wire, 1000, 5)

    assert [header for header, _ in wire.pending()] == [{"t": "crash", "why": "x"}]


def test_nothing_is_sent_to_who_has_hung_up(ends: tuple[Wire, socket.socket]) -> None:
    """An engine ends its half of the stream when a container is removed, and need not take the other half any more."""
    wire, theirs = ends
    theirs.shutdown(socket.SHUT_WR)

    with pytest.raises(WireClosed):
        send_forever(wire, MAX_BODY, 30.0)


def test_both_ends_may_send_at_once(ends: tuple[Wire, socket.socket]) -> None:
    """Two full pipes do not wait for each other: while we wait to send, we read."""
    wire, other = ends
    answer = packet(encode({"t": "output"}, bytes(300_000)))

    def peer() -> None:
        for _ in range(5):
            other.sendall(answer)
        decoder = Decoder()
        while decoder.next() is None:
            decoder.feed(other.recv(1 << 16))

    thread = threading.Thread(target=peer)
    thread.start()
    wire.send({"t": "input"}, bytes(MAX_BODY), deadline=soon())
    for _ in range(5):
        assert wire.receive(deadline=soon())[0] == {"t": "output"}
    thread.join()


def raw_frame(header: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">II", len(header), len(body)) + header + body


HOSTILE = {
    "a header without end": packet(struct.pack(">II", 1 << 30, 0)),
    "a body without end": packet(struct.pack(">II", 2, 1 << 30) + b"{}"),
    "no JSON": packet(raw_frame(b"}{")),
    "no object": packet(raw_frame(b"[]")),
    "no type": packet(raw_frame(b'{"id":1}')),
    "type is a number": packet(raw_frame(b'{"t":1}')),
    "not ASCII": packet(raw_frame(b'{"t":"\xff"}')),
    "NaN": packet(raw_frame(b'{"t":"exit","seconds":NaN}')),
    "a number of a million digits": packet(raw_frame(b'{"t":"x","n":' + b"9" * 900_000 + b"}")),
    "a deep nest": packet(raw_frame(b'{"t":' + b"[" * 500_000)),
    "a third stream": packet(b"x", 3),
    "a terminal": b"\r\n$ " * 10,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_no_frame_breaks_the_wire(ends: tuple[Wire, socket.socket], case: str) -> None:
    """Hostile bytes are a WireBroken: no crash, no hang, no memory."""
    wire, other = ends
    thread = threading.Thread(target=other.sendall, args=(HOSTILE[case],))
    thread.start()
    with pytest.raises(WireBroken):
        wire.receive(deadline=soon())
    thread.join()


def test_a_flood_does_not_fill_memory(ends: tuple[Wire, socket.socket]) -> None:
    """100 MiB of frames pass through with a few MiB of memory, also while nobody reads them."""
    wire, other = ends
    flood = packet(encode({"t": "output"}, bytes(MAX_BODY)))

    def peer() -> None:
        for _ in range(100):
            other.sendall(flood)

    thread = threading.Thread(target=peer)
    tracemalloc.start()
    thread.start()
    with pytest.raises(WireTimeout):
        send_forever(wire, 100_000, 0.3)
    for _ in range(100):
        wire.receive(deadline=soon())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    thread.join()

    assert peak < 32 << 20


def test_a_request_that_is_too_large_is_the_callers_fault(ends: tuple[Wire, socket.socket]) -> None:
    """What does not fit into a frame is an InputError before a byte is sent."""
    wire, _ = ends
    with pytest.raises(InputError):
        wire.send({"t": "run", "argv": ["x" * (1 << 21)]}, deadline=soon())


def test_a_closed_wire_says_so(ends: tuple[Wire, socket.socket]) -> None:
    """Closing twice is harmless; using a closed wire is a WireClosed."""
    wire, _ = ends
    wire.close()
    wire.close()
    with pytest.raises(WireClosed):
        wire.send({"t": "ping"}, deadline=soon())
    with pytest.raises(WireClosed):
        wire.receive(deadline=soon())


@given(raw=st.binary(max_size=200), header=st.dictionaries(st.text(max_size=3), st.integers(), max_size=3))
@settings(max_examples=200, deadline=None)
def test_random_bytes_never_do_worse(raw: bytes, header: dict[str, int]) -> None:
    """Any bytes are frames, an unfinished frame, or a broken wire."""
    ours, theirs = socket.socketpair()
    wire = Wire(ours)
    theirs.sendall(raw + packet(raw_frame(json.dumps(header).encode(), raw)))
    theirs.close()
    try:
        while True:
            wire.receive(deadline=soon())
    except WireBroken:
        pass
    finally:
        wire.close()
