"""One writer at a time: what keeps two processes from finishing two edits in the same instant.

The barrier orders calls, not what a process does with a file that it has open. So while one thread has a
source file open for writing, or is about to rename one into place, other threads wait with theirs, for a
moment. It is courtesy and not security: the path is read from the caller's memory, which may change under
us, and what slips through is found afterwards all the same.
"""

from __future__ import annotations

import os
import posixpath
import time

from . import kernel
from .files import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .barrier import Call

# The longest that calls wait for another thread's edit, in seconds: once for each file that somebody keeps open.
PATIENCE = 0.5

_AT_FDCWD = 0xFFFFFF9C
_PATH_MAX = 4096
# Where a call names the file it changes: the argument of the directory (None: always the current one), of the path.
_NAMED: dict[str, tuple[int | None, int]] = {
    "open": (None, 0), "creat": (None, 0), "truncate": (None, 0), "openat": (0, 1),
    "rename": (None, 1), "link": (None, 1), "symlink": (None, 1),
    "renameat": (2, 3), "renameat2": (2, 3), "linkat": (2, 3), "symlinkat": (1, 2),
}  # fmt: skip
_OPENS = frozenset(("open", "creat", "openat"))


class Hold:
    """Who is writing which counted file right now, as far as paused calls and finished edits tell."""

    def __init__(self, root: str, uid: int, gid: int, counts: Callable[[str], bool]) -> None:
        self._root = root.encode().rstrip(b"/") + b"/"
        self._uid, self._gid, self._counts = uid, gid, counts
        self._writers: dict[tuple[int, bytes], tuple[float, bool]] = {}  # thread, path: until when, whether by open

    def target(self, call: Call) -> bytes | None:
        """The counted file that a paused call is about, relative to the root; None if it is another, or unknown."""
        named = _NAMED.get(call.name)
        if named is None:
            return None
        kernel.set_fs_ids(self._uid, self._gid)  # the agent's own processes may be read with the agent's own rights
        try:
            path = _string(call.tid, call.arguments[named[1]])
            if not path.startswith(b"/"):
                path = os.path.join(_directory(call, named[0]), path)
        except (OSError, OverflowError):
            return None
        finally:
            kernel.set_fs_ids(0, 0)
        path = posixpath.normpath(path)
        if not path.startswith(self._root):
            return None
        relative = path[len(self._root) :]
        return relative if self._counts(to_text(relative)) else None

    def admits(self, tid: int) -> bool:
        """Whether no other thread is in the middle of an edit."""
        now = time.monotonic()
        for key, (until, _) in list(self._writers.items()):
            if until <= now or not os.path.exists("/proc/%d" % key[0]):
                del self._writers[key]
        return all(writer == tid for writer, _ in self._writers)

    def moved_on(self, tid: int) -> None:
        """A thread makes its next call: whatever it did by one call is done."""
        for key, (_, opened) in list(self._writers.items()):
            if key[0] == tid and not opened:
                del self._writers[key]

    def begins(self, call: Call, target: bytes) -> None:
        """A call about a counted file goes on."""
        self._writers[call.tid, target] = time.monotonic() + PATIENCE, call.name in _OPENS

    def ends(self, path: bytes) -> None:
        """A counted file was closed, or came into place."""
        for key in list(self._writers):
            if key[1] == path:
                del self._writers[key]


def _string(tid: int, address: int) -> bytes:
    memory = os.open("/proc/%d/mem" % tid, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(memory, _PATH_MAX, address).split(b"\0", 1)[0]
    finally:
        os.close(memory)


def _directory(call: Call, argument: int | None) -> bytes:
    if argument is None or call.arguments[argument] & 0xFFFFFFFF == _AT_FDCWD:
        return os.readlink(b"/proc/%d/cwd" % call.tid)
    return os.readlink(b"/proc/%d/fd/%d" % (call.tid, call.arguments[argument] & 0xFFFFFFFF))
