"""Trees in and out: frames of items to files, and files to frames of items.

In: with the file rights of the tree's owner, never following a link, so a tree can put nothing
where its owner could not. Out: as root, by a walk over directory descriptors of what is there once
nobody of the agent is alive; only regular files are opened, and never to wait.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat

from . import frames, kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    Frame = tuple[dict[str, Any], bytes]

PIECE = 1 << 18
MAX_SHOWN, MAX_EXPORTED_PATH = 8192, 1 << 16
MAX_OMITTED = 1000
MAX_OMITTED_CHARACTERS = 1 << 18

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TreeError(Exception):
    """A tree that cannot be loaded; `number` is an errno where the file system said no."""

    def __init__(self, why: str, number: int | None = None) -> None:
        super().__init__(why)
        self.number = number


def to_bytes(path: str) -> bytes:
    """A path as the file system has it."""
    return path.encode("utf-8", "surrogateescape")


def to_text(path: bytes) -> str:
    """A path as the wire has it."""
    return path.decode("utf-8", "surrogateescape")


def shown(path: bytes) -> str:
    """A path for a report: no frame may burst because somebody made a name of a megabyte."""
    return to_text(path[:MAX_SHOWN])


def split_safely(path: object) -> list[bytes]:
    """The components of a path below a root; TreeError for anything that could lead elsewhere."""
    if not isinstance(path, str):
        raise TreeError("a path is not text")
    try:
        parts = to_bytes(path).split(b"/")
    except UnicodeEncodeError:
        raise TreeError("a path is not encodable: %r" % path) from None
    if b"\0" in parts[0] or any(part in (b"", b".", b"..") or b"\0" in part for part in parts):
        raise TreeError("not a path below the root: %r" % path)
    return parts


class Rights:
    """Who the files of a root belong to: `with rights:` acts on files as that user."""

    def __init__(self, uid: int, gid: int, read_only: bool = False) -> None:
        self.uid, self.gid, self.read_only = uid, gid, read_only
        self._depth = 0

    def __enter__(self) -> None:
        self._depth += 1
        if self.uid:
            kernel.set_fs_ids(self.uid, self.gid)

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self.uid and not self._depth:
            kernel.set_fs_ids(0, 0)

    def mode(self, kind: str, mode: int) -> int:
        """The mode an item gets: what it asks for, unless nobody may write here."""
        if not self.read_only:
            return mode
        return 0o755 if kind == "d" else 0o444 | (mode & 0o111)


class Loader:
    """Writes one tree, item by item in canonical order, below `root`."""

    def __init__(self, root: str, rights: Rights) -> None:
        self._rights = rights
        self._trail: list[tuple[bytes, int]] = []  # where we are: names below the root, and the mode each will get
        self._here = os.open(root, _DIRECTORY)
        self._open = -1
        self._last: list[bytes] = []
        self._written = 0
        self.files = self.bytes = 0

    def add(self, items: Sequence[Any], body: bytes) -> None:
        """Write the items of one frame; TreeError if that cannot be."""
        view, start = memoryview(body), 0
        with self._rights:
            for item in items:
                path, kind, mode, size, offset, length = _checked_item(item)
                if start + length > len(body):
                    raise TreeError("a tree frame is shorter than its items")
                try:
                    self._item(split_safely(path), kind, mode, size, offset, view[start : start + length])
                except OSError as error:
                    raise TreeError("%r: %s" % (path, error.strerror), error.errno) from None
                start += length
        if start != len(body):
            raise TreeError("a tree frame is longer than its items")

    def finish(self) -> None:
        """Give the directories their modes; TreeError if a file is incomplete."""
        if self._open >= 0:
            raise TreeError("the last file is incomplete")
        with self._rights:
            try:
                self._leave_to(0)
            except OSError as error:
                raise TreeError("closing a directory: %s" % error.strerror, error.errno) from None
        self.close()

    def close(self) -> None:
        """Let go of every descriptor."""
        for descriptor in (self._open, self._here):
            if descriptor >= 0:
                os.close(descriptor)
        self._open = self._here = -1

    def _item(self, parts: list[bytes], kind: str, mode: int, size: int, offset: int, data: memoryview) -> None:
        if kind == "f" and offset:
            if parts != self._last or self._open < 0 or offset != self._written:
                raise TreeError("a file continues where it did not stop")
        else:
            if self._open >= 0 or parts <= self._last:
                raise TreeError("items out of order")
            self._go_to(parts[:-1])
            self._last = parts
        if kind == "d":
            self._enter(parts[-1], self._rights.mode("d", mode))
        elif kind == "l":
            self._replace(parts[-1], lambda name: os.symlink(bytes(data), name, dir_fd=self._here))
            self.files += 1
        else:
            self._file(parts[-1], self._rights.mode("f", mode), size, data)

    def _file(self, name: bytes, mode: int, size: int, data: memoryview) -> None:
        if self._open < 0:
            self._open = self._replace(name, lambda name: os.open(name, _CREATE, 0o600, dir_fd=self._here))
            self._written = 0
        self._written += len(data)
        self.bytes += len(data)
        while data:
            data = data[os.write(self._open, data) :]
        if self._written > size:
            raise TreeError("a file is longer than announced")
        if self._written == size:
            os.fchmod(self._open, mode)
            os.close(self._open)
            self._open = -1
            self.files += 1

    def _replace(self, name: bytes, make: Any) -> Any:
        try:
            return make(name)
        except FileExistsError:
            os.unlink(name, dir_fd=self._here)  # a directory in the way is an error
            return make(name)

    def _go_to(self, parents: list[bytes]) -> None:
        common = 0
        for (have, _), want in zip(self._trail, parents):
            if have != want:
                break
            common += 1
        self._leave_to(common)
        for name in parents[common:]:
            self._enter(name, 0o755)

    def _enter(self, name: bytes, mode: int) -> None:
        try:
            os.mkdir(name, 0o700, dir_fd=self._here)
        except FileExistsError:
            pass
        inside = os.open(name, _DIRECTORY, dir_fd=self._here)
        os.close(self._here)
        self._here = inside
        self._trail.append((name, mode))

    def _leave_to(self, depth: int) -> None:
        # One descriptor and ".." instead of a descriptor per level: trees may be deeper than the limit of open
        # files. The mode comes last, from outside: a directory without x could neither be filled nor left.
        while len(self._trail) > depth:
            name, mode = self._trail.pop()
            above = os.open(b"..", _DIRECTORY, dir_fd=self._here)
            os.close(self._here)
            self._here = above
            os.chmod(name, mode, dir_fd=above)


def _checked_item(item: Any) -> tuple[str, str, int, int, int, int]:
    if not isinstance(item, list) or len(item) != 6 or item[1] not in ("f", "d", "l"):
        raise TreeError("not a tree item: %r" % (item,))
    path, kind, mode, size, offset, length = item
    numbers = (mode, size, offset, length)
    if any(type(number) is not int or number < 0 for number in numbers) or mode > 0o777:
        raise TreeError("not a tree item: %r" % (item,))
    if kind != "f" and offset:
        raise TreeError("only files continue: %r" % (item,))
    return path, kind, mode, size, offset, length


class Caps:
    """How much an export may hold: items, bytes, levels, and bytes of one path."""

    def __init__(self, files: int, size: int, depth: int, path: int) -> None:
        self.files, self.bytes, self.depth, self.path = files, size, depth, min(path, MAX_EXPORTED_PATH)


class _Level:
    """A directory on the way down. `names` stand in reverse: the next one is the last."""

    def __init__(self, descriptor: int, path: bytes, names: list[bytes], cut: bool) -> None:
        self.descriptor, self.path, self.names, self.cut = descriptor, path, names, cut


def _first(entries: Iterator[os.DirEntry[str]], room: int) -> tuple[list[bytes], bool]:
    """The first `room` names in canonical order, reversed, and whether there are more; holds twice as many at most."""
    names: list[bytes] = []
    more = False
    while piece := [os.fsencode(entry.name) for entry in itertools.islice(entries, max(room, 1024))]:
        names += piece
        names.sort()
        more = more or len(names) > room
        del names[room:]
    return names[::-1], more


class Exporter:
    """Walks `root` and gives frames; after the last one, `omitted` and `complete` say what is missing."""

    def __init__(self, root: str, caps: Caps) -> None:
        self._root, self._caps = root, caps
        self._items: list[list[Any]] = []
        self._pieces: list[bytes] = []
        self._size = self._text = 0
        self._seen = self._taken = 0
        self._omitted_text = 0
        self.omitted: list[list[str]] = []
        self.omitted_more = 0
        self.complete = True

    def frames(self) -> Iterator[Frame]:
        """Tree frames without `t` and `id`, in canonical order."""
        levels: list[_Level] = []
        self._walk_into(levels, os.open(self._root, _DIRECTORY), b"")
        try:
            while levels:
                here = levels[-1]
                if not here.names:
                    os.close(levels.pop().descriptor)
                    continue
                name = here.names.pop()
                self._seen += 1
                path = here.path + b"/" + name if here.path else name
                kind = self._kind(here.descriptor, name, path)
                for piece in self._content(kind, here.descriptor, name, path):
                    self._pieces.append(piece)
                    self._size += len(piece)
                    if self._size >= PIECE:
                        yield self._flush()
                if kind == "d":
                    self._descend(levels, name, path)
                if self._text > frames.MAX_HEADER // 4:
                    yield self._flush()
            yield self._flush(last=True)
        finally:
            for level in levels:
                os.close(level.descriptor)

    def _kind(self, parent: int, name: bytes, path: bytes) -> str:
        """f, d or l; empty for what is left out, which is noted."""
        try:
            mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        except OSError:
            self._omit(path, "unreadable")
            return ""
        if len(path) > self._caps.path:
            self._omit(path, "path")
            return ""
        if stat.S_ISDIR(mode):
            self._item(path, "d", mode, 0, 0, 0)
            return "d"
        if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            return "f" if stat.S_ISREG(mode) else "l"
        kind = "fifo" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
        self._omit(path, kind, partial=False)
        return ""

    def _content(self, kind: str, parent: int, name: bytes, path: bytes) -> Iterator[bytes]:
        if kind == "l":
            target = os.readlink(name, dir_fd=parent)
            self._item(path, "l", 0o777, len(target), 0, len(target))
            yield target
        elif kind == "f":
            yield from self._file(parent, name, path)

    def _file(self, parent: int, name: bytes, path: bytes) -> Iterator[bytes]:
        try:
            descriptor = os.open(name, _READ, dir_fd=parent)
        except OSError:
            self._omit(path, "unreadable")
            return
        try:
            about = os.fstat(descriptor)
            size = about.st_size
            if not stat.S_ISREG(about.st_mode):
                self._omit(path, "device", partial=False)
                return
            if self._taken + size > self._caps.bytes:
                self._omit(path, "bytes")
                return
            self._taken += size
            offset = 0
            while True:
                piece = os.read(descriptor, min(PIECE, size - offset)) if offset < size else b""
                if offset < size and not piece:
                    # Nobody is alive who could shorten it: the file system itself gave way.
                    raise OSError(errno.EIO, "a file became shorter while it was read")
                self._item(path, "f", about.st_mode, size, offset, len(piece))
                yield piece
                offset += len(piece)
                if offset >= size:
                    return
        finally:
            os.close(descriptor)

    def _descend(self, levels: list[_Level], name: bytes, path: bytes) -> None:
        if len(levels) >= self._caps.depth:
            self._omit(path, "depth")
            return
        inside = -1
        try:
            inside = os.open(name, _DIRECTORY, dir_fd=levels[-1].descriptor)
            self._walk_into(levels, inside, path)
        except OSError as error:
            if inside >= 0:
                os.close(inside)
            self._omit(path, "depth" if error.errno in (errno.EMFILE, errno.ENFILE) else "unreadable")

    def _walk_into(self, levels: list[_Level], descriptor: int, path: bytes) -> None:
        """One level deeper; what lies beyond the cap on items is dropped from the end of the canonical order.

        So which items are taken depends on the tree alone, and no more names are held than may still be taken.
        """
        room = self._caps.files - self._seen
        with os.scandir(descriptor) as entries:
            names, more = _first(entries, room)
        levels.append(_Level(descriptor, path, names, more))
        if more:
            self._omit(path, "files")
        for level in reversed(levels):
            if len(level.names) > room:
                del level.names[: len(level.names) - room]
                if not level.cut:
                    level.cut = True
                    self._omit(level.path, "files")
            room -= len(level.names)

    def _item(self, path: bytes, kind: str, mode: int, size: int, offset: int, length: int) -> None:
        text = to_text(path)
        self._items.append([text, kind, mode & 0o777, size, offset, length])
        self._text += 6 * len(text) + 80

    def _omit(self, path: bytes, reason: str, partial: bool = True) -> None:
        text = shown(path)
        self._omitted_text += 6 * len(text) + 20
        if len(self.omitted) >= MAX_OMITTED or self._omitted_text > MAX_OMITTED_CHARACTERS:
            self.omitted_more += 1
        else:
            self.omitted.append([text, reason])
        if partial:
            self.complete = False

    def _flush(self, last: bool = False) -> Frame:
        frame = ({"items": self._items, "last": last}, b"".join(self._pieces))
        self._items, self._pieces, self._size, self._text = [], [], 0, 0
        return frame
