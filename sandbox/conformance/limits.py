"""What a sandbox may use is bounded, and running into a bound is the agent's own failure, never the machinery's."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..limits import MIB
from ..sandbox import RunResult, Sandbox
from .kit import LIMITS, Bench, Check, describe, require

_SMALL: Final = replace(
    LIMITS,
    memory=192 * MIB,
    workspace=32 * MIB,
    tmp=16 * MIB,
    home=16 * MIB,
    shm=8 * MIB,
    pids=64,
    nofile=128,
    fsize=4 * MIB,
    inodes=2000,
)


def _answers(sandbox: Sandbox) -> bool:
    return sandbox.run(["true"], wall=20).ok


def _full(bench: Bench, place: str, size: int) -> str:
    # Small files, so that the limit on one file's size is not what is met.
    code = (
        f"n, got = 0, 'room'\n"
        f"try:\n"
        f"    while n < {4 * size // MIB}:\n"
        f"        open('/{place}/fill%d' % n, 'wb').write(bytes(1 << 20)); n += 1\n"
        f"except OSError as error: got = errno.errorcode[error.errno]\n"
        f"say([got, n])"
    )
    with bench.fresh(limits=_SMALL) as sandbox:
        told = bench.python(code, sandbox)
        alive = _answers(sandbox)
    return require(told[0] == "ENOSPC" and told[1] <= size // MIB and alive, f"{told[0]} after {told[1]} MiB")


def _inodes(bench: Bench) -> str:
    with bench.fresh(limits=_SMALL) as sandbox:
        told = bench.python(
            "n, got = 0, 'room'\n"
            "try:\n"
            "    while n < 20000: open('i%d' % n, 'w').close(); n += 1\n"
            "except OSError as error: got = errno.errorcode[error.errno]\n"
            "say([got, n])",
            sandbox,
        )
    return require(told[0] == "ENOSPC" and told[1] < 2000, f"{told[0]} after {told[1]} files")


def _memory(bench: Bench) -> str:
    with bench.fresh(limits=_SMALL) as sandbox:
        result = sandbox.run(["python3", "-c", "b = []\nwhile 1: b.append(bytearray(b'x') * (8 << 20))"], wall=30)
        alive = _answers(sandbox)
    killed = result.oom and result.signal == 9
    return require(killed and alive, f"{describe(result)}, oom {result.oom}; the sandbox answers: {alive}")


def _memory_child(bench: Bench) -> str:
    with bench.fresh(limits=_SMALL) as sandbox:
        result: RunResult = sandbox.run(
            ["sh", "-c", "python3 -c \"b = bytearray(b'x') * (600 << 20)\"; echo went on; exit 4"], wall=30
        )
    return require(
        result.oom and (result.code, result.stdout) == (4, b"went on\n"), f"{describe(result)}, oom {result.oom}"
    )


def _pids(bench: Bench) -> str:
    with bench.fresh(limits=_SMALL) as sandbox:
        bomb = sandbox.run(["sh", "-c", "b() { b | b & }; b; sleep 1"], wall=3)
        told = bench.python(
            "n = 0\n"
            "try:\n"
            "    while n < 500:\n"
            "        if os.fork() == 0: time.sleep(30); os._exit(0)\n"
            "        n += 1\n"
            "except OSError as error: say([errno.errorcode[error.errno], n])\n"
            "else: say(['room', n])",
            sandbox,
        )
    return require(told[0] == "EAGAIN" and told[1] < 64, f"bomb: {bomb.how}; then {told[0]} after {told[1]} processes")


def _nofile(bench: Bench) -> str:
    with bench.fresh(limits=_SMALL) as sandbox:
        told = bench.python(
            "held, got = [], 'room'\n"
            "try:\n"
            "    while len(held) < 5000: held.append(os.open('/dev/null', 0))\n"
            "except OSError as error: got = errno.errorcode[error.errno]\n"
            "count = len(held)\n"
            "for descriptor in held: os.close(descriptor)\n"
            "say([got, count, tried(resource.setrlimit, resource.RLIMIT_NOFILE, (5000, 5000))])",
            sandbox,
        )
    return require(
        told[0] == "EMFILE" and told[1] < 128 and told[2] != "None", f"{told[0]} after {told[1]}, raise: {told[2]}"
    )


def _fsize(bench: Bench) -> str:
    with bench.fresh(limits=_SMALL) as sandbox:
        told = bench.python(
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "def grow():\n"
            "    with open('big', 'wb', 0) as file:\n"
            "        for _ in range(16): file.write(bytes(1 << 20))\n"
            "say([tried(grow), os.stat('big').st_size])",
            sandbox,
        )
    return require(told == ["EFBIG", 4 * MIB], f"{told[0]} at {told[1]} bytes")


def _cpus(bench: Bench) -> str:
    # On a busy machine little CPU time proves little, so the quota itself is looked at where it can be seen.
    with bench.fresh(limits=replace(LIMITS, cpus=0.2)) as sandbox:
        told = bench.python(
            "end = time.monotonic() + 1.0\n"
            "if os.fork() == 0:\n"
            "    while time.monotonic() < end: pass\n"
            "    os._exit(0)\n"
            "while time.monotonic() < end: pass\n"
            "os.wait(); t = os.times(); quota = ''\n"
            "for path in ('/sys/fs/cgroup/cpu.max', '/sys/fs/cgroup/cpu/cpu.cfs_quota_us'):\n"
            "    try: quota = open(path).read().split()[0]\n"
            "    except OSError: pass\n"
            "say([t.user + t.system + t.children_user + t.children_system, quota])",
            sandbox,
        )
    seen = f"two busy processes in 1 s with a fifth of a CPU: {told[0]:.2f} s of CPU time, quota {told[1] or 'unseen'}"
    return require(told[0] < 0.4 and told[1] not in ("max", "-1"), seen)


CHECKS: Final = (
    Check(
        "limit.workspace",
        "A full workspace is an error inside and nothing more.",
        lambda b: _full(b, "workspace", _SMALL.workspace),
    ),
    Check("limit.tmp", "The temporary directory is capped.", lambda b: _full(b, "tmp", _SMALL.tmp)),
    Check("limit.home", "HOME is capped.", lambda b: _full(b, "takeover-home", _SMALL.home)),
    Check("limit.shm", "Shared memory is capped.", lambda b: _full(b, "dev/shm", _SMALL.shm)),
    Check("limit.inodes", "The number of files is capped.", _inodes),
    Check("limit.memory", "Out of memory, the agent dies first, and it is said.", _memory),
    Check("limit.memory-child", "A child that ran out of memory is said, and its parent goes on.", _memory_child),
    Check("limit.pids", "A fork bomb meets its limit, and the sandbox works on.", _pids),
    Check("limit.nofile", "Open files are capped, and the cap cannot be raised.", _nofile),
    Check("limit.fsize", "The size of one file is capped.", _fsize),
    Check("limit.cpus", "CPU time is capped.", _cpus),
)
