"""What the commands of cli.py do, between the parsed options and an exit code."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from ..grader.report import console, print_scorecard
from ..grader.scorecard import canonical_bytes
from ..repos.load import list_repo_tasks
from ..sandbox.cutoff import parse
from ..sandbox.engine import DockerEngine
from ..sandbox.errors import InputError, MachineryError
from ..sandbox.store import SnapshotStore
from ..tiers.arms import list_arms, load_arm
from ..tiers.load import list_tasks
from .agents import resolve_agent
from .failures import FAILURES
from .grading import Cell, Grader, declared, failed
from .identity import read_identity
from .intake import take_in
from .model import ModelSettings, check
from .models import OpenModels
from .plan import Plan, Settings, make_plan, predicted
from .poison_steps import pills_of
from .progress import ConsoleProgress
from .record import RunPaths, locked, new_run_id, run_paths, write_bytes
from .regrade import recorded_run, regrade
from .results import FELL_SHORT, MACHINERY, exit_code, print_results, write_results
from .running import RunResult, execute, hold_key
from .signing import signer
from .start import starting_snapshot
from .sweep import sweep_command
from .tasks import Choice, codebase, load_any, load_chosen
from .trial import record
from .walk import session_steps


def run_command(
    *,
    tasks: Sequence[str],
    arms: Sequence[str],
    arm_files: Sequence[Path],
    agents: Sequence[str],
    variant: str,
    bugs: str | None = None,
    hints: str | None = None,
    predict: Path | None = None,
    cutoff: str | None,
    cutoff_sweep: int | None = None,
    wall: float | None,
    tokens: int | None,
    repeat: int,
    parallel: int,
    runs: Path,
    run_id: str | None,
    resume: bool,
    retry_machinery: bool = False,
    min_net: int | None,
    poisons: Sequence[str] = (),
    receivers: Sequence[str] = (),
    model: ModelSettings | None = None,
    open_models: OpenModels | None = None,
) -> int:
    """Plan, run, report; the exit code."""
    if resume and run_id is None:
        raise InputError("--resume: which run? name it with --run-id")
    if retry_machinery and not resume:
        raise InputError("--retry-machinery: of which run?", hint="Add --resume and --run-id.")
    if model is not None:
        check(model, os.environ, resumed=resume)
    settings = _settings(cutoff, wall, tokens, model)
    plan = _plan(tasks, arms, arm_files, agents, receivers, Choice(variant, bugs, hints), repeat, settings, poisons)
    if predict is not None:
        plan = _predicted(plan, predict, poisons)
    if cutoff_sweep is not None:
        return sweep_command(
            plan,
            cuts=cutoff_sweep,
            runs=runs,
            run_id=run_id,
            resume=resume,
            parallel=parallel,
            min_net=min_net,
            open_models=open_models,
            retry_machinery=retry_machinery,
        )
    how: dict[str, Any] = {"resume": resume, "parallel": parallel, "retry_machinery": retry_machinery}
    result = _carried_out(plan, run_paths(runs, run_id or new_run_id()), open_models=open_models, **how)
    print_results(result, write_results(result), console())
    return exit_code(result.scorecards.values(), len(result.pending), min_net)


def _carried_out(plan: Plan, paths: RunPaths, **how: Any) -> RunResult:
    engine = DockerEngine.from_env(run=paths.root.name)
    with ConsoleProgress(Console(stderr=True), len(plan.trials)) as progress:
        return execute(plan, engine=engine, paths=paths, signer=signer(), progress=progress, **how)


def _settings(cutoff: str | None, wall: float | None, tokens: int | None, model: ModelSettings | None) -> Settings:
    rule = None if cutoff is None else parse(cutoff)
    if rule is not None:
        rule.for_guest(gateway=model is not None)
    return Settings(cutoff=rule, wall_seconds=wall, declared_tokens=tokens, model=model)


def _predicted(plan: Plan, predict: Path, poisons: Sequence[str]) -> Plan:
    if poisons:
        raise InputError("--predict and --poison: one of the two", hint="Predictions are of cells without poison.")
    return predicted(plan, predict)


def _plan(
    tasks: Sequence[str],
    arms: Sequence[str],
    arm_files: Sequence[Path],
    agents: Sequence[str],
    receivers: Sequence[str],
    choice: Choice,
    repeat: int,
    settings: Settings,
    poisons: Sequence[str],
) -> Plan:
    choice.must_fit(tasks)
    loaded = [load_any(name, choice.variant_for(name)) for name in dict.fromkeys(tasks)]
    cells = [(task, load_arm(arm, task)) for task in loaded for arm in _arm_names(arms, arm_files)]
    named = [resolve_agent(name) for name in dict.fromkeys(agents)]
    after = [resolve_agent(name) for name in dict.fromkeys(receivers)]
    return make_plan(
        cells, named, repeat=repeat, settings=settings, poisons=pills_of(poisons), receivers=after or (None,)
    )


def _arm_names(arms: Sequence[str], arm_files: Sequence[Path]) -> list[str | Path]:
    if not arms and not arm_files:
        raise InputError("no arm is named", hint="Name one with --arm (`takeover tasks` lists them), or --arm-file.")
    named: list[str | Path] = []
    for arm in arms:
        named += [one.name for one in list_arms()] if arm == "all" else [arm]
    return list(dict.fromkeys([*named, *(path.resolve() for path in arm_files)]))


def regrade_command(folder: Path, *, min_net: int | None, task_folder: Path | None = None) -> int:
    """Derive every verdict of a run again from its folder, and say which came out as recorded."""
    paths, out = RunPaths(folder), console()
    read_identity(paths.identity)
    engine = DockerEngine.from_env(run=paths.root.resolve().name)
    found: list[str] = []
    with locked(paths):
        before = recorded_run(paths)
        with ConsoleProgress(Console(stderr=True), len(before.planned)) as progress:
            for name in before.planned:
                again = regrade(paths, name, engine, task_folder)
                if again is None:
                    progress.result(f"{name}: its sessions are not all recorded; not graded", out)
                    # A verdict that cannot be made again is none.
                    found += ["failed"] if name in before.scorecards and before.scorecards[name].retention else []
                    continue
                if again.how == "new":
                    key = signer()
                    hold_key(paths, key)
                    record(paths.trial(name), again.scorecard, key)
                found.append(again.how)
                why = f": {again.scorecard.failure.message}" if again.scorecard.failure else ""
                progress.result(f"{name}: {again.how}{why}", out)
        result = recorded_run(paths)
        print_results(result, write_results(result), out)
    if "failed" in found:
        return MACHINERY
    code = exit_code(result.scorecards.values(), len(result.pending), min_net)
    return code if code or "differs" not in found else FELL_SHORT


def grade_workspace_command(
    folder: Path,
    *,
    task: str,
    arm: str,
    tokens: int | None,
    json_out: Path | None,
    min_net: int | None,
    **choice: Any,
) -> int:
    """Grade a folder that somebody's agent worked in; `choice` is what makes a `Choice`."""
    loaded = load_chosen(task, Choice(**choice))
    used = load_arm(arm, loaded)
    with tempfile.TemporaryDirectory(prefix="takeover-") as scratch:
        store = SnapshotStore(Path(scratch))
        start = starting_snapshot(loaded, used, store)
        final = take_in(folder, store, loaded.limits)
        cell = Cell(loaded, used.name, used.sha256, "external")
        grader = Grader(DockerEngine.from_env(), store, {})
        try:
            card = grader.grade(
                cell, start.manifest, final, tokens=declared(tokens), start_sha256=f"sha256:{start.sha256}"
            )
        except MachineryError as error:
            if FAILURES[error.failure].side != "agent":
                raise
            card = failed(cell, error.failure, str(error))
    data = canonical_bytes(card)
    if json_out is not None:
        write_bytes(json_out.with_name(json_out.name + ".sig"), signer().sign(data))
        write_bytes(json_out, data)
    out = console()
    print_scorecard(card, out)
    if json_out is not None:
        out.print(str(json_out), markup=False, soft_wrap=True)
    return exit_code([card], 0, min_net)


