"""What a check is, and the bench it works on."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..caps import Caps
from ..engine import DockerEngine
from ..items import plain_tree
from ..limits import MIB, Limits
from ..sandbox import Export, RunResult, Sandbox
from ..snapshot import Snapshot
from ..store import SnapshotStore
from .backstage import Backstage

CHECK_LABEL: Final = "takeover.check"
LIMITS: Final = Limits(memory=1024 * MIB, workspace=256 * MIB, home=64 * MIB, tmp=64 * MIB, wall=60)
OUTPUT_SHOWN: Final = 300


class NotHeld(Exception):
    """The engine does not do what the check claims; the text is the evidence."""


@dataclass(frozen=True, slots=True)
class Check:
    """One claim about every sandbox. `probe` returns the evidence for it, or raises NotHeld with that against it."""

    name: str
    claim: str
    probe: Callable[[Bench], str]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The outcome of one check; `seconds` is how long it took."""

    name: str
    claim: str
    passed: bool
    evidence: str
    seconds: float


class Bench:
    """Engine, image and a sandbox that harmless checks share; a fresh one for the others."""

    def __init__(self, engine: DockerEngine, image: str, folder: Path) -> None:
        self.engine = engine
        self.backstage = Backstage(engine.client)
        self.image = image
        self.store = SnapshotStore(folder)
        self.token = secrets.token_hex(8)
        self._shared = contextlib.ExitStack()
        self._sandbox: Sandbox | None = None

    @property
    def sandbox(self) -> Sandbox:
        """The shared sandbox; a new one after `drop`."""
        if self._sandbox is None:
            self._sandbox = self._shared.enter_context(self.fresh())
        return self._sandbox

    def drop(self) -> None:
        """Close the shared sandbox; only after a failure is it worth the time."""
        self._sandbox = None
        self._shared.close()

    @contextlib.contextmanager
    def fresh(self, image: str | None = None, limits: Limits = LIMITS) -> Iterator[Sandbox]:
        """A sandbox of its own, with other limits if need be."""
        labels = {CHECK_LABEL: self.token}
        with self.engine.open(image or self.image, limits=limits, labels=labels) as sandbox:
            yield sandbox

    def containers(self) -> set[str]:
        """The ids of the containers that this bench has on the engine."""
        return self.backstage.containers(CHECK_LABEL, self.token)

    def sh(self, script: str, sandbox: Sandbox | None = None, **options: Any) -> RunResult:
        """Run a shell script as the agent."""
        return (sandbox or self.sandbox).run(["sh", "-c", script], **{"wall": 20.0, **options})

    def python(self, code: str, sandbox: Sandbox | None = None, **options: Any) -> Any:
        """Run Python as the agent and return the JSON that it prints."""
        result = (sandbox or self.sandbox).run(["python3", "-c", _PRELUDE + code], **{"wall": 20.0, **options})
        try:
            return json.loads(result.stdout)
        except ValueError:
            raise NotHeld(f"the probe did not answer: {describe(result)}") from None

    def load(self, files: Mapping[str, bytes], sandbox: Sandbox | None = None) -> None:
        """Files into the workspace."""
        (sandbox or self.sandbox).load(plain_tree(files))

    def export(self, sandbox: Sandbox | None = None, caps: Caps | None = None) -> tuple[Snapshot, Export]:
        """The workspace as it is."""
        with self.store.writer(caps) as writer:
            export = (sandbox or self.sandbox).export(writer, caps=caps)
            return writer.finish(complete=export.complete, omitted=export.omitted), export

    def contents(self, snapshot: Snapshot, below: str) -> dict[str, bytes]:
        """The files below a directory of a snapshot."""
        return self.store.read_files(snapshot.sha256, lambda item: item.path.startswith(f"{below}/"), limit=256 * MIB)


# `tried` turns an attempt into the name of the error that it met.
_PRELUDE: Final = """\
import ctypes, errno, json, os, resource, signal, socket, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def tried(attempt, *arguments):
    try:
        return repr(attempt(*arguments))
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno)) if error.errno else type(error).__name__
    except ValueError as error:
        return 'ValueError'
def syscall(*arguments):
    done = libc.syscall(*arguments)
    return "allowed" if done >= 0 else errno.errorcode[ctypes.get_errno()]
def say(value):
    print(json.dumps(value))
"""


def require(held: object, evidence: str) -> str:
    """The evidence, if the claim is held."""
    if not held:
        raise NotHeld(evidence)
    return evidence


def describe(result: RunResult) -> str:
    """A result in one line, for evidence."""
    ended = f"status {result.code}" if result.code is not None else f"signal {result.signal}"
    printed = (result.stdout + result.stderr)[-OUTPUT_SHOWN:].decode("utf-8", "backslashreplace").strip()
    return f"{result.how}, {ended}" + (f": {printed}" if printed else "")
