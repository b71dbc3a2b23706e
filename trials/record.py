"""The run's folder: where everything is, and how it is written.

Files appear whole or not at all (temporary file, fsync, rename, fsync of the folder);
a run that is killed keeps all that it had written.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..sandbox.errors import InputError, StorageError

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class TrialPaths:
    """
    <task>.<arm>.<agent>.<n>/
      claim.json                 made with O_EXCL before anything is paid for
      1-session/                 one folder per step of the script, numbered from 1
        output.log               what the agent printed, bounded
        events.jsonl             edits and other events as the guest saw them
        transcript.json          what was said to the model and by it, ATIF; calls.jsonl has a line for each call
        meta.json                how the session ended, snapshot before and after
      2-poison/record.json       what was planted before session 2, where something was
      scorecard.json             the verdict; nothing in it varies between two gradings of the same snapshot
      scorecard.json.sig         DSSE envelope over its exact bytes
      timing.json                everything that does vary: times, host, engine
    """

    root: Path

    @property
    def claim(self) -> Path:
        return self.root / "claim.json"

    @property
    def scorecard(self) -> Path:
        return self.root / "scorecard.json"

    @property
    def signature(self) -> Path:
        return self.root / "scorecard.json.sig"

    @property
    def timing(self) -> Path:
        return self.root / "timing.json"

    def step(self, number: int, kind: str) -> StepPaths:
        return StepPaths(self.root / f"{number}-{kind}")


@dataclass(frozen=True, slots=True)
class StepPaths:
    """The folder of one step; see TrialPaths."""

    root: Path

    @property
    def output(self) -> Path:
        return self.root / "output.log"

    @property
    def events(self) -> Path:
        return self.root / "events.jsonl"

    @property
    def transcript(self) -> Path:
        return self.root / "transcript.json"

    @property
    def calls(self) -> Path:
        return self.root / "calls.jsonl"

    @property
    def meta(self) -> Path:
        return self.root / "meta.json"


@dataclass(frozen=True, slots=True)
class RunPaths:
    """
    runs/<run-id>/
      run.json                   frozen identity: what was run, hashed; written once
      lock                       held (flock) while a process works on the run
      engines.json               the container engines that worked on the run, in order
      signing.pub                the public half of the key that signed the scorecards
      snapshots/<sha256>.tar.zst
      trials/<task>.<arm>.<agent>.<n>/        see TrialPaths
      trials/<...>.attempt-<k>/               an attempt that did not finish, kept
      summary.json  summary.md  report.html  junit.xml  results.sarif
    """

    root: Path

    @property
    def identity(self) -> Path:
        return self.root / "run.json"

    @property
    def engines(self) -> Path:
        return self.root / "engines.json"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def public_key(self) -> Path:
        return self.root / "signing.pub"

    @property
    def snapshots(self) -> Path:
        return self.root / "snapshots"

    @property
    def trials(self) -> Path:
        return self.root / "trials"

    def trial(self, name: str) -> TrialPaths:
        return TrialPaths(self.trials / name)

    def export(self, name: str) -> Path:
        return self.root / name


def run_paths(runs: Path, run_id: str) -> RunPaths:
    """The folder of a run; InputError if the id is not a plain name."""
    if not RUN_ID.fullmatch(run_id):
        raise InputError(f"--run-id {run_id!r}: use letters, digits, '.', '_' and '-', at most 100")
    return RunPaths(runs / run_id)


def new_run_id() -> str:
    """A fresh id: UTC time to the second and four random hex digits."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; StorageError when the disk does not take it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise _no_room(path, error) from error


def give_name(path: Path, name: Path) -> None:
    """Give a file a second name; StorageError when that cannot be."""
    try:
        name.parent.mkdir(parents=True, exist_ok=True)
        name.hardlink_to(path)
    except OSError as error:
        raise _no_room(name, error) from error


def write_json(path: Path, value: object) -> None:
    """Write sorted, indented JSON whole or not at all."""
    write_bytes(path, (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True) + "\n").encode())


def read_json(path: Path) -> object:
    """Read JSON that this toolkit wrote; InputError with file and line if it is not."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


@contextlib.contextmanager
def locked(paths: RunPaths) -> Iterator[None]:
    """Hold the run for this process; InputError if another one works on it."""
    try:
        paths.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StorageError(f"{paths.root}: {error.strerror}", hint="Choose a writable --runs folder.") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{paths.root}: another process works on this run", hint="Wait for it, or use a new --run-id."
            ) from None
        yield
    finally:
        os.close(descriptor)


def claim(paths: TrialPaths, owner: dict[str, object]) -> bool:
    """Claim a trial; False if it was claimed before."""
    try:
        paths.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(paths.claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        return False
    except OSError as error:
        raise _no_room(paths.root, error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write((json.dumps(owner, sort_keys=True) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with contextlib.suppress(OSError):
            paths.claim.unlink()
        raise _no_room(paths.claim, error) from error
    return True


def set_aside(paths: TrialPaths) -> Path:
    """Keep an unfinished attempt under the next free `.attempt-<k>` and make room for a new one."""
    number = 1
    while (kept := paths.root.with_name(f"{paths.root.name}.attempt-{number}")).exists():
        number += 1
    try:
        paths.root.rename(kept)
        _sync_folder(kept.parent)
    except OSError as error:
        raise _no_room(paths.root, error) from error
    return kept


def attempts_kept(paths: TrialPaths) -> int:
    """How many attempts at this trial were set aside."""
    return sum(1 for _ in paths.root.parent.glob(f"{paths.root.name}.attempt-*"))


def _no_room(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: {error.strerror or error}", hint="Free some space or choose another --runs.")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
