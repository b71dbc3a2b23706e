"""One session: a fresh sandbox, the agent in it until it ends or is cut off, and what it left, stored."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from .caps import Caps
from .cutoff import CutoffRule
from .engine import NO_LABELS, Opener
from .errors import ImageUnfit, MachineryError, StorageError, WireBroken
from .gateway.exchange import Gone, HttpRequest, ResponsePart
from .gateway.trigger import Fired
from .git_index import without_stat
from .items import plain_file, plain_tree
from .limits import Limits
from .sandbox import (
    HOME,
    RUN,
    WORKSPACE,
    CommandFailed,
    CutoffReport,
    GuestInfo,
    ImageInfo,
    RunResult,
    Sandbox,
    TreeSink,
)
from .snapshot import Snapshot
from .store import SnapshotStore
from .tree import TreeItem

PROMPT_FILE: Final = "prompt.md"
# One string of the environment may be 128 KiB, name included.
PROMPT_ENV_LIMIT: Final = 96 * 1024
_EVENT_LIMIT: Final = 16 << 20
_INDEX: Final = ".git/index"
_INDEX_LIMIT: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """Who works. `command` None means the image's ENTRYPOINT and CMD; `home_files` come into HOME."""

    name: str
    image: str
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    home_files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """What a session is asked; `number` counts the sessions of its trial from 1."""

    agent: AgentSpec
    number: int
    prompt: str
    cutoff: CutoffRule
    limits: Limits


class Model(Protocol):
    """What answers the agent's requests in one session, and may end it: a Gateway that was made for it."""

    @property
    def fired(self) -> Fired | None:
        """The cutoff rule that it kept and that has fallen."""
        ...

    @property
    def failure(self) -> MachineryError | None:
        """Why the session cannot go on."""
        ...

    def attend(self, stop: Callable[[str], None]) -> None:
        """The session begins; `stop` ends its agent, and any thread may call it."""
        ...

    def arm(self) -> None:
        """What its cutoff rule waited for has happened."""
        ...

    def handle(self, request: HttpRequest, gone: Gone | None = None) -> Iterator[ResponsePart]:
        """The response to a request, as it comes."""
        ...


@dataclass(frozen=True, slots=True)
class SessionLog:
    """Where a session is written down as it happens: what the agent printed (bounded), and events, one JSON a line."""

    output: Path
    events: Path


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """Something that did not go on to the next session, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class SessionResult:
    """How a session ended and what it left. `seconds` by phase: open, load, run, export, close."""

    run: RunResult
    snapshot: Snapshot
    guest: GuestInfo
    image: ImageInfo
    carried: tuple[str, ...]
    scrubbed: tuple[Scrubbed, ...]
    seconds: Mapping[str, float]


def run_session(
    engine: Opener,
    store: SnapshotStore,
    spec: SessionSpec,
    start: Snapshot,
    *,
    log: SessionLog,
    labels: Mapping[str, str] = NO_LABELS,
    model: Model | None = None,
) -> SessionResult:
    """Run one session on a snapshot; only failures of the machinery are raised, those of the model among them.

    `model` answers the agent's HTTP requests; without one nobody is there.
    """
    clock = _Phases()
    with contextlib.ExitStack() as stack:
        sandbox = stack.enter_context(engine.open(spec.agent.image, limits=spec.limits, labels=labels))
        clock.done("open")
        _furnish(sandbox, store, spec, start)
        clock.done("load")
        run = _run_agent(sandbox, spec, log, model)
        clock.done("run")
        snapshot = _export(sandbox, store, spec.limits)
        clock.done("export")
        guest, image = sandbox.guest, sandbox.image
    clock.done("close")
    return SessionResult(
        run=run,
        snapshot=snapshot,
        guest=guest,
        image=image,
        carried=(WORKSPACE,),
        scrubbed=_scrubbed(snapshot),
        seconds=clock.seconds,
    )


def _furnish(sandbox: Sandbox, store: SnapshotStore, spec: SessionSpec, start: Snapshot) -> None:
    sandbox.load(store.open(start.sha256), "workspace")
    if spec.agent.home_files:
        sandbox.load(plain_tree(spec.agent.home_files), "home")
    prompt = spec.prompt.encode("utf-8", "surrogateescape")
    sandbox.load([(plain_file(PROMPT_FILE, prompt, 0o444), prompt)], "run")


def _environment(spec: SessionSpec) -> dict[str, str]:
    env = {
        **spec.agent.env,
        "TAKEOVER_PROMPT_FILE": f"{RUN}/{PROMPT_FILE}",
        "TAKEOVER_WORKSPACE": WORKSPACE,
        "TAKEOVER_SESSION": str(spec.number),
    }
    if len(spec.prompt.encode("utf-8", "surrogateescape")) <= PROMPT_ENV_LIMIT and "\0" not in spec.prompt:
        env["TAKEOVER_PROMPT"] = spec.prompt
    return env


def _run_agent(sandbox: Sandbox, spec: SessionSpec, log: SessionLog, model: Model | None) -> RunResult:
    argv = sandbox.image.command if spec.agent.command is None else spec.agent.command
    if not argv:
        raise ImageUnfit(f"the image {sandbox.image.ref!r} says no command", hint="Give it an ENTRYPOINT or CMD.")
    if model is not None:
        model.attend(sandbox.stop)
    with _writing(log) as record:

        def on_event(header: Mapping[str, Any]) -> None:
            record.event(header)
            if header["t"] == "armed" and model is not None:
                model.arm()

        try:
            run = sandbox.run(
                argv,
                env=_environment(spec),
                wall=spec.limits.wall,
                output_limit=spec.limits.output,
                cutoff=spec.cutoff.for_guest(gateway=model is not None),
                on_output=record.output,
                on_event=on_event,
                on_request=None if model is None else model.handle,
            )
        except CommandFailed as error:
            raise ImageUnfit(f"the agent's command cannot be started: {error}") from error
    return run if model is None else _ended_by(model, run, spec.cutoff)


def _ended_by(model: Model, run: RunResult, rule: CutoffRule) -> RunResult:
    """How the session ended, if it was the model's doing; its failure is raised."""
    # One that came after the cut took nothing from the session.
    if model.failure is not None and run.how != "cutoff":
        raise model.failure
    fired = model.fired
    if fired is None or run.how != "stopped":
        return run
    why_not = None if fired.exact else "how many tokens an answer took is not known"
    report = CutoffReport(rule.rule, rule.n, path=None, how="request", exact=fired.exact, why_not=why_not)
    return replace(run, how="cutoff", code=None, signal=None, cutoff=report)


