"""Which test commands of the agent have finished, and how: for the rules that end a session at one.

A command's end is seen at its exit_group call, which pauses; a command that a signal ends is seen through
a pidfd. /proc/PID/cmdline may be read by everybody, so PID 1 needs no right to trace for this.
"""

from __future__ import annotations

import os
import re
import time

from . import kernel
from .files import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .edits import Rule

MAX_ANCESTORS = 64
MAX_FRESH = 4096
# How long after its exec call a process may still show the command line it had before.
SETTLING = 0.25

_FIELDS = re.compile(rb"^(Tgid|PPid):\s*(\d+)", re.MULTILINE)


class Tests:
    """Follows processes from exec to exit. `finished(argv, code, edits_before)` is called for outermost test commands.

    `code` is None when a signal ended the command.
    """

    def __init__(
        self, rule: Rule, started: Callable[[list[str]], None], finished: Callable[[list[str], int | None, int], None]
    ) -> None:
        self._rule, self._started, self._finished = rule, started, finished
        self._execs: dict[int, tuple[int, float]] = {}  # process: edits before its last exec, when
        self._live: dict[int, tuple[list[str], int]] = {}  # a pidfd: argv, process

    def exec_called(self, tid: int, edits: int) -> None:
        """A thread is about to become another program."""
        process, _ = _status(tid)
        if process:
            if len(self._execs) >= MAX_FRESH:
                self._execs = {pid: seen for pid, seen in self._execs.items() if os.path.exists("/proc/%d" % pid)}
            self._execs[process] = edits, time.monotonic()

    def exit_called(self, tid: int, status: int) -> None:
        """A thread is about to end its process with an exit status."""
        process, parent = _status(tid)
        edits, _ = self._execs.pop(process, (None, 0.0))
        if edits is None:
            return  # forked, not executed: a part of another command
        argv = command_line(process)
        if self._rule.is_test(argv) and not self._inside_test(parent):
            self._forget(process)
            self._finished(argv, status & 0xFF, edits)

    def look(self) -> list[int]:
        """Find test commands that have begun; gives the new pidfds, each readable when its command has ended."""
        found = []
        now = time.monotonic()
        known = {process for _, process in self._live.values()}
        for process, (_, since) in list(self._execs.items()):
            if now - since > 2 * SETTLING or process in known:
                continue
            argv = command_line(process)
            if not self._rule.is_test(argv) or self._inside_test(_status(process)[1]):
                continue
            try:
                descriptor = kernel.pidfd_open(process)
            except OSError:
                continue  # it has ended already, and its exit call was or will be seen
            self._live[descriptor] = argv, process
            self._started(argv)
            found.append(descriptor)
        return found

    def ended(self, descriptor: int) -> None:
        """A pidfd became readable. If no exit call was seen before, a signal did it."""
        argv, process = self._live.pop(descriptor)
        os.close(descriptor)
        edits, _ = self._execs.pop(process, (None, 0.0))
        if edits is not None:
            self._finished(argv, None, edits)

    def forget_edits(self) -> None:
        """The count of edits begins anew: no command so far was started after one."""
        self._execs = {process: (0, since) for process, (_, since) in self._execs.items()}

    def close(self) -> None:
        """Let go of every descriptor."""
        for descriptor in self._live:
            os.close(descriptor)
        self._live.clear()

    @property
    def descriptors(self) -> list[int]:
        """The pidfds in use."""
        return list(self._live)

    def _forget(self, process: int) -> None:
        # The descriptor stays until it is readable: the loop still listens to it.
        self._execs.pop(process, None)

    def _inside_test(self, parent: int) -> bool:
        for _ in range(MAX_ANCESTORS):
            if parent <= 1:
                return False
            if self._rule.is_test(command_line(parent)):
                return True
            parent = _status(parent)[1]
        return False


def command_line(process: int) -> list[str]:
    """The argv of a process; empty if it is gone."""
    try:
        with open("/proc/%d/cmdline" % process, "rb") as file:
            data = file.read(1 << 16)
    except OSError:
        return []
    return [to_text(part) for part in data.split(b"\0")[:-1]]


def _status(tid: int) -> tuple[int, int]:
    """The process a thread belongs to, and that process's parent; zeros if it is gone."""
    try:
        with open("/proc/%d/status" % tid, "rb") as file:
            fields = dict(_FIELDS.findall(file.read(4096)))
    except OSError:
        return 0, 0
    return int(fields.get(b"Tgid", 0)), int(fields.get(b"PPid", 0))
