"""Trees on the wire: what we pack comes out the same, and nothing malformed is believed."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Content, trees

from takeover.sandbox.caps import Caps
from takeover.sandbox.errors import InputError, WireBroken
from takeover.sandbox.guest.frames import Decoder, encode
from takeover.sandbox.tree import TreeItem
from takeover.sandbox.treewire import Frame, pack_tree, unpack_tree


def through_frames(frames: Iterable[Frame]) -> Iterator[Frame]:
    """What arrives after the frames went through the codec."""
    decoder = Decoder()
    for header, body in frames:
        decoder.feed(encode(header, body))
        yield from decoder


def taken(frames: Iterable[Frame], caps: Caps | None = None) -> list[Content]:
    return [(item, b"".join(chunks)) for item, chunks in unpack_tree(frames, caps or Caps())]


@given(tree=trees())
@settings(max_examples=60, deadline=None)
def test_any_tree_survives_the_wire(tree: list[Content]) -> None:
    """Every item arrives with its bytes, undecodable names and targets included."""
    arrived = taken(through_frames(pack_tree(tree, 1, Caps())))

    assert arrived == [(item, data if item.kind == "f" else b"") for item, data in tree]


def test_large_files_and_many_files_are_split_into_frames() -> None:
    """A file larger than a frame, and more entries than a header holds, arrive whole."""
    big = bytes(range(256)) * 9000
    tree: list[Content] = [(TreeItem(f"f{n:05}" + "\udcff" * 60, "f", 0o644, 0), b"") for n in range(3000)]
    tree.append((TreeItem("g", "f", 0o644, len(big)), big))
    tree.append((TreeItem("h", "f", 0o644, 1), b"h"))
    frames = list(pack_tree(tree, 1, Caps()))

    assert len(frames) > 10
    assert taken(through_frames(frames)) == tree


def test_streams_are_read_piece_by_piece() -> None:
    """Content may be a stream; one that is too short is an InputError, not a broken tree."""
    item = TreeItem("a", "f", 0o644, 600_000)

    assert taken(pack_tree([(item, io.BytesIO(b"x" * 600_000))], 1, Caps())) == [(item, b"x" * 600_000)]
    with pytest.raises(InputError):
        list(pack_tree([(item, io.BytesIO(b"x" * 10))], 1, Caps()))


def test_content_that_nobody_takes_is_passed_over() -> None:
    """A consumer may skip files without losing its place."""
    tree: list[Content] = [(TreeItem(name, "f", 0o644, 400_000), name.encode() * 400_000) for name in "abc"]

    assert [item.path for item, _ in unpack_tree(pack_tree(tree, 1, Caps()), Caps())] == ["a", "b", "c"]


def frame(*items: object, body: bytes = b"", last: object = True) -> Frame:
    return {"t": "tree", "id": 1, "items": list(items), "last": last}, body


def file(path: str, size: int = 0, offset: int = 0, nbytes: int | None = None, mode: int = 0o644) -> list[object]:
    return [path, "f", mode, size, offset, size if nbytes is None else nbytes]


HOSTILE: dict[str, list[Frame]] = {
    "no end": [frame(file("a"), last=False)],
    "nothing at all": [],
    "no items": [({"t": "tree", "last": True}, b"")],
    "items are no list": [({"t": "tree", "items": {}, "last": True}, b"")],
    "last is no flag": [frame(last=1)],
    "entry is no list": [frame("a")],
    "entry too short": [frame(["a", "f", 0o644, 0, 0])],
    "path is no text": [frame([7, "f", 0o644, 0, 0, 0])],
    "kind is unknown": [frame(["a", "s", 0o644, 0, 0, 0])],
    "kind is a list": [frame(["a", ["f"], 0o644, 0, 0, 0])],
    "a flag for a number": [frame(["a", "f", True, 0, 0, 0])],
    "negative size": [frame(["a", "f", 0o644, -1, 0, 0])],
    "more than the body holds": [frame(file("a", 10), body=b"123")],
    "less than the body holds": [frame(file("a", 1), body=b"123")],
    "more than announced": [frame(["a", "f", 0o644, 1, 0, 3], body=b"123")],
    "begins in the middle": [frame(file("a", 9, 4, 1), body=b"x")],
    "goes on elsewhere": [frame(file("a", 4, 0, 2), body=b"xx", last=False), frame(file("b", 4, 2, 2), body=b"xx")],
    "goes on with another size": [
        frame(file("a", 4, 0, 2), body=b"xx", last=False),
        frame(file("a", 9, 2, 2), body=b"xx"),
    ],
    "a gap": [frame(file("a", 4, 0, 2), body=b"xx", last=False), frame(file("a", 4, 3, 1), body=b"x")],
    "a standstill": [frame(file("a", 4, 0, 2), body=b"xx", last=False), frame(file("a", 4, 2, 0), last=False)],
    "ends inside a file": [frame(file("a", 4, 0, 2), body=b"xx")],
    "a directory with content": [frame(["a", "d", 0o755, 2, 0, 2], body=b"xx")],
    "a link half sent": [frame(["a", "l", 0o777, 4, 0, 2], body=b"xx")],
    "an empty link": [frame(["a", "l", 0o777, 0, 0, 0])],
    "a link with NUL": [frame(["a", "l", 0o777, 2, 0, 2], body=b"x\0")],
    "set-uid": [frame(file("a", mode=0o4755))],
    "out of order": [frame(file("b"), file("a"))],
    "twice": [frame(file("a"), file("a"))],
    "climbs out": [frame(file("../a"))],
    "absolute": [frame(file("/etc/passwd"))],
    "through a link": [frame(["a", "l", 0o777, 1, 0, 1], file("a/b"), body=b"/")],
    "no parent": [frame(file("a/b"))],
    "a surrogate that is no byte": [frame(file("\ud800"))],
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_malformed_tree_is_a_broken_wire(case: str) -> None:
    """Whatever a guest could send instead of a tree is refused."""
    with pytest.raises(WireBroken):
        taken(HOSTILE[case])


def test_caps_are_held_on_this_side_too() -> None:
    """A guest that ignores the caps it was given is refused."""
    for caps in (Caps(max_files=1), Caps(max_bytes=2), Caps(max_path=1), Caps(max_depth=1)):
        frames = [frame(["d", "d", 0o755, 0, 0, 0], file("d/f", 3), body=b"123")]
        with pytest.raises(WireBroken):
            taken(frames, caps)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 5) | st.sampled_from(["a", "f", "d", "l", "..", "a/b"]),
    lambda inner: st.lists(inner, max_size=6),
    max_leaves=20,
)


@given(items=st.lists(_json, max_size=4), body=st.binary(max_size=4), last=st.sampled_from([True, False, None]))
@settings(max_examples=300, deadline=None)
def test_no_frame_does_worse_than_break_the_wire(items: list[object], body: bytes, last: object) -> None:
    """Random frames are refused or are trees; nothing else escapes."""
    with contextlib.suppress(WireBroken):
        taken([({"t": "tree", "items": items, "last": last}, body)])
