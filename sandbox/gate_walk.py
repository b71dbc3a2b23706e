"""Reading a folder that is treated as hostile: descriptors only, links never followed, nothing waited for.

Every directory is opened relative to its parent's descriptor and every file is proved regular before it is
read, so links out of the tree, FIFOs, devices and directories swapped for links reach nothing. What cannot
be read within the caps is a finding, never an exception and never silence.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from .errors import InputError
from .gate_model import Entry, Finding, FindingKind, Kind
from .tree import encode_path

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OPEN_DIRECTORY = _OPEN | os.O_DIRECTORY
_CHUNK = 1 << 20
_SPECIAL: tuple[tuple[Callable[[int], bool], Kind], ...] = (
    (stat.S_ISFIFO, "fifo"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "char-device"),
    (stat.S_ISBLK, "block-device"),
)


@dataclass(frozen=True, slots=True)
class Caps:
    """How much of a folder is read; `depth` also bounds the descriptors held at once."""

    entries: int = 500_000
    bytes: int = 16 << 30
    file_bytes: int = 1 << 30
    depth: int = 200


def _always(_path: str) -> bool:
    return True


def _never(_path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Selection:
    """Which parts of a folder are looked at; each function is asked with a path.

    `enter`: whether to descend into a directory (one that is not entered is not recorded either).
    `record`: whether to record a regular file. `keep`: whether to hold on to its bytes.
    """

    enter: Callable[[str], bool] = _always
    record: Callable[[str], bool] = _always
    keep: Callable[[str], bool] = _never


@dataclass(frozen=True, slots=True)
class Walk:
    """What was found: entries in canonical order, kept bytes, and modification times (whole seconds) of files."""

    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    contents: Mapping[str, bytes]
    mtimes: Mapping[str, int]


def walk(root: Path, selection: Selection | None = None, caps: Caps | None = None) -> Walk:
    """Look at everything below `root` (a link to a directory is followed here, and only here)."""
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{root}: {error.strerror}") from error
    walker = _Walker(selection or Selection(), caps or Caps())
    try:
        walker.directory(descriptor, "", 1)
    finally:
        os.close(descriptor)
    return Walk(
        tuple(walker.entries),
        tuple(walker.findings),
        MappingProxyType(walker.contents),
        MappingProxyType(walker.mtimes),
    )


def read_beneath(root: Path, path: str, limit: int) -> bytes | None:
    """The bytes of one regular file below `root`, by the same rules as `walk`; None if there is none to read."""
    *folders, name = path.split("/")
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for folder in folders:
            try:
                below = os.open(folder, _OPEN_DIRECTORY, dir_fd=descriptor)
            finally:
                os.close(descriptor)
            descriptor = below
        try:
            file = os.open(name, _OPEN, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
                return None
            return _read(file, status.st_size, limit)
        finally:
            os.close(file)
    except OSError:
        return None


@dataclass(slots=True)
class _Walker:
    selection: Selection
    caps: Caps
    entries: list[Entry] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    mtimes: dict[str, int] = field(default_factory=dict)
    seen: int = 0
    read: int = 0

    def directory(self, descriptor: int, path: str, depth: int) -> None:
        prefix = path + "/" if path else ""
        for entry in self.listing(descriptor, path):
            below = prefix + entry.name
            if not _is_plain(entry.name):
                self.find(FindingKind.ODD_NAME, below, "the name has undecodable or control characters")
            if entry.is_file(follow_symlinks=False):
                if self.selection.record(below):
                    self.file(descriptor, entry.name, below)
            elif entry.is_dir(follow_symlinks=False):
                if self.selection.enter(below):
                    self.subdirectory(descriptor, entry.name, below, depth)
            else:
                self.other(descriptor, entry.name, below)

    def listing(self, descriptor: int, path: str) -> list[os.DirEntry[str]]:
        found: list[os.DirEntry[str]] = []
        room = self.caps.entries - self.seen
        if room < 0:
            return found
        try:
            with os.scandir(descriptor) as entries:
                found.extend(itertools.islice(entries, room + 1))
        except OSError as error:
            self.find(FindingKind.UNREADABLE, path, f"the directory cannot be listed: {error.strerror}")
        self.seen += len(found)
        if len(found) > room:
            self.find(FindingKind.TOO_MANY, "", f"more than {self.caps.entries} entries in the tree")
            found.pop()
        found.sort(key=lambda entry: encode_path(entry.name))
        return found

    def subdirectory(self, parent: int, name: str, path: str, depth: int) -> None:
        try:
            descriptor = os.open(name, _OPEN_DIRECTORY, dir_fd=parent)
        except OSError as error:
            self.lost(parent, name, path, error)
            return
        try:
            self.entries.append(Entry(path, "directory", os.fstat(descriptor).st_mode & 0o777))
            if depth >= self.caps.depth:
                self.find(FindingKind.TOO_DEEP, path, f"more than {self.caps.depth} directories deep")
            else:
                self.directory(descriptor, path, depth + 1)
        finally:
            os.close(descriptor)

    def file(self, parent: int, name: str, path: str) -> None:
        try:
            descriptor = os.open(name, _OPEN, dir_fd=parent)
        except OSError as error:
            self.lost(parent, name, path, error)
            return
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                self.find(FindingKind.REPLACED_WHILE_READ, path, "was a regular file when its directory was listed")
                return
            size, mode = status.st_size, status.st_mode
            if mode & 0o6000:
                self.find(FindingKind.SET_ID, path, f"set-user-ID or set-group-ID file (mode {mode & 0o7777:04o})")
            if size > min(self.caps.file_bytes, self.caps.bytes - self.read):
                self.find(FindingKind.TOO_LARGE, path, f"{size} bytes are more than is read")
                self.entries.append(Entry(path, "file", mode & 0o777, size))
                return
            size, digest = self.content(descriptor, size, path)
        except OSError as error:
            self.lost(parent, name, path, error)
            return
        finally:
            os.close(descriptor)
        self.read += size
        self.mtimes[path] = int(status.st_mtime)
        self.entries.append(Entry(path, "file", mode & 0o777, size, digest))

    def content(self, descriptor: int, size: int, path: str) -> tuple[int, str | None]:
        """Size and SHA-256 of what is really read; a file that grows meanwhile is read up to the cap."""
        if size < _CHUNK or self.selection.keep(path):
            data = _read(descriptor, size, self.caps.file_bytes)
            if data is not None:
                if self.selection.keep(path):
                    self.contents[path] = data
                return len(data), hashlib.sha256(data).hexdigest()
        else:
            digest, total = hashlib.sha256(), 0
            while total <= self.caps.file_bytes:
                chunk = os.read(descriptor, _CHUNK)
                if not chunk:
                    return total, digest.hexdigest()
                digest.update(chunk)
                total += len(chunk)
        self.find(FindingKind.TOO_LARGE, path, f"grew past {self.caps.file_bytes} bytes while it was read")
        return size, None

    def other(self, parent: int, name: str, path: str) -> None:
        """Links and special files: looked at, never opened."""
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                target = os.readlink(name, dir_fd=parent)
                self.entries.append(Entry(path, "link", status.st_mode & 0o777, target=target))
                return
        except OSError as error:
            self.find(FindingKind.UNREADABLE, path, str(error.strerror))
            return
        for test, kind in _SPECIAL:
            if test(status.st_mode):
                self.entries.append(Entry(path, kind, status.st_mode & 0o777))
                self.find(FindingKind.SPECIAL_FILE, path, f"a {kind}, which hangs or misleads whoever opens it")
                return
        self.find(FindingKind.REPLACED_WHILE_READ, path, "changed its type while its directory was read")

    def lost(self, parent: int, name: str, path: str, error: OSError) -> None:
        """Record what can be known of something that cannot be opened."""
        self.find(FindingKind.UNREADABLE, path, f"cannot be opened: {error.strerror}")
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except OSError:
            return
        if stat.S_ISREG(status.st_mode):
            self.entries.append(Entry(path, "file", status.st_mode & 0o777, status.st_size))
        elif stat.S_ISDIR(status.st_mode):
            self.entries.append(Entry(path, "directory", status.st_mode & 0o777))

    def find(self, kind: FindingKind, path: str, detail: str) -> None:
        self.findings.append(Finding(kind, path, detail))


def _read(descriptor: int, size: int, limit: int) -> bytes | None:
    """All bytes to the end of file, or None past `limit`; one system call where `size` was right."""
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    parts, total = [data], len(data)
    while data and total <= limit:
        data = os.read(descriptor, _CHUNK)
        parts.append(data)
        total += len(data)
    return b"".join(parts) if total <= limit else None


def _is_plain(name: str) -> bool:
    if name.isascii():
        return name.isprintable()
    return all(" " <= char != "\x7f" and not "\ud800" <= char < "\ue000" for char in name)
