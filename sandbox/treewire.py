"""Trees as `tree` frames: what we send is packed here, and what comes back is believed only here.

An entry is [path, kind, mode, size, offset, nbytes]; the bytes of a frame's entries follow one another in its body.
A file that does not fit goes on in the next frames with a growing offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal, cast

from .caps import Caps, TreeRules
from .errors import InputError, WireBroken
from .tree import TreeItem, decode_path, encode_path

Header = Mapping[str, object]
Frame = tuple[Header, bytes]

_BODY: Final = 256 * 1024
# ensure_ascii makes six characters of an undecodable byte, and a header may be 1 MiB long.
_NAMES: Final = 96 * 1024
_ENTRIES: Final = 1000


class _Packer:
    def __init__(self, request: int) -> None:
        self._request = request
        self._entries: list[list[object]] = []
        self._body = bytearray()
        self._names = 0

    @property
    def room(self) -> int:
        return _BODY - len(self._body)

    def add(self, item: TreeItem, size: int, offset: int, data: bytes) -> None:
        self._entries.append([item.path, item.kind, item.mode, size, offset, len(data)])
        self._body += data
        self._names += len(item.path)

    @property
    def full(self) -> bool:
        return self.room <= 0 or self._names >= _NAMES or len(self._entries) >= _ENTRIES

    def frame(self, *, last: bool) -> Frame:
        made = {"t": "tree", "id": self._request, "items": self._entries, "last": last}, bytes(self._body)
        self._entries, self._body, self._names = [], bytearray(), 0
        return made


def pack_tree(items: Iterable[tuple[TreeItem, BinaryIO | bytes]], request: int, caps: Caps) -> Iterator[Frame]:
    """The frames of a tree in canonical order; InputError if it is not one, or a stream is not as long as it says."""
    rules, packer = TreeRules(caps), _Packer(request)
    for item, content in items:
        if problem := rules.violation(item):
            raise InputError(f"{item.path!r}: {problem}")
        if item.kind != "f":
            data = encode_path(item.target) if item.target is not None else b""
            packer.add(item, len(data), 0, data)
            if packer.full:
                yield packer.frame(last=False)
            continue
        offset = 0
        while True:
            chunk = _take(content, offset, min(packer.room, item.size - offset))
            packer.add(item, item.size, offset, chunk)
            offset += len(chunk)
            if packer.full:
                yield packer.frame(last=False)
            if offset == item.size:
                break
            if not chunk:
                raise InputError(f"{item.path!r}: its content is not {item.size} bytes long")
    yield packer.frame(last=True)


def _take(content: BinaryIO | bytes, offset: int, count: int) -> bytes:
    if isinstance(content, bytes):
        return content[offset : offset + count]
    return content.read(count) if count else b""


@dataclass(frozen=True, slots=True)
class _Entry:
    item: TreeItem
    offset: int
    data: bytes


def unpack_tree(frames: Iterable[Frame], caps: Caps) -> Iterator[tuple[TreeItem, Iterator[bytes]]]:
    """The items that a guest sends, each with its bytes, which must be taken before the next item is asked for.

    WireBroken for anything but a well-formed tree within the caps; nothing is buffered beyond one frame.
    """
    rules, entries = TreeRules(caps), _entries(frames)
    for entry in entries:
        item = entry.item
        if entry.offset:
            raise WireBroken(f"the tree goes on with a file that was not begun: {item.path!r}")
        if problem := rules.violation(item):
            raise WireBroken(f"the tree holds {item.path!r}: {problem}")
        content = _content(entry, entries)
        yield item, content
        for _ in content:
            pass


def _content(first: _Entry, entries: Iterator[_Entry]) -> Iterator[bytes]:
    item, offset, entry = first.item, len(first.data), first
    if entry.data:
        yield entry.data
    while offset < item.size:
        following = next(entries, None)
        if following is None:
            raise WireBroken(f"the tree ends inside {item.path!r}")
        entry = following
        if entry.item != item or entry.offset != offset or not entry.data:
            raise WireBroken(f"the tree breaks off inside {item.path!r}")
        offset += len(entry.data)
        if offset > item.size:
            raise WireBroken(f"the tree holds more of {item.path!r} than announced")
        yield entry.data


def _entries(frames: Iterable[Frame]) -> Iterator[_Entry]:
    for head, body in frames:
        listed = head.get("items")
        if not isinstance(listed, list) or not isinstance(head.get("last"), bool):
            raise WireBroken("a tree frame without items")
        start = 0
        for raw in listed:
            entry, start = _entry(raw, body, start)
            yield entry
        if start != len(body):
            raise WireBroken("a tree frame whose body is not what its items say")
        if head["last"]:
            return
    raise WireBroken("the tree has no end")


def _entry(raw: object, body: bytes, start: int) -> tuple[_Entry, int]:
    if not isinstance(raw, list) or len(raw) != 6:
        raise WireBroken("a tree entry of the wrong shape")
    path, kind, numbers = raw[0], raw[1], raw[2:]
    if not isinstance(path, str) or kind not in ("f", "d", "l") or any(type(n) is not int for n in numbers):
        raise WireBroken("a tree entry of the wrong types")
    mode, size, offset, nbytes = numbers
    if min(size, offset, nbytes) < 0 or start + nbytes > len(body) or offset + nbytes > size:
        raise WireBroken(f"impossible numbers for {path!r}")
    data = body[start : start + nbytes]
    if kind == "f":
        return _Entry(TreeItem(path, "f", mode, size), offset, data), start + nbytes
    if offset or nbytes != size:
        raise WireBroken(f"impossible numbers for {path!r}")
    target = decode_path(data) if kind == "l" else None
    if target is None and data:
        raise WireBroken(f"a directory with content: {path!r}")
    return _Entry(TreeItem(path, cast(Literal["d", "l"], kind), mode, 0, target=target), 0, b""), start + nbytes
