"""Where the processes of hidden checks come from: forks of one that has pytest loaded and the checks collected.

The server has pytest loaded. It forks a template for each set of checks, which collects them, and the template forks a
process for each run. So a run costs a fork and the checks themselves, and none sees anything of another. Only our own
code is in any of these processes: the code under test answers by way of the parent, as bytes.

A run hangs on a leash, a socket whose other end the parent holds: when that is closed, which the kernel sees to should
the parent die, the run is killed.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

from . import checkrun

TEMPLATES = 8
COLLECT_SECONDS = 300
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from takeover.grader import checkserver as c; c.main()"
)


@contextmanager
def process(folder: Path, parameters: Mapping[str, object], cache: str) -> Iterator[Connection]:
    """A connection to a process that runs these checks; EOFError or OSError when it is gone, as it is with the context."""
    request = {"folder": str(folder), "parameters": dict(parameters), "cache": cache, "stamp": _stamp(folder)}
    (ours, theirs), (held, leash) = socket.socketpair(), socket.socketpair()
    with held, Connection(ours.detach()) as connection:
        with theirs, leash:
            _server().pass_on([theirs.fileno(), leash.fileno()])
        connection.send_bytes(json.dumps(request).encode("ascii"))
        yield connection


def warm() -> None:
    """Start the server if there is none, and do not wait for it."""
    _server().start()


class _Server:
    """The parent's hold on the server; it ends with this process."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._control: socket.socket | None = None

    def start(self) -> socket.socket:
        """The way to the server, which is started if need be."""
        with self._starting:
            if self._control is None:
                self._control, theirs = socket.socketpair()
                atexit.register(self._control.close)
                with theirs:
                    command, fd = [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)], theirs.fileno()
                    started = subprocess.Popen(command, stdin=fd, stdout=subprocess.DEVNULL, start_new_session=True)
                # It ends by itself when the other end of its standard input does.
                threading.Thread(target=started.wait, name="checkserver", daemon=True).start()
            return self._control

    def pass_on(self, descriptors: list[int]) -> None:
        """Give a run's ends to the server; to a new one if the old one is gone."""
        control = self.start()
        try:
            socket.send_fds(control, [b"r"], descriptors)
        except OSError:
            with self._starting:
                if self._control is control:
                    self._control = None
                control.close()
            socket.send_fds(self.start(), [b"r"], descriptors)


@functools.cache
def _server() -> _Server:
    return _Server()


def _stamp(folder: Path) -> list[tuple[str, int, int]]:
    """What changes when a file of the folder does: a template is for what it has collected."""
    found = ((path, path.stat()) for path in sorted(folder.rglob("*.py")))
    return [(str(path.relative_to(folder)), stat.st_mtime_ns, stat.st_size) for path, stat in found]


def main() -> None:
    """The server: hands each run to the template of its checks until the other end of its standard input closes."""
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    # Everything is loaded. Whoever reads what our parent prints to the end must not wait for us.
    os.dup2(null, 0)
    os.dup2(null, 2)
    gc.freeze()
    templates: dict[bytes, socket.socket] = {}
    while (ends := _receive(control)) is not None:
        with Connection(ends[0]) as connection, socket.socket(fileno=ends[1]) as leash:
            try:
                request = connection.recv_bytes()
                _hand_over(templates, control, request, [connection.fileno(), leash.fileno()])
            except (EOFError, OSError):
                pass  # whoever asked has gone, or sees that nobody answers
        _reap()


def _hand_over(
    templates: dict[bytes, socket.socket], control: socket.socket, request: bytes, descriptors: list[int]
) -> None:
    if request in templates:
        templates[request] = templates.pop(request)  # the one used last goes last
        try:
            socket.send_fds(templates[request], [b"r"], descriptors)
        except (BrokenPipeError, ConnectionResetError):
            templates.pop(request).close()
        else:
            return
    for oldest in list(templates)[: 1 - TEMPLATES]:
        # It ends when its last run does.
        templates.pop(oldest).close()
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        # Held here too, these would keep others alive.
        for other in (control, ours, *templates.values()):
            other.close()
        for descriptor in descriptors:
            os.close(descriptor)
        _be_template(request, theirs)
    theirs.close()
    templates[request] = ours
    socket.send_fds(ours, [b"r"], descriptors)


def _be_template(request: bytes, control: socket.socket) -> NoReturn:
    try:
        asked = json.loads(request)
        # Checks that cannot even be collected must not stay for ever.
        signal.alarm(COLLECT_SECONDS)
        checkrun.run(asked["folder"], asked["parameters"], asked["cache"], lambda: _next_run(control))
    finally:
        os._exit(0)


def _next_run(control: socket.socket) -> Connection:
    """Forks for each run that is handed over and returns in the fork; the template itself ends in here."""
    signal.alarm(0)
    gc.collect()
    gc.freeze()
    runs: dict[int, tuple[int, socket.socket]] = {}
    watched: set[int] = {control.fileno()}
    while watched:
        for ready in select.select(watched, [], [])[0]:
            if ready in runs:
                pid, leash = runs.pop(ready)
                watched.remove(ready)
                leash.close()
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            elif (ends := _receive(control)) is None:
                watched.remove(ready)
            else:
                pid = os.fork()
                if pid == 0:
                    return Connection(ends[0])
                os.close(ends[0])
                runs[ends[1]] = pid, socket.socket(fileno=ends[1])
                watched.add(ends[1])
    os._exit(0)


def _receive(control: socket.socket) -> tuple[int, int] | None:
    """The two ends of a run that comes next; None if there comes none."""
    try:
        data, descriptors, _, _ = socket.recv_fds(control, 1, 2)
    except OSError:
        return None
    return (descriptors[0], descriptors[1]) if data and len(descriptors) == 2 else None


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