def _export(sandbox: Sandbox, store: SnapshotStore, limits: Limits) -> Snapshot:
    caps = Caps(max_files=limits.inodes, max_bytes=limits.workspace)
    with store.writer(caps) as writer:
        export = sandbox.export(_Settled(writer), "workspace", caps)
        return writer.finish(complete=export.complete, omitted=export.omitted)


@dataclass(frozen=True, slots=True)
class _Settled:
    """Takes out what git remembers of the place in which it worked."""

    inner: TreeSink

    def add(self, item: TreeItem, chunks: Iterable[bytes] = ()) -> TreeItem:
        if item.path != _INDEX or item.kind != "f" or item.size > _INDEX_LIMIT:
            return self.inner.add(item, chunks)
        data = without_stat(b"".join(chunks))
        return self.inner.add(replace(item, size=len(data)), [data])


def _scrubbed(snapshot: Snapshot) -> tuple[Scrubbed, ...]:
    always = (
        Scrubbed(HOME, "a new session has a new HOME"),
        Scrubbed("/tmp /var/tmp /run /dev/shm", "not part of the workspace"),  # noqa: S108  # a label
        # How many is in the events: it varies with the moment, and a scorecard does not.
        Scrubbed("processes", "those that were left were killed"),
        Scrubbed("owners, times, extended attributes, set-id bits", "a snapshot holds contents and permissions"),
        Scrubbed(_INDEX, "times, inodes and owners in it; git finds them anew"),
        Scrubbed("hard links", "each name becomes a file of its own"),
    )
    return (*always, *(Scrubbed(item.path, item.reason) for item in snapshot.omitted))


class _Phases:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def done(self, phase: str) -> None:
        now = time.monotonic()
        self.seconds[phase], self._last = now - self._last, now


class _Record:
    """Every write is flushed: whoever is killed keeps all that had happened."""

    def __init__(self, output: BinaryIO, events: BinaryIO) -> None:
        self._output = output
        self._events = events
        self._left = _EVENT_LIMIT

    def output(self, stream: int, data: bytes) -> None:  # noqa: ARG002  # both go where a reader expects them: in order
        self._output.write(data)
        self._output.flush()

    def event(self, header: Mapping[str, Any]) -> None:
        if header["t"] == "output":
            self.output(0, b"\n[takeover: %d bytes of output were not kept]\n" % header["gap"])
        try:
            line = json.dumps({key: header[key] for key in header if key != "id"}, sort_keys=True).encode() + b"\n"
        except RecursionError:
            raise WireBroken("the sandbox sent an event that is nested too deeply") from None
        # The end of the session is always written down, however much was reported before.
        if header["t"] == "exit" or len(line) <= self._left:
            self._events.write(line)
            self._events.flush()
            self._left -= len(line)


@contextlib.contextmanager
def _writing(log: SessionLog) -> Iterator[_Record]:
    try:
        log.output.parent.mkdir(parents=True, exist_ok=True)
        log.events.parent.mkdir(parents=True, exist_ok=True)
        with log.output.open("wb") as output, log.events.open("wb") as events:
            yield _Record(output, events)
    except OSError as error:
        raise StorageError(
            f"{log.output.parent}: {error.strerror or error}", hint="Free some space or choose another --runs."
        ) from error
