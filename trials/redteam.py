"""The red team: one agent, one session 1, and then a fork of its workspace for every poison and every benign twin.

    <run>/redteam.json  redteam.svg            what came out
    <run>/trials/<trial>.start/1-session/      session 1, once for all
    <run>/trials/<trial>.<pill>/2-poison/record.json  2-session/  scorecard.json  scorecard.json.sig

Forks are paired: whatever session 1 happened to leave is the same for all of them, for the clean one too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

from .. import __version__
from ..grader.scorecard import Scorecard, Session, parse_scorecard
from ..poison.detect import grading_start, unjudged
from ..poison.model import Pill
from ..poison.plant import Planted, limits_for, plant
from ..poison.record import record_bytes
from ..sandbox.engine import Engine
from ..sandbox.errors import InputError, MachineryError
from ..sandbox.guest_bundle import guest_sha256
from ..sandbox.images import SANDBOX
from ..sandbox.labels import run_labels
from ..sandbox.limits import Limits
from ..sandbox.session import SessionLog, SessionSpec, run_session
from ..sandbox.snapshot import Omission, Snapshot
from ..sandbox.store import SnapshotStore
from ..tiers.arms_history import prepare_for_session, prepared
from ..tiers.arms_notes import notes_report
from ..tiers.task import SessionStep
from .ahead import Ahead
from .executor import LocalExecutor
from .grading import Cell, Grader, failed
from .plan import TrialSpec, differences
from .record import RunPaths, TrialPaths, locked, read_json, write_bytes, write_json
from .redteam_judge import verdicts_of, verdicts_on, with_verdicts
from .redteam_rates import CaseResult, GridResult
from .sessions import describe, read_meta, write_meta
from .signing import Signer
from .start import starting_snapshot
from .trial import record
from .walk import Stopped, session_steps

CLEAN = "clean"
Report = Callable[[CaseResult], None]


@dataclass(frozen=True, slots=True)
class RedTeam:
    """What all cases of a red-team run share. `wall` overrides the task's own, in seconds.

    Once `stopping` is set no case is begun and none is recorded any more.
    """

    engine: Engine
    store: SnapshotStore
    paths: RunPaths
    spec: TrialSpec
    signer: Signer
    wall: float | None = None
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def limits(self) -> Limits:
        """Of every session."""
        limits = self.spec.task.limits
        return limits if self.wall is None else replace(limits, wall=self.wall)


def run_grid(
    team: RedTeam, pills: Sequence[Pill], *, twins: bool = True, parallel: int = 2, report: Report | None = None
) -> GridResult:
    """Run what the folder does not hold yet; InputError if it holds another run or the script has no second session."""
    spec = team.spec
    if len(session_steps(spec.task)) < 2:
        raise InputError(f"{spec.task.id}: nobody takes over in it, so nothing can be planted")
    cases: list[Pill | None] = [None, *pills, *([pill.benign() for pill in pills] if twins else [])]
    found: list[CaseResult] = []
    with locked(team.paths):
        _freeze(team, pills, twins)
        start = starting_snapshot(spec.task, spec.arm, team.store)
        forked = _first_session(team, start)
        executor = LocalExecutor(parallel, abort=lambda: _abort(team))
        for case in _cases(executor, team, cases, start, forked):
            found.append(case)
            if report is not None:
                report(case)
    order = {name_of(pill): number for number, pill in enumerate(cases)}
    found.sort(key=lambda case: order[case.name])
    return GridResult(spec.agent.name, spec.task.id, spec.task.variant, spec.arm.name, found, len(cases))


def _cases(
    executor: LocalExecutor, team: RedTeam, cases: Sequence[Pill | None], start: Snapshot, forked: Snapshot
) -> Generator[CaseResult, None, None]:
    return executor.run(cases, lambda pill: _case(team, pill, start, forked))


def _abort(team: RedTeam) -> None:
    team.stopping.set()
    team.engine.sweep(run=team.paths.root.name)


def name_of(pill: Pill | None) -> str:
    """The name of a case."""
    return CLEAN if pill is None else pill.name


def _freeze(team: RedTeam, pills: Sequence[Pill], twins: bool) -> None:
    spec = team.spec
    images = {name: team.engine.image(name).id for name in sorted({SANDBOX, spec.agent.image})}
    identity: dict[str, object] = {
        "schema_version": 1,
        "kind": "redteam",
        "toolkit": __version__,
        "guest_sha256": guest_sha256(),
        "trial": spec.name,
        "task_sha256": spec.task.sha256,
        "arm_sha256": spec.arm.sha256,
        "agent_sha256": spec.agent.sha256,
        "images": images,
        "pills": [pill.name for pill in pills],
        "twins": twins,
        "wall_seconds": team.wall,
    }
    if not team.paths.identity.exists():
        write_json(team.paths.identity, identity)
        write_bytes(team.paths.public_key, team.signer.public_pem)
    elif changed := differences(read_json(team.paths.identity), identity):
        raise InputError(
            f"{team.paths.identity}: the run was frozen with other {', '.join(changed)}", hint="Use a new --run-id."
        )


def _first_session(team: RedTeam, start: Snapshot) -> Snapshot:
    """What session 1 left: from the folder, or from the session itself."""
    trial = TrialPaths(team.paths.trials / f"{team.spec.name}.start")
    meta = trial.step(1, "session").meta
    if meta.is_file():
        kept = read_meta(trial.step(1, "session"))
        sha256 = kept.session.snapshot.removeprefix("sha256:")
        omitted = tuple(Omission(path, why) for path, why in kept.omitted)
        return Snapshot(sha256, team.store.manifest(sha256), kept.session.complete, omitted)
    with Ahead(team.engine) as opener:
        _, left = _session(team, opener, trial, session_steps(team.spec.task)[0], start)
    return left


def _case(team: RedTeam, pill: Pill | None, start: Snapshot, forked: Snapshot) -> CaseResult:
    """One fork, from planting to scorecard; a failure of the machinery is a result of its own."""
    trial = TrialPaths(team.paths.trials / f"{team.spec.name}.{name_of(pill)}")
    if trial.scorecard.is_file():
        return _result(pill, parse_scorecard(trial.scorecard.read_bytes(), str(trial.scorecard)), trial)
    try:
        if team.stopping.is_set():
            raise Stopped
        with Ahead(team.engine) as opener:
            card = _walk(team, opener, trial, pill, start, forked)
    except _Refused as refusal:
        verdicts = unjudged(refusal.pill, "refused", str(refusal))
        return CaseResult(name_of(pill), refusal.pill.name, refusal.pill.twin, tuple(verdicts), problem=str(refusal))
    except MachineryError as error:
        if team.stopping.is_set():
            raise Stopped from error
        card = failed(Cell.of(team.spec), error.failure, str(error))
        if pill is not None:
            card = with_verdicts(card, unjudged(pill, "error", str(error)))
    record(trial, card, team.signer)
    return _result(pill, card, trial)


class _Refused(Exception):  # control flow: nothing was planted, so nobody is sent on
    def __init__(self, pill: Pill, reason: str) -> None:
        super().__init__(reason)
        self.pill = pill


def _walk(
    team: RedTeam, opener: Ahead, trial: TrialPaths, pill: Pill | None, start: Snapshot, forked: Snapshot
) -> Scorecard:
    spec, labels = team.spec, run_labels(team.paths.root.name, trial.root.name)
    steps = session_steps(spec.task)[1:]
    opener.expect(spec.agent.image, limits=team.limits, labels=labels)
    planted = None if pill is None else _planted(team, opener, trial, pill, forked)
    current = forked if planted is None else planted.snapshot
    sessions: list[Session] = []
    for step in steps:
        session, current = _session(team, opener, trial, step, current)
        sessions.append(session)
    before = start.manifest
    if planted is not None:
        before = grading_start(start.manifest, planted.snapshot.manifest, current.manifest)
    card = Grader(opener, team.store, labels).grade(
        Cell.of(spec), before, current, tokens=None, sessions=sessions, start_sha256=f"sha256:{start.sha256}"
    )
    if planted is None:
        return card
    logs = [trial.step(step.number, "session") for step in steps]
    return with_verdicts(card, verdicts_on(opener, team.store, spec.task, planted, current, card, logs, labels=labels))


def _planted(team: RedTeam, opener: Ahead, trial: TrialPaths, pill: Pill, forked: Snapshot) -> Planted:
    labels = run_labels(team.paths.root.name, trial.root.name)
    # It starts while the edits are worked out.
    opener.expect(SANDBOX, limits=limits_for(team.spec.task), labels=labels)
    planted = plant(opener, team.store, forked, pill, team.spec.task, labels)
    write_bytes(trial.step(2, "poison").root / "record.json", record_bytes(planted.record))
    if planted.record.refused is not None:
        raise _Refused(pill, planted.record.refused)
    return planted


def _session(
    team: RedTeam, opener: Ahead, trial: TrialPaths, step: SessionStep, start: Snapshot
) -> tuple[Session, Snapshot]:
    spec, paths = team.spec, trial.step(step.number, "session")
    steps = session_steps(spec.task)
    repository = prepare_for_session(spec.arm, spec.task, step.number, len(steps), start.manifest)
    start = prepared(team.store, start, repository)
    result = run_session(
        opener,
        team.store,
        SessionSpec(
            agent=spec.agent.spec(spec.task),
            number=step.number,
            prompt=spec.task.prompt(step.prompt),
            cutoff=spec.task.cutoff(step),
            limits=team.limits,
        ),
        start,
        log=SessionLog(output=paths.output, events=paths.events),
        labels=run_labels(team.paths.root.name, trial.root.name),
    )
    left = result.snapshot
    notes = notes_report(
        spec.arm, left.manifest, lambda path: team.store.read_files(left.sha256, lambda item: item.path == path)[path]
    )
    meta = describe(result, start, notes)
    write_meta(paths, meta)
    return meta.session, left


def _result(pill: Pill | None, card: Scorecard, trial: TrialPaths) -> CaseResult:
    verdict = card.retention
    raw = None if verdict is None else (verdict.raw.passed, verdict.raw.total)
    return CaseResult(
        name=name_of(pill),
        pill=None if pill is None else pill.name,
        twin=pill is not None and pill.twin,
        verdicts=tuple(verdicts_of(card, str(trial.scorecard))),
        done=None if raw is None else raw[0] == raw[1],
        raw=raw,
        problem="" if card.failure is None else card.failure.message,
    )
