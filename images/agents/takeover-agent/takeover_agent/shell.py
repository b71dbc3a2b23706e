"""One shell command: its output bounded in memory, its time bounded, nothing of it left in the way."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """Output (both streams, beginning and end of it if it was long), and how it ended, in words."""

    output: str
    end: str


class _Kept:
    """The beginning and the end of what came."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def add(self, data: bytes) -> None:
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        extra = len(self._tail) - self._half
        if extra > 0:
            del self._tail[:extra]
            self._left_out += extra

    def text(self) -> str:
        gap = f"\n[... {self._left_out} bytes are left out ...]\n".encode() if self._left_out else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode("utf-8", "replace")


def run_shell(command: str, folder: Path, seconds: float, most: int) -> Ran:
    """Run a command with bash. What it leaves running in the background stays; what ran out of time is ended whole."""
    kept = _Kept(most)
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    with process.stdout as pipe:
        in_time = _follow(process, pipe.fileno(), time.monotonic() + seconds, kept)
        if not in_time:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
    if not in_time:
        return Ran(kept.text(), f"ended after {seconds:g} s")
    return Ran(kept.text(), f"exit code {code}" if code >= 0 else f"ended by signal {-code}")


def _follow(process: subprocess.Popen[bytes], pipe: int, end: float, kept: _Kept) -> bool:
    """Read until the command is over; False when its time is. A child in the background may hold the pipe for ever."""
    os.set_blocking(pipe, False)
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            over = process.poll() is not None
            ready = selector.select(0 if over else min(0.05, max(end - time.monotonic(), 0)))
            if ready:
                data = os.read(pipe, 1 << 16)
                if data:
                    kept.add(data)
                else:
                    return _waited(process, end)
            elif over:
                return True
            if time.monotonic() >= end:
                return False


def _waited(process: subprocess.Popen[bytes], end: float) -> bool:
    """Nobody writes any more; whether the command ends in time."""
    try:
        process.wait(max(end - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        return False
    return True
