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
from ..grader.scorecard import Scorecard, parse_scorecard
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
from ..sandbox.snapshot import Omission, Snapshot
from ..sandbox.store import SnapshotStore
from ..tiers.arms_history import prepare_for_session, prepared
from ..tiers.task import SessionStep, Task
from .ahead import Ahead
from .executor import LocalExecutor
from .grading import Cell, Grader, failed
from .models import Models
from .plan import Settings, TrialSpec, differences
from .poison_steps import transcripts_of
from .record import RunPaths, TrialPaths, locked, read_json, write_bytes, write_json
from .redteam_judge import verdicts_of, verdicts_on, with_verdicts
from .redteam_rates import CaseResult, GridResult, case_of
from .sessions import SessionMeta, read_meta, used
from .signing import Signer
from .start import starting_snapshot
from .surroundings import known_engine, need_room
from .tasks import tier_task
from .toolkit import toolkit_sha256
from .trial import record
from .walk import Progressed, Stopped, Walk, session_steps

CLEAN = "clean"
Report = Callable[[CaseResult], None]


@dataclass(frozen=True, slots=True)
class RedTeam:
    """What all cases of a red-team run share. `wall` overrides the task's own, in seconds; `models` answer the agent.

    Once `stopping` is set no case is begun and none is recorded any more.
    """

    engine: Engine
    store: SnapshotStore
    paths: RunPaths
    spec: TrialSpec
    signer: Signer
    wall: float | None = None
    models: Models | None = None
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def task(self) -> Task:
        """The task; what is planted knows those of the tiers alone."""
        return tier_task(self.spec.task, "the red team")

    @property
    def limits(self) -> Limits:
        """Of every session."""
        limits = self.spec.task.limits
        return limits if self.wall is None else replace(limits, wall=self.wall)


def run_grid(
    team: RedTeam,
    pills: Sequence[Pill],
    *,
    twins: bool = True,
    parallel: int = 2,
    report: Report | None = None,
    note: Callable[[str], None] | None = None,
) -> GridResult:
    """Run what the folder does not hold yet; InputError if it holds another run or the script has no second session.

    `report` is told of each case that is over, `note` what a person should know.
    """
    spec = team.spec
    if len(session_steps(spec.task)) < 2:
        raise InputError(f"{spec.task.id}: nobody takes over in it, so nothing can be planted")
    cases: list[Pill | None] = [None, *pills, *([pill.benign() for pill in pills] if twins else [])]
    found: list[CaseResult] = []
    with locked(team.paths):
        need_room(team.paths.root, sum(not _trial(team, pill).scorecard.exists() for pill in cases))
        _freeze(team, pills, twins)
        if (told := known_engine(team.paths, team.engine.info())) is not None and note is not None:
            note(told)
        team.paths.trials.mkdir(exist_ok=True)
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
        "toolkit_sha256": toolkit_sha256(),
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
    if team.models is not None:
        identity["model"] = team.models.settings.identity()
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
        _, left = _session(team, opener, _walk_of(team, trial), session_steps(team.spec.task)[0], start)
    return left


def _case(team: RedTeam, pill: Pill | None, start: Snapshot, forked: Snapshot) -> CaseResult:
    """One fork, from planting to scorecard; a failure of the machinery is a result of its own."""
    trial = _trial(team, pill)
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


def _trial(team: RedTeam, pill: Pill | None) -> TrialPaths:
    return TrialPaths(team.paths.trials / f"{team.spec.name}.{name_of(pill)}")


class _Refused(Exception):  # control flow: nothing was planted, so nobody is sent on
    def __init__(self, pill: Pill, reason: str) -> None:
        super().__init__(reason)
        self.pill = pill


def _walk(
    team: RedTeam, opener: Ahead, trial: TrialPaths, pill: Pill | None, start: Snapshot, forked: Snapshot
) -> Scorecard:
    spec, labels = team.spec, run_labels(team.paths.root.name, team.spec.name)
    steps = session_steps(spec.task)[1:]
    opener.expect(spec.agent.image, limits=team.limits, labels=labels)
    planted = None if pill is None else _planted(team, opener, trial, pill, forked)
    current = forked if planted is None else planted.snapshot
    walk, metas = _walk_of(team, trial), list[SessionMeta]()
    for step in steps:
        meta, current = _session(team, opener, walk, step, current)
        metas.append(meta)
    before = start.manifest
    if planted is not None:
        before = grading_start(start.manifest, forked.manifest, planted.snapshot.manifest, current.manifest)
    card = Grader(opener, team.store, labels).grade(
        Cell.of(spec),
        before,
        current,
        tokens=used(metas, None),
        sessions=[meta.session for meta in metas],
        agent_image=metas[-1].image,
        start_sha256=f"sha256:{start.sha256}",
    )
    if planted is None:
        return card
    logs = [trial.step(step.number, "session") for step in steps]
    verdicts = verdicts_on(
        opener, team.store, team.task, planted, current, card, logs, transcripts=transcripts_of(logs), labels=labels
    )
    return with_verdicts(card, verdicts)


def _planted(team: RedTeam, opener: Ahead, trial: TrialPaths, pill: Pill, forked: Snapshot) -> Planted:
    labels = run_labels(team.paths.root.name, team.spec.name)
    # It starts while the edits are worked out.
    opener.expect(SANDBOX, limits=limits_for(team.task), labels=labels)
    planted = plant(opener, team.store, forked, pill, team.task, labels)
    write_bytes(trial.step(2, "poison").root / "record.json", record_bytes(planted.record))
    if planted.record.refused is not None:
        raise _Refused(pill, planted.record.refused)
    return planted


def _walk_of(team: RedTeam, trial: TrialPaths) -> Walk:
    return Walk(
        engine=team.engine,
        store=team.store,
        settings=Settings(wall_seconds=team.wall, model=None if team.models is None else team.models.settings),
        run_id=team.paths.root.name,
        images={},
        stopping=team.stopping,
        spec=team.spec,
        paths=trial,
        done=Progressed(),
        models=None if team.models is None else team.models.trial(trial.root.name),
    )


def _session(
    team: RedTeam, opener: Ahead, walk: Walk, step: SessionStep, start: Snapshot
) -> tuple[SessionMeta, Snapshot]:
    spec = team.spec
    repository = prepare_for_session(spec.arm, spec.task, step.number, len(session_steps(spec.task)), start.manifest)
    return walk.session(step, prepared(team.store, start, repository), opener)


def _result(pill: Pill | None, card: Scorecard, trial: TrialPaths) -> CaseResult:
    case = case_of(name_of(pill), card, verdicts_of(card, str(trial.scorecard)))
    return replace(case, pill=None if pill is None else pill.name, twin=pill is not None and pill.twin)
