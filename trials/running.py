"""Carry out a plan in a run's folder: freeze, claim, run, record."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Protocol

from ..grader.scorecard import Scorecard, parse_scorecard
from ..sandbox.engine import Engine
from ..sandbox.errors import FailureClass, InputError, MachineryError
from ..sandbox.guest_bundle import guest_sha256
from ..sandbox.store import SnapshotStore
from .agents import recipe_of
from .executor import LocalExecutor
from .identity import parse_identity
from .models import Models, OpenModels, spent_in
from .plan import Plan, TrialSpec, differences
from .poison_steps import place_of
from .record import RunPaths, locked, read_json, write_bytes, write_json
from .signing import Signer
from .surroundings import known_engine, need_room
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
    plan: Plan,
    *,
    engine: Engine,
    paths: RunPaths,
    signer: Signer,
    resume: bool,
    parallel: int,
    progress: Progress,
    open_models: OpenModels | None = None,
    retry_machinery: bool = False,
) -> RunResult:
    """Run what the folder does not hold yet; InputError if the folder holds another run.

    With `retry_machinery` a recorded failure of the machinery is no verdict: its trial is set aside and run again.
    `open_models` opens what answers the agents, for a plan whose settings name a model.
    """
    run_id = paths.root.name
    for spec in plan.trials:
        check_script(spec.task, plan.settings)
        place_of(spec)  # what cannot be planted is known before anything is paid for
    # What would stop a run at once leaves no folder behind.
    images = _images(plan, engine)
    need_room(paths.root, sum(not paths.trial(spec.name).scorecard.exists() for spec in plan.trials))
    with locked(paths):
        for orphan in engine.sweep():
            progress.note(f"removed container {orphan[:12]} left by a run that is gone")
        store = SnapshotStore(paths.snapshots)
        store.clean()
        _freeze(plan, images, paths, resume)
        hold_key(paths, signer)
        progress.note(f"run {paths.root}")
        scorecards = _kept(plan, paths, progress, retry_machinery)
        context = TrialContext(
            engine=engine,
            store=store,
            settings=plan.settings,
            signer=signer,
            run_id=run_id,
            trials=paths.trials,
            images=images,
            about_engine=_about(engine, paths, progress),
        )
        todo = [spec for spec in plan.trials if spec.name not in scorecards]
        with (
            _models(plan, context, resume, open_models) as models,
            contextlib.closing(_outcomes(replace(context, models=models), todo, parallel)) as outcomes,
        ):
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


def _about(engine: Engine, paths: RunPaths, progress: Progress) -> dict[str, object]:
    """The engine in use, kept in the run's folder; a person is told if it is another one than before."""
    info = engine.info()
    if told := known_engine(paths, info):
        progress.note(told)
    return asdict(info)


def _kept(plan: Plan, paths: RunPaths, progress: Progress, retry_machinery: bool) -> dict[str, Scorecard]:
    """The scorecards that a folder holds and that stay."""
    found = recorded(paths, [spec.name for spec in plan.trials])
    if retry_machinery:
        again = {name for name, card in found.items() if card.outcome == "machinery_failure"}
        found = {name: card for name, card in found.items() if name not in again}
        progress.note(f"failures of the machinery that are tried again: {len(again)}")
    progress.kept(len(found))
    return found


def _outcomes(context: TrialContext, todo: list[TrialSpec], parallel: int) -> Generator[Outcome, None, None]:
    """The outcomes as they come; what goes on is ended when nobody takes them any more."""

    def abort() -> None:
        context.stopping.set()
        context.engine.sweep(run=context.run_id)

    with contextlib.closing(LocalExecutor(parallel, abort).run(todo, partial(run_trial, context))) as outcomes:
        yield from outcomes


def _models(
    plan: Plan, context: TrialContext, resume: bool, open_models: OpenModels | None
) -> AbstractContextManager[Models | None]:
    settings = plan.settings.model
    if settings is None or open_models is None:
        return contextlib.nullcontext()
    engine = context.engine
    recipes = {name: recipe_of(replace(engine.image(found), ref=name)) for name, found in context.images.items()}
    return open_models(settings, recipes, spent=spent_in(context.trials), resumed=resume)


def _gone(engine: Engine, outcome: Outcome) -> str | None:
    """What a failure took away from all trials that were still to come, if it did."""
    failure = outcome.scorecard.failure
    if failure is not None and failure.kind == FailureClass.STORAGE:
        return "the run's folder cannot be written"
    if failure is not None and failure.kind == FailureClass.RUN_BUDGET:
        return failure.message
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


def _images(plan: Plan, engine: Engine) -> dict[str, str]:
    """The ids of all images that a plan needs, by name; InputError for one whose recipe cannot be read."""
    agents = [agent for t in plan.trials for agent in (t.agent, t.receiver) if agent is not None]
    names = {"sandbox", *(agent.image for agent in agents), *(name for t in plan.trials for name in t.task.images)}
    found = {name: engine.image(name) for name in sorted(names)}
    if plan.settings.model is not None:
        for image in found.values():
            recipe_of(image)
    return {name: image.id for name, image in found.items()}


def _freeze(plan: Plan, images: dict[str, str], paths: RunPaths, resume: bool) -> None:
    identity = plan.identity(images, guest_sha256())
    parse_identity(identity, "the run's identity")
    if not paths.identity.exists():
        write_json(paths.identity, identity)
        return
    if not resume:
        raise InputError(
            f"{paths.root}: this run exists", hint="Add --resume to go on with it, or name another --run-id."
        )
    frozen = read_json(paths.identity)
    parse_identity(frozen, str(paths.identity))
    if changed := differences(frozen, identity):
        raise InputError(
            f"{paths.identity}: the run was frozen with other {', '.join(changed)}",
            hint="A changed source, setting or image needs a new --run-id.",
        )


def recorded(paths: RunPaths, names: list[str]) -> dict[str, Scorecard]:
    """The scorecards that a run's folder holds already."""
    found = {}
    for name in names:
        file = paths.trial(name).scorecard
        if file.is_file():
            found[name] = parse_scorecard(file.read_bytes(), str(file))
    return found
