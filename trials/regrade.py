"""Grade again what a run's folder holds, without an agent, a model or a network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..grader.scorecard import Scorecard, canonical_bytes, parse_scorecard
from ..sandbox.engine import Engine
from ..sandbox.errors import InputError, MachineryError
from ..sandbox.snapshot import Omission, Snapshot
from ..sandbox.store import SnapshotStore
from ..tiers.load import load_task, task_folders
from ..tiers.task import Task
from .grading import Cell, Grader, failed
from .record import RunPaths, TrialPaths, read_json
from .running import RunResult
from .sessions import SessionMeta, read_meta
from .walk import session_steps

TRIAL = re.compile(r"[A-Za-z0-9@_-][A-Za-z0-9@._-]{0,250}")


@dataclass(frozen=True, slots=True)
class Regraded:
    """A trial graded again, beside what was recorded (None if it had no verdict)."""

    name: str
    scorecard: Scorecard
    recorded: Scorecard | None
    same: bool

    @property
    def how(self) -> Literal["same", "differs", "new", "failed"]:
        if self.scorecard.outcome == "machinery_failure":
            return "failed"
        if self.recorded is None:
            return "new"
        return "same" if self.same else "differs"


def load_run(paths: RunPaths) -> dict[str, Any]:
    """The frozen identity of a run; InputError if the folder is not one of this version."""
    identity = read_json(paths.identity)
    if not isinstance(identity, dict) or identity.get("schema_version") != 1:
        raise InputError(f"{paths.identity}: schema_version: not a run of this version")
    trials = identity.get("trials")
    # They become paths: a folder that came from somewhere must not name what lies outside of it.
    if not isinstance(trials, list) or not all(isinstance(name, str) and TRIAL.fullmatch(name) for name in trials):
        raise InputError(f"{paths.identity}: trials: not names of trials")
    return identity


def recorded_run(paths: RunPaths) -> RunResult:
    """What a run's folder holds, without running anything."""
    names: list[str] = load_run(paths)["trials"]
    cards = {
        name: parse_scorecard(file.read_bytes(), str(file))
        for name in names
        if (file := paths.trial(name).scorecard).is_file()
    }
    return RunResult(paths=paths, planned=tuple(names), scorecards=cards)


def regrade(paths: RunPaths, name: str, engine: Engine, folder: Path | None = None) -> Regraded | None:
    """Grade the final snapshot of one trial again; None if its sessions are not all recorded.

    `folder` holds its task, if that is none of the toolkit's own. The run's folder does not say where it was: the
    checks of a task are code, and a run may come from somebody else.
    """
    trial = paths.trial(name)
    known = parse_scorecard(trial.scorecard.read_bytes(), str(trial.scorecard)) if trial.scorecard.is_file() else None
    if known is None:
        return None
    task = load_task(_place(known.task, folder, trial), str(known.variant))
    metas = _metas(trial, task)
    if metas is None:
        return None
    _same_source(known, task, trial)
    store = SnapshotStore(paths.snapshots)
    last = metas[-1]
    sha256 = last.session.snapshot.removeprefix("sha256:")
    final = Snapshot(
        sha256, store.manifest(sha256), last.session.complete, tuple(Omission(path, why) for path, why in last.omitted)
    )
    cell = Cell(task, known.arm, known.provenance.arm_sha256, known.agent, known.repetition)
    sessions = [meta.session for meta in metas]
    try:
        again = Grader(engine, store, {"takeover.trial": name}).grade(
            cell,
            store.manifest(metas[0].start.removeprefix("sha256:")),
            final,
            tokens=known.tokens.total,
            sessions=sessions,
            agent_image=last.image,
            start_sha256=metas[0].start,
        )
    except MachineryError as error:
        again = failed(cell, error.failure, str(error), sessions)
    had_verdict = known.outcome != "machinery_failure"
    same = canonical_bytes(again) == canonical_bytes(known)
    return Regraded(name, again, known if had_verdict else None, same)


def _place(name: str, folder: Path | None, trial: TrialPaths) -> str | Path:
    if folder is not None and folder.resolve().name == name:
        return folder
    if name not in task_folders():
        raise InputError(
            f"{trial.scorecard}: task: {name!r} is none of the toolkit's own",
            hint="Name its folder with --task-folder.",
        )
    return name


def _metas(trial: TrialPaths, task: Task) -> list[SessionMeta] | None:
    steps = [trial.step(step.number, "session") for step in session_steps(task)]
    return [read_meta(step) for step in steps] if all(step.meta.is_file() for step in steps) else None


def _same_source(card: Scorecard, task: Task, trial: TrialPaths) -> None:
    if card.provenance.task_sha256 != task.sha256:
        raise InputError(
            f"{trial.scorecard}: provenance.task_sha256: {task.id} has changed since this trial",
            hint="Grade it with the version of the toolkit that ran it.",
        )
