"""Walk the steps of one trial and record what happened, step by step."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from ..grader.scorecard import Scorecard, Session, canonical_bytes
from ..sandbox.cutoff import CutoffRule, parse
from ..sandbox.engine import NO_LABELS, Engine
from ..sandbox.errors import FailureClass, InputError, MachineryError
from ..sandbox.images import SANDBOX
from ..sandbox.labels import run_labels
from ..sandbox.limits import Limits
from ..sandbox.sandbox import Sandbox
from ..sandbox.session import SessionLog, SessionSpec, run_session
from ..sandbox.snapshot import Snapshot
from ..sandbox.store import SnapshotStore
from ..tiers.task import SessionStep, Task
from .ahead import Ahead
from .failures import FAILURES
from .grading import SUBJECT_LIMITS, Cell, Grader, failed
from .plan import Settings, TrialSpec
from .record import StepPaths, TrialPaths, attempts_kept, claim, set_aside, write_bytes, write_json
from .sessions import SessionMeta, describe, write_meta
from .signing import Signer
from .start import starting_snapshot

ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class TrialContext:
    """What all trials of a run share. Once `stopping` is set nothing more is opened, tried again or recorded."""

    engine: Engine
    store: SnapshotStore
    settings: Settings
    signer: Signer
    run_id: str
    trials: Path
    stopping: threading.Event = field(default_factory=threading.Event)


class Stopped(Exception):  # control flow: the run was interrupted
    """The run is being interrupted; the trial stays claimed and without a verdict."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended, and how long it took in seconds."""

    name: str
    scorecard: Scorecard
    seconds: float


@dataclass(slots=True)
class _Walk:
    """What a trial has come to so far; kept when it fails."""

    sessions: list[Session] = field(default_factory=list)
    seconds: list[dict[str, object]] = field(default_factory=list)


def run_trial(context: TrialContext, spec: TrialSpec) -> Outcome:
    """Run one trial to its scorecard; every failure becomes a recorded outcome."""
    paths = TrialPaths(context.trials / spec.name)
    started = time.time()
    if paths.claim.exists():
        set_aside(paths)
    while True:
        claim(paths, {"pid": os.getpid(), "run": context.run_id, "trial": spec.name})
        walk = _Walk()
        scorecard = _attempt(context, spec, paths, walk)
        failure = scorecard.failure
        again = failure is not None and FAILURES[FailureClass(failure.kind)].retry
        if not again or attempts_kept(paths) + 1 >= ATTEMPTS:
            break
        set_aside(paths)
    record(paths, scorecard, context.signer)
    timing = {"started": started, "seconds": time.time() - started, "attempts": attempts_kept(paths) + 1}
    write_json(paths.timing, {**timing, "steps": walk.seconds, "engine": asdict(context.engine.info())})
    return Outcome(name=spec.name, scorecard=scorecard, seconds=time.time() - started)


def record(paths: TrialPaths, scorecard: Scorecard, signer: Signer) -> None:
    """Write the scorecard and its signature; the signature first, so that a scorecard is never without one."""
    data = canonical_bytes(scorecard)
    write_bytes(paths.signature, signer.sign(data))
    write_bytes(paths.scorecard, data)


def _attempt(context: TrialContext, spec: TrialSpec, paths: TrialPaths, walk: _Walk) -> Scorecard:
    cell = Cell(spec.task, spec.arm, spec.agent.name, spec.repetition)
    try:
        return _walk(context, spec, cell, paths, walk)
    except (InputError, Stopped):
        raise
    except MachineryError as error:
        if context.stopping.is_set():
            raise Stopped from error
        return failed(cell, error.failure, str(error), walk.sessions)
    except Exception as error:  # noqa: BLE001  # the one boundary that records a trial's failure
        write_bytes(paths.root / "error.log", traceback.format_exc().encode("utf-8", "replace"))
        return failed(cell, FailureClass.INTERNAL, f"{type(error).__name__}: {error}", walk.sessions)


def _walk(context: TrialContext, spec: TrialSpec, cell: Cell, paths: TrialPaths, walk: _Walk) -> Scorecard:
    with Ahead(_Unless(context.engine, context.stopping)) as opener:
        return _steps(context, spec, cell, paths, walk, opener)


@dataclass(frozen=True, slots=True)
class _Unless:
    """Opens sandboxes until the run is interrupted."""

    engine: Engine
    stopping: threading.Event

    def open(
        self, image: str, *, limits: Limits, labels: Mapping[str, str] = NO_LABELS
    ) -> AbstractContextManager[Sandbox]:
        if self.stopping.is_set():
            raise Stopped
        return self.engine.open(image, limits=limits, labels=labels)


def _steps(
    context: TrialContext, spec: TrialSpec, cell: Cell, paths: TrialPaths, walk: _Walk, opener: Ahead
) -> Scorecard:
    labels = run_labels(context.run_id, spec.name)
    limits = _limits(context.settings, spec.task)
    steps = session_steps(spec.task)
    opener.expect(spec.agent.image, limits=limits, labels=labels)
    start = current = starting_snapshot(spec.task, spec.arm, context.store)
    image = None
    for step in steps:
        if step is steps[-1]:
            opener.expect(SANDBOX, limits=SUBJECT_LIMITS, labels=labels)
        else:
            opener.expect(spec.agent.image, limits=limits, labels=labels)
        meta, current = _session(context, spec, step, current, paths.step(step.number, "session"), opener, walk)
        image = meta.image
    began = time.monotonic()
    scorecard = Grader(opener, context.store, labels).grade(
        cell,
        start.manifest,
        current,
        tokens=context.settings.declared_tokens,
        sessions=walk.sessions,
        agent_image=image,
        start_sha256=f"sha256:{start.sha256}",
    )
    walk.seconds.append({"step": "grade", "total": time.monotonic() - began})
    return scorecard


def _session(
    context: TrialContext,
    spec: TrialSpec,
    step: SessionStep,
    start: Snapshot,
    paths: StepPaths,
    opener: Ahead,
    walk: _Walk,
) -> tuple[SessionMeta, Snapshot]:
    result = run_session(
        opener,
        context.store,
        SessionSpec(
            agent=spec.agent.spec(spec.task),
            number=step.number,
            prompt=spec.task.prompt(step.prompt),
            cutoff=_rule(context.settings, step),
            limits=_limits(context.settings, spec.task),
        ),
        start,
        log=SessionLog(output=paths.output, events=paths.events),
        labels=run_labels(context.run_id, spec.name),
    )
    meta = describe(result, start)
    write_meta(paths, meta)
    walk.sessions.append(meta.session)
    walk.seconds.append({"step": f"{step.number}-session", **result.seconds})
    return meta, result.snapshot


def session_steps(task: Task) -> Sequence[SessionStep]:
    """The sessions of a task's script; InputError for a step that this version cannot take."""
    for step in task.steps:
        if not isinstance(step, SessionStep):
            raise InputError(f"{task.id}: the script has a step {step.name!r} that is not a session")
    return [step for step in task.steps if isinstance(step, SessionStep)]


def _rule(settings: Settings, step: SessionStep) -> CutoffRule:
    scripted = parse(step.cutoff, armed=step.armed)
    if settings.cutoff is None or scripted.rule == "none":
        return scripted
    return settings.cutoff


def _limits(settings: Settings, task: Task) -> Limits:
    return task.limits if settings.wall_seconds is None else replace(task.limits, wall=settings.wall_seconds)
