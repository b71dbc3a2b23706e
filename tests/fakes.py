"""An engine in memory, for tests that need sandboxes and no container.

    engine = FakeEngine(agent=lambda box: box.write("a.py", b"x = 1\\n"))

`agent` is called for every command with the sandbox itself; what it returns is the result of the command.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO

from takeover.sandbox.caps import Caps
from takeover.sandbox.cutoff import CutoffRule
from takeover.sandbox.engine import EngineInfo
from takeover.sandbox.errors import ImageUnfit, MachineryError
from takeover.sandbox.items import plain_file, whole_tree
from takeover.sandbox.limits import Limits
from takeover.sandbox.sandbox import (
    Export,
    GuestInfo,
    ImageInfo,
    OnEvent,
    OnOutput,
    OnRequest,
    Process,
    ProcessGone,
    Root,
    RunResult,
    TreeSink,
)
from takeover.sandbox.snapshot import Omission
from takeover.sandbox.tree import TreeItem

Content = tuple[TreeItem, bytes]
GUEST = GuestInfo("3.11.2", 1000, 1000, "/home/agent", "x86_64", "6.1", "00000000000000eb", True, None, True)


class FakeSandbox:
    """A workspace as a dictionary; see sandbox.Sandbox."""

    def __init__(self, engine: FakeEngine, image: ImageInfo) -> None:
        self.image = image
        self.guest = engine.guest
        self.trees: dict[str, dict[str, Content]] = {"workspace": {}, "home": {}, "run": {}}
        self.argv: tuple[str, ...] = ()
        self.env: Mapping[str, str] = {}
        self.cutoff: CutoffRule | None = None
        self.omitted: tuple[Omission, ...] = ()
        self.complete = True
        self.stopped: str | None = None
        self.on_request: OnRequest | None = None
        self.on_event: OnEvent | None = None
        self._engine = engine

    def write(self, path: str, data: bytes, root: Root = "workspace") -> None:
        """Write a file, as the agent does."""
        self.trees[root][path] = (plain_file(path, data), data)

    def read(self, path: str, root: Root = "workspace") -> bytes:
        """Read a file, as the agent does."""
        return self.trees[root][path][1]

    def remove(self, path: str) -> None:
        """Delete a file, as the agent does."""
        del self.trees["workspace"][path]

    def load(
        self, items: Iterable[tuple[TreeItem, BinaryIO | bytes]], root: Root = "workspace", *, sealed: bool = False
    ) -> None:
        self._engine.check("load")
        for item, content in items:
            self.trees[root][item.path] = (item, content if isinstance(content, bytes) else content.read())

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str = "/workspace",
        wall: float = 60.0,
        output_limit: int = 1 << 20,
        cutoff: CutoffRule | None = None,
        stdin: bytes | None = None,
        on_output: OnOutput | None = None,
        on_event: OnEvent | None = None,
        on_request: OnRequest | None = None,
    ) -> RunResult:
        self._engine.check("run")
        self.argv, self.env, self.cutoff = tuple(argv), dict(env or {}), cutoff
        self.on_request, self.on_event = on_request, on_event
        result = self._engine.agent(self) or RunResult(how="exited", code=0)
        if on_output is not None and result.stdout:
            on_output(1, result.stdout)
        if on_event is not None:
            on_event({"t": "exit", "how": result.how})
        return result

    @contextlib.contextmanager
    def open_process(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str = "/workspace",
        wall: float = 600.0,
        output_limit: int = 64 << 20,
    ) -> Iterator[Process]:
        self._engine.check("open_process")
        self.argv, self.env = tuple(argv), dict(env or {})
        yield FakeProcess(self._engine.answer)

    def stop(self, why: str) -> None:
        self.stopped = why

    def close(self) -> None:
        self._engine.check("close")

    def export(self, sink: TreeSink, root: Root = "workspace", caps: Caps | None = None) -> Export:
        self._engine.check("export")
        for item, content in whole_tree(self.trees[root].values()):
            assert isinstance(content, bytes)
            sink.add(item, [content])
        return Export(self.complete, self.omitted)


class FakeProcess:
    """Answers every line by a function; None means that it is gone."""

    def __init__(self, answer: Callable[[bytes], bytes | None]) -> None:
        self._answer = answer

    def ask(self, line: bytes, timeout: float) -> bytes:
        answer = self._answer(line)
        if answer is None:
            raise ProcessGone("it has ended")
        return answer

    def stop(self) -> RunResult:
        return RunResult(how="stopped", code=None)


class FakeEngine:
    """See engine.Engine. `failures` maps an operation (open, load, run, export) to what it raises, once each."""

    def __init__(
        self,
        agent: Callable[[FakeSandbox], RunResult | None] = lambda box: None,
        *,
        answer: Callable[[bytes], bytes | None] = lambda line: None,
        images: Iterable[str] = ("sandbox",),
        failures: Mapping[str, MachineryError] | None = None,
        guest: GuestInfo = GUEST,
    ) -> None:
        self.agent = agent
        self.answer = answer
        self.guest = guest
        self.images = set(images)
        self.failures = dict(failures or {})
        self.opened: list[FakeSandbox] = []
        self.labels: list[Mapping[str, str]] = []
        self.alive = 0

    def check(self, operation: str) -> None:
        """Fail if this operation is to fail."""
        if operation in self.failures:
            raise self.failures.pop(operation)

    @contextlib.contextmanager
    def open(self, image: str, *, limits: Limits, labels: Mapping[str, str] | None = None) -> Iterator[FakeSandbox]:
        info = self.image(image)
        self.check("open")
        sandbox = FakeSandbox(self, info)
        self.opened.append(sandbox)
        self.labels.append(dict(labels or {}))
        self.alive += 1
        try:
            yield sandbox
        finally:
            self.alive -= 1

    def image(self, ref: str) -> ImageInfo:
        names = {known: "sha256:" + hashlib.sha256(known.encode()).hexdigest() for known in self.images}
        name = ref if ref in names.values() else names.get(ref)
        if name is None:
            raise ImageUnfit(f"the engine has no image {ref!r}", hint="Build it.")
        return ImageInfo(ref, name, None, "1000", (), ("agent",), {"PATH": "/usr/bin:/bin"})

    def info(self) -> EngineInfo:
        return EngineInfo(
            "fake://", "tests", "Fake", "1", "1.41", "6.1", "Debian", "x86_64", "v2", "fake", False, True, 2, 1 << 32
        )

    def sweep(self, *, older_than: float | None = None, run: str | None = None) -> list[str]:
        return []
