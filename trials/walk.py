"""Walk the steps of a trial's script: a session, what is carried on, the next one, and the grading."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from ..grader import checkserver
from ..grader.scorecard import Scorecard, Session
from ..sandbox.cutoff import CutoffRule
from ..sandbox.engine import NO_LABELS, Engine
from ..sandbox.gateway.gateway import Gateway
from ..sandbox.images import SANDBOX
from ..sandbox.labels import run_labels
from ..sandbox.limits import Limits
from ..sandbox.sandbox import Sandbox
from ..sandbox.session import AgentSpec, SessionLog, SessionSpec, run_session
from ..sandbox.snapshot import Snapshot
from ..sandbox.store import SnapshotStore
from ..tiers.arms_history import prepare_for_session, prepared
from ..tiers.arms_notes import notes_report
from ..tiers.task import SessionStep
from ..tiers.trialtask import TrialTask
from .ahead import Ahead
from .grading import Cell, Grader, must_fit, subject_limits
from .models import TrialModels
from .plan import Settings, TrialSpec
from .poison_steps import Planting
from .record import StepPaths, TrialPaths
from .sessions import SessionMeta, describe, used, write_meta
from .start import starting_snapshot
from .stored import reuse


class Stopped(Exception):  # control flow: the run was interrupted
    """The run is being interrupted; the trial stays claimed and without a verdict."""


@dataclass(slots=True)
class Progressed:
    """What a trial has come to so far; kept when it fails. Seconds by step and phase."""

    sessions: list[Session] = field(default_factory=list)
    seconds: list[dict[str, object]] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Walk:
    """One attempt at a trial. Once `stopping` is set no sandbox is opened any more."""

    engine: Engine
    store: SnapshotStore
    settings: Settings
    run_id: str
    images: Mapping[str, str]
    stopping: threading.Event
    spec: TrialSpec
    paths: TrialPaths
    done: Progressed
    models: TrialModels | None = None

    def scorecard(self) -> Scorecard:
        """Run every step and grade what is left at the end; MachineryError if there is no verdict."""
        checkserver.warm()
        opener = Ahead(_Unless(self.engine, self.images, self.stopping))
        try:
            with opener:
                return self._steps(opener)
        finally:
            self.done.troubles += opener.troubles

    def _steps(self, opener: Ahead) -> Scorecard:
        spec, labels = self.spec, run_labels(self.run_id, self.spec.name)
        steps = session_steps(spec.task)
        opener.expect(spec.agent_of(1).image, limits=self._limits, labels=labels)
        start = current = starting_snapshot(spec.task, spec.arm, self.store)
        metas: list[SessionMeta] = []
        planting = Planting(self.store, spec, self.paths, labels)
        for step in steps:
            if step is steps[-1]:
                opener.expect(SANDBOX, limits=subject_limits(spec.task), labels=labels)
            else:
                opener.expect(spec.agent_of(step.number + 1).image, limits=self._limits, labels=labels)
            repository = prepare_for_session(spec.arm, spec.task, step.number, len(steps), current.manifest)
            current = prepared(self.store, planting.before(step.number, current, opener), repository)
            meta, current = self.session(step, current, opener)
            metas.append(meta)
        began = time.monotonic()
        scorecard = Grader(opener, self.store, labels).grade(
            Cell.of(spec),
            planting.grading_start(start.manifest, current.manifest),
            current,
            tokens=used(metas, self.settings.declared_tokens),
            sessions=self.done.sessions,
            agent_image=metas[-1].image if metas else None,
            start_sha256=f"sha256:{start.sha256}",
        )
        scorecard = planting.judged(opener, scorecard, current)
        self.done.seconds.append({"step": "grade", "total": time.monotonic() - began})
        return scorecard

    def session(self, step: SessionStep, start: Snapshot, opener: Ahead) -> tuple[SessionMeta, Snapshot]:
        """One session of the script: from an earlier attempt, or run; recorded, with what it left."""
        spec, paths = self.spec, self.paths.step(step.number, "session")
        if (kept := reuse(self.paths, step.number, start, self.store)) is not None:
            self.done.sessions.append(kept[0].session)
            self.done.seconds.append({"step": f"{step.number}-session", "kept": True})
            if self.models is not None:
                self.models.kept(kept[0].usage)
            must_fit(kept[1], self._limits)
            return kept
        session = SessionSpec(
            agent=self._agent(step),
            number=step.number,
            prompt=spec.task.prompt(step.prompt),
            cutoff=_rule(self.settings, spec.task, step),
            limits=self._limits,
        )
        with self._model(session, paths) as model:
            result = run_session(
                opener,
                self.store,
                session,
                start,
                log=SessionLog(output=paths.output, events=paths.events),
                labels=run_labels(self.run_id, spec.name),
                model=model,
            )
        left = result.snapshot
        notes = notes_report(spec.arm, left.manifest, lambda path: self._read(left, path))
        usage = self.models.usage(model, result.run.how) if self.models is not None and model is not None else None
        meta = describe(result, start, notes, usage)
        write_meta(paths, meta)
        self.done.sessions.append(meta.session)
        self.done.seconds.append({"step": f"{step.number}-session", **result.seconds})
        must_fit(left, self._limits)
        return meta, left

    def _agent(self, step: SessionStep) -> AgentSpec:
        agent = self.spec.agent_of(step.number).spec(self.spec.task)
        return agent if self.models is None else replace(agent, env={**agent.env, **self.models.env(step.number)})

    def _model(self, session: SessionSpec, paths: StepPaths) -> AbstractContextManager[Gateway | None]:
        if self.models is None:
            return nullcontext()
        return self.models.session(session.number, paths, session.agent, session.cutoff)

    def _read(self, snapshot: Snapshot, path: str) -> bytes:
        return self.store.read_files(snapshot.sha256, lambda item: item.path == path)[path]

    @property
    def _limits(self) -> Limits:
        limits, wall = self.spec.task.limits, self.settings.wall_seconds
        return limits if wall is None else replace(limits, wall=wall)


@dataclass(frozen=True, slots=True)
class _Unless:
    """Opens sandboxes of the images that the run froze, until it is interrupted."""

    engine: Engine
    images: Mapping[str, str]
    stopping: threading.Event

    def open(
        self, image: str, *, limits: Limits, labels: Mapping[str, str] = NO_LABELS
    ) -> AbstractContextManager[Sandbox]:
        if self.stopping.is_set():
            raise Stopped
        return self.engine.open(self.images.get(image, image), limits=limits, labels=labels)


def session_steps(task: TrialTask) -> Sequence[SessionStep]:
    """The sessions of a task's script."""
    return [step for step in task.steps if isinstance(step, SessionStep)]


def check_script(task: TrialTask, settings: Settings) -> None:
    """InputError for a script that this version cannot run, before anything is paid for."""
    for step in session_steps(task):
        _rule(settings, task, step).for_guest(gateway=settings.model is not None).to_wire()


def _rule(settings: Settings, task: TrialTask, step: SessionStep) -> CutoffRule:
    scripted = task.cutoff(step)
    if settings.cutoff is None or scripted.rule == "none":
        return scripted
    return replace(settings.cutoff, armed=scripted.armed, armed_test=scripted.armed_test)
