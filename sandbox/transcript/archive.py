"""Reading members of a ZIP that a stranger made: stored, deflated or Zstandard (which zipfile before 3.14 cannot)."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import zstandard

from ..errors import InputError
from .reading import MIB, Input, open_regular
from .text import one_line

_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_LOCAL = struct.Struct("<4s5H3L2H")
_BROKEN = (
    zipfile.BadZipFile, struct.error, ValueError, OverflowError, NotImplementedError, RuntimeError, EOFError, OSError,
    zlib.error, zstandard.ZstdError, MemoryError,
)  # fmt: skip


class Archive:
    """An open ZIP; members are read one by one, each within the caps, its checksum compared."""

    def __init__(self, given: Input, file: BinaryIO) -> None:
        self._given = given
        self._file = file
        self._check_directory()
        try:
            with zipfile.ZipFile(file) as opened:
                infos = opened.infolist()
        except _BROKEN as e:
            raise self._fail("is no readable ZIP; write the log again") from e
        if len(infos) > given.caps.members:
            raise self._fail(f"has more than {given.caps.members:,} members; raise the cap or give a part of it")
        self._infos: dict[str, zipfile.ZipInfo] = {}
        for info in infos:
            if info.filename in self._infos:
                raise self._fail(f"has the member {one_line(info.filename, 80)!r} twice; keep one")
            self._infos[info.filename] = info

    def _fail(self, what: str) -> InputError:
        return InputError(f"{self._given.label}: {what}")

    def _check_directory(self) -> None:
        """Refuse a directory too large to hold in memory before zipfile reads it."""
        size = self._file.seek(0, 2)
        tail = min(size, 22 + 65535 + 20)
        self._file.seek(size - tail)
        data = self._file.read(tail)
        at = data.rfind(b"PK\x05\x06")
        if at < 0 or len(data) < at + 22:
            raise self._fail("is no complete ZIP; its directory is missing")
        (length,) = struct.unpack("<L", data[at + 12 : at + 16])
        # 0xFFFFFFFF sends the reader to a 64-bit record, which a log of ours never needs.
        if length > self._given.caps.directory:
            raise self._fail(f"has a directory larger than {self._given.caps.directory:,} bytes; give a part of it")
        locator = data.rfind(b"PK\x06\x07", 0, at)
        if locator >= 0 and at - locator == 20:
            raise self._fail("is a 64-bit ZIP; give the log as .json")

    def names(self) -> list[str]:
        """The names of the members."""
        return list(self._infos)

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def read(self, name: str) -> bytes:
        """The bytes of one member. Raises InputError if it is damaged, encrypted, or larger than it may be."""
        info = self._infos[name]
        caps = self._given.caps
        shown = one_line(name, 80)
        if info.file_size > caps.document:
            raise self._fail(f"member {shown}: is larger than {caps.document:,} bytes; raise the cap")
        if info.file_size > MIB and info.file_size > caps.ratio * max(info.compress_size, 1):
            raise self._fail(f"member {shown}: is compressed more than {caps.ratio} times, as a bomb is; refused")
        if info.flag_bits & 1:
            raise self._fail(f"member {shown}: is encrypted; give it in the clear")
        try:
            data = self._decompress(info, self._raw(info))
        except _BROKEN as e:
            raise self._fail(f"member {shown}: is damaged; write the log again") from e
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise self._fail(f"member {shown}: is damaged (its checksum differs); write the log again")
        return data

    def _raw(self, info: zipfile.ZipInfo) -> bytes:
        self._file.seek(info.header_offset)
        header = _LOCAL.unpack(self._file.read(_LOCAL.size))
        if header[0] != b"PK\x03\x04":
            raise zipfile.BadZipFile
        self._file.seek(header[-2] + header[-1], 1)
        return self._file.read(min(info.compress_size, self._given.caps.document))

    def _decompress(self, info: zipfile.ZipInfo, raw: bytes) -> bytes:
        limit = info.file_size + 1
        if info.compress_type == _STORED:
            return raw
        if info.compress_type == _DEFLATED:
            return zlib.decompressobj(-15).decompress(raw, limit)
        if info.compress_type == _ZSTANDARD:
            with zstandard.ZstdDecompressor(max_window_size=128 * MIB).stream_reader(
                raw, read_across_frames=True
            ) as reader:
                return reader.read(limit)
        raise NotImplementedError


@contextmanager
def open_archive(given: Input) -> Iterator[Archive]:
    """Open a ZIP for reading."""
    with open_regular(given.path, given.label) as file:
        yield Archive(given, file)
