"""Grade again what a run's folder holds, without an agent, a model or a network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..grader.scorecard import Scorecard, canonical_bytes, parse_scorecard
from ..repos.load import repo_folders
from ..sandbox.engine import Engine
from ..sandbox.errors import InputError, MachineryError
from ..sandbox.snapshot import Omission, Snapshot
from ..sandbox.store import SnapshotStore
from ..tiers.load import task_folders
from ..tiers.trialtask import TrialTask
from .grading import Cell, Grader, failed
from .identity import read_identity
from .poison_steps import recorded, refused_again
from .record import RunPaths, TrialPaths
from .running import RunResult
from .sessions import SessionMeta, read_meta, used
from .tasks import load_any
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


def recorded_run(paths: RunPaths) -> RunResult:
    """What a run's folder holds, without running anything."""
    names = read_identity(paths.identity).trials
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
    task = load_any(_place(known.task, folder, trial), str(known.variant))
    store = SnapshotStore(paths.snapshots)
    cell = Cell(task, known.arm, known.provenance.arm_sha256, known.agent, known.repetition)
    dose = recorded(trial, store)
    if dose is not None and known.outcome == "refused":
        _same_source(known, task, trial)
        again = refused_again(trial, dose, cell)
        return Regraded(name, again, known, _same(again, known))
    metas = _metas(trial, task)
    if metas is None or (dose is None and known.poison):
        return None
    _same_source(known, task, trial)
    last = metas[-1]
    sha256 = last.session.snapshot.removeprefix("sha256:")
    final = Snapshot(
        sha256, store.manifest(sha256), last.session.complete, tuple(Omission(path, why) for path, why in last.omitted)
    )
    sessions = [meta.session for meta in metas]
    try:
        labels = {"takeover.trial": name}
        start = store.manifest(metas[0].start.removeprefix("sha256:"))
        again = Grader(engine, store, labels).grade(
            cell,
            start if dose is None else dose.grading_start(start, final.manifest),
            final,
            tokens=used(metas, _declared(paths)),
            sessions=sessions,
            agent_image=last.image,
            start_sha256=metas[0].start,
        )
        again = again if dose is None else dose.judged(engine, store, task, final, again, trial, labels)
    except MachineryError as error:
        again = failed(cell, error.failure, str(error), sessions)
    had_verdict = known.outcome != "machinery_failure"
    return Regraded(name, again, known if had_verdict else None, _same(again, known))


def _same(again: Scorecard, known: Scorecard) -> bool:
    """Whether a verdict came out as recorded, by whichever version of the toolkit."""
    made = {name: getattr(known.provenance, name) for name in ("toolkit", "toolkit_sha256", "guest_sha256")}
    provenance = again.provenance.model_copy(update=made)
    return canonical_bytes(again.model_copy(update={"provenance": provenance})) == canonical_bytes(known)


def _declared(paths: RunPaths) -> int | None:
    """The tokens that a trial took, as whoever started the run declared them."""
    return read_identity(paths.identity).settings.declared_tokens


def _place(name: str, folder: Path | None, trial: TrialPaths) -> str | Path:
    if folder is not None and folder.resolve().name == name:
        return folder
    if name not in task_folders() and name not in repo_folders():
        raise InputError(
            f"{trial.scorecard}: task: {name!r} is none of the toolkit's own",
            hint="Name its folder with --task-folder.",
        )
    return name


def _metas(trial: TrialPaths, task: TrialTask) -> list[SessionMeta] | None:
    steps = [trial.step(step.number, "session") for step in session_steps(task)]
    return [read_meta(step) for step in steps] if all(step.meta.is_file() for step in steps) else None


def _same_source(card: Scorecard, task: TrialTask, trial: TrialPaths) -> None:
    if card.provenance.task_sha256 != task.sha256:
        raise InputError(
            f"{trial.scorecard}: provenance.task_sha256: {task.id} has changed since this trial",
            hint="Grade it with the version of the toolkit that ran it.",
        )
