"""Git's index without what it remembers of a place: times, inodes, owners. Git reads them anew when it is next asked.

As `git read-tree` leaves it. So equal work leaves equal bytes, and nothing travels in fields that nobody looks at.
The format is https://git-scm.com/docs/index-format, versions 2 to 4.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import Final

# Extensions that hold stat data, or offsets into what has changed; git does without them.
_DROPPED: Final = frozenset([b"UNTR", b"FSMN", b"EOIE", b"IEOT"])
_HEAD: Final = struct.Struct(">4sLL")
# ctime, mtime, device, inode before the mode; user, group, size after it.
_BEFORE, _MODE, _STAT = 24, 4, 40
_EXTENDED: Final = 0x4000
_LONGEST_PREFIX: Final = 5


def without_stat(data: bytes) -> bytes:
    """The index without stat data; as it is, if it is none that can be read."""
    for name in ("sha1", "sha256"):
        size = hashlib.new(name).digest_size
        body, sum_ = data[:-size], data[-size:]
        hashed = hashlib.new(name, body).digest() == sum_
        # index.skipHash leaves zeros in its place.
        if len(data) >= _HEAD.size + size and (hashed or sum_ == bytes(size)):
            made = _rewritten(body, size)
            if made is not None:
                return made + (hashlib.new(name, made).digest() if hashed else bytes(size))
    return data


def _rewritten(body: bytes, hash_size: int) -> bytes | None:
    magic, version, count = _HEAD.unpack_from(body)
    if magic != b"DIRC" or version not in (2, 3, 4):
        return None
    out = bytearray(body)
    at = _HEAD.size
    for _ in range(count):
        end = _entry_end(body, at, hash_size, version)
        if end is None:
            return None
        out[at : at + _BEFORE] = bytes(_BEFORE)
        out[at + _BEFORE + _MODE : at + _STAT] = bytes(_STAT - _BEFORE - _MODE)
        at = end
    kept = bytes(out[:at])
    for name, piece in _extensions(body, at):
        if name is None:
            return None
        if name not in _DROPPED:
            kept += piece
    return kept


def _entry_end(body: bytes, at: int, hash_size: int, version: int) -> int | None:
    """Where the next entry begins; None if there cannot be one."""
    flags_at = at + _STAT + hash_size
    if flags_at + 2 > len(body):
        return None
    (flags,) = struct.unpack_from(">H", body, flags_at)
    path_at = flags_at + (4 if flags & _EXTENDED and version > 2 else 2)
    if version == 4:
        # How much of the path before is shared, in a number of variable length.
        start = path_at
        while path_at < len(body) and body[path_at] & 0x80 and path_at - start < _LONGEST_PREFIX:
            path_at += 1
        path_at += 1
    end = body.find(b"\0", path_at)
    if end < 0:
        return None
    if version == 4:
        return end + 1
    # Filled up with 1 to 8 zeros to a multiple of 8.
    return at + (end - at + 8) // 8 * 8


def _extensions(body: bytes, at: int) -> Iterator[tuple[bytes | None, bytes]]:
    """Name and bytes of each; the name is None where they do not end with the body."""
    while at < len(body):
        if at + 8 > len(body):
            yield None, b""
            return
        name, size = body[at : at + 4], int.from_bytes(body[at + 4 : at + 8], "big")
        end = at + 8 + size
        yield (name if end <= len(body) else None), body[at:end]
        at = end
