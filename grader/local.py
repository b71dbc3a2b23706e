"""A subject worker as a plain process of this machine: for code that is trusted, such as a task's own solution.

Nothing isolates it. The tests of tasks and of the worker use it; a verdict on an agent's work never does.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .answers import SubjectGone
from .worker import ENVIRONMENT, RestartingChannel, command

MAX_LINE = 4 << 20


class UnsafeLocalChannel:
    """A channel to one worker process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._read = b""

    def ask(self, request: bytes, timeout: float) -> bytes:
        """The answering line."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(request + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise SubjectGone("died", "the worker had ended") from error
        return self._line(time.monotonic() + timeout)

    def _line(self, end: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._read:
            if not select.select([descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
                raise SubjectGone("timeout", "the worker fell silent")
            data = os.read(descriptor, 1 << 16)
            if not data:
                raise SubjectGone("died", "the worker ended")
            self._read += data
            if len(self._read) > MAX_LINE:
                raise SubjectGone("garbled", "the worker answered without end")
        line, _, self._read = self._read.partition(b"\n")
        return line


@contextlib.contextmanager
def unsafe_local_worker(*roots: Path, python: str = sys.executable) -> Iterator[UnsafeLocalChannel]:
    """One worker over directories of this machine."""
    process = subprocess.Popen(
        command(*map(str, roots), python=python, alone=False),
        env=ENVIRONMENT,
        cwd=roots[0],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield UnsafeLocalChannel(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def unsafe_local_channel(*roots: Path, python: str = sys.executable) -> Iterator[RestartingChannel]:
    """A channel that starts another worker when one is brought down."""
    with RestartingChannel(lambda: unsafe_local_worker(*roots, python=python)) as channel:
        yield channel
