"""A host of our own for the guest: raw frames to PID 1 of a real container, and nothing between."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from docker import APIClient

from takeover.sandbox import container
from takeover.sandbox.guest.boot import preamble
from takeover.sandbox.limits import Limits
from takeover.sandbox.wire import Wire

HOME = "/takeover-home"
ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": HOME,
    "LANG": "C.UTF-8",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
    "PYTHONDONTWRITEBYTECODE": "1",
}


@dataclass
class Outcome:
    """What became of a run: the frames of its life."""

    started: dict[str, Any] = field(default_factory=dict)
    exit: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    streams: dict[int, bytearray] = field(default_factory=lambda: {1: bytearray(), 2: bytearray()})

    @property
    def out(self) -> str:
        return self.streams[1].decode("utf-8", "replace")

    @property
    def err(self) -> str:
        return self.streams[2].decode("utf-8", "replace")

    @property
    def cut(self) -> dict[str, Any]:
        """The cutoff part of the exit frame, with the streams in the failure message if there is none."""
        assert self.exit.get("how") == "cutoff", (self.failed, self.exit, self.out, self.err)
        return self.exit["cutoff"]


class Client:
    """One wire to one guest."""

    def __init__(self, wire: Wire, seconds: float = 60.0) -> None:
        self.wire, self.seconds = wire, seconds
        self._ids = 0
        self._live: dict[int, Outcome] = {}
        self.ready: dict[str, Any] = {}

    def hello(self, **fields: Any) -> dict[str, Any]:
        """Send the guest and the first frame; the answer."""
        self.wire.send_bytes(preamble(), deadline=self._deadline())
        hello = {"v": 1, "user": "", "home": HOME, "image_home_limit": 1 << 20, "workspace": "/workspace", "dns": True}
        self.send("hello", **{**hello, **fields})
        self.ready = self.take()[0]
        return self.ready

    def send(self, kind: str, body: bytes = b"", **fields: Any) -> None:
        """Send one frame."""
        self.wire.send({"t": kind, **fields}, body, deadline=self._deadline())

    def take(self) -> tuple[dict[str, Any], bytes]:
        """The next frame."""
        return self.wire.receive(deadline=self._deadline())

    def take_until(self, number: int, *kinds: str) -> tuple[dict[str, Any], bytes]:
        """The next frame of these kinds and this id; frames of runs go to their outcomes."""
        while True:
            header, body = self.take()
            outcome = self._live.get(header.get("id", -1))
            if outcome:
                self._note(outcome, header, body)
            if header.get("id") == number and header["t"] in kinds:
                return header, body
            assert header["t"] != "crash", header["why"]

    def load(self, files: Mapping[str, bytes], root: str = "workspace") -> dict[str, Any]:
        """Put files (a name ending in / is a directory) below a root; the answer."""
        items: list[list[Any]] = []
        for path in sorted(files, key=lambda path: path.rstrip("/").encode("utf-8", "surrogateescape").split(b"/")):
            data = files[path]
            kind, mode = ("d", 0o755) if path.endswith("/") else ("f", 0o644)
            items.append([path.rstrip("/"), kind, mode, len(data), 0, len(data)])
        body = b"".join(files[item[0] + ("/" if item[1] == "d" else "")] for item in items)
        return self.load_frames([(items, body)], root)

    def load_frames(self, frames: list[tuple[list[Any], bytes]], root: str = "workspace") -> dict[str, Any]:
        """Send a load as these frames; the answer."""
        number = self.next_id()
        self.send("load", id=number, root=root)
        for position, (items, body) in enumerate(frames):
            self.send("tree", body, id=number, items=items, last=position == len(frames) - 1)
        return self.take_until(number, "loaded", "failed")[0]

    def export(self, root: str = "workspace", **caps: int) -> tuple[dict[str, tuple[Any, ...]], dict[str, Any]]:
        """Path -> (kind, mode, content), and the closing frame."""
        number = self.next_id()
        limits = {"max_files": 100_000, "max_bytes": 1 << 30, "max_depth": 2000, "max_path": 8192, **caps}
        self.send("export", id=number, root=root, **limits)
        tree: dict[str, tuple[Any, ...]] = {}
        self.order: list[str] = []
        while True:
            header, body = self.take_until(number, "tree", "exported", "failed")
            if header["t"] != "tree":
                return tree, header
            start = 0
            for path, kind, mode, size, offset, length in header["items"]:
                data = body[start : start + length]
                start += length
                if offset == 0:
                    self.order.append(path)
                    tree[path] = (kind, mode, bytearray())
                assert len(tree[path][2]) == offset
                tree[path][2].extend(data)
                assert offset + length <= size
            assert start == len(body)

    def start(self, argv: list[str], **fields: Any) -> tuple[int, Outcome]:
        """Start a run; its id and what is known of it so far (started or failed)."""
        number, outcome = self.next_id(), Outcome()
        self._live[number] = outcome
        self.send("run", id=number, **{**_RUN, "argv": argv, **fields})
        self.take_until(number, "started", "failed")
        return number, outcome

    def finish(self, number: int) -> Outcome:
        """Wait for the end of a run."""
        outcome = self._live[number]
        if not outcome.failed:
            while not outcome.exit:
                self.take_until(number, "exit")
        del self._live[number]
        return outcome

    def run(self, argv: list[str], **fields: Any) -> Outcome:
        """A run from start to end."""
        return self.finish(self.start(argv, **fields)[0])

    def sh(self, script: str, **fields: Any) -> Outcome:
        """A shell script as the agent."""
        return self.run(["sh", "-c", script], **fields)

    def ping(self) -> dict[str, Any]:
        """A sign of life."""
        number = self.next_id()
        self.send("ping", id=number)
        return self.take_until(number, "pong")[0]

    def next_id(self) -> int:
        self._ids += 1
        return self._ids

    def _note(self, outcome: Outcome, header: dict[str, Any], body: bytes) -> None:
        kind = header["t"]
        if kind == "output":
            outcome.streams[header["s"]] += body
        if kind in ("started", "exit", "failed"):
            setattr(outcome, kind, header)
        else:
            outcome.events.append(header)

    def _deadline(self) -> float:
        return time.monotonic() + self.seconds


_RUN: dict[str, Any] = {
    "env": ENV, "cwd": "/workspace", "wall": 30.0, "output_limit": 1 << 20, "stdin": False, "as": "agent",
    "cutoff": None, "rlimits": {},
}  # fmt: skip


def rule(name: str = "first-edit", n: float | None = None, **fields: Any) -> dict[str, Any]:
    """A cutoff as the host sends it."""
    return {"rule": name, "n": n, "armed": None, "suffixes": [".py"], "ignore": [], "tests": [], **fields}


@contextlib.contextmanager
def opened(
    docker: APIClient, image: str, labels: Mapping[str, str], limits: Limits | None = None, **overrides: Any
) -> Iterator[tuple[Client, str]]:
    """A container with a wire to it, and its id; hello is not said yet. `overrides` go into the host config."""
    host = {**container.host_config(limits or Limits(), (), None), **overrides}
    number = container.create(docker, docker.inspect_image(image)["Id"], host, labels)
    try:
        stream = docker.attach_socket(number, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        wire = Wire(stream._sock, stream)
        try:
            docker.start(number)
            yield Client(wire), number
        finally:
            wire.close()
    finally:
        with contextlib.suppress(Exception):
            docker.remove_container(number, force=True)
        until = time.monotonic() + 10  # the engine may be at it already, by itself
        while docker.containers(all=True, filters={"id": number}) and time.monotonic() < until:
            time.sleep(0.02)