def scaffold_command(task: str, arm: str, dest: Path, **choice: Any) -> None:
    """Write a starting workspace into `dest`, and the prompts of its sessions beside it."""
    loaded = load_chosen(task, Choice(**choice))
    if not (dest := dest.absolute()).name:
        raise InputError(f"--dest {dest}: not the name of a folder")
    with tempfile.TemporaryDirectory(prefix="takeover-") as scratch:
        store = SnapshotStore(Path(scratch))
        start = starting_snapshot(loaded, load_arm(arm, loaded), store)
        store.extract(start.sha256, dest)
    out = console()
    out.print(f"workspace: {dest}", markup=False, soft_wrap=True)
    for step in session_steps(loaded):
        prompt = dest.with_name(f"{dest.name}.session-{step.number}.md")
        write_bytes(prompt, loaded.prompt(step.prompt).encode())
        out.print(f"session {step.number} ({step.cutoff}): {prompt}", markup=False, soft_wrap=True)


def show_tasks(task: str | None, **choice: Any) -> None:
    """List the tasks and arms, or describe one task."""
    out = console()
    if task is None:
        for one in list_tasks():
            out.print(f"{one.id}  tier {one.tier}, {one.title}", markup=False, soft_wrap=True)
        for shipped in list_repo_tasks():
            out.print(f"repos/{shipped.id}  {shipped.title}", markup=False, soft_wrap=True)
        out.print("arms: " + ", ".join(arm.name for arm in list_arms()), markup=False, soft_wrap=True)
        return
    loaded = load_chosen(task, Choice(**choice))
    out.print(f"{loaded.id}: {loaded.title} (tier {loaded.tier}, variant {loaded.variant})", markup=False)
    out.print(f"requirements {len(loaded.requirements)}, baseline checks {len(loaded.baseline)}", markup=False)
    if (code := codebase(loaded)) is not None and code.visible is not None:
        out.print(f"its own tests {code.visible.passed}, in the image {code.visible.image}", markup=False)
    out.print(f"token budget {loaded.budget_tokens:,}: {loaded.budget_reason}", markup=False)
    for boundary in loaded.boundaries:
        out.print(f"boundary: {boundary.package} may not import {', '.join(boundary.may_not_import)}", markup=False)
    for step in session_steps(loaded):
        out.print(f"session {step.number}: {step.prompt}, cutoff {step.cutoff}", markup=False)
