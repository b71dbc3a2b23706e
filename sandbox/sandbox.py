"""What one sandbox is to the rest of the house: its operations and its answers, as data.

`WireSandbox` (wiresandbox.py) is the real one; tests/fakes.py holds another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, BinaryIO, Final, Literal, Protocol

from .caps import Caps
from .cutoff import CutoffRule
from .errors import TakeoverError
from .gateway.exchange import Gone, HttpRequest, ResponsePart
from .snapshot import Omission
from .tree import TreeItem

Root = Literal["workspace", "home", "run"]
How = Literal["exited", "cutoff", "wall", "stopped"]
OnOutput = Callable[[int, bytes], None]
OnEvent = Callable[[Mapping[str, Any]], None]
# Answers an HTTP request of the agent, in a thread of its own; `Gone` is set when the agent has hung up.
OnRequest = Callable[[HttpRequest, Gone], Iterator[ResponsePart]]

WORKSPACE: Final = "/workspace"
HOME: Final = "/takeover-home"
GATEWAY: Final = "http://127.0.0.1:4000"
RUN: Final = "/run/takeover"
NO_ENV: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """An image as the engine has it. `id` names its exact content; `digest` is the registry's name for it, if any."""

    ref: str
    id: str
    digest: str | None
    user: str
    entrypoint: tuple[str, ...]
    cmd: tuple[str, ...]
    env: Mapping[str, str]
    volumes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> tuple[str, ...]:
        """What the image itself would run."""
        return (*self.entrypoint, *self.cmd)


@dataclass(frozen=True, slots=True)
class GuestInfo:
    """What the guest says of itself when it is ready. `home_complete` is false if the image's home was too large."""

    python: str
    uid: int
    gid: int
    user_home: str
    arch: str
    kernel: str
    capabilities: str
    barrier: bool
    barrier_reason: str | None
    dns: bool
    home_bytes: int = 0
    home_complete: bool = True


@dataclass(frozen=True, slots=True)
class CutoffReport:
    """How a session was cut. `late`: paths that changed after the edit that ended it; `open`: those still being written."""

    rule: str
    n: int | None
    path: str | None
    how: str | None
    exact: bool
    why_not: str | None = None
    late: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a command ended. A bad exit, a cutoff, a limit: all are values.

    `code` is set if it exited, `signal` if it was killed, neither after a cutoff. `stdout` and `stderr` hold what was
    kept of `output_bytes` (by stream, 1 and 2). `killed` counts the survivors that the end of the command left.
    `oom`: the kernel killed something of the agent's for want of memory. `edited`: paths whose content differs from
    the start; `mode` says whether the cutoff was exact or approximate, None without one. `armed` says whether a rule
    that slept was woken (from then on edits are counted, and the start is that moment); None if it never slept.
    """

    how: How
    code: int | None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    truncated: bool = False
    output_bytes: Mapping[int, int] = field(default_factory=dict)
    seconds: float = 0.0
    killed: int = 0
    oom: bool = False
    oom_kills: int = 0
    barrier: bool = False
    mode: Literal["exact", "approximate"] | None = None
    cutoff: CutoffReport | None = None
    edits: int = 0
    edited: tuple[str, ...] = ()
    first_edit: str | None = None
    armed: bool | None = None

    @property
    def ok(self) -> bool:
        """Exited by itself with status 0."""
        return self.how == "exited" and self.code == 0


@dataclass(frozen=True, slots=True)
class Export:
    """What an export saw. Not `complete` if a cap or an unreadable item left something out."""

    complete: bool
    omitted: tuple[Omission, ...] = ()


class CommandFailed(TakeoverError):
    """A command that could not be started; `errno` as the kernel gave it."""

    def __init__(self, message: str, *, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno


class ProcessGone(TakeoverError):
    """A process that was asked something and did not answer; `result` is set if it had ended."""

    def __init__(self, message: str, *, result: RunResult | None = None, timed_out: bool = False) -> None:
        super().__init__(message)
        self.result = result
        self.timed_out = timed_out


class TreeSink(Protocol):
    """Takes an exported tree item by item, in canonical order."""

    def add(self, item: TreeItem, chunks: Iterable[bytes] = ()) -> TreeItem: ...


class Process(Protocol):
    """A command in the sandbox that answers lines with lines."""

    def ask(self, line: bytes, timeout: float) -> bytes:
        """Send a line (its newline is added) and return the next line without one; ProcessGone."""
        ...

    def stop(self) -> RunResult:
        """End it and all it started."""
        ...


class Sandbox(Protocol):
    """One container behind one wire. Every method raises MachineryError when the machinery fails."""

    @property
    def image(self) -> ImageInfo: ...

    @property
    def guest(self) -> GuestInfo: ...

    def load(
        self, items: Iterable[tuple[TreeItem, BinaryIO | bytes]], root: Root = "workspace", *, sealed: bool = False
    ) -> None:
        """Write a tree, given in canonical order, below a root; `sealed` means that no command here can change it."""
        ...

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
        """Run a command as the agent and wait for its end; CommandFailed if it does not start.

        `on_event` gets what the guest reports on the way: edits, commands, gaps in the output, the end.
        `on_request` answers what the command asks of http://127.0.0.1:4000; without it nobody is there.
        `env` comes on top of the image's own, HOME, LANG=C.UTF-8 and TZ=UTC. With a `cutoff`, and be it `none`, edits
        are watched and reported. `wall` in seconds, `output_limit` in bytes kept of each stream; without `stdin` the
        command reads /dev/null.
        """
        ...

    def open_process(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] = NO_ENV,
        cwd: str = WORKSPACE,
        wall: float = 600.0,
        output_limit: int = 64 << 20,
    ) -> AbstractContextManager[Process]:
        """Start a command that is asked line by line; it is ended with the context."""
        ...

    def stop(self, why: str) -> None:
        """End the command that `run` waits for, as `stopped`; any thread may ask, and nothing happens if there is none."""
        ...

    def close(self) -> None:
        """Hang up, which ends it; the engine's context does so too."""
        ...

    def export(self, sink: TreeSink, root: Root = "workspace", caps: Caps | None = None) -> Export:
        """End every process of the agent, then stream a root's tree into the sink."""
        ...
