"""An agent that tries to get at PID 1, at the wire, or out."""

from __future__ import annotations

import json

import pytest
from guest_client import ENV, HOME, Client

pytestmark = pytest.mark.docker

PROBE = r"""
import ctypes, errno, json, os, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
found = {}
def probe(name, act):
    try:
        found[name] = repr(act())[:200]
    except OSError as error:
        found[name] = errno.errorcode[error.errno]
def call(*args):
    value = libc.syscall(*args)
    if value < 0:
        raise OSError(ctypes.get_errno(), "")
    return value
def read(path):
    with open(path, "rb") as file:
        return file.read(100)
def write(path):
    with open(path, "ab") as file:
        file.write(b"x")
for name in ("KILL", "TERM", "STOP", "SEGV", "USR1", "CHLD"):
    probe("kill " + name, lambda: os.kill(1, getattr(signal, "SIG" + name)))
probe("ptrace attach", lambda: call(101, 16, 1, 0, 0))
probe("ptrace seize", lambda: call(101, 0x4206, 1, 0, 0))
probe("process_vm_readv", lambda: call(310, 1, ctypes.create_string_buffer(64), 1, ctypes.create_string_buffer(64), 1, 0))
for name in ("mem", "environ", "auxv", "maps", "syscall", "stack", "personality", "io", "pagemap", "root/etc/passwd",
             "cwd/etc", "exe", "fd/0", "fd/1", "fd/3", "ns/net", "map_files"):
    probe("read " + name, lambda: (os.listdir if name in ("map_files", "cwd/etc") else read)("/proc/1/" + name))
probe("list fd", lambda: os.listdir("/proc/1/fd"))
probe("list fdinfo", lambda: os.listdir("/proc/1/fdinfo"))
for name in ("mem", "oom_score_adj", "comm", "timerslack_ns", "clear_refs", "setgroups", "uid_map"):
    probe("write " + name, lambda: write("/proc/1/" + name))
probe("pidfd_getfd", lambda: call(438, call(434, 1, 0), 3, 0))
probe("prlimit", lambda: call(302, 1, 7, ctypes.create_string_buffer(16), 0))
probe("priority", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
probe("affinity", lambda: os.sched_setaffinity(1, [0]))
probe("kcmp", lambda: call(312, 1, os.getpid(), 0, 3, 3))
probe("move_pages", lambda: call(279, 1, 0, 0, 0, 0, 0))
probe("setuid", lambda: os.setuid(0))
probe("setgid", lambda: os.setgid(0))
probe("chroot", lambda: os.chroot("/tmp"))
probe("mount", lambda: call(165, b"x", b"/tmp", b"tmpfs", 0, 0))
probe("unshare user", lambda: call(272, 0x10000000))
probe("unshare mount", lambda: call(272, 0x00020000))
probe("reboot", lambda: call(169, 0xfee1dead, 672274793, 0x01234567, 0))
probe("open_by_handle", lambda: call(304, -100, ctypes.create_string_buffer(200), 0))
probe("bpf", lambda: call(321, 0, ctypes.create_string_buffer(64), 64))
probe("keyctl", lambda: call(250, 0, -3, 1))
probe("perf", lambda: call(298, ctypes.create_string_buffer(128), 1, -1, -1, 0))
probe("userfault", lambda: call(323, 1))
probe("raw socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 768))
for path in ("/run/takeover/x", "/run/x", "/etc/x", "/usr/bin/x", "/x", "/sys/x", "/proc/sys/kernel/core_pattern",
             "/proc/sysrq-trigger", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
    probe("create " + path, lambda: write(path))
probe("remove /run/takeover", lambda: os.rename("/run/takeover", "/run/other"))
probe("control", lambda: (read("/proc/self/environ"), os.kill(os.getpid(), 0), write("/tmp/x")))
probe("replace workspace", lambda: os.rename("/workspace", "/tmp/w"))
print(json.dumps(found))
"""
REFUSED = {
    "EPERM",
    "EACCES",
    "ENOENT",
    "EROFS",
    "ENOSYS",
    "EBUSY",
    "EINVAL",
    "EFAULT",
    "EXDEV",
    "EISDIR",
    "ESRCH",
    "ENOMEM",
}


@pytest.mark.parametrize("cutoff", [None, {"rule": "first-edit"}], ids=["plain", "under a rule"])
def test_nothing_gets_at_pid_1(shared_guest: Client, cutoff: dict[str, object] | None) -> None:
    """Signals, tracing, memory, environment, descriptors, limits, mounts: every way is refused, and PID 1 lives on."""
    outcome = shared_guest.run(["python3", "-c", PROBE], cutoff=cutoff)
    assert outcome.exit["code"] == 0, outcome.err
    found = json.loads(outcome.out)

    assert found.pop("control") not in REFUSED  # the probe can tell
    assert {name: answer for name, answer in found.items() if answer not in REFUSED} == {}
    assert shared_guest.ping()["t"] == "pong"


def test_pid_1_shows_nothing_secret(shared_guest: Client) -> None:
    """What everybody may read of it is its program text and its state."""
    out = shared_guest.sh("tr '\\0' ' ' < /proc/1/cmdline; cat /proc/1/status /proc/1/stat; ls -la /proc/1").out

    assert "takeover" in out  # the text of BOOT
    assert "PATH=" not in out


