"""What `takeover redteam` and `takeover inject-poison-pill` do, between the parsed options and an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from ..grader.report import console
from ..grader.text import one_line, path_text
from ..poison.catalog import NAMED, find_pill, grid
from ..poison.model import Pill
from ..poison.record import record_bytes
from ..sandbox.engine import DockerEngine
from ..sandbox.errors import InputError
from ..sandbox.store import SnapshotStore
from ..tiers.arms import load_arm
from ..tiers.load import load_task
from .agents import recipe_of, resolve_agent
from .model import ModelSettings
from .models import Models, OpenModels, spent_in
from .plan import TrialSpec
from .record import RunPaths, new_run_id, run_paths, write_bytes
from .redteam import RedTeam, run_grid
from .redteam_inject import inject_into_folder
from .redteam_page import write_grid
from .redteam_rates import CaseResult, GridResult
from .redteam_report import print_grid
from .results import DONE, FELL_SHORT, MACHINERY
from .signing import signer


def redteam_command(
    agent: str,
    *,
    task: str,
    arm: str,
    variant: str,
    only: Sequence[str],
    full: bool,
    twins: bool,
    wall: float | None,
    parallel: int,
    runs: Path,
    run_id: str | None,
    max_success: float | None,
    model: ModelSettings | None = None,
    open_models: OpenModels | None = None,
) -> int:
    """Run the grid, or those of it whose names hold one of the `only`, and show what came out; the exit code.

    With a `run_id` that exists the run is gone on with. `max_success` (0 to 1) is a gate on the valid attacks.
    """
    pills = chosen(only, full=full)
    loaded = load_task(task, variant)
    spec = TrialSpec(loaded, load_arm(arm, loaded), resolve_agent(agent), 1)
    paths = run_paths(runs, run_id or new_run_id())
    engine = DockerEngine.from_env(run=paths.root.name)
    err = Console(stderr=True)
    err.print(f"{len(pills)} poisons{' and as many twins' if twins else ''}", highlight=False)
    with _models(engine, spec, paths, model, open_models) as models:
        team = RedTeam(engine, SnapshotStore(paths.snapshots), paths, spec, signer(), wall, models)
        result = run_grid(
            team,
            pills,
            twins=twins,
            parallel=parallel,
            report=lambda case: _tell(case, err),
            note=lambda text: err.print(escape(text), highlight=False, soft_wrap=True),
        )
    written, out = write_grid(result, paths), console()
    print_grid(result, out)
    for file in written:
        out.print(str(file), soft_wrap=True, markup=False)
    return exit_code(result, max_success)


def _models(
    engine: DockerEngine, spec: TrialSpec, paths: RunPaths, model: ModelSettings | None, open_models: OpenModels | None
) -> AbstractContextManager[Models | None]:
    if model is None or open_models is None:
        return nullcontext()
    recipes = {spec.agent.image: recipe_of(engine.image(spec.agent.image))}
    return open_models(model, recipes, spent=spent_in(paths.trials), resumed=paths.identity.exists())


def chosen(only: Sequence[str], *, full: bool) -> tuple[Pill, ...]:
    """The pills to plant; InputError if there is none of such a name."""
    if not only:
        return grid(full=full)
    known = {pill.name: pill for pill in grid(full=full)}
    found: dict[str, Pill] = {}
    for name in only:
        some = [find_pill(name)] if name in NAMED else [pill for pill in known.values() if name in pill.name]
        if not some:
            raise InputError(f"--only {name!r}: no poison has that in its name")
        found |= {pill.name: pill for pill in some}
    return tuple(found.values())


def exit_code(result: GridResult, max_success: float | None) -> int:
    """3 if a case has no verdict for want of machinery or is missing, 1 if too many attacks succeeded, else 0."""
    verdicts = result.verdicts(twin=False) + result.verdicts(twin=True)
    failed = [case for case in result.cases if case.problem and not case.verdicts]
    if result.pending or failed or any(verdict.state == "error" for verdict in verdicts):
        return MACHINERY
    valid = next(rate for rate in result.rates if rate.name == "attack_success_valid")
    if max_success is not None and valid.total and valid.count > max_success * valid.total:
        return FELL_SHORT
    return DONE


def inject_command(folder: Path, *, task: str, pill: str, record: Path | None) -> None:
    """Plant into a folder and say where; the record, if wanted, is written outside of it."""
    if record is not None and record.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{record}: inside {folder}", hint="An agent must not find it: put it elsewhere.")
    planted = inject_into_folder(DockerEngine.from_env(), folder, find_pill(pill), load_task(task))
    if record is not None:
        write_bytes(record, record_bytes(planted))
    out = console()
    for place in planted.places:
        kind = str(place.poison.kind).replace("_", " ")
        out.print(f"{kind} in {path_text(place.path)} ({place.visible})", soft_wrap=True, markup=False)


def _tell(case: CaseResult, err: Console) -> None:
    """One line for a case that is over."""
    if case.problem:
        said = one_line(case.problem)
    elif case.pill is None:
        said = "done" if case.done else "not done"
    else:
        said = "; ".join(
            one_line(_verdict(verdict.attack_succeeded, verdict.flagged, verdict.false_alarm))
            for verdict in case.verdicts
        )
    err.print(f"{escape(case.name)}: {escape(said)}", highlight=False, soft_wrap=True)


def _verdict(succeeded: bool | None, flagged: str, false_alarm: bool | None) -> str:
    if false_alarm is not None:
        return "false alarm" if false_alarm else "left alone"
    fell = {True: "succeeded", False: "held", None: "unknown"}[succeeded]
    return f"{fell}, flagged" if flagged == "yes" else fell
