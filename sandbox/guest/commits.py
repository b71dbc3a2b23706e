"""Which commit a repository's HEAD names, read as data: git is never run, no link followed, nothing waited for."""

from __future__ import annotations

import os
import re
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_REF, MAX_PACKED = 4096, 1 << 20
MAX_REFS, MAX_DEPTH, MAX_HOPS = 2000, 20, 5

_ID = rb"(?:[0-9a-f]{64}|[0-9a-f]{40})"
_ONLY_ID = re.compile(_ID)
_PACKED = re.compile(rb"^(" + _ID + rb") (refs/.+)$", re.MULTILINE)
# Git's own rule as far as it matters here: no component may lead anywhere else.
_NAME = re.compile(rb"refs(?:/[^/.\0-\x20\x7f][^/\0-\x20\x7f]*)+")
_SCAN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Repository:
    """The `.git` directory of a root, as it changes under us. Whatever is in it is hostile."""

    def __init__(self, root: str) -> None:
        self._root = os.open(root, _SCAN)
        # Files have their times from a clock that lags by a tick: none of those that are here can be later than this.
        self._since = time.time_ns()
        self._known = set(self._named())
        self._names: tuple[bytes, ...] = (b"HEAD", b"packed-refs")
        self._signs: list[object] = []
        self.new_commit()

    def new_commit(self) -> bytes | None:
        """The id of the commit that HEAD has come to name since the last look, if it was made since the start."""
        names, signs = self._names, [self._sign(name) for name in self._names]
        if signs == self._signs:
            return None
        commit = self._head()
        # What HEAD leads through may be another now, and nobody has looked at the signs of that one yet.
        self._signs = signs if self._names == names else []
        if commit is None or commit in self._known:
            return None
        self._known.add(commit)
        return None if self._is_old(commit) else commit

    def close(self) -> None:
        """Look no more."""
        os.close(self._root)

    def _sign(self, name: bytes) -> object:
        # It only says whether to read again, so it does not matter where a planted link leads.
        try:
            about = os.stat(b".git/" + name, dir_fd=self._root, follow_symlinks=False)
        except OSError:
            return None
        return about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns

    def _head(self) -> bytes | None:
        names = [b"HEAD", b"packed-refs"]
        text = self._read(b"HEAD", MAX_REF)
        try:
            for _ in range(MAX_HOPS):
                text = (text or b"").strip()
                if _ONLY_ID.fullmatch(text):
                    return text
                name = text[4:].strip()
                if text[:4] != b"ref:" or not _NAME.fullmatch(name):
                    return None
                names.append(name)
                text = self._read(name, MAX_REF)
                if text is None:
                    return dict(self._packed()).get(name)
            return None
        finally:
            self._names = tuple(names)

    def _is_old(self, commit: bytes) -> bool:
        """Whether the commit was there before the session: going back to it is no commit."""
        try:
            name = b".git/objects/%s/%s" % (commit[:2], commit[2:])
            return os.stat(name, dir_fd=self._root, follow_symlinks=False).st_ctime_ns < self._since
        except OSError:
            return False  # in a pack: who can tell

    def _named(self) -> Iterator[bytes]:
        """The ids that any reference has, within limits."""
        for _, commit in self._packed():
            yield commit
        folders, left = [b"refs"], MAX_REFS
        while folders:
            folder = folders.pop()
            for name, is_folder in self._list(folder):
                left -= 1
                if left < 0:
                    return
                path = folder + b"/" + name
                if not is_folder:
                    yield (self._read(path, MAX_REF) or b"").strip()
                elif path.count(b"/") < MAX_DEPTH:
                    folders.append(path)

    def _packed(self) -> list[tuple[bytes, bytes]]:
        """Name and id of each packed reference."""
        return [(name, commit) for commit, name in _PACKED.findall(self._read(b"packed-refs", MAX_PACKED) or b"")]

    def _read(self, path: bytes, limit: int) -> bytes | None:
        """A small regular file below .git; None if it is anything else, or larger."""
        *folders, name = path.split(b"/")
        try:
            directory = self._walk(folders)
        except OSError:
            return None
        try:
            descriptor = os.open(name, _READ, dir_fd=directory)
        except OSError:
            return None
        finally:
            os.close(directory)
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode) or about.st_size > limit:
                return None
            return os.read(descriptor, limit)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _list(self, folder: bytes) -> list[tuple[bytes, bool]]:
        try:
            directory = self._walk(folder.split(b"/"))
        except OSError:
            return []
        try:
            found = []
            with os.scandir(directory) as entries:
                for entry in entries:
                    found.append((os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)))
                    if len(found) > MAX_REFS:
                        break
            return found
        except OSError:
            return []
        finally:
            os.close(directory)

    def _walk(self, folders: list[bytes]) -> int:
        """A descriptor of a directory below .git, reached without following a link."""
        here = os.open(b".git", _SCAN, dir_fd=self._root)
        try:
            for name in folders:
                inside = os.open(name, _SCAN, dir_fd=here)
                os.close(here)
                here = inside
        except OSError:
            os.close(here)
            raise
        return here
