"""Carry out a plan in a run's folder: freeze, claim, run, record."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from functools import partial
from typing import Protocol

from ..grader.scorecard import Scorecard, parse_scorecard
from ..sandbox.engine import Engine
from ..sandbox.errors import FailureClass, InputError, MachineryError
from ..sandbox.guest_bundle import guest_sha256
from ..sandbox.store import SnapshotStore
from .executor import LocalExecutor
from .plan import Plan, differences
from .record import RunPaths, locked, read_json, write_bytes, write_json
from .signing import Signer
from .trial import Outcome, TrialContext, run_trial
from .walk import check_script


class Progress(Protocol):
    """What a person sees while a run goes on."""

    def note(self, text: str) -> None: ...

    def kept(self, count: int) -> None: ...

    def finished(self, outcome: Outcome) -> None: ...


@dataclass(frozen=True, slots=True)
class RunResult:
    """All trials of a run in the order of the plan; a trial without a scorecard is pending."""

    paths: RunPaths
    planned: tuple[str, ...]
    scorecards: dict[str, Scorecard]

    @property
    def pending(self) -> tuple[str, ...]:
        return tuple(name for name in self.planned if name not in self.scorecards)


def execute(
    plan: Plan, *, engine: Engine, paths: RunPaths, signer: Signer, resume: bool, parallel: int, progress: Progress
) -> RunResult:
    """Run what the folder does not hold yet; InputError if the folder holds another run."""
    run_id = paths.root.name
    for spec in plan.trials:
        check_script(spec.task, plan.settings)
    with locked(paths):
        for orphan in engine.sweep():
            progress.note(f"removed container {orphan[:12]} left by a run that is gone")
        store = SnapshotStore(paths.snapshots)
        store.clean()
        images = _freeze(plan, engine, paths, resume)
        hold_key(paths, signer)
        progress.note(f"run {paths.root}")
        scorecards = recorded(paths, [spec.name for spec in plan.trials])
        progress.kept(len(scorecards))
        context = TrialContext(
            engine=engine,
            store=store,
            settings=plan.settings,
            signer=signer,
            run_id=run_id,
            trials=paths.trials,
            images=images,
            about_engine=asdict(engine.info()),
        )
        todo = [spec for spec in plan.trials if spec.name not in scorecards]

        def abort() -> None:
            context.stopping.set()
            engine.sweep(run=run_id)

        with contextlib.closing(LocalExecutor(parallel, abort).run(todo, partial(run_trial, context))) as outcomes:
            for outcome in outcomes:
                scorecards[outcome.name] = outcome.scorecard
                progress.finished(outcome)
                if gone := _gone(engine, outcome):
                    progress.note(f"{gone}; what has no verdict yet stays pending")
                    break
        # Those that ended while nobody listened any more are recorded all the same.
        scorecards |= recorded(paths, [spec.name for spec in todo if spec.name not in scorecards])
        with contextlib.suppress(MachineryError):
            engine.sweep(run=run_id)
    return RunResult(paths=paths, planned=tuple(spec.name for spec in plan.trials), scorecards=scorecards)


def _gone(engine: Engine, outcome: Outcome) -> str | None:
    """What a failure took away from all trials that were still to come, if it did."""
    failure = outcome.scorecard.failure
    if failure is not None and failure.kind == FailureClass.STORAGE:
        return "the run's folder cannot be written"
    if failure is None or failure.kind not in (FailureClass.ENGINE_UNAVAILABLE, FailureClass.WIRE_TIMEOUT):
        return None
    try:
        engine.info()
    except MachineryError:
        return "the container engine is gone"
    return None


def hold_key(paths: RunPaths, signer: Signer) -> None:
    """Keep the public key beside what it signs; InputError if the run has another one already."""
    if not paths.public_key.exists():
        write_bytes(paths.public_key, signer.public_pem)
    elif paths.public_key.read_bytes() != signer.public_pem:
        raise InputError(
            f"{paths.public_key}: the scorecards of this run are signed with another key",
            hint="Let TAKEOVER_SIGNING_KEY name that key, or use a new --run-id.",
        )


def _freeze(plan: Plan, engine: Engine, paths: RunPaths, resume: bool) -> dict[str, str]:
    images = {name: engine.image(name).id for name in sorted({"sandbox", *(t.agent.image for t in plan.trials)})}
    identity = plan.identity(images, guest_sha256())
    if not paths.identity.exists():
        write_json(paths.identity, identity)
        return images
    if not resume:
        raise InputError(
            f"{paths.root}: this run exists", hint="Add --resume to go on with it, or name another --run-id."
        )
    if changed := differences(read_json(paths.identity), identity):
        raise InputError(
            f"{paths.identity}: the run was frozen with other {', '.join(changed)}",
            hint="A changed source, setting or image needs a new --run-id.",
        )
    return images


def recorded(paths: RunPaths, names: list[str]) -> dict[str, Scorecard]:
    """The scorecards that a run's folder holds already."""
    found = {}
    for name in names:
        file = paths.trial(name).scorecard
        if file.is_file():
            found[name] = parse_scorecard(file.read_bytes(), str(file))
    return found
