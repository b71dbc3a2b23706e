"""A workspace frozen: the canonical tar stream, and the name that its bytes give it.

One tree has one stream: items in canonical order, GNU headers (which hold any name that a filesystem can),
mtime 0, uid and gid 0, no user names, two zero blocks at the end and no further padding.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, cast

from .errors import StorageError
from .tree import Kind, Manifest, TreeItem, decode_path, encode_path

BLOCK: Final = tarfile.BLOCKSIZE
TRAILER: Final = bytes(2 * BLOCK)
LINK_MODE: Final = 0o777

_TYPES: Final[dict[str, bytes]] = {"f": tarfile.REGTYPE, "d": tarfile.DIRTYPE, "l": tarfile.SYMTYPE}
_KINDS: Final[dict[bytes, Kind]] = {tarfile.REGTYPE: "f", tarfile.DIRTYPE: "d", tarfile.SYMTYPE: "l"}
_LONG_NAME_LIMIT: Final = 64 * 1024
_PAGE: Final = 4096
# Shorter targets live in the inode itself.
_SHORT_LINK: Final = 128

Read = Callable[[int], bytes]
"""Returns exactly that many bytes, or raises."""


@dataclass(frozen=True, slots=True)
class Omission:
    """A path that an export left out, and why (a socket, a cap, ...)."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A stored tree. `sha256` names its canonical tar; not `complete` if a cap or an unreadable item left some out."""

    sha256: str
    manifest: Manifest
    complete: bool = True
    omitted: tuple[Omission, ...] = ()


def room_needed(manifest: Manifest) -> int:
    """Bytes that a tree takes up on a tmpfs, where a hole and a further name of a file cost as much as the file."""
    targets = (len(encode_path(item.target)) for item in manifest.values() if item.target is not None)
    sizes = [item.size for item in manifest.values() if item.kind == "f"]
    sizes += [length for length in targets if length >= _SHORT_LINK]
    return sum(-(-size // _PAGE) * _PAGE for size in sizes)


def header(item: TreeItem) -> bytes:
    """The tar blocks that announce an item."""
    info = tarfile.TarInfo(item.path)
    info.type, info.mode = _TYPES[item.kind], item.mode
    info.size = item.size if item.kind == "f" else 0
    info.linkname = item.target or ""
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def padding(size: int) -> bytes:
    """The zeros that fill the last block of a file."""
    return bytes(-size % BLOCK)


def next_item(read: Read) -> TreeItem | None:
    """The next item's header from a canonical stream, None at its end; StorageError if it is no such stream."""
    long_name: str | None = None
    long_target: str | None = None
    while True:
        block = read(BLOCK)
        if block == bytes(BLOCK):
            return None
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise StorageError(f"not a snapshot: {error}") from None
        if info.type in (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
            text = _long_text(info.size, read)
            if info.type == tarfile.GNUTYPE_LONGNAME:
                long_name = text
            else:
                long_target = text
            continue
        kind = _KINDS.get(info.type)
        if kind is None:
            raise StorageError(f"not a snapshot: an item of type {info.type!r}")
        name = (long_name or info.name).rstrip("/")
        target = (long_target or info.linkname) if kind == "l" else None
        return TreeItem(path=name, kind=kind, mode=info.mode, size=info.size, target=target)


def _long_text(size: int, read: Read) -> str:
    if not 0 < size <= _LONG_NAME_LIMIT:
        raise StorageError("not a snapshot: a name that no filesystem can hold")
    raw = read(size)
    read(-size % BLOCK)
    return decode_path(raw.rstrip(b"\0"))


class Member(io.RawIOBase):
    """One file's bytes, read from the stream as they are asked for."""

    def __init__(self, read: Read, size: int) -> None:
        self._read = read
        self._size = self._left = size

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: object) -> int:
        """The contract of io.RawIOBase."""
        view = cast(memoryview, buffer)
        count = min(len(view), self._left)
        view[:count] = self._read(count)
        self._left -= count
        return count

    def finish(self) -> None:
        """Pass over what was not read, and the padding."""
        while self._left:
            step = min(self._left, 1 << 18)
            self._read(step)
            self._left -= step
        self._read(-self._size % BLOCK)


def digest_items(items: Iterator[tuple[TreeItem, io.RawIOBase]]) -> Manifest:
    """Read every file and return the manifest with their digests."""
    found: dict[str, TreeItem] = {}
    for item, stream in items:
        if item.kind == "f":
            digest = hashlib.sha256()
            while chunk := stream.read(1 << 18):
                digest.update(chunk)
            item = TreeItem(path=item.path, kind="f", mode=item.mode, size=item.size, sha256=digest.hexdigest())
        found[item.path] = item
    return Manifest(found)
