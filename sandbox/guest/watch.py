"""The eyes on the workspace: inotify on every directory that can hold a source file.

Paths are bytes, relative to the root. Work is queued and done in slices, so that however much an agent
does at once, PID 1 goes on answering its wire; a paused call waits until the queue is empty.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import struct
import time
from collections import deque

from . import kernel
from .files import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    class Sink(Protocol):
        """Who hears of what happens to counted files."""

        def finished(self, path: bytes, how: str) -> None: ...
        def modified(self, path: bytes) -> None: ...
        def created(self, path: bytes, links: int) -> None: ...
        def counts(self, path: str) -> bool: ...
        def enters(self, folder: str) -> bool: ...


MODIFY, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE = 0x2, 0x8, 0x40, 0x80, 0x100
OVERFLOW, IGNORED, IS_DIRECTORY = 0x4000, 0x8000, 0x40000000
ONLY_DIRECTORY, EXCLUDE_UNLINKED = 0x01000000, 0x04000000
MASK = MODIFY | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | ONLY_DIRECTORY | EXCLUDE_UNLINKED

MAX_DIRECTORIES, MAX_DEPTH = 20000, 512
# A source file larger than this is told apart by its size, its ends and its time of change.
WHOLE = 8 << 20
# How much longer than for reading the last look may take for listing, in seconds.
LENIENCE = 10.0
_END = 1 << 20

_EVENT = struct.Struct("iIII")
_SCAN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Watch:
    """Turns inotify's queue into calls of a Sink, in the kernel's order, and knows what files hold.

    A content is a short digest; None is neither a file nor a link, or nothing at all.
    """

    def __init__(self, queue: int, root: str, sink: Sink) -> None:
        self.fd = queue
        self._root = os.open(root, _SCAN)
        self._sink = sink
        self._paths: dict[int, bytes] = {}
        self._work: deque[tuple[str, bytes, int]] = deque()  # how (empty: an event), path, the event's mask or 0
        self._known: dict[bytes, tuple[tuple[int, ...], bytes]] = {}  # path: stat, content
        self._stirred: set[bytes] = set()  # paths with an event since they were last read
        self.overflowed = False
        self.limited: str | None = None

    def start(self) -> Iterator[tuple[bytes, bytes]]:
        """Watch the whole tree; gives the counted files and their contents."""
        folders = [b""]
        while folders:
            for name, directory, path, is_folder in self._open_folder(folders.pop()):
                if is_folder:
                    folders.append(path)
                    continue
                content = self._look(path, name, directory)
                if content is not None:
                    yield path, content

    def pump(self, until: float) -> bool:
        """Work off what has happened; False if there is more to do after `until` (monotonic seconds)."""
        while True:
            if not self._work and not self._read():
                return True
            while self._work:
                how, path, mask = self._work.popleft()
                if not how:
                    self._event(path, mask)
                elif mask:
                    self._scan(path, how)
                else:
                    self._sink.finished(path, how)
                if time.monotonic() > until:
                    return False

    def content(self, path: bytes) -> bytes | None:
        """What one path holds now."""
        *folders, name = path.split(b"/")
        try:
            directory = self._walk(folders)
        except OSError:
            return None
        try:
            return self._look(path, name, directory)
        finally:
            os.close(directory)

    def contents(self, until: float) -> dict[bytes, bytes]:
        """What all counted files hold, for when nobody is left who could change them.

        Files that no event and no stat tells apart from when they were last read are not read again. After
        `until` nothing is read: what was stirred counts as changed.
        """
        found: dict[bytes, bytes] = {}
        folders = [b""]
        while folders:
            if time.monotonic() > until + LENIENCE:
                self.limited = "more than could be looked at in the end"
                break
            for name, directory, path, is_folder in self._open_folder(folders.pop()):
                if is_folder:
                    folders.append(path)
                    continue
                signs, content = self._known.get(path, ((), None))
                about = _stat(name, directory)
                if about is None or path in self._stirred or signs != _signs(about):
                    content = self._look(path, name, directory) if time.monotonic() < until else b"unread"
                if content is not None:
                    found[path] = content
        return found

    def close(self) -> None:
        """Stop watching, and leave the queue empty for whoever uses it next.

        Closing it instead would wait for the kernel's read-copy-update: some 15 ms on top of every session.
        """
        for watch in self._paths:
            kernel.inotify_rm_watch(self.fd, watch)
        self._paths.clear()
        while self._read():
            pass
        os.close(self._root)

    def _read(self) -> bool:
        try:
            data = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return False
        position = 0
        while position < len(data):
            watch, mask, _, length = _EVENT.unpack_from(data, position)
            position += _EVENT.size
            name = data[position : position + length].rstrip(b"\0")
            position += length
            if mask & OVERFLOW:
                self.overflowed = True
                self._work.append(("found", b"", IS_DIRECTORY))
            elif mask & IGNORED:
                self._paths.pop(watch, None)
            elif watch in self._paths:
                self._work.append(("", _join(self._paths[watch], name), mask))
        return True

    def _event(self, path: bytes, mask: int) -> None:
        if mask & IS_DIRECTORY:
            if not self._sink.enters(to_text(path.rsplit(b"/", 1)[-1])):
                return
            if mask & MOVED_FROM:
                self._forget(path)
            elif mask & MOVED_TO:
                self._work.appendleft(("renamed", path, IS_DIRECTORY))
            elif mask & CREATE:
                self._work.appendleft(("found", path, IS_DIRECTORY))
            return
        if not self._sink.counts(to_text(path)):
            return
        self._stirred.add(path)
        if mask & CLOSE_WRITE:
            self._sink.finished(path, "written")
        elif mask & MOVED_TO:
            self._sink.finished(path, "renamed")
        elif mask & CREATE:
            self._created(path)
        elif mask & MODIFY:
            self._sink.modified(path)

    def _created(self, path: bytes) -> None:
        *folders, name = path.split(b"/")
        try:
            directory = self._walk(folders)
        except OSError:
            return
        about = _stat(name, directory)
        os.close(directory)
        if about is None:
            return
        if stat.S_ISLNK(about.st_mode):
            self._sink.finished(path, "symlinked")
        elif stat.S_ISREG(about.st_mode):
            self._sink.created(path, about.st_nlink)

    def _scan(self, folder: bytes, how: str) -> None:
        inside = []
        for _, _, path, is_folder in self._open_folder(folder):
            inside.append((how, path, IS_DIRECTORY if is_folder else 0))
        self._work.extendleft(reversed(inside))

    def _look(self, path: bytes, name: bytes, directory: int) -> bytes | None:
        self._stirred.discard(path)
        about = _stat(name, directory)
        content = _content(about, name, directory) if about else None
        if about is None or content is None:
            self._known.pop(path, None)
        else:
            # Should it have changed between the two, the stat is the older one, and the file is read again.
            self._known[path] = _signs(about), content
        return content

    def _open_folder(self, folder: bytes) -> Iterator[tuple[bytes, int, bytes, bool]]:
        """Watch one directory, then list it: what comes into it later is an event, what is there is listed."""
        parts = folder.split(b"/") if folder else []
        if len(self._paths) >= MAX_DIRECTORIES or len(parts) > MAX_DEPTH:
            self.limited = "more than %d directories, or %d levels of them" % (MAX_DIRECTORIES, MAX_DEPTH)
            return
        try:
            directory = self._walk(parts)
        except OSError:
            return  # gone again, or no directory any more
        try:
            # By its descriptor: a path could be made to lead elsewhere between two looks at it.
            watch = kernel.inotify_add_watch(self.fd, b"/proc/self/fd/%d" % directory, MASK)
            self._paths[watch] = folder
            with os.scandir(directory) as entries:
                names = sorted((os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries)
            for name, is_folder in names:
                path = _join(folder, name)
                if self._sink.enters(to_text(name)) if is_folder else self._sink.counts(to_text(path)):
                    yield name, directory, path, is_folder
        except OSError as error:
            full = error.errno == errno.ENOSPC
            self.limited = "the kernel's limit of inotify watches" if full else "a directory: %s" % error.strerror
        finally:
            os.close(directory)

    def _walk(self, folders: list[bytes]) -> int:
        """A descriptor of a directory, reached without following a link."""
        here = os.dup(self._root)
        try:
            for name in folders:
                inside = os.open(name, _SCAN, dir_fd=here)
                os.close(here)
                here = inside
        except OSError:
            os.close(here)
            raise
        return here

    def _forget(self, folder: bytes) -> None:
        """A directory went away: it may be outside now, or come back under another name."""
        prefix = folder + b"/"
        for watch in [w for w, path in self._paths.items() if path == folder or path.startswith(prefix)]:
            del self._paths[watch]
            kernel.inotify_rm_watch(self.fd, watch)


def _join(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


def _signs(about: os.stat_result) -> tuple[int, ...]:
    return about.st_ino, about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _stat(name: bytes, directory: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None


def _content(about: os.stat_result, name: bytes, directory: int) -> bytes | None:
    if not stat.S_ISREG(about.st_mode):
        try:
            return b"l" + os.readlink(name, dir_fd=directory) if stat.S_ISLNK(about.st_mode) else None
        except OSError:
            return None
    size = about.st_size
    try:
        descriptor = os.open(name, _READ, dir_fd=directory)
    except OSError:
        return None
    try:
        if size <= WHOLE:
            return b"f" + hashlib.sha256(os.read(descriptor, size + 1)).digest()
        ends = os.pread(descriptor, _END, 0) + os.pread(descriptor, _END, size - _END)
        return b"f" + hashlib.sha256(b"%d %d " % (size, about.st_mtime_ns) + ends).digest()
    except OSError:
        return None
    finally:
        os.close(descriptor)
