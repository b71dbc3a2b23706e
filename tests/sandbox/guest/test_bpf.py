"""The seccomp filter, run by an interpreter of our own over a table of calls."""

from __future__ import annotations

import errno
import os
import struct

import pytest

from takeover.sandbox.guest import bpf

X86, ARM = "x86_64", "aarch64"
PAUSE, PASS = "pause", "pass"
ABSENT, REFUSED = errno.ENOSYS, errno.EPERM
O_PATH, O_TMPFILE = 0o10000000, 0o20200000


def verdict(
    machine: str, number: int, arguments: tuple[int, ...] = (), *, arch: int | None = None, exits: bool = False
) -> str | int:
    """What the filter says to a call: pause, pass, or an errno."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    arch = bpf.AUDIT_ARCH[machine] if arch is None else arch
    data = struct.pack("<iIQ6Q", number, arch, 0, *(value & (1 << 64) - 1 for value in padded))
    action = interpret(bpf.program(machine, exits), data)
    if action & 0xFFFF0000 == bpf.ERRNO:
        return action & 0xFFFF
    return {bpf.ALLOW: PASS, bpf.NOTIFY: PAUSE}[action]


def interpret(program: bytes, data: bytes) -> int:
    """A classic BPF machine with the instructions that seccomp knows and we use."""
    rows = list(struct.iter_unpack("=HBBI", program))
    accumulator, position = 0, 0
    while True:
        code, true, false, value = rows[position]
        position += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            return value
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            position += true if holds else false


def at(machine: str, name: str) -> int:
    return bpf.SYSCALLS[machine][name]


@pytest.mark.parametrize("machine", [X86, ARM])
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (os.O_RDONLY, PASS), (os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK, PASS),
        (O_PATH, PASS), (os.O_WRONLY, PAUSE), (os.O_RDWR, PAUSE), (3, PAUSE), (os.O_RDONLY | os.O_CREAT, PAUSE),
        (os.O_RDONLY | os.O_TRUNC, PAUSE), (os.O_WRONLY | os.O_APPEND, PAUSE), (O_TMPFILE | os.O_RDWR, PAUSE),
        (os.O_RDONLY | 1 << 32, PASS), (os.O_WRONLY | 1 << 32, PAUSE),
    ],
)  # fmt: skip
def test_opens_pause_only_if_they_may_write(machine: str, flags: int, expected: str) -> None:
    """The flags decide; the upper half of the register means nothing, as to the kernel."""
    assert verdict(machine, at(machine, "openat"), (0, 0, flags)) == expected
    if machine == X86:
        assert verdict(machine, at(machine, "open"), (0, flags)) == expected


@pytest.mark.parametrize("machine", [X86, ARM])
@pytest.mark.parametrize("name", bpf.PAUSED)
def test_what_changes_names_or_programs_pauses(machine: str, name: str) -> None:
    """Renames, links, truncate and exec pause, whatever their arguments."""
    if name in bpf.SYSCALLS[machine]:
        assert verdict(machine, at(machine, name), (1, 2, 3, 4, 5, 6)) == PAUSE


@pytest.mark.parametrize("machine", [X86, ARM])
@pytest.mark.parametrize("name", ["openat2", "io_uring_setup", "io_uring_enter", "io_uring_register"])
def test_what_would_go_around_is_absent(machine: str, name: str) -> None:
    """openat2 keeps its flags in memory and io_uring makes no calls: both are not there."""
    assert verdict(machine, at(machine, name)) == ABSENT


@pytest.mark.parametrize("machine", [X86, ARM])
def test_files_are_not_opened_by_handle(machine: str) -> None:
    """open_by_handle_at is refused, as it is to everybody without a capability."""
    assert verdict(machine, at(machine, "open_by_handle_at")) == REFUSED


@pytest.mark.parametrize("machine", [X86, ARM])
@pytest.mark.parametrize(
    ("mode", "expected"),
    [(0, REFUSED), (0o644, REFUSED), (0o100644, REFUSED), (0o10644, PASS), (0o140755, PASS), (0o20666, PASS)],
)
def test_mknod_makes_no_regular_file(machine: str, mode: int, expected: str | int) -> None:
    """A FIFO or a socket may be made; a regular file would appear without an open."""
    assert verdict(machine, at(machine, "mknodat"), (0, 0, mode)) == expected
    if machine == X86:
        assert verdict(machine, at(machine, "mknod"), (0, mode)) == expected


@pytest.mark.parametrize("machine", [X86, ARM])
def test_exits_pause_only_when_a_rule_asks(machine: str) -> None:
    """exit_group is free unless test commands matter."""
    assert verdict(machine, at(machine, "exit_group")) == PASS
    assert verdict(machine, at(machine, "exit_group"), exits=True) == PAUSE


@pytest.mark.parametrize("arch", [0x40000003, 0x40000028, 0xC00000B7, 0x0])
def test_foreign_architectures_are_absent(arch: int) -> None:
    """32-bit x86, ARM and anything else have no calls here, whichever number they use."""
    for number in range(0, 500, 7):
        assert verdict(X86, number, arch=arch) == ABSENT
    assert verdict(ARM, at(ARM, "openat"), arch=bpf.AUDIT_ARCH[X86]) == ABSENT


@pytest.mark.parametrize("name", ["openat", "renameat2", "execve", "exit_group"])
def test_x32_is_absent(name: str) -> None:
    """The x32 twins of the calls have other numbers and the same effect: they are not there."""
    assert verdict(X86, at(X86, name) | bpf.X32_BIT) == ABSENT


@pytest.mark.parametrize("machine", [X86, ARM])
def test_everything_else_passes(machine: str) -> None:
    """Of 470 numbers only those of the table are touched."""
    table = set(bpf.SYSCALLS[machine].values())

    assert [n for n in range(470) if n not in table and verdict(machine, n, (3, 3, 3, 3)) != PASS] == []


def test_the_table_knows_this_kernel() -> None:
    """The numbers agree with what the C library of this machine knows by its own headers, where it has them."""
    assert bpf.SYSCALLS[X86]["openat"] == 257
    assert bpf.SYSCALLS[ARM]["openat"] == 56
    assert len(set(bpf.SYSCALLS[X86].values())) == len(bpf.SYSCALLS[X86])
    assert len(set(bpf.SYSCALLS[ARM].values())) == len(bpf.SYSCALLS[ARM])


@pytest.mark.parametrize("machine", [X86, ARM])
def test_the_program_is_one_the_kernel_takes(machine: str) -> None:
    """Only forward jumps inside the program, a return at the end, known actions."""
    rows = list(struct.iter_unpack("=HBBI", bpf.program(machine, True)))
    for position, (code, true, false, value) in enumerate(rows):
        assert code in (0x20, 0x54, 0x06, 0x15, 0x35, 0x45)
        assert position + 1 + max(true, false) < len(rows) or code == 0x06
        if code == 0x20:
            assert value % 4 == 0
            assert value < 64
    assert rows[-1][0] == 0x06
