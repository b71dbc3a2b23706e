"""Where snapshots are kept: `<sha256>.tar.zst`, written whole or not at all and checked whenever one is read."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self, cast

import zstandard

from .caps import Caps, TreeRules
from .errors import InputError, StorageError
from .items import plain_tree, whole_tree
from .snapshot import LINK_MODE, TRAILER, Member, Omission, Snapshot, digest_items, header, next_item, padding
from .tree import Manifest, TreeItem, encode_path

SUFFIX: Final = ".tar.zst"
_PART: Final = re.compile(r"\.[0-9a-f]{16}\.part")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_LEVEL: Final = 3
_CHUNK: Final = 1 << 18


class SnapshotStore:
    """
    <root>/
      <sha256>.tar.zst      one snapshot; `zstd -dc FILE | sha256sum` proves its name
      .<random>.part        one that is being written
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, sha256: str) -> Path:
        """Where a snapshot is, or would be."""
        if not _SHA256.fullmatch(sha256):
            raise InputError(f"{sha256!r} is not a snapshot's SHA-256")
        return self.root / f"{sha256}{SUFFIX}"

    def __contains__(self, sha256: str) -> bool:
        return self.path(sha256).is_file()

    def writer(self, caps: Caps | None = None) -> SnapshotWriter:
        """A new snapshot, item by item; nothing is left of it unless it is finished."""
        return SnapshotWriter(self.root, caps or Caps())

    def put(self, items: Iterable[tuple[TreeItem, BinaryIO | bytes]]) -> Snapshot:
        """Store a tree given in any order, with or without the directories that its paths imply.

        Streams must be independent of each other; for a large tree use `writer`.
        """
        with self.writer() as writer:
            for item, content in whole_tree(items):
                writer.add(item, _chunks(content))
            return writer.finish()

    def put_files(self, files: Mapping[str, bytes]) -> Snapshot:
        """Store plain files (mode 644, or 755 if they start with `#!`)."""
        return self.put(plain_tree(files))

    def open(self, sha256: str) -> Iterator[tuple[TreeItem, BinaryIO]]:
        """The items in canonical order; each stream is valid until the next item is asked for.

        Files carry no `sha256` here (it is known only once they were read: see `manifest`).
        StorageError at the end if the bytes are not those that the name promises.
        """
        path = self.path(sha256)
        try:
            with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as plain:
                yield from _Stream(path, sha256, plain).items()
        except FileNotFoundError:
            raise StorageError(f"{path}: there is no such snapshot") from None
        except (OSError, zstandard.ZstdError) as error:
            raise StorageError(f"{path}: cannot be read: {error}") from error

    def manifest(self, sha256: str) -> Manifest:
        """The manifest of a stored snapshot, from its own bytes."""
        return digest_items(cast("Iterator[tuple[TreeItem, io.RawIOBase]]", self.open(sha256)))

    def read_files(self, sha256: str, wanted: Callable[[TreeItem], bool], *, limit: int = 64 << 20) -> dict[str, bytes]:
        """The contents of the wanted regular files; InputError if they are more than `limit` bytes together."""
        found: dict[str, bytes] = {}
        total = 0
        for item, stream in self.open(sha256):
            if item.kind == "f" and wanted(item):
                total += item.size
                if total > limit:
                    raise InputError(f"the files asked for are more than {limit} bytes")
                found[item.path] = stream.read()
        return found

    def extract(self, sha256: str, destination: Path) -> None:
        """Write a snapshot into a new or empty directory; InputError if it holds anything."""
        try:
            destination.mkdir(parents=True, exist_ok=True)
            if any(destination.iterdir()):
                raise InputError(f"{destination}: not empty", hint="Choose a new directory.")
            directories = []
            for item, stream in self.open(sha256):
                target = destination / os.fsdecode(encode_path(item.path))
                if item.kind == "d":
                    target.mkdir(0o700)
                    directories.append((target, item.mode))
                elif item.kind == "l":
                    target.symlink_to(os.fsdecode(encode_path(item.target or "")))
                else:
                    _write_new(target, item.mode, stream)
            # Last and deepest first: a directory may forbid what was still to be written into it.
            for target, mode in reversed(directories):
                target.chmod(mode)
        except OSError as error:
            raise StorageError(f"{destination}: {error.strerror or error}") from error

    def clean(self) -> None:
        """Remove what writers that were killed left behind; only for who holds the folder alone."""
        with contextlib.suppress(FileNotFoundError):
            for path in self.root.iterdir():
                if _PART.fullmatch(path.name):
                    path.unlink(missing_ok=True)


