"""Streams are taken apart the same however they are cut into chunks, and nothing of them is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeover.sandbox.gateway import sse
from takeover.sandbox.gateway.sse import ArrayParser, Event, SseParser, StreamParser

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LINES = st.sampled_from(
    ["data: a", "data:b", "data: é\u2028", "event: ping", ": comment", "id: 7", "data", "retry: 5", "junk", "", ""]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(alphabet='ab"\\{}[]é,:\n', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='a"\\{', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def run(parser: StreamParser, data: bytes, cuts: list[int]) -> list[Event]:
    """Feed the data in pieces."""
    events, start = [], 0
    for end in [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]:
        events += parser.feed(data[start:end])
        start = end
    return events + parser.end()


@given(st.lists(st.tuples(LINES, ENDS), max_size=25), st.lists(st.integers(0, 10_000), max_size=12))
def test_any_chunking_gives_the_same_events(lines: list[tuple[str, str]], cuts: list[int]) -> None:
    """Server-sent events with any line ends, cut anywhere, also inside a character."""
    data = "".join(line + end for line, end in lines).encode()
    whole = run(SseParser(), data, [])

    assert run(SseParser(), data, cuts) == whole
    assert b"".join(event.raw for event in whole) == data


@given(st.binary(max_size=200), st.lists(st.integers(0, 10_000), max_size=12))
def test_any_bytes_pass(data: bytes, cuts: list[int]) -> None:
    """Garbage is no event, and no byte of it is lost."""
    for kind in (SseParser, ArrayParser):
        parser: StreamParser = kind()
        assert b"".join(event.raw for event in run(parser, data, cuts)) == data


@given(
    st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), max_size=6),
    st.sampled_from([",", ",\r\n", " ,\n "]),
    st.lists(st.integers(0, 10_000), max_size=12),
)
def test_an_array_gives_its_objects(objects: list[dict[str, object]], between: str, cuts: list[int]) -> None:
    """Gemini's growing array: each object comes out whole, whatever is in its strings."""
    data = f"[{between.join(json.dumps(one, ensure_ascii=False) for one in objects)}\n]".encode()
    events = run(ArrayParser(), data, cuts)

    assert [json.loads(event.data) for event in events if event.data is not None] == objects
    assert b"".join(event.raw for event in events) == data


def test_what_an_event_holds() -> None:
    """Several lines of data are one text; a name, a comment and a byte order mark are no data."""
    data = b"\xef\xbb\xbfevent: x\ndata: 1\ndata: 2\n\n: ping\n\ndata: last"
    events = run(SseParser(), data, [])

    assert [(event.name, event.data) for event in events] == [("x", b"1\n2"), ("", None), ("", b"last")]


@pytest.mark.parametrize("parser", [SseParser, ArrayParser])
def test_an_endless_event_is_not_collected(parser: type[StreamParser], monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit nothing is read any more, and what was held can be taken."""
    monkeypatch.setattr(sse, "EVENT_LIMIT", 1000)
    made = parser()
    for _ in range(30):
        made.feed(b'{"a": "' + b"x" * 100)

    assert made.overflow
    assert len(made.rest()) < 1200
