"""A session that was recorded and whose trial was not finished: paid for once, used again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..sandbox.errors import InputError, StorageError
from ..sandbox.snapshot import Omission, Snapshot
from ..sandbox.store import SnapshotStore
from .record import StepPaths, TrialPaths, give_name, write_bytes
from .sessions import SessionMeta, read_meta, write_meta

_ENDED = ("cutoff", "exited", "wall")


def reuse(trial: TrialPaths, number: int, start: Snapshot, store: SnapshotStore) -> tuple[SessionMeta, Snapshot] | None:
    """The record and the snapshot of session `number` from an earlier attempt at this trial, None if there is none.

    An attempt lies in the run's folder, so task, arm, agent, image and rule are those of the run's identity; the
    session must have begun with the same snapshot, and what it left must be whole. Its files are copied to the trial.
    """
    for attempt in attempts(trial):
        step = attempt.step(number, "session")
        try:
            meta = read_meta(step)
            snapshot = _snapshot(meta, store)
        except (InputError, StorageError):
            continue
        if meta.start == f"sha256:{start.sha256}" and meta.session.exit in _ENDED:
            _copy(step, trial.step(number, "session"), meta)
            return meta, snapshot
    return None


def attempts(trial: TrialPaths) -> Iterator[TrialPaths]:
    """The attempts that were set aside, the latest first."""
    pattern = re.compile(re.escape(trial.root.name) + r"\.attempt-([1-9][0-9]*)")
    found: list[tuple[int, Path]] = []
    for path in trial.root.parent.iterdir():
        if match := pattern.fullmatch(path.name):
            found.append((int(match[1]), path))
    for _, path in sorted(found, reverse=True):
        yield TrialPaths(path)


def _snapshot(meta: SessionMeta, store: SnapshotStore) -> Snapshot:
    sha256 = meta.session.snapshot.removeprefix("sha256:")
    omitted = tuple(Omission(path, why) for path, why in meta.omitted)
    return Snapshot(sha256, store.manifest(sha256), meta.session.complete, omitted)


def _copy(old: StepPaths, new: StepPaths, meta: SessionMeta) -> None:
    for source, target in ((old.output, new.output), (old.events, new.events)):
        if source.is_file():
            write_bytes(target, source.read_bytes())
    for source, target in ((old.transcript, new.transcript), (old.calls, new.calls)):
        if source.is_file():
            # A second name and no second file: what it cost is counted once, and a transcript may be large.
            give_name(source, target)
    write_meta(new, meta)
