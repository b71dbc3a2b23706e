"""A sandbox over a wire: requests out, answers in, and nothing that the guest sends is taken on trust."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final

from . import answers
from .caps import Caps
from .command import Command
from .cutoff import CutoffRule
from .errors import ImageUnfit, MachineryError, SandboxDied, WireBroken, WireTimeout
from .exchanges import FRAMES, Exchanges
from .limits import Limits
from .sandbox import (
    HOME,
    NO_ENV,
    WORKSPACE,
    CommandFailed,
    Export,
    GuestInfo,
    ImageInfo,
    OnEvent,
    OnOutput,
    OnRequest,
    ProcessGone,
    Root,
    RunResult,
    TreeSink,
)
from .tree import TreeItem
from .treewire import pack_tree, unpack_tree
from .wire import Frame, Wire, WireClosed

HOME_LIMIT: Final = 16 << 20
_INPUT_CHUNK: Final = 256 * 1024
_KEPT_REPLIES: Final = 64


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long, in seconds, the machinery may take for its own part before it has failed.

    `grace` comes on top of a command's own wall limit, which the guest keeps.
    """

    ready: float = 60.0
    answer: float = 60.0
    transfer: float = 600.0
    grace: float = 30.0
    goodbye: float = 10.0


class WireSandbox:
    """One container behind one wire; used by one thread at a time.

    `env` is what every command finds beneath its own; `cause` tells why a container is gone.
    """

    def __init__(
        self,
        image: ImageInfo,
        wire: Wire,
        limits: Limits,
        deadlines: Deadlines,
        env: Mapping[str, str],
        cause: Callable[[str], MachineryError],
    ) -> None:
        self.image = image
        self._wire = wire
        self._limits = limits
        self._env = dict(env)
        self._deadlines = deadlines
        self._cause = cause
        self._ids = 0
        self._runs: dict[int, Command] = {}
        self._exchanges: Exchanges | None = None
        self._guest: GuestInfo | None = None

    @property
    def guest(self) -> GuestInfo:
        """What the guest said when it was ready."""
        assert self._guest is not None, "greet comes first"
        return self._guest

    def greet(self, preamble: bytes, user: str) -> None:
        """Send the guest itself and wait until it is ready; ImageUnfit if it cannot live in this image."""
        deadline = time.monotonic() + self._deadlines.ready
        with self._watching():
            self._wire.send_bytes(preamble, deadline=deadline)
            hello = {
                "t": "hello",
                "v": answers.VERSION,
                "user": user,
                "home": HOME,
                "image_home_limit": HOME_LIMIT,
                "workspace": WORKSPACE,
                "dns": True,
                "gateway": True,
            }
            self._wire.send(hello, deadline=deadline)
            header, _ = self._wire.receive(deadline=deadline)
            if header["t"] == "unfit":
                raise ImageUnfit(f"the image cannot hold a sandbox: {str(header.get('why'))[:500]}")
            if header["t"] != "ready":
                raise WireBroken(f"the sandbox began with {header['t'][:40]!r}")
            self._guest = answers.parse_ready(header)

    def load(
        self, items: Iterable[tuple[TreeItem, BinaryIO | bytes]], root: Root = "workspace", *, sealed: bool = False
    ) -> None:
        """See Sandbox.load."""
        request, deadline = self._next_id(), time.monotonic() + self._deadlines.transfer
        with self._watching():
            self._wire.send({"t": "load", "id": request, "root": root, "sealed": sealed}, deadline=deadline)
            for head, body in pack_tree(items, request, self._caps()):
                self._wire.send(head, body, deadline=deadline)
            header, _ = self._reply(request, ("loaded", "failed"), deadline)
            if header["t"] == "failed":
                raise WireBroken(f"the sandbox could not load the {root}: {str(header.get('why'))[:500]}")

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] = NO_ENV,
        cwd: str = WORKSPACE,
        wall: float = 60.0,
        output_limit: int = 1 << 20,
        cutoff: CutoffRule | None = None,
        stdin: bytes | None = None,
        on_output: OnOutput | None = None,
        on_event: OnEvent | None = None,
        on_request: OnRequest | None = None,
    ) -> RunResult:
        """See Sandbox.run."""
        state = Command(output_limit, on_output, on_event)
        fields = self._run_fields(argv, env, cwd, wall, output_limit, stdin=stdin is not None)
        fields["cutoff"] = None if cutoff is None else cutoff.to_wire()
        fields["gateway"] = on_request is not None
        with self._watching(), self._answering(on_request):
            request = self._start(fields, state)
            deadline = time.monotonic() + wall + self._deadlines.grace
            if stdin is not None:
                self.send_input(request, stdin, eof=True, deadline=deadline)
            while state.result is None:
                self._take_event(deadline)
            del self._runs[request]
        return state.result

    @contextlib.contextmanager
    def open_process(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] = NO_ENV,
        cwd: str = WORKSPACE,
        wall: float = 600.0,
        output_limit: int = 64 << 20,
    ) -> Iterator[WireProcess]:
        """See Sandbox.open_process."""
        process = WireProcess(self, output_limit)
        with self._watching():
            process.request = self._start(
                self._run_fields(argv, env, cwd, wall, output_limit, stdin=True), process.state
            )
        try:
            yield process
        finally:
            # After a machinery failure the container goes as a whole, and asking once more would hide the failure.
            with contextlib.suppress(MachineryError):
                process.stop()

    def export(self, sink: TreeSink, root: Root = "workspace", caps: Caps | None = None) -> Export:
        """See Sandbox.export."""
        caps = caps or Caps()
        request, deadline = self._next_id(), time.monotonic() + self._deadlines.transfer
        with self._watching():
            self._wire.send({"t": "export", "id": request, "root": root, **caps.to_wire()}, deadline=deadline)
            for item, chunks in unpack_tree(self._tree_frames(request, deadline), caps):
                sink.add(item, chunks)
            header, _ = self._reply(request, ("exported",), deadline)
            return answers.parse_exported(header)

    def goodbye(self) -> bool:
        """Ask the guest to end; whether it could still be asked."""
        try:
            self._wire.send({"t": "bye"}, deadline=time.monotonic() + 1.0)
        except MachineryError:
            return False
        return True

    def stop(self, why: str) -> None:
        """See Sandbox.stop."""
        # A wire that is broken is found so by the thread that waits for the command.
        with contextlib.suppress(MachineryError):
            for request in list(self._runs):
                self.ask_stop(request, why, beside=True)

    def close(self) -> None:
        """Hang up, which ends the guest and with it the container."""
        self._wire.close()

    def ask_stop(self, request: int, why: str, *, beside: bool = False) -> None:
        """Tell the guest to end a command; its exit comes as an event. `beside`: from another thread than run's."""
        deadline = time.monotonic() + self._deadlines.answer
        self._wire.send({"t": "stop", "id": request, "why": why}, deadline=deadline, beside=beside)

    def send_input(self, request: int, data: bytes, *, eof: bool, deadline: float) -> None:
        """Bytes for a command's standard input."""
        for start in range(0, len(data) or 1, _INPUT_CHUNK):
            chunk = data[start : start + _INPUT_CHUNK]
            last = start + _INPUT_CHUNK >= len(data)
            self._wire.send({"t": "input", "id": request, "eof": eof and last}, chunk, deadline=deadline)

    def take_event(self, deadline: float) -> None:
        """Wait for one event of whatever runs."""
        with self._watching():
            self._take_event(deadline)

    def forget(self, request: int) -> None:
        """A command whose end is known needs no room here any more."""
        self._runs.pop(request, None)

    @property
    def stop_deadline(self) -> float:
        """Until when the guest must have ended a command that it was told to end."""
        return time.monotonic() + self._deadlines.grace

    def _run_fields(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str, wall: float, output_limit: int, *, stdin: bool
    ) -> dict[str, Any]:
        return {
            "t": "run",
            "argv": list(argv),
            "env": {**self._env, **env},
            "cwd": cwd,
            "wall": float(wall),
            "output_limit": output_limit,
            "stdin": stdin,
            "as": "agent",
            "cutoff": None,
            "rlimits": self._limits.rlimits,
        }

    def _start(self, fields: dict[str, Any], state: Command) -> int:
        request, deadline = self._next_id(), time.monotonic() + self._deadlines.answer
        # Known before it is started: its first events may be quicker than the answer.
        self._runs[request] = state
        self._wire.send({**fields, "id": request}, deadline=deadline)
        header, _ = self._reply(request, ("started", "failed"), deadline)
        if header["t"] == "failed":
            del self._runs[request]
            code = header.get("errno")
            raise CommandFailed(
                f"{fields['argv'][:1]}: {str(header.get('why'))[:500]}", errno=code if type(code) is int else None
            )
        state.started = header
        return request

    def _caps(self) -> Caps:
        # What a session with these limits left must also go in again.
        usual, limits = Caps(), self._limits
        files, size = max(usual.max_files, limits.inodes), max(usual.max_bytes, limits.workspace)
        return replace(usual, max_files=files, max_bytes=size)

    def _next_id(self) -> int:
        self._ids += 1
        return self._ids

    def _take_event(self, deadline: float) -> None:
        self._dispatch(self._wire.receive(deadline=deadline))

    def _reply(self, request: int, kinds: tuple[str, ...], deadline: float) -> Frame:
        while True:
            frame = self._wire.receive(deadline=deadline)
            header = frame[0]
            if header.get("id") == request and header["t"] in kinds:
                return frame
            if header["t"] == "failed" and header.get("id") == request:
                raise WireBroken(f"the sandbox refused a request: {str(header.get('why'))[:500]}")
            self._dispatch(frame)

    def _tree_frames(self, request: int, deadline: float) -> Iterator[Frame]:
        last = False
        while not last:
            frame = self._reply(request, ("tree",), deadline)
            last = frame[0].get("last") is True
            yield frame

    def _dispatch(self, frame: Frame) -> None:
        header, body = frame
        request = header.get("id")
        if header["t"] == "crash":
            raise SandboxDied(f"the guest broke: {str(header.get('why'))[:1000]}")
        if header["t"] in FRAMES and self._exchanges is not None:
            self._exchanges.take(header, body)
            return
        run = self._runs.get(request) if type(request) is int else None
        if run is None or header["t"] not in ("output", "edit", "exec", "armed", "exit", "failed"):
            raise WireBroken(f"the sandbox sent {header['t'][:40]!r}, which nobody waits for")
        run.take(header, body)

    @contextlib.contextmanager
    def _answering(self, on_request: OnRequest | None) -> Iterator[None]:
        if on_request is None:
            yield
            return

        def send(header: Mapping[str, Any], body: bytes) -> None:
            self._wire.send(header, body, deadline=time.monotonic() + self._deadlines.answer, beside=True)

        self._exchanges = exchanges = Exchanges(on_request, send, lambda: self.stop("the gateway broke"))
        try:
            yield
        finally:
            self._exchanges = None
            exchanges.close()
        if exchanges.broken is not None:
            raise exchanges.broken

    @contextlib.contextmanager
    def _watching(self) -> Iterator[None]:
        try:
            yield
        except WireClosed as error:
            for header, _ in self._wire.pending():
                if header["t"] in ("crash", "unfit"):
                    raise SandboxDied(f"the guest broke: {str(header.get('why'))[:1000]}") from error
            raise self._cause(self._wire.stderr) from error


