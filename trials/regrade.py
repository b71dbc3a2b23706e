"""Grade again what a run's folder holds, without an agent, a model or a network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from ..grader.scorecard import Scorecard, canonical_bytes, parse_scorecard
from ..sandbox.engine import Engine
from ..sandbox.errors import InputError, MachineryError
from ..sandbox.snapshot import Omission, Snapshot
from ..sandbox.store import SnapshotStore
from ..tiers.load import load_task
from ..tiers.task import Task
from .grading import Cell, Grader, failed
from .record import RunPaths, TrialPaths, read_json
from .running import RunResult
from .sessions import SessionMeta, read_meta
from .walk import session_steps


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
    return identity


def recorded_run(paths: RunPaths) -> RunResult:
    """What a run's folder holds, without running anything."""
    names = [str(name) for name in cast("list[Any]", load_run(paths).get("trials", []))]
    cards = {
        name: parse_scorecard(file.read_bytes(), str(file))
        for name in names
        if (file := paths.trial(name).scorecard).is_file()
    }
    return RunResult(paths=paths, planned=tuple(names), scorecards=cards)


def regrade(paths: RunPaths, name: str, engine: Engine) -> Regraded | None:
    """Grade the final snapshot of one trial again; None if its sessions are not all recorded."""
    trial = paths.trial(name)
    known = parse_scorecard(trial.scorecard.read_bytes(), str(trial.scorecard)) if trial.scorecard.is_file() else None
    if known is None:
        return None
    place = load_run(paths).get("places", {}).get(known.task)
    task = load_task(Path(place) if place else known.task, str(known.variant))
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


def _metas(trial: TrialPaths, task: Task) -> list[SessionMeta] | None:
    steps = [trial.step(step.number, "session") for step in session_steps(task)]
    return [read_meta(step) for step in steps] if all(step.meta.is_file() for step in steps) else None


def _same_source(card: Scorecard, task: Task, trial: TrialPaths) -> None:
    if card.provenance.task_sha256 != task.sha256:
        raise InputError(
            f"{trial.scorecard}: provenance.task_sha256: {task.id} has changed since this trial",
            hint="Grade it with the version of the toolkit that ran it.",
        )
