"""The sandbox over its wire, against a guest that is played by the test: every wrong answer is caught."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from takeover.sandbox.caps import Caps
from takeover.sandbox.cutoff import CutoffRule
from takeover.sandbox.errors import (
    ImageUnfit,
    InputError,
    MachineryError,
    SandboxDied,
    StorageError,
    WireBroken,
    WireTimeout,
)
from takeover.sandbox.guest.frames import Decoder, encode
from takeover.sandbox.limits import Limits
from takeover.sandbox.sandbox import CommandFailed, ImageInfo, ProcessGone
from takeover.sandbox.store import SnapshotStore
from takeover.sandbox.tree import TreeItem
from takeover.sandbox.wire import Wire
from takeover.sandbox.wiresandbox import Deadlines, WireSandbox

IMAGE = ImageInfo("i", "sha256:0", None, "", (), (), {})
PREAMBLE = struct.pack(">Q", 3) + b"zip"
READY: dict[str, Any] = {
    "t": "ready",
    "v": 1,
    "python": "3.11.2",
    "uid": 1000,
    "gid": 1000,
    "user_home": "/",
    "arch": "x86_64",
    "kernel": "6.1",
    "barrier": True,
    "barrier_reason": None,
    "dns": True,
}
EXIT: dict[str, Any] = {
    "t": "exit",
    "how": "exited",
    "code": 0,
    "signal": None,
    "oom": False,
    "oom_kills": 0,
    "truncated": False,
    "output_bytes": {},
    "seconds": 0.1,
    "killed": 0,
    "cutoff": None,
}
STARTED: dict[str, Any] = {"t": "started", "pid": 7, "barrier": True, "mode": None}
Say = Callable[..., None]


class Guest(threading.Thread):
    """The other end: answers each request by what the script maps its type to."""

    def __init__(
        self, connection: socket.socket, script: dict[str, Callable[[Say, dict[str, Any], bytes], None]]
    ) -> None:
        super().__init__(daemon=True)
        self.connection = connection
        self.script = script
        self.requests: list[dict[str, Any]] = []

    def run(self) -> None:
        decoder, skipped = Decoder(), 0
        with contextlib.suppress(OSError):
            while data := self.connection.recv(1 << 16):
                if skipped < len(PREAMBLE):
                    skip = min(len(PREAMBLE) - skipped, len(data))
                    data, skipped = data[skip:], skipped + skip
                decoder.feed(data)
                for header, body in decoder:
                    self.requests.append(header)
                    if header["t"] in self.script:
                        self.script[header["t"]](self.say, header, body)

    def say(self, header: dict[str, Any], body: bytes = b"", stream: int = 1) -> None:
        raw = encode(header, body)
        self.connection.sendall(struct.pack(">BxxxL", stream, len(raw)) + raw)

    def hang_up(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)


Opened = Callable[..., tuple[WireSandbox, Guest]]


@pytest.fixture
def opened() -> Iterator[Opened]:
    with contextlib.ExitStack() as stack:

        def make(**script: Any) -> tuple[WireSandbox, Guest]:
            ours, theirs = socket.socketpair()
            guest = Guest(theirs, {"hello": lambda say, header, body: say(READY), **script})
            guest.start()
            deadlines = Deadlines(ready=2, answer=2, transfer=2, grace=0.3, goodbye=1)
            sandbox = WireSandbox(
                IMAGE,
                Wire(ours),
                Limits(),
                deadlines,
                {"PATH": "/bin"},
                lambda said: SandboxDied(f"died, saying {said!r}"),
            )
            stack.callback(guest.join)
            stack.callback(theirs.close)
            stack.callback(sandbox.close)
            sandbox.greet(PREAMBLE, "")
            return sandbox, guest

        yield make


def run(*frames: tuple[dict[str, Any], bytes] | dict[str, Any]) -> Callable[[Say, dict[str, Any], bytes], None]:
    """Answer a `run` with these frames, under its id."""

    def answer(say: Say, header: dict[str, Any], body: bytes) -> None:
        for frame in frames:
            told, data = frame if isinstance(frame, tuple) else (frame, b"")
            say({"id": header["id"], **told}, data)

    return answer


def test_a_command_and_its_output(opened: Opened) -> None:
    """Output of both streams is kept and called back, events are called back, the exit is the result."""
    sandbox, guest = opened(
        run=run(
            STARTED,
            ({"t": "output", "s": 1}, b"out"),
            ({"t": "output", "s": 2}, b"\xff"),
            {"t": "edit", "path": "a.py", "how": "written", "n": 1, "at": 0.1},
            ({"t": "output", "s": 1, "gap": 9}, b"end"),
            {**EXIT, "code": 3},
        )
    )
    seen: list[Any] = []
    result = sandbox.run(
        ["x"],
        env={"A": "b"},
        on_output=lambda stream, data: seen.append((stream, data)),
        on_event=lambda event: seen.append(event["t"]),
    )

    assert (result.how, result.code, result.stdout, result.stderr) == ("exited", 3, b"outend", b"\xff")
    assert seen == [(1, b"out"), (2, b"\xff"), "edit", "output", (1, b"end"), "exit"]
    request = guest.requests[-1]
    assert request["argv"] == ["x"]
    assert request["env"] == {"PATH": "/bin", "A": "b"}
    assert request["cutoff"] is None
    assert request["rlimits"]["fsize"] == Limits().fsize


def test_the_rule_goes_to_the_guest(opened: Opened) -> None:
    """A cutoff is sent as data; one that needs the gateway is refused before anything is sent."""
    sandbox, guest = opened(run=run(STARTED, EXIT))
    sandbox.run(["x"], cutoff=CutoffRule("edits", 2))

    assert guest.requests[-1]["cutoff"]["rule"] == "edits"
    with pytest.raises(InputError):
        sandbox.run(["x"], cutoff=CutoffRule("turns", 2))


def test_a_command_that_does_not_start(opened: Opened) -> None:
    """`failed` before `started` is a CommandFailed with the kernel's number; the sandbox goes on."""
    sandbox, _ = opened(run=run({"t": "failed", "why": "No such file", "errno": 2}))
    for _ in range(2):
        with pytest.raises(CommandFailed) as caught:
            sandbox.run(["x"])
        assert caught.value.errno == 2


