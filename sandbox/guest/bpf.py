"""The seccomp filter of a session as classic BPF. Pure: text in, bytes out.

What may change a file by name pauses until PID 1 lets it go on; what would go around that is refused;
everything else, reads above all, runs at full speed. Flags and modes are checked in registers, where
the caller cannot change them afterwards.
"""

from __future__ import annotations

import errno
import struct

ALLOW, NOTIFY, ERRNO = 0x7FFF0000, 0x7FC00000, 0x00050000

# The tables hold only what exists on the architecture; aarch64 was born without the older calls.
SYSCALLS = {
    "x86_64": {
        "open": 2, "execve": 59, "truncate": 76, "rename": 82, "creat": 85, "link": 86, "symlink": 88, "mknod": 133,
        "exit_group": 231, "openat": 257, "mknodat": 259, "renameat": 264, "linkat": 265, "symlinkat": 266,
        "open_by_handle_at": 304, "renameat2": 316, "execveat": 322,
        "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "openat2": 437,
    },
    "aarch64": {
        "mknodat": 33, "symlinkat": 36, "linkat": 37, "renameat": 38, "truncate": 45, "openat": 56,
        "exit_group": 94, "execve": 221, "open_by_handle_at": 265, "renameat2": 276, "execveat": 281,
        "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "openat2": 437,
    },
}  # fmt: skip
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000

PAUSED = (
    "creat", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "truncate",
    "execve", "execveat",
)  # fmt: skip
ABSENT = ("openat2", "io_uring_setup", "io_uring_enter", "io_uring_register")
FLAGS_ARGUMENT = {"open": 1, "openat": 2}
MODE_ARGUMENT = {"mknod": 1, "mknodat": 2}
WRITEISH = 0o3 | 0o100 | 0o1000  # an access mode other than reading, O_CREAT, O_TRUNC
FILE_TYPE, REGULAR = 0o170000, 0o100000

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMPS = {"eq": 0x15, "ge": 0x35, "set": 0x45}
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16


class Assembler:
    """Instructions with forward jumps by label; a jump not taken falls through."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, str, str, int]] = []
        self._labels: dict[str, int] = {}

    def load(self, offset: int) -> None:
        """Load a 32-bit word of seccomp_data."""
        self._rows.append((_LOAD, "", "", offset))

    def mask(self, bits: int) -> None:
        """Keep only `bits` of what is loaded."""
        self._rows.append((_AND, "", "", bits))

    def jump(self, test: str, value: int, label: str) -> None:
        """Jump if what is loaded is `eq`, `ge`, or shares bits (`set`) with `value`."""
        self._rows.append((_JUMPS[test], label, "", value))

    def unless(self, test: str, value: int, label: str) -> None:
        """Jump if the test does not hold."""
        self._rows.append((_JUMPS[test], "", label, value))

    def end(self, action: int) -> None:
        """Return an action."""
        self._rows.append((_RETURN, "", "", action))

    def label(self, name: str) -> None:
        """Name the next instruction."""
        self._labels[name] = len(self._rows)

    def assemble(self) -> bytes:
        """The program as an array of struct sock_filter."""
        out = []
        for position, (code, true, false, value) in enumerate(self._rows):
            distances = [self._labels[name] - position - 1 if name else 0 for name in (true, false)]
            out.append(struct.pack("=HBBI", code, distances[0], distances[1], value))
        return b"".join(out)


def program(machine: str, pause_exit: bool = False) -> bytes:
    """The filter for an architecture; `pause_exit` lets PID 1 see exit codes as well."""
    table = SYSCALLS[machine]
    asm = Assembler()
    asm.load(_ARCH_AT)
    asm.unless("eq", AUDIT_ARCH[machine], "absent")
    asm.load(_NUMBER_AT)
    if machine == "x86_64":
        asm.jump("ge", X32_BIT, "absent")
    for name in PAUSED + (("exit_group",) if pause_exit else ()):
        if name in table:
            asm.jump("eq", table[name], "pause")
    for name in ABSENT:
        asm.jump("eq", table[name], "absent")
    asm.jump("eq", table["open_by_handle_at"], "refuse")
    for name in (*FLAGS_ARGUMENT, *MODE_ARGUMENT):
        if name in table:
            asm.jump("eq", table[name], name)
    asm.end(ALLOW)
    for name, argument in FLAGS_ARGUMENT.items():
        if name in table:
            asm.label(name)
            asm.load(_ARGUMENTS_AT + 8 * argument)
            asm.jump("set", WRITEISH, "pause")
            asm.end(ALLOW)
    for name, argument in MODE_ARGUMENT.items():
        if name in table:
            # A regular file made by mknod would come into being without an open to pause; nobody does that.
            asm.label(name)
            asm.load(_ARGUMENTS_AT + 8 * argument)
            asm.mask(FILE_TYPE)
            asm.jump("eq", 0, "refuse")
            asm.jump("eq", REGULAR, "refuse")
            asm.end(ALLOW)
    asm.label("pause")
    asm.end(NOTIFY)
    asm.label("absent")
    asm.end(ERRNO | errno.ENOSYS)
    asm.label("refuse")
    asm.end(ERRNO | errno.EPERM)
    return asm.assemble()