class WireProcess:
    """See sandbox.Process."""

    def __init__(self, sandbox: WireSandbox, limit: int) -> None:
        self.request = 0
        self.state = Command(limit, self._take, None, keep=False)
        self._sandbox = sandbox
        self._lines: deque[bytes] = deque()
        self._partial = bytearray()

    def ask(self, line: bytes, timeout: float) -> bytes:
        """See Process.ask; a process that was too slow is ended, for its late answer would be taken for the next."""
        deadline = time.monotonic() + timeout
        if self._lines or self._partial:
            raise ProcessGone("it spoke without being asked", result=self.stop())
        self._check()
        self._sandbox.send_input(self.request, line + b"\n", eof=False, deadline=self._sandbox.stop_deadline)
        while not self._lines:
            self._check()
            try:
                self._sandbox.take_event(deadline)
            except WireTimeout:
                result = self.stop()
                raise ProcessGone("it did not answer in time", result=result, timed_out=True) from None
        return self._lines.popleft()

    def stop(self) -> RunResult:
        """See Process.stop."""
        if self.state.result is None:
            self._sandbox.ask_stop(self.request, "no longer needed")
            deadline = self._sandbox.stop_deadline
            while self.state.result is None:
                self._sandbox.take_event(deadline)
        self._sandbox.forget(self.request)
        return self.state.result

    def _check(self) -> None:
        if self.state.result is not None:
            raise ProcessGone("it has ended", result=self.state.result)
        if self.state.refused is not None:
            raise ProcessGone(f"it does not read: {self.state.refused}")

    def _take(self, stream: int, data: bytes) -> None:
        if stream != 1:
            return
        self._partial += data
        if b"\n" in data:
            *whole, rest = bytes(self._partial).split(b"\n")
            self._lines.extend(whole)
            self._partial = bytearray(rest)
