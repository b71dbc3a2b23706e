"""The few kernel interfaces that Python's standard library has no words for."""

from __future__ import annotations

import ctypes
import os
import struct

# Numbers that are the same on every architecture served here.
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 24, 38
SECCOMP_SET_MODE_FILTER, SECCOMP_GET_ACTION_AVAIL, SECCOMP_GET_NOTIF_SIZES = 1, 2, 3
LAST_CAP = 63
SYS_PIDFD_OPEN = 434

# Numbers that are not: seccomp(2) and capset(2).
SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}
SYS_CAPSET = {"x86_64": 126, "aarch64": 91}

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(value: int, what: str) -> int:
    if value < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))
    return value


def _long(number: int) -> ctypes.c_long:
    return ctypes.c_long(number)


def prctl(option: int, argument: int = 0, third: int = 0) -> int:
    """prctl(2) with plain numbers."""
    return _checked(_libc.prctl(option, _long(argument), _long(third), _long(0), _long(0)), "prctl")


def seccomp(machine: str, operation: int, flags: int, argument: object) -> int:
    """seccomp(2); `argument` is a ctypes object, passed by reference."""
    reference = ctypes.byref(argument)  # type: ignore[arg-type]
    return _checked(_libc.syscall(_long(SYS_SECCOMP[machine]), _long(operation), _long(flags), reference), "seccomp")


def drop_bounding_set() -> None:
    """Empty the capability bounding set, if the kernel lets this process."""
    for capability in range(LAST_CAP + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            # No SETPCAP, as in our containers, or past the last capability: no_new_privs makes the set moot.
            return


def clear_capabilities(machine: str) -> None:
    """Empty the permitted, effective, inheritable and ambient sets of this process."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0))
    empty = ctypes.create_string_buffer(24)
    # An empty inheritable set empties the ambient one.
    _checked(_libc.syscall(_long(SYS_CAPSET[machine]), header, empty), "capset")


def set_fs_ids(uid: int, gid: int) -> None:
    """Act on files as `uid`:`gid` while staying root for everything else; 0, 0 goes back."""
    _libc.setfsgid(gid)
    _libc.setfsuid(uid)


def pidfd_open(pid: int) -> int:
    """A descriptor that becomes readable when the process has ended; close-on-exec."""
    return _checked(_libc.syscall(_long(SYS_PIDFD_OPEN), _long(pid), _long(0)), "pidfd_open")


def inotify_init() -> int:
    """A new inotify queue, non-blocking and close-on-exec."""
    return _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), "inotify_init1")


def inotify_add_watch(queue: int, path: bytes, mask: int) -> int:
    """The watch descriptor of `path`."""
    return _checked(_libc.inotify_add_watch(queue, path, ctypes.c_uint32(mask)), "inotify_add_watch")


def inotify_rm_watch(queue: int, watch: int) -> None:
    """Forget a watch; one that the kernel has dropped already is no error."""
    _libc.inotify_rm_watch(queue, watch)
