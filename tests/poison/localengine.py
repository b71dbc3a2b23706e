"""Sandboxes that are folders of this machine: for our own scripted agents and programs, never for anything else.

They stand in for containers where a test needs many trials. Session 1 of a scripted agent is cut off at its first
source edit by the agent's own process, as a sandbox would end it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from fakes import GUEST

from takeover.sandbox.caps import Caps
from takeover.sandbox.engine import EngineInfo
from takeover.sandbox.guest.files import Caps as WalkCaps
from takeover.sandbox.guest.files import Exporter
from takeover.sandbox.sandbox import CutoffReport, Export, ImageInfo, ProcessGone, RunResult
from takeover.sandbox.snapshot import Omission
from takeover.sandbox.tree import TreeItem, encode_path
from takeover.sandbox.treewire import unpack_tree

CUT = """\
import os, sys
sys.path.insert(0, sys.argv[1])
import agent, workshop
write = workshop.Workshop.write
def cut(shop, name, text):
    write(shop, name, text)
    if shop.session == 1 and name.endswith(".py"):
        os._exit(99)
workshop.Workshop.write = cut
agent.__file__ = os.path.join(sys.argv[1], "agent.py")
sys.exit(agent.main(["agent.py", sys.argv[2]]))
"""


class LocalSandbox:
    """One folder for each root; see sandbox.Sandbox."""

    def __init__(self, base: Path, image: ImageInfo) -> None:
        self.image, self.guest = image, GUEST
        self.roots = {name: base / name for name in ("workspace", "home", "run", "tmp")}
        for root in self.roots.values():
            root.mkdir()

    def load(self, items: Iterable[tuple[TreeItem, BinaryIO | bytes]], root: str = "workspace", **_: Any) -> None:
        for item, content in items:
            target = self.roots[root] / os.fsdecode(encode_path(item.path))
            if item.kind == "d":
                target.mkdir(exist_ok=True)
            elif item.kind == "l":
                target.symlink_to(os.fsdecode(encode_path(item.target or "")))
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content if isinstance(content, bytes) else content.read())
                target.chmod(item.mode)

    def _here(self, argv: Sequence[str]) -> list[str]:
        places = {"/workspace": "workspace", "/takeover-home": "home", "/run/takeover": "run"}
        out = list(argv)
        for place, name in places.items():
            # A program's own text stays as it is: it finds its root in the environment.
            out = [one if "\n" in one else one.replace(place, str(self.roots[name])) for one in out]
        return [sys.executable if out[0] == "python3" else out[0], *out[1:]]

    def _environment(self, env: Mapping[str, str]) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.roots["home"]),
            "TMPDIR": str(self.roots["tmp"]),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "TAKEOVER_ROOT": str(self.roots["workspace"]),
            **{name: value.replace("/run/takeover", str(self.roots["run"])) for name, value in env.items()},
        }

    def run(self, argv: Sequence[str], *, env: Mapping[str, str], cutoff: Any = None, **given: Any) -> RunResult:
        # The obeyer would do it, and nothing here keeps it from doing so.
        assert not any(
            b"/etc/build-" in path.read_bytes() for path in self.roots["workspace"].rglob("*.*") if path.is_file()
        )
        command = self._here(argv)
        cut = cutoff is not None and cutoff.rule == "first-edit"
        if cut:
            command = [sys.executable, "-B", "-c", CUT, str(self.roots["home"] / "agent"), command[-1]]
        done = subprocess.run(
            command, cwd=self.roots["workspace"], env=self._environment(env), capture_output=True, check=False
        )
        given["on_output"](1, done.stdout + done.stderr)
        given["on_event"]({"t": "exit", "how": "exited"})
        if cut and done.returncode == 99:
            report = CutoffReport("first-edit", None, "x.py", "write", True)
            return RunResult("cutoff", None, cutoff=report)
        return RunResult("exited", done.returncode, stdout=done.stdout)

    @contextlib.contextmanager
    def open_process(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, **_: Any) -> Iterator[Any]:
        process = subprocess.Popen(
            self._here(argv), env=self._environment(env or {}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
        )
        try:
            yield _Process(process)
        finally:
            process.kill()
            process.communicate()

    def export(self, sink: Any, root: str = "workspace", caps: Caps | None = None) -> Export:
        caps = caps or Caps()
        walk = Exporter(str(self.roots[root]), WalkCaps(caps.max_files, caps.max_bytes, caps.max_depth, caps.max_path))
        for item, chunks in unpack_tree(walk.frames(), caps):
            sink.add(item, chunks)
        return Export(walk.complete, tuple(Omission(path, reason) for path, reason in walk.omitted))


class _Process:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def ask(self, line: bytes, timeout: float) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ProcessGone("it has ended") from None
        answer = self._process.stdout.readline()
        if not answer:
            raise ProcessGone("it has ended")
        return answer.rstrip(b"\n")


class LocalEngine:
    """See engine.Engine."""

    def __init__(self) -> None:
        self.opened = 0

    @contextlib.contextmanager
    def open(self, image: str, *, limits: Any, labels: Mapping[str, str] | None = None) -> Iterator[LocalSandbox]:
        self.opened += 1
        with tempfile.TemporaryDirectory(prefix="takeover-local-", ignore_cleanup_errors=True) as base:
            yield LocalSandbox(Path(base), self.image(image))

    def image(self, ref: str) -> ImageInfo:
        return ImageInfo(ref, "sha256:" + "0" * 64, None, "1000", (), ("agent",), {})

    def info(self) -> EngineInfo:
        return EngineInfo(
            "local://", "tests", "Local", "1", "1.41", "6.1", "here", "x86_64", "v2", "none", False, True, 2, 1 << 32
        )

    def sweep(self, *, older_than: float | None = None, run: str | None = None) -> list[str]:
        return []
