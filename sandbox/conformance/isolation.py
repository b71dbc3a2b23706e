"""From inside there is no way out: no network, no privilege, no secret, no hold on PID 1."""

from __future__ import annotations

from typing import Any, Final

from .kit import Bench, Check, require

_CONNECT: Final = """\
def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(3)
        s.connect(address)
        return 'connected'
"""
_REFUSED: Final = frozenset({"EPERM", "EACCES", "EROFS", "ENOSYS", "ENOENT", "EINVAL", "ENOTDIR", "ENODEV", "ENXIO"})
_UNREACHABLE: Final = frozenset({"ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT", "ENETDOWN"})
# CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID by the kernel's numbers.
_PID1_CAPABILITIES: Final = (0, 1, 3, 5, 6, 7)
_DEVICES: Final = frozenset(
    {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "stdin", "stdout", "stderr", "fd"}
)
_SENSITIVE: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")


def _unreachable(told: dict[str, Any]) -> str:
    return require(all(answer in _UNREACHABLE for answer in told.values()), str(told))


def _by_name(bench: Bench) -> str:
    told = bench.python(
        "def look(name):\n"
        "    began = time.monotonic()\n"
        "    try: return [str(socket.getaddrinfo(name, 80)), 0]\n"
        "    except socket.gaierror as error: return ['gaierror', time.monotonic() - began]\n"
        "say({n: look(n) for n in ('example.com', 'host.docker.internal', 'gateway.docker.internal', 'example.org')})"
    )
    return require(all(answer[0] == "gaierror" for answer in told.values()), str({n: a[0] for n, a in told.items()}))


def _dns_at_once(bench: Bench) -> str:
    told = bench.python(
        "import struct\n"
        "query = struct.pack('>HHHHHH', 77, 256, 1, 0, 0, 0) + b'\\7example\\3com\\0' + struct.pack('>HH', 1, 1)\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.connect(('127.0.0.1', 53)); s.send(query)\n"
        "began = time.monotonic()\n"
        "servers = [line.split()[1] for line in open('/etc/resolv.conf') if line.startswith('nameserver')]\n"
        "local = {a[4][0] for a in socket.getaddrinfo('localhost', 80)}\n"
        "try: answer = s.recv(512)\n"
        "except OSError as error: answer = b''\n"
        "try: socket.getaddrinfo('nowhere.example', 80)\n"
        "except socket.gaierror: pass\n"
        "say([answer[:2].hex(), answer[3] & 15 if answer else -1, time.monotonic() - began, servers or ['127.0.0.1'],"
        " '127.0.0.1' in local])"
    )
    seconds = f"{told[2] * 1000:.0f} ms"
    return require(
        told[:2] == ["004d", 3] and told[2] < 1.5 and told[4],
        f"answer {told[:2]} (3 is NXDOMAIN) and a lookup at {told[3]} in {seconds}",
    )


def _ipv4(bench: Bench) -> str:
    return _unreachable(
        bench.python(
            _CONNECT
            + "say({a: tried(connect, socket.AF_INET, (a, p)) for a, p in"
            + " (('1.1.1.1', 443), ('8.8.8.8', 53), ('172.17.0.1', 22), ('10.0.0.1', 80), ('192.168.1.1', 80))})"
        )
    )


def _ipv6(bench: Bench) -> str:
    return _unreachable(
        bench.python(
            _CONNECT
            + "say({a: tried(connect, socket.AF_INET6, (a, p, 0, s)) for a, p, s in"
            + " (('2606:4700:4700::1111', 443, 0), ('fd00::1', 80, 0), ('fe80::1', 80, 1))})"
        )
    )


def _metadata(bench: Bench) -> str:
    return _unreachable(
        bench.python(
            _CONNECT
            + "say({**{a: tried(connect, socket.AF_INET, (a, 80)) for a in ('169.254.169.254', '169.254.170.2')},"
            + " 'fd00:ec2::254': tried(connect, socket.AF_INET6, ('fd00:ec2::254', 80, 0, 0))})"
        )
    )


def _interfaces(bench: Bench) -> str:
    told = bench.python(
        "say([sorted(os.listdir('/sys/class/net')) if os.path.isdir('/sys/class/net') else ['lo'],"
        " len(open('/proc/net/route').readlines()) - 1, tried(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1),"
        " tried(socket.socket, 17, socket.SOCK_RAW, 0)])"
    )
    # Some kernels put idle tunnel devices into every network namespace; without a route they lead nowhere.
    return require(
        told[1] <= 0 and told[2] in _REFUSED and told[3] in _REFUSED, f"devices, routes, raw sockets: {told}"
    )


