"""From PID 1 to a process of the agent: fork, give up every right, become the program."""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import struct

from . import barrier, files, kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

LIMITS = {
    "as": resource.RLIMIT_AS, "core": resource.RLIMIT_CORE, "cpu": resource.RLIMIT_CPU, "data": resource.RLIMIT_DATA,
    "fsize": resource.RLIMIT_FSIZE, "memlock": resource.RLIMIT_MEMLOCK, "nofile": resource.RLIMIT_NOFILE,
    "nproc": resource.RLIMIT_NPROC, "stack": resource.RLIMIT_STACK,
}  # fmt: skip
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_FAILED = struct.Struct("=i")


class SpawnError(Exception):
    """The program could not be started; `number` is an errno, or None for a request that makes no sense."""

    def __init__(self, why: str, number: int | None = None) -> None:
        super().__init__(why)
        self.number = number


class Program:
    """What to run, checked and in the bytes that the kernel takes."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        argv, env = header.get("argv"), header.get("env") or {}
        if not isinstance(argv, list) or not argv or not isinstance(env, dict):
            raise SpawnError("argv is not a list of text, or env not an object")
        self.argv = [_text(item, "argv") for item in argv]
        self.env = {_text(key, "env"): _text(value, "env") for key, value in env.items()}
        if any(not key or b"=" in key for key in self.env):
            raise SpawnError("env has an empty name or one with '='")
        self.cwd = _text(header.get("cwd") or "/workspace", "cwd")
        self.limits = _limits(header.get("rlimits") or {})
        self.stdin = bool(header.get("stdin"))
        self.silent = False  # its output goes nowhere


def _text(value: object, what: str) -> bytes:
    if not isinstance(value, str) or "\0" in value:
        raise SpawnError("%s is not text without NUL: %r" % (what, value))
    return files.to_bytes(value)


def _limits(wanted: Mapping[str, Any]) -> dict[int, tuple[int, int]]:
    limits = {}
    for name, value in {"core": 0, **wanted}.items():
        pair = value if isinstance(value, list) else [value, value]
        if name not in LIMITS or len(pair) != 2 or any(type(number) is not int for number in pair):
            raise SpawnError("no such limit: %s = %r" % (name, value))
        limits[LIMITS[name]] = (pair[0], pair[1])
    return limits


class Child:
    """A process on its way to becoming the program: its pipes, and word of whether it got there."""

    def __init__(self, pid: int, status: int, pipes: tuple[int, int, int], listener: int | None) -> None:
        self.pid, self.status, self.listener = pid, status, listener
        self.stdin, self.stdout, self.stderr = pipes

    def outcome(self) -> SpawnError | None:
        """Once `status` is readable: None if the program runs, else why not. Closes `status`."""
        data = os.read(self.status, 4096)
        os.close(self.status)
        if not data:
            return None
        (number,) = _FAILED.unpack_from(data)
        return SpawnError("%s: %s" % (data[_FAILED.size :].decode("utf-8", "replace"), os.strerror(number)), number)


def spawn(
    program: Program,
    uid: int,
    gid: int,
    machine: str,
    nofile: int,
    filter_text: bytes | None,
    groups: tuple[int, ...] = (),
) -> Child:
    """Start the program as the agent, with supplementary `groups`; OSError if there can be no more processes.

    With a filter the child's listener comes back too (None: the kernel refused the filter). `nofile` is the
    soft limit of open files that PID 1 itself was started with.
    """
    status_read, status_write = os.pipe()
    out_read, out_write = _output(program)
    err_read, err_write = _output(program)
    in_read, in_write = os.pipe() if program.stdin else (os.open(os.devnull, os.O_RDONLY), -1)
    here, there = socket.socketpair()
    child_side = (in_read, out_write, err_write)
    parent_side = [status_read, out_read, err_read]
    try:
        pid = os.fork()
        if pid == 0:
            identity = uid, gid, groups
            _become(program, identity, machine, nofile, filter_text, child_side, status_write, there)
    except OSError:
        for descriptor in (*parent_side, in_write):
            if descriptor >= 0:
                os.close(descriptor)
        raise
    finally:
        there.close()
        for descriptor in (*child_side, status_write):
            os.close(descriptor)
    listener = barrier.receive(here) if filter_text else None
    here.close()
    for descriptor in (out_read, err_read, in_write):
        if descriptor >= 0:
            os.set_blocking(descriptor, False)
    return Child(pid, status_read, (in_write, out_read, err_read), listener)


def _output(program: Program) -> tuple[int, int]:
    return (-1, os.open(os.devnull, os.O_WRONLY)) if program.silent else os.pipe()


def _become(
    program: Program,
    identity: tuple[int, int, tuple[int, ...]],
    machine: str,
    nofile: int,
    filter_text: bytes | None,
    streams: tuple[int, int, int],
    status: int,
    channel: socket.socket,
) -> NoReturn:
    number, stage = errno.EPROTO, "preparing the process"
    uid, gid, groups = identity
    try:
        os.setsid()
        for target, descriptor in enumerate(streams):
            os.dup2(descriptor, target)
        _reset_signals()
        _set_limits(program.limits, nofile)
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
        os.umask(0o022)
        kernel.drop_bounding_set()
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        kernel.clear_capabilities(machine)
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        stage = "cwd %s" % files.to_text(program.cwd)
        os.chdir(program.cwd)
        if filter_text:
            _raise_barrier(machine, filter_text, channel)
        stage = files.to_text(program.argv[0])
        _execute(program)
    except OSError as error:
        number = error.errno or number
    finally:
        # Whatever went wrong, nothing of PID 1 may go on in here; a program that runs never gets to this line.
        os.write(status, _FAILED.pack(number) + stage.encode("utf-8", "replace")[:1000])
        os._exit(127)


def _raise_barrier(machine: str, filter_text: bytes, channel: socket.socket) -> None:
    try:
        listener = barrier.install(machine, filter_text)
    except OSError:
        channel.close()  # PID 1 sees that none comes, and the session goes on without
        return
    barrier.pass_on(channel, listener)
    os.close(listener)


def _execute(program: Program) -> NoReturn:
    name = program.argv[0]
    if b"/" in name:
        os.execve(name, program.argv, program.env)
    failure = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    for folder in program.env.get(b"PATH", DEFAULT_PATH.encode()).split(b":"):
        path = os.path.join(folder or b".", name)
        if not os.path.isfile(path):
            continue
        try:
            os.execve(path, program.argv, program.env)
        except OSError as error:
            failure = error
            if error.errno != errno.EACCES:
                break
    raise failure


def _reset_signals() -> None:
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):
            continue  # those that cannot be changed
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _set_limits(limits: Mapping[int, tuple[int, int]], nofile: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    for which, (soft, most) in {resource.RLIMIT_NOFILE: (nofile, hard), **limits}.items():
        ceiling = resource.getrlimit(which)[1]
        most = _lower(most, ceiling)
        resource.setrlimit(which, (_lower(soft, most), most))


def _lower(a: int, b: int) -> int:
    if resource.RLIM_INFINITY in (a, b):
        return b if a == resource.RLIM_INFINITY else a
    return min(a, b)