HOSTILE_RUNS: dict[str, list[Any]] = {
    "exit of nobody": [STARTED, {**EXIT, "id": 99}],
    "output of nobody": [({"t": "output", "s": 1, "id": 99}, b"x")],
    "an id that is a list": [STARTED, {**EXIT, "id": [1]}],
    "a third stream": [STARTED, ({"t": "output", "s": 3}, b"x")],
    "a stream that is a list": [STARTED, ({"t": "output", "s": [1]}, b"x")],
    "more output than asked for": [STARTED, ({"t": "output", "s": 1}, b"x" * 11)],
    "a gap that is no number": [STARTED, ({"t": "output", "s": 1, "gap": "9"}, b"x")],
    "a word that nobody knows": [STARTED, {"t": "won"}],
    "an export that nobody asked for": [STARTED, {"t": "exported", "omitted": [], "complete": True}],
    "an unknown mode": [{**STARTED, "mode": "sure"}, EXIT],
    "an exit before the start": [EXIT],
    "a bad exit": [STARTED, {**EXIT, "seconds": "1"}],
}


@pytest.mark.parametrize("case", HOSTILE_RUNS)
def test_a_guest_that_misbehaves_breaks_the_wire(opened: Opened, case: str) -> None:
    """No such answer becomes a result."""
    sandbox, _ = opened(run=run(*HOSTILE_RUNS[case]))
    with pytest.raises(WireBroken):
        sandbox.run(["x"], output_limit=10)


def test_two_exits_are_one_too_many(opened: Opened) -> None:
    """A second end of the same command is found out by the next request."""
    sandbox, _ = opened(run=run(STARTED, EXIT, EXIT))
    sandbox.run(["x"])
    with pytest.raises(WireBroken):
        sandbox.run(["x"])


def test_a_guest_that_forgets_a_command_is_a_timeout(opened: Opened) -> None:
    """Past the command's own limit and the grace, the machinery has failed; it never reads as a result."""
    sandbox, _ = opened(run=run(STARTED))
    with pytest.raises(WireTimeout):
        sandbox.run(["x"], wall=0.1)