def _loopback(bench: Bench) -> str:
    told = bench.python(
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "client = socket.create_connection(server.getsockname(), 3); peer, _ = server.accept(); client.send(b'x')\n"
        "say(peer.recv(1).decode())"
    )
    return require(told == "x", "the agent's own servers on 127.0.0.1 can be reached")


def _status(bench: Bench) -> dict[str, str]:
    told: dict[str, str] = bench.python(
        "say(dict(line.rstrip('\\n').split(':\\t', 1) for line in open('/proc/self/status') if ':\\t' in line))"
    )
    return told


def _capabilities(bench: Bench) -> str:
    status = _status(bench)
    sets = {name: int(status.get(name, "0"), 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
    return require(not any(sets.values()), str(sets))


def _no_new_privileges(bench: Bench) -> str:
    # Of the writable mounts, those that a program could be put into.
    told = bench.python(
        "mounts = [line.split()[1:4] for line in open('/proc/self/mounts')]\n"
        "say([m[0] for m in mounts if os.access(m[0], os.W_OK) and not m[0].startswith(('/proc', '/sys'))"
        " and 'nosuid' not in m[2].split(',')])"
    )
    flag = _status(bench).get("NoNewPrivs")
    return require(flag == "1" and not told, f"NoNewPrivs {flag}, writable mounts that honour set-uid: {told}")


def _pid1_capabilities(bench: Bench) -> str:
    held = int(bench.sandbox.guest.capabilities or "0", 16)
    beyond = held & ~sum(1 << number for number in _PID1_CAPABILITIES)
    return require(not beyond, f"{held:#x}" + (f", of which {beyond:#x} is not needed" if beyond else ""))


def _seccomp(bench: Bench) -> str:
    mode = _status(bench).get("Seccomp")
    doors = bench.python(
        "say({'bpf': syscall(321, 0, 0, 0), 'perf': syscall(298, 0, 0, -1, -1, 0), 'userfaultfd': syscall(323, 0)})"
    )
    guest = bench.sandbox.guest
    barrier = "barrier" if guest.barrier else f"no barrier: {guest.barrier_reason}"
    require(guest.barrier or guest.barrier_reason, "no barrier and no reason")
    return require(mode in ("2", None), f"seccomp mode {mode}; {barrier}; {doors}")


def _identity(bench: Bench) -> str:
    told = bench.python(
        "say([os.getresuid(), os.getresgid(), os.getgroups(), tried(os.setuid, 0), tried(os.setgroups, [0])])"
    )
    guest = bench.sandbox.guest
    plain = told[:2] == [[guest.uid] * 3, [guest.gid] * 3] and guest.uid != 0 and 0 not in told[2]
    return require(plain and told[3] == "EPERM" and told[4] == "EPERM", f"uids, gids, groups, setuid(0): {told}")


def _socket(bench: Bench) -> str:
    told = bench.python(
        "import stat\n"
        "found = []\n"
        "for top in ('/run', '/var/run', '/tmp', '/var/lib', '/home', '/root', '/mnt', '/opt', '/srv'):\n"
        "    for folder, _, names in os.walk(top):\n"
        "        for name in names:\n"
        "            path = os.path.join(folder, name)\n"
        "            if stat.S_ISSOCK(os.lstat(path).st_mode): found.append(path)\n"
        "say(found)"
    )
    return require(told == [], f"sockets: {told}")


def _mounts(bench: Bench) -> str:
    told = bench.python("say([line.split()[1:4:2] + [line.split()[2]] for line in open('/proc/self/mounts')])")
    files = {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts"}
    kinds = (
        "overlay",
        "tmpfs",
        "proc",
        "sysfs",
        "devpts",
        "mqueue",
        "cgroup",
        "cgroup2",
        "none",
        "fuse.lxcfs",
        "9p",
        "gofer",
    )
    foreign = [
        mount[0]
        for mount in told
        if mount[2] not in kinds
        and mount[0] not in files
        and not mount[0].startswith(("/proc", "/sys", "/dev"))
        and mount[0] != "/"
    ]
    return require(
        not foreign, f"mounts from the host: {foreign}" if foreign else f"{len(told)} mounts, none of the host's"
    )


def _secrets(bench: Bench) -> str:
    told = bench.python(
        "readable, seen = [], []\n"
        "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
        "    for part in ('environ', 'cmdline'):\n"
        "        try: seen.append(open('/proc/%s/%s' % (pid, part), 'rb').read().decode('latin1'))\n"
        "        except OSError: continue\n"
        "        readable.append([pid, part])\n"
        "say([seen, [pid for pid, part in readable if part == 'environ' and pid == '1']])"
    )
    image = bench.sandbox.image.env
    names = {entry.partition("=")[0] for text in told[0] for entry in text.split("\0") if "=" in entry}
    suspicious = sorted(n for n in names if any(word in n.upper() for word in _SENSITIVE) and n not in image)
    return require(
        not suspicious and not told[1], f"suspicious: {suspicious}; PID 1's environment readable: {bool(told[1])}"
    )


def _no_signal(bench: Bench) -> str:
    told = bench.python("say({s: tried(os.kill, 1, s) for s in (0, 9, 15, 19)})")
    return require(set(told.values()) == {"EPERM"}, str(told))


def _no_trace(bench: Bench) -> str:
    told = bench.python(
        "def attach():\n"
        "    if libc.ptrace(16, 1, None, None) < 0: raise OSError(ctypes.get_errno(), 'ptrace')\n"
        "say({'ptrace': tried(attach), **{n: tried(open, '/proc/1/' + n, 'rb') for n in ('mem', 'environ', 'maps')},"
        " **{n: tried(os.listdir, '/proc/1/' + n) for n in ('fd', 'root', 'cwd', 'task/1/fd')}})"
    )
    return require(all(answer in ("EPERM", "EACCES", "ENOSYS") for answer in told.values()), str(told))


def _root_is_read_only(bench: Bench) -> str:
    told = bench.python(
        "say([{p: tried(open, p + '/x', 'w') for p in ('', '/usr', '/etc', '/usr/lib', '/var', '/home', '/root')},"
        " [line.split()[3] for line in open('/proc/self/mounts') if line.split()[1] == '/'][-1]])"
    )
    refused = all(answer in ("EROFS", "EACCES", "ENOENT") for answer in told[0].values())
    return require(refused and told[1].split(",")[0] == "ro", f"mounted {told[1][:40]}; {told[0]}")


def _kernel_is_read_only(bench: Bench) -> str:
    told = bench.python(
        "paths = ['/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/sys/kernel/uevent_helper',"
        " '/proc/sys/vm/overcommit_memory', '/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/memory/memory.limit_in_bytes',"
        " '/sys/fs/cgroup/devices/devices.allow', '/proc/1/oom_score_adj']\n"
        "say({p: tried(open, p, 'w') for p in paths})"
    )
    return require(all(answer in _REFUSED for answer in told.values()), str(told))


def _namespaces(bench: Bench) -> str:
    told = bench.python(
        "def call(function, *arguments):\n"
        "    if function(*arguments) < 0: raise OSError(ctypes.get_errno(), '')\n"
        "say({**{n: tried(call, libc.unshare, f) for n, f in"
        " (('user', 0x10000000), ('mount', 0x20000), ('pid', 0x20000000), ('net', 0x40000000))},"
        " 'mounting': tried(call, libc.mount, b'none', b'/tmp', b'tmpfs', 0, None),"
        " 'remounting': tried(call, libc.mount, b'none', b'/', None, 32, None),"
        " 'chroot': tried(os.chroot, '/tmp'), 'hostname': tried(socket.sethostname, 'x')})"
    )
    return require(all(answer in ("EPERM", "ENOSYS", "EINVAL") for answer in told.values()), str(told))


def _devices(bench: Bench) -> str:
    told = bench.python(
        "import stat\n"
        "made = {n: tried(os.mknod, '/tmp/' + n, stat.S_IFBLK | 0o666, os.makedev(a, b)) for n, a, b in"
        " (('sda', 8, 0), ('vda', 254, 0))}\n"
        "nodes = [n for n in os.listdir('/dev') if stat.S_IFMT(os.stat('/dev/' + n).st_mode) in (stat.S_IFBLK, stat.S_IFCHR)]\n"
        "say([made, sorted(nodes)])"
    )
    foreign = sorted(set(told[1]) - _DEVICES)
    refused = all(answer in _REFUSED for answer in told[0].values())
    return require(refused and not foreign, f"mknod: {told[0]}; nodes beyond the usual: {foreign}")


def _own_processes(bench: Bench) -> str:
    told = bench.python("say(sorted(int(p) for p in os.listdir('/proc') if p.isdigit()))")
    return require(1 in told and len(told) < 10, f"visible processes: {told}")


def _clock(bench: Bench) -> str:
    began = bench.backstage.clock()
    told = bench.python("say([time.time(), time.localtime().tm_gmtoff, tried(time.clock_settime, 0, 0.0)])")
    drift = max(began - told[0], told[0] - bench.backstage.clock(), 0.0)
    return require(
        drift < 5 and told[1] == 0 and told[2] == "EPERM", f"off by {drift:.1f} s, UTC{told[1]:+d}, set: {told[2]}"
    )


def _locale(bench: Bench) -> str:
    told = bench.python(
        "import locale\nsay([os.environ.get('LANG'), os.environ.get('TZ'), sys.getfilesystemencoding(),"
        " locale.getpreferredencoding(), sys.stdout.encoding])"
    )
    return require(told == ["C.UTF-8", "UTC", "utf-8", "UTF-8", "utf-8"], str(told))


def _home(bench: Bench) -> str:
    told = bench.python(
        "h = os.path.expanduser('~')\nopen(h + '/written', 'w').close()\n"
        "say([h, os.stat(h).st_uid == os.getuid(), os.access(h, os.W_OK), os.uname().nodename])"
    )
    return require(told == ["/takeover-home", True, True, "sandbox"], str(told))


def _foreign_abi(bench: Bench) -> str:
    told = bench.python(
        "say({'io_uring_setup': syscall(425, 8, 0), 'add_key': syscall(248, b'user', b'x', b'y', 1, -2),"
        " 'kexec': syscall(246, 0, 0, 0, 0), 'init_module': syscall(175, 0, 0, b'')} if os.uname().machine == 'x86_64' else {})"
    )
    told.pop("io_uring_setup", None)
    return require(all(answer in _REFUSED for answer in told.values()), str(told) or "not this architecture")


CHECKS: Final = (
    Check("net.name", "No host can be found by its name.", _by_name),
    Check("net.dns", "Lookups fail at once, and DNS on 127.0.0.1 answers NXDOMAIN.", _dns_at_once),
    Check("net.ipv4", "No IPv4 address can be reached.", _ipv4),
    Check("net.ipv6", "No IPv6 address can be reached.", _ipv6),
    Check("net.metadata", "No cloud's metadata address can be reached.", _metadata),
    Check("net.interfaces", "There is no route and no raw socket.", _interfaces),
    Check("net.loopback", "127.0.0.1 works, for the agent's own servers.", _loopback),
    Check("priv.capabilities", "The agent has no capability.", _capabilities),
    Check("priv.no-new-privileges", "A set-uid program raises nobody.", _no_new_privileges),
    Check("priv.seccomp", "A system call filter is on; the cutoff's barrier is there or said to be absent.", _seccomp),
    Check("priv.identity", "The agent is not root and cannot become it.", _identity),
    Check("priv.namespaces", "No namespace, mount or chroot can be made.", _namespaces),
    Check("priv.kernel", "Keys, modules and kexec are out of reach.", _foreign_abi),
    Check("priv.devices", "No device of the host can be made or opened.", _devices),
    Check("priv.read-only-root", "The root filesystem cannot be written.", _root_is_read_only),
    Check("priv.read-only-kernel", "Kernel settings and control groups cannot be written.", _kernel_is_read_only),
    Check("seen.socket", "There is no engine's socket, nor any other.", _socket),
    Check("seen.mounts", "Nothing of the host is mounted.", _mounts),
    Check("seen.secrets", "No secret in any environment or command line; PID 1's environment is shut.", _secrets),
    Check("seen.processes", "No process of the host can be seen.", _own_processes),
    Check("pid1.capabilities", "PID 1 has no more capabilities than the six it needs.", _pid1_capabilities),
    Check("pid1.signal", "PID 1 cannot be signalled.", _no_signal),
    Check("pid1.trace", "PID 1 cannot be traced or read.", _no_trace),
    Check("place.clock", "The clock is right, in UTC, and cannot be set.", _clock),
    Check("place.locale", "Everything is UTF-8.", _locale),
    Check("place.home", "HOME is the agent's own and writable; the host's name does not show.", _home),
)
