"""The codec of the wire, on both ends."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeover.sandbox.guest.frames import MAX_BODY, MAX_HEADER, Decoder, FrameError, encode

# The machine may be busy; how long an example takes says nothing.
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
values = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20)
)
headers = st.dictionaries(st.text(max_size=5), values | st.lists(values, max_size=3), max_size=4).map(
    lambda header: {**header, "t": "x"}
)
# Paths with undecodable bytes travel as lone surrogates.
paths = st.binary(max_size=60).map(lambda raw: raw.decode("utf-8", "surrogateescape"))


@relaxed
@given(st.lists(st.tuples(headers, st.binary(max_size=300)), max_size=4), st.data())
def test_frames_survive_any_cutting(frames: list[tuple[dict[str, object], bytes]], data: st.DataObject) -> None:
    """However the stream is cut into reads, the same frames come out."""
    stream = b"".join(encode(header, body) for header, body in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    decoder, got = Decoder(), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        decoder.feed(stream[start:end])
        got += list(decoder)

    assert got == frames
    assert decoder.pending == 0


@relaxed
@given(paths)
def test_any_path_survives(path: str) -> None:
    """A path of any bytes comes out as it went in."""
    decoder = Decoder()
    decoder.feed(encode({"t": "x", "path": path}))

    assert decoder.next() == ({"t": "x", "path": path}, b"")


@relaxed
@given(st.binary(max_size=300))
def test_hostile_bytes_are_refused_or_incomplete(data: bytes) -> None:
    """Any bytes give frames, wait for more, or raise FrameError: nothing else."""
    decoder = Decoder()
    decoder.feed(data)
    with contextlib.suppress(FrameError):
        assert all(isinstance(header["t"], str) for header, _ in decoder)


@relaxed
@given(st.binary(max_size=200))
def test_hostile_headers_are_refused_or_objects(text: bytes) -> None:
    """A header of any bytes is an object with a type, or a FrameError."""
    decoder = Decoder()
    decoder.feed(struct.pack(">II", len(text), 0) + text)
    try:
        frame = decoder.next()
    except FrameError:
        return
    assert frame is not None
    assert isinstance(frame[0]["t"], str)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"[]", b"{}", b'{"t":1}', b'{"t":"x"', b'{"t":"x","n":NaN}', b'{"t":"x","n":-Infinity}', b"\xff{}",
        b'{"t":"\xc3\xa9"}', b"[" * 200_000, b'{"t":"x"}x',
    ],
    ids=lambda text: repr(text[:20]),
)  # fmt: skip
def test_what_is_no_header(text: bytes) -> None:
    """Not JSON, not an object, not ASCII, too deep, or without a type: FrameError."""
    decoder = Decoder()
    decoder.feed(struct.pack(">II", len(text), 0) + text)

    with pytest.raises(FrameError):
        decoder.next()


@pytest.mark.parametrize(("header", "body"), [(MAX_HEADER + 1, 0), (0, MAX_BODY + 1), (1 << 31, 1 << 31)])
def test_announced_lengths_are_bounded(header: int, body: int) -> None:
    """A frame that announces too much is refused before any of it is waited for."""
    decoder = Decoder()
    decoder.feed(struct.pack(">II", header, body))

    with pytest.raises(FrameError, match="announces"):
        decoder.next()


def test_nothing_too_large_is_sent() -> None:
    """The limits hold for the sender as well, to the byte."""
    encode({"t": "x"}, bytes(MAX_BODY))
    with pytest.raises(FrameError, match="body"):
        encode({"t": "x"}, bytes(MAX_BODY + 1))
    with pytest.raises(FrameError, match="header"):
        encode({"t": "x", "why": "y" * MAX_HEADER})