def test_a_guest_that_drips_is_a_timeout_too(opened: Opened) -> None:
    """Output that keeps coming does not move the deadline."""

    def drip(say: Say, header: dict[str, Any], body: bytes) -> None:
        say({"id": header["id"], **STARTED})
        for _ in range(1000):
            say({"id": header["id"], "t": "output", "s": 1}, b"x")
            time.sleep(0.005)

    sandbox, guest = opened(run=drip)
    with pytest.raises(WireTimeout):
        sandbox.run(["x"], wall=0.1)
    sandbox.close()
    guest.hang_up()


@pytest.mark.parametrize("moment", ["run", "load", "export"])
def test_the_end_of_the_wire_has_a_cause(opened: Opened, moment: str) -> None:
    """Whoever holds the container says why it is gone, with the guest's last words from standard error."""
    sandbox, guest = opened()

    def die(say: Say, header: dict[str, Any], body: bytes) -> None:
        say({"t": "noise"}, b"", 2)
        guest.connection.sendall(struct.pack(">BxxxL", 2, 4) + b"ouch")
        guest.hang_up()

    guest.script[moment] = die
    acts: dict[str, Callable[[], object]] = {
        "run": lambda: sandbox.run(["x"]),
        "load": lambda: sandbox.load([]),
        "export": lambda: sandbox.export(Sink()),
    }
    with pytest.raises(SandboxDied, match="ouch"):
        acts[moment]()


def test_a_crash_of_the_guest_is_told(opened: Opened) -> None:
    """A guest that reports its own breakdown is quoted."""

    def crash(say: Say, header: dict[str, Any], body: bytes) -> None:
        say({"t": "crash", "why": "RuntimeError: x"})

    sandbox, _ = opened(run=crash)
    with pytest.raises(SandboxDied, match="RuntimeError: x"):
        sandbox.run(["x"])


def test_an_unfit_image_is_told(opened: Opened) -> None:
    """`unfit` instead of `ready` is the image's fault; anything else there breaks the wire."""
    with pytest.raises(ImageUnfit, match="no such user"):
        opened(hello=lambda say, header, body: say({"t": "unfit", "why": "no such user"}))
    with pytest.raises(WireBroken):
        opened(hello=lambda say, header, body: say({"t": "loaded", "id": 1}))
    with pytest.raises(WireBroken, match="version"):
        opened(hello=lambda say, header, body: say({**READY, "v": 9}))


class Sink:
    """Takes a tree; `fails` makes it behave like a full disk."""

    def __init__(self, fails: bool = False) -> None:
        self.items: list[tuple[TreeItem, bytes]] = []
        self.fails = fails

    def add(self, item: TreeItem, chunks: Any = ()) -> TreeItem:
        if self.fails:
            raise StorageError("full")
        self.items.append((item, b"".join(chunks)))
        return item


def exporting(*frames: tuple[dict[str, Any], bytes], end: dict[str, Any] | None = None) -> Any:
    def answer(say: Say, header: dict[str, Any], body: bytes) -> None:
        for told, data in frames:
            say({"t": "tree", "id": header["id"], **told}, data)
        say({"t": "exported", "id": header["id"], **(end or {"omitted": [], "complete": True})})

    return answer


def test_an_export_streams_into_its_sink(opened: Opened) -> None:
    """Items and bytes arrive, the caps are sent along, omissions come back."""
    sandbox, guest = opened(
        export=exporting(
            ({"items": [["a", "f", 0o644, 3, 0, 2]], "last": False}, b"12"),
            ({"items": [["a", "f", 0o644, 3, 2, 1]], "last": True}, b"3"),
            end={"omitted": [["s", "socket"]], "complete": True},
        )
    )
    sink = Sink()
    export = sandbox.export(sink, caps=Caps(max_files=5))

    assert sink.items == [(TreeItem("a", "f", 0o644, 3), b"123")]
    assert [(entry.path, entry.reason) for entry in export.omitted] == [("s", "socket")]
    assert guest.requests[-1]["max_files"] == 5


