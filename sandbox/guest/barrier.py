"""The barrier: a seccomp listener that PID 1 holds, through which the agent's calls pause.

The child that becomes the agent installs the filter on itself and passes the listener to PID 1;
every process it starts inherits the filter. A call that is never answered dies with its process.
"""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys

from . import bpf, kernel

_NEW_LISTENER, _WAIT_KILLABLE = 1 << 3, 1 << 5
_CONTINUE = 1
_IOCTL_SET_FLAGS, _SYNC_WAKE_UP = 0x40082104, 1
_CONTINUE_SINCE = (5, 5)

_REQUEST = struct.Struct("=QIIiIQ6Q")  # id, pid, flags, then seccomp_data: nr, arch, instruction, arguments
_REPLY = struct.Struct("=QqiI")


class Call:
    """One paused call: who makes it and what it is."""

    __slots__ = ("arguments", "cookie", "name", "tid")

    def __init__(self, cookie: int, tid: int, name: str, arguments: tuple[int, ...]) -> None:
        self.cookie, self.tid, self.name, self.arguments = cookie, tid, name, arguments

    @property
    def creates(self) -> bool:
        """Whether it may create a file by opening it."""
        position = bpf.FLAGS_ARGUMENT.get(self.name)
        return self.name == "creat" or (position is not None and bool(self.arguments[position] & os.O_CREAT))


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def missing(machine: str, release: str) -> str | None:
    """Why there can be no barrier here, or None."""
    if machine not in bpf.SYSCALLS:
        return "no system call table for %s" % machine
    numbers = [part for part in release.replace("-", ".").split(".")[:2] if part.isdigit()]
    if tuple(map(int, numbers)) < _CONTINUE_SINCE:
        return "kernel %s cannot let a paused call go on (5.5 or later can)" % release
    try:
        action = ctypes.c_uint32(bpf.NOTIFY)
        kernel.seccomp(machine, kernel.SECCOMP_GET_ACTION_AVAIL, 0, action)
        notification_sizes(machine)
    except OSError as error:
        return "no seccomp user notification: %s" % error.strerror
    return None


def notification_sizes(machine: str) -> tuple[int, int]:
    """The kernel's own sizes of a notification and of a reply."""
    sizes = (ctypes.c_uint16 * 3)()
    kernel.seccomp(machine, kernel.SECCOMP_GET_NOTIF_SIZES, 0, sizes)
    return sizes[0], sizes[1]


def install(machine: str, text: bytes) -> int:
    """Put the filter on this process for good; the listener's descriptor. Needs no_new_privs."""
    held = ctypes.create_string_buffer(text, len(text))
    program = _Program(len(text) // 8, ctypes.cast(held, ctypes.c_void_p))
    try:
        # A signal must not tear an answered call apart: programs do not expect EINTR from open(2).
        return kernel.seccomp(machine, kernel.SECCOMP_SET_MODE_FILTER, _NEW_LISTENER | _WAIT_KILLABLE, program)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return kernel.seccomp(machine, kernel.SECCOMP_SET_MODE_FILTER, _NEW_LISTENER, program)


def pass_on(channel: socket.socket, listener: int) -> None:
    """Give the listener to the other end of a socket pair."""
    channel.sendmsg([b"l"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])


def receive(channel: socket.socket) -> int | None:
    """The listener that the other end passed; None if it closed without."""
    size = array.array("i").itemsize
    _, ancillary, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(size), socket.MSG_CMSG_CLOEXEC)
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            return int.from_bytes(data[:size], sys.byteorder)
    return None


class Listener:
    """Takes paused calls and lets them go on."""

    def __init__(self, descriptor: int, machine: str) -> None:
        self.fd = descriptor
        self._names = {number: name for name, number in bpf.SYSCALLS[machine].items()}
        notification, reply = notification_sizes(machine)
        self._empty = bytes(max(notification, _REQUEST.size))
        self._reply = bytearray(max(reply, _REPLY.size))
        self._take = 3 << 30 | notification << 16 | ord("!") << 8
        self._send = 3 << 30 | reply << 16 | ord("!") << 8 | 1
        try:
            # Both sides take turns, so waking the other on the same processor is four times as fast (Linux 6.6).
            fcntl.ioctl(descriptor, _IOCTL_SET_FLAGS, _SYNC_WAKE_UP)
        except OSError:
            pass

    def take(self) -> Call | None:
        """The next paused call; None if its process died meanwhile. Call it when the descriptor is readable."""
        request = bytearray(self._empty)
        try:
            fcntl.ioctl(self.fd, self._take, request)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                return None
            raise
        cookie, tid, _, number, _, _, *arguments = _REQUEST.unpack_from(request)
        return Call(cookie, tid, self._names.get(number, str(number)), tuple(arguments))

    def let(self, call: Call) -> None:
        """Let a paused call go on, in the caller's own name."""
        _REPLY.pack_into(self._reply, 0, call.cookie, 0, 0, _CONTINUE)
        try:
            fcntl.ioctl(self.fd, self._send, self._reply)
        except OSError as error:
            if error.errno != errno.ENOENT:  # it died while it waited
                raise

    def close(self) -> None:
        """Calls still paused now fail with ENOSYS: close only when nobody is left."""
        os.close(self.fd)