def test_no_socket_no_mount_no_engine(shared_guest: Client) -> None:
    """There is no engine socket, no mount of the host, and no variable that was not asked for."""
    out = shared_guest.sh("ls /run /var/run /run/docker.sock 2>&1; cat /proc/mounts; env").out

    assert "docker.sock: " not in out or "No such file" in out
    fields = [line.split() for line in out.splitlines() if line.startswith(("/dev/", "overlay", "tmpfs"))]
    # The engine's own: resolv.conf, hostname, hosts.
    assert {f[1] for f in fields if f[0].startswith("/dev/")} <= {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts"}
    names = {
        line.split("=")[0]
        for line in out.splitlines()
        if "=" in line and not line.startswith(("overlay", "/dev", "tmpfs"))
    }
    assert {"HOME", "PATH"} <= names & set(ENV) | {"HOME", "PATH"}


def test_no_network(shared_guest: Client) -> None:
    """No name, no address, no metadata service, no IPv6; and a look-up fails at once instead of after seconds."""
    code = (
        "import socket, time\nt = time.monotonic()\n"
        "for name in ('example.com', 'host.docker.internal', 'metadata.google.internal'):\n"
        "    try:\n        print(socket.getaddrinfo(name, 80))\n    except socket.gaierror as e:\n        print('gaierror')\n"
        "for a in ('1.1.1.1', '169.254.169.254', '172.17.0.1', '10.0.0.1'):\n"
        "    try:\n        socket.create_connection((a, 80), 3)\n        print(a)\n    except OSError as e:\n        print('no')\n"
        "try:\n    s = socket.socket(socket.AF_INET6)\n    s.connect(('2606:4700:4700::1111', 80))\n    print('v6')\n"
        "except OSError:\n    print('no')\nprint(time.monotonic() - t < 2)"
    )
    assert shared_guest.run(["python3", "-c", code]).out.split() == ["gaierror"] * 3 + ["no"] * 5 + ["True"]


def test_the_name_server_withstands_a_flood(shared_guest: Client) -> None:
    """Thousands of datagrams, garbage among them, keep PID 1 from nothing."""
    code = (
        "import os, socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for n in range(20000):\n    s.sendto(os.urandom(n % 600), ('127.0.0.1', 53))"
    )
    number, _ = shared_guest.start(["python3", "-c", code])
    assert shared_guest.ping()["t"] == "pong"
    assert shared_guest.finish(number).exit["code"] == 0


def test_set_user_id_programs_give_nothing(shared_guest: Client) -> None:
    """su, mount and the like run as the agent."""
    out = shared_guest.sh("for p in su mount passwd newgrp; do p=$(command -v $p) && ls -l $p; done; mount -t tmpfs x /tmp 2>&1; "
                          "python3 -c 'import os; print(os.geteuid())'").out  # fmt: skip

    assert out.splitlines()[-1] == "1000"


def test_the_prompt_folder_is_read_only(shared_guest: Client) -> None:
    """What is loaded to /run/takeover belongs to root: the agent reads it and cannot change, remove or replace it."""
    assert shared_guest.load({"prompt.md": b"do it", "sub/": b"", "sub/x": b"y"}, root="run")["t"] == "loaded"
    out = shared_guest.sh(
        "cat /run/takeover/prompt.md; echo; stat -c '%u %a' /run/takeover /run/takeover/prompt.md /run/takeover/sub; "
        "(echo x > /run/takeover/prompt.md) 2>&1; rm -f /run/takeover/prompt.md 2>&1; ln -sf /etc/passwd /run/takeover/p 2>&1"
    ).out

    assert out.splitlines()[:4] == ["do it", "0 755", "0 444", "0 755"]
    assert shared_guest.load({"prompt.md": b"again"}, root="run")["t"] == "loaded"


@pytest.mark.parametrize("path", ["/workspace/link", f"{HOME}/link"])
def test_a_planted_link_leads_nowhere(shared_guest: Client, path: str) -> None:
    """A link where a load wants to write is replaced, a linked directory is refused: nothing is written through either."""
    root = "workspace" if path.startswith("/workspace") else "home"
    shared_guest.sh(
        f"rm -rf {path}* /tmp/target; mkdir /tmp/target; ln -s /tmp/target/f {path}; ln -s /tmp/target {path}d"
    )

    assert shared_guest.load({"link": b"data"}, root=root)["t"] == "loaded"
    failed = shared_guest.load({"linkd/": b"", "linkd/f": b"data"}, root=root)

    assert failed["t"] == "failed"
    assert shared_guest.sh(f"ls /tmp/target; cat {path}").out == "data"


def test_a_replaced_test_program_fools_only_its_owner(shared_guest: Client) -> None:
    """What the agent puts into its PATH, HOME and Python start-up files runs as the agent and nowhere else."""
    shared_guest.sh("mkdir -p ~/bin; printf '#!/bin/sh\\nid -u > /tmp/ran' > ~/bin/git; chmod +x ~/bin/git; "
                    "mkdir -p ~/.local/lib/python3.11/site-packages; echo 'open(\"/tmp/ran\",\"w\")' > "
                    "~/.local/lib/python3.11/site-packages/usercustomize.py")  # fmt: skip
    shared_guest.export()

    assert shared_guest.sh("cat /tmp/ran 2>&1").out.strip().endswith("No such file or directory")