class SnapshotWriter:
    """A snapshot in the making; a context manager that removes it again unless `finish` was reached."""

    def __init__(self, root: Path, caps: Caps) -> None:
        self._root = root
        self._rules = TreeRules(caps)
        self._digest = hashlib.sha256()
        self._items: dict[str, TreeItem] = {}
        self._pending = bytearray()
        self._part = root / f".{secrets.token_hex(8)}.part"
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with self._guarded():
            self._root.mkdir(parents=True, exist_ok=True)
            self._file = self._stack.enter_context(self._part.open("xb"))
            self._stack.callback(self._part.unlink, missing_ok=True)
        self._zstd = zstandard.ZstdCompressor(level=_LEVEL).stream_writer(self._file, closefd=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Closing can itself run out of space; the snapshot is lost either way and the first error counts.
        with contextlib.suppress(OSError):
            self._stack.close()

    def add(self, item: TreeItem, chunks: Iterable[bytes] = ()) -> TreeItem:
        """Append an item in canonical order and return it with its digest; InputError if it may not stand there."""
        if item.kind == "l":
            item = replace(item, mode=LINK_MODE, size=0, sha256=None)
        if problem := self._rules.violation(item):
            raise InputError(f"{item.path!r}: {problem}")
        with self._guarded():
            self._write(header(item))
            if item.kind == "f":
                item = replace(item, sha256=self._copy(item, chunks))
        self._items[item.path] = item
        return item

    def finish(self, *, complete: bool = True, omitted: Iterable[Omission] = ()) -> Snapshot:
        """Give the snapshot its name; it exists from here on."""
        with self._guarded():
            self._write(TRAILER)
            self._flush()
            self._zstd.close()  # type: ignore[no-untyped-call]
            self._file.flush()
            os.fsync(self._file.fileno())
            sha256 = self._digest.hexdigest()
            self._part.replace(self._root / f"{sha256}{SUFFIX}")
            _sync_folder(self._root)
        return Snapshot(sha256, Manifest(self._items), complete, tuple(omitted))

    def _copy(self, item: TreeItem, chunks: Iterable[bytes]) -> str:
        digest, left = hashlib.sha256(), item.size
        for chunk in chunks:
            left -= len(chunk)
            if left < 0:
                break
            digest.update(chunk)
            self._write(chunk)
        if left:
            raise InputError(f"{item.path!r}: its content is not {item.size} bytes long")
        self._write(padding(item.size))
        return digest.hexdigest()

    def _write(self, data: bytes) -> None:
        self._pending += data
        if len(self._pending) >= _CHUNK:
            self._flush()

    def _flush(self) -> None:
        self._digest.update(self._pending)
        self._zstd.write(self._pending)
        self._pending.clear()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"{self._root}: {error.strerror or error}", hint="Free some space or choose another --runs."
            ) from error


class _Stream:
    """Reads a decompressed stream to its end and holds it to its name."""

    def __init__(self, path: Path, sha256: str, plain: zstandard.ZstdDecompressionReader) -> None:
        self._path = path
        self._sha256 = sha256
        self._plain = plain
        self._digest = hashlib.sha256()

    def items(self) -> Iterator[tuple[TreeItem, BinaryIO]]:
        while (item := next_item(self._read)) is not None:
            member = Member(self._read, item.size)
            yield item, cast(BinaryIO, member)
            member.finish()
        while chunk := self._plain.read(_CHUNK):
            self._digest.update(chunk)
        if self._digest.hexdigest() != self._sha256:
            raise StorageError(f"{self._path}: damaged: its content is not what its name says")

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            chunk = self._plain.read(size - len(data))
            if not chunk:
                raise StorageError(f"{self._path}: damaged: it ends too early")
            data += chunk
        self._digest.update(data)
        return bytes(data)


def _chunks(content: BinaryIO | bytes) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    while chunk := content.read(_CHUNK):
        yield chunk


def _write_new(target: Path, mode: int, stream: BinaryIO) -> None:
    with target.open("xb") as file:
        while chunk := stream.read(_CHUNK):
            file.write(chunk)
        os.fchmod(file.fileno(), mode)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