def test_an_export_that_fails_is_no_snapshot(opened: Opened, store: SnapshotStore) -> None:
    """A hostile tree, a refusal, a full disk: each is an error, and nothing is stored."""
    trees: list[Any] = [
        exporting(({"items": [["../a", "f", 0o644, 0, 0, 0]], "last": True}, b"")),
        exporting(({"items": [], "last": True}, b""), end={"omitted": "none", "complete": True}),
        lambda say, header, body: say({"t": "failed", "id": header["id"], "why": "no"}),
    ]
    for answer in trees:
        sandbox, _ = opened(export=answer)
        with store.writer() as writer, pytest.raises(WireBroken):
            sandbox.export(writer)
    sandbox, _ = opened(export=exporting(({"items": [["a", "f", 0o644, 0, 0, 0]], "last": True}, b"")))
    with pytest.raises(StorageError):
        sandbox.export(Sink(fails=True))

    assert list(store.root.iterdir()) == []


def test_loading(opened: Opened) -> None:
    """A tree is sent whole; a refusal says why."""
    sandbox, guest = opened(
        tree=lambda say, header, body: say({"t": "loaded", "id": header["id"], "files": 1, "bytes": 1})
    )
    sandbox.load([(TreeItem("a", "f", 0o644, 1), b"x")], "home")

    assert [request["t"] for request in guest.requests[-2:]] == ["load", "tree"]
    assert guest.requests[-2]["root"] == "home"
    refusing, _ = opened(tree=lambda say, header, body: say({"t": "failed", "id": header["id"], "why": "no room"}))
    with pytest.raises(MachineryError, match="no room"):
        refusing.load([])


def worker(answer: Callable[[bytes], list[bytes]]) -> dict[str, Any]:
    """A guest whose commands answer each input by these pieces of output."""

    def on_input(say: Say, header: dict[str, Any], body: bytes) -> None:
        for piece in answer(body):
            if piece == b"EXIT":
                say({"id": header["id"], **EXIT, "code": 1})
            else:
                say({"id": header["id"], "t": "output", "s": 1}, piece)

    return {
        "run": run(STARTED),
        "input": on_input,
        "stop": lambda say, header, body: say({"id": header["id"], **EXIT, "how": "stopped", "code": None}),
    }


def test_asking_line_by_line(opened: Opened) -> None:
    """An answer may come in pieces and a long one is one line; the process is stopped at the end."""
    sandbox, guest = opened(**worker(lambda line: [line[:1], line[1:]]))
    with sandbox.open_process(["w"]) as process:
        assert process.ask(b"one", 2) == b"one"
        assert process.ask(b"x" * 600_000, 2)[:3] == b"xxx"

    assert guest.requests[-1]["t"] == "stop"


def test_a_process_that_ends_is_gone(opened: Opened) -> None:
    """Its result comes with the exception."""
    sandbox, _ = opened(**worker(lambda line: [b"half", b"EXIT"]))
    with sandbox.open_process(["w"]) as process:
        with pytest.raises(ProcessGone) as caught:
            process.ask(b"one", 2)
        assert caught.value.result is not None
        assert caught.value.result.code == 1
        with pytest.raises(ProcessGone):
            process.ask(b"two", 2)


def test_a_process_that_is_silent_is_stopped(opened: Opened) -> None:
    """Its late answer must not be taken for that of the next question."""
    sandbox, guest = opened(**worker(lambda line: []))
    with sandbox.open_process(["w"]) as process:
        with pytest.raises(ProcessGone) as caught:
            process.ask(b"one", 0.1)
        assert caught.value.timed_out
        assert guest.requests[-1]["t"] == "stop"
        with pytest.raises(ProcessGone):
            process.ask(b"two", 2)


def test_a_process_that_speaks_unasked_is_stopped(opened: Opened) -> None:
    """A second line, which the next question would take for its answer, ends the process."""
    sandbox, _ = opened(**worker(lambda line: [b"answer\nmore\n"]))
    with sandbox.open_process(["w"]) as process:
        assert process.ask(b"one", 2) == b"answer"
        with pytest.raises(ProcessGone, match="without being asked"):
            process.ask(b"two", 2)


def test_two_processes_do_not_mix(opened: Opened) -> None:
    """Each gets its own answers."""
    sandbox, _ = opened(**worker(lambda line: [line.upper()]))
    with sandbox.open_process(["w"]) as first, sandbox.open_process(["w"]) as second:
        assert [first.ask(b"a", 2), second.ask(b"b", 2), first.ask(b"c", 2)] == [b"A", b"B", b"C"]
