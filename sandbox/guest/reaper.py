"""Ending processes: the agent's all at once, or one session of several; and gathering the dead."""

from __future__ import annotations

import os
import re
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# A killed process that does not die within this many seconds is stuck in the kernel.
PATIENCE = 20.0

_GROUPS = re.compile(rb"^Groups:(.*)$", re.MULTILINE)
_DEAD = re.compile(rb"^State:\s*[ZX].*^Threads:\s*[01]$", re.MULTILINE | re.DOTALL)


def kill_all() -> None:
    """SIGKILL every process but PID 1: one call, atomic against forks."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def reap(ended: Callable[[int, int], None]) -> bool:
    """Gather who has died; `ended(pid, wait status)` for each. False when no child is left at all."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        ended(pid, status)


def kill_and_reap_all(ended: Callable[[int, int], None]) -> None:
    """Leave nobody alive; TimeoutError if the kernel does not let go of one."""
    kill_all()
    deadline, pause = time.monotonic() + PATIENCE, 0.0002
    while reap(ended):
        if time.monotonic() > deadline:
            raise TimeoutError("a killed process does not die")
        time.sleep(pause)
        pause = min(2 * pause, 0.002)
        kill_all()


def kill_session(leader: int, ended: Callable[[int, int], None]) -> None:
    """SIGKILL the processes that still are in the session that `leader` began, and gather the dead."""
    for _ in range(1000):
        members = [pid for pid in _processes() if _session_of(pid) == leader]
        if not members:
            return
        for pid in members:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.001)
        reap(ended)


def kill_marked(group: int, ended: Callable[[int, int], None]) -> bool:
    """SIGKILL every process that has a supplementary group, and gather the dead; False if there is no end of them."""
    for _ in range(1000):
        members = [pid for pid in _processes() if _is_member(pid, group)]
        if not members:
            return True
        for pid in members:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.001)
        reap(ended)
    return False


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]


def _session_of(pid: int) -> int:
    """The session id of a living process; -1 for the dead."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            # The name in brackets may hold anything, brackets and spaces too.
            fields = file.read(4096).rpartition(b")")[2].split()
    except OSError:
        return -1
    # A process whose first thread has ended looks dead, and is not while it has others.
    return -1 if fields[0] in (b"Z", b"X") and int(fields[17]) <= 1 else int(fields[3])


def _is_member(pid: int, group: int) -> bool:
    """Whether a living process has a supplementary group."""
    try:
        with open("/proc/%d/status" % pid, "rb") as file:
            text = file.read(4096)
    except OSError:
        return False
    groups = _GROUPS.search(text)
    return groups is not None and b"%d" % group in groups[1].split() and not _DEAD.search(text)
