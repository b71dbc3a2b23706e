"""PID 1 of a sandbox: reads frames, does what they say, and ends when its wire does.

It holds the wire, the agent's processes, the barrier and the watch on the workspace in one loop, and
nothing secret: whatever an agent could find out about it would not help.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time

from . import barrier, dns, files, frames, home, kernel
from . import loop as loops
from .link import Link
from .place import Place
from .processes import Runs
from .reaper import kill_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Any, NoReturn

CRASHED, UNFIT = 70, 97
RUN_FOLDER = "/run/takeover"
# What would end a process that does not handle it. PID 1 ends with its wire and by nothing else.
IGNORED_SIGNALS = (
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE, signal.SIGALRM,
    signal.SIGUSR1, signal.SIGUSR2, signal.SIGXFSZ, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
)  # fmt: skip


class Refused(Exception):
    """A request that cannot be granted; the text goes into the `failed` frame."""


class Export:
    """An export under way: frames are made as the wire has room for them."""

    def __init__(self, number: int, exporter: files.Exporter) -> None:
        self.id, self.exporter = number, exporter
        self.frames: Iterator[files.Frame] = exporter.frames()


class Guest:
    """The state of PID 1."""

    def __init__(self, reading: int, writing: int, nofile: int) -> None:
        self._loop = loops.Loop()
        self._writing = writing
        self.link = Link(reading, writing, self._wire_full)
        self._nofile = nofile
        self._full = False
        self._runs: Runs | None = None
        self._user: home.User | None = None
        self._roots: dict[str, str] = {}
        self._loads: dict[int, files.Loader | None] = {}
        self._exports: list[Export] = []
        self._answers: dict[str, Callable[[dict[str, Any], bytes], None]] = {
            "load": self._load,
            "tree": self._tree,
            "export": self._export,
            "run": self._start,
            "input": lambda header, body: self._ready_runs().input(header, body),
            "stop": lambda header, _: self._ready_runs().stop(header),
            "response": lambda header, body: self._ready_runs().response(header, body),
            "response-body": lambda header, body: self._ready_runs().response(header, body),
            "ping": lambda header, _: self.link.send("pong", id=header["id"]),
        }
        self._loop.add(reading, self._frames_came)
        self._wake = _wake_on_child()
        self._loop.add(self._wake, self._child_ended)

    def serve(self) -> None:
        """Go on until the wire ends."""
        while not self.link.closed:
            busy = bool(self._runs and self._runs.busy) or bool(self._exports and self.link.has_room)
            self._loop.step(idle=not busy)
            if self._runs:
                self._runs.resume()
            self._continue_export()

    def _frames_came(self) -> None:
        for header, body in self.link.receive():
            self._answer(header, body)

    def _answer(self, header: dict[str, Any], body: bytes) -> None:
        kind = header["t"]
        if kind == "bye":
            self.link.closed = True
        else:
            answer = self._answers.get(kind)
            number = header.get("id")
            try:
                if kind == "hello":
                    self._hello(header)
                    return
                if answer is None:
                    raise Refused("no frame of type %r is known here" % kind)
                if type(number) is not int:
                    raise Refused("%s has no number as its id" % kind)
                answer(header, body)
            except Refused as error:
                self.link.send("failed", id=number if type(number) is int else None, why=str(error), errno=None)

    def _hello(self, header: dict[str, Any]) -> None:
        if self._runs:
            raise Refused("hello was said before")
        if header.get("v") != frames.VERSION:
            self._unfit("the host speaks version %r of the wire" % (header.get("v"),))
        wanted = str(header.get("user") or "")
        user = home.resolve(wanted, home.read_database("/etc/passwd"), home.read_database("/etc/group"))
        if user is None:
            self._unfit("the image has no user %r" % wanted)
        workspace, house = str(header.get("workspace") or "/workspace"), str(header.get("home") or "/takeover-home")
        try:
            for root in (workspace, house):
                os.chown(root, user.uid, user.gid)
                os.chmod(root, 0o755)
            os.chmod(os.path.dirname(RUN_FOLDER), 0o755)
            os.makedirs(RUN_FOLDER, 0o755, exist_ok=True)
            copied, complete = home.seed(user.home, house, user, int(header.get("image_home_limit") or 0))
        except OSError as error:
            self._unfit("%s: %s" % (error.filename, error.strerror))
        self._user, self._roots = user, {"workspace": workspace, "home": house, "run": RUN_FOLDER}
        system = os.uname()
        reason = barrier.missing(system.machine, system.release)
        if not header.get("barrier", True):
            reason = "the host wants none"
        place = Place(workspace, user.uid, user.gid, system.machine, self._nofile, reason)
        place.gateway = bool(header.get("gateway"))
        self._runs = Runs(self._loop, self.link, place)
        name_server = dns.listen() if header.get("dns") else None
        if name_server:
            self._loop.add(name_server.fileno(), lambda: dns.serve(name_server))
        self.link.send(
            "ready", v=frames.VERSION, python="%d.%d.%d" % sys.version_info[:3], uid=user.uid, gid=user.gid,
            user_home=user.home, home_bytes=copied, home_complete=complete, arch=system.machine,
            kernel=system.release, pid1_caps=_capabilities(), barrier=reason is None, barrier_reason=reason,
            dns=name_server is not None, gateway=place.gateway, nofile=self._nofile, clock=time.monotonic(),
        )  # fmt: skip

    def _unfit(self, why: str) -> NoReturn:
        self.link.send("unfit", why=why)
        self.link.flush_all()
        os._exit(UNFIT)

    def _start(self, header: dict[str, Any], _: bytes) -> None:
        runs = self._ready_runs()
        if self._exports:
            raise Refused("an export is under way")
        runs.start(header)

    def _ready_runs(self) -> Runs:
        if self._runs is None:
            raise Refused("hello comes first")
        return self._runs

    def _root(self, header: dict[str, Any]) -> str:
        self._ready_runs()
        root = self._roots.get(str(header.get("root") or "workspace"))
        if root is None:
            raise Refused("no such root: %r" % (header.get("root"),))
        return root

    def _load(self, header: dict[str, Any], _: bytes) -> None:
        root, number, user = self._root(header), header["id"], self._user
        self._loads[number] = None  # what follows a refusal is dropped
        if root != RUN_FOLDER and (self._ready_runs().live or self._exports):
            raise Refused("the agent is at work" if self._ready_runs().live else "an export is under way")
        if user is None or root == RUN_FOLDER or header.get("sealed") is True:
            os.chown(root, 0, 0)
            rights = files.Rights(0, 0, read_only=True)
        else:
            rights = files.Rights(user.uid, user.gid)
        self._loads[number] = files.Loader(root, rights)

    def _tree(self, header: dict[str, Any], body: bytes) -> None:
        number = header["id"]
        if number not in self._loads:
            raise Refused("a tree without a load")
        loader, last = self._loads[number], bool(header.get("last"))
        try:
            if loader:
                loader.add(header.get("items") or [], body)
                if last:
                    loader.finish()
                    self.link.send("loaded", id=number, files=loader.files, bytes=loader.bytes)
        except files.TreeError as error:
            if loader:
                loader.close()
            self._loads[number] = None
            self.link.send("failed", id=number, why=str(error), errno=error.number)
        if last:
            del self._loads[number]

    def _export(self, header: dict[str, Any], _: bytes) -> None:
        root = self._root(header)
        numbers = [header.get(name) for name in ("max_files", "max_bytes", "max_depth", "max_path")]
        if any(type(number) is not int or number < 0 for number in numbers):
            raise Refused("an export needs max_files, max_bytes, max_depth and max_path")
        self._ready_runs().stop_all()
        files_, size, depth, path = (int(number or 0) for number in numbers)
        self._exports.append(Export(header["id"], files.Exporter(root, files.Caps(files_, size, depth, path))))

    def _continue_export(self) -> None:
        while self._exports and self.link.has_room:
            export = self._exports[0]
            frame = next(export.frames, None)
            if frame is not None:
                self.link.send("tree", frame[1], id=export.id, **frame[0])
                continue
            exporter = export.exporter
            more: dict[str, Any] = {"omitted_more": exporter.omitted_more} if exporter.omitted_more else {}
            self.link.send("exported", id=export.id, omitted=exporter.omitted, complete=exporter.complete, **more)
            del self._exports[0]

    def _wire_full(self, full: bool) -> None:
        if full == self._full:
            return
        self._full = full
        if full:
            self._loop.add(self._writing, self.link.flush, loops.OUT)
        else:
            self._loop.remove(self._writing)

    def _child_ended(self) -> None:
        try:
            os.read(self._wake, 4096)
        except BlockingIOError:
            pass
        if self._runs:
            self._runs.children_ended()

    def crashed(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """The last words: what went wrong goes to the host, and nobody is left alive."""
        kill_all()
        import traceback  # slow to load, and hopefully never needed

        text = "".join(traceback.format_exception(kind, error, trace))
        self.link.send("crash", why=text[-8000:])
        self.link.flush_all()
        os._exit(CRASHED)


def _wake_on_child() -> int:
    reading, writing = os.pipe()
    for descriptor in (reading, writing):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reading


def _capabilities() -> str:
    """PID 1's effective capabilities, as the kernel writes them (hexadecimal)."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        return next((line.split()[1] for line in file if line.startswith("CapEff:")), "")


def _take_wire() -> tuple[int, int]:
    """Move the wire away from 0 and 1, so that no child and no stray print gets at it."""
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return reading, writing


def main() -> None:
    """Run as PID 1, with the wire on standard input and output. Does not return."""
    if os.getpid() != 1:
        # It ends with kill(-1): in a PID namespace that is shared, that would be the host's end.
        os.write(2, b"takeover: the guest is not PID 1 of the container\n")
        os._exit(UNFIT)
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    os.setgroups([])
    os.umask(0o022)
    os.chdir("/")
    guest = Guest(*_take_wire(), nofile=soft)
    sys.excepthook = guest.crashed
    guest.serve()
    kill_all()
    os._exit(0)
