"""What the commands of cli.py do, between the parsed options and an exit code."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ..grader.report import console, print_scorecard
from ..grader.scorecard import canonical_bytes
from ..grader.text import one_line
from ..sandbox.conformance import run_checks, select
from ..sandbox.cutoff import parse
from ..sandbox.engine import DockerEngine
from ..sandbox.errors import InputError, MachineryError
from ..sandbox.store import SnapshotStore
from ..tiers.arms import list_arms, load_arm
from ..tiers.load import list_tasks, load_task
from .agents import resolve_agent
from .failures import FAILURES
from .grading import Cell, Grader, failed
from .intake import take_in
from .plan import Plan, Settings, make_plan
from .progress import ConsoleProgress
from .record import RunPaths, locked, new_run_id, run_paths, write_bytes
from .regrade import load_run, recorded_run, regrade
from .results import DONE, FELL_SHORT, MACHINERY, exit_code, print_results, write_results
from .running import execute, hold_key
from .signing import signer
from .start import starting_snapshot
from .sweep import sweep_command
from .trial import record
from .walk import session_steps


def run_command(
    *,
    tasks: Sequence[str],
    arms: Sequence[str],
    arm_files: Sequence[Path],
    agents: Sequence[str],
    variant: str,
    cutoff: str | None,
    cutoff_sweep: int | None = None,
    wall: float | None,
    tokens: int | None,
    repeat: int,
    parallel: int,
    runs: Path,
    run_id: str | None,
    resume: bool,
    min_net: int | None,
) -> int:
    """Plan, run, report; the exit code."""
    if resume and run_id is None:
        raise InputError("--resume: which run? name it with --run-id")
    settings = Settings(cutoff=None if cutoff is None else parse(cutoff), wall_seconds=wall, declared_tokens=tokens)
    if settings.cutoff is not None:
        settings.cutoff.to_wire()
    plan = _plan(tasks, arms, arm_files, agents, variant, repeat, settings)
    if cutoff_sweep is not None:
        return sweep_command(
            plan,
            cuts=cutoff_sweep,
            runs=runs,
            run_id=run_id,
            resume=resume,
            parallel=parallel,
            min_net=min_net,
        )
    paths = run_paths(runs, run_id or new_run_id())
    engine = DockerEngine.from_env(run=paths.root.name)
    with ConsoleProgress(Console(stderr=True), len(plan.trials)) as progress:
        result = execute(
            plan, engine=engine, paths=paths, signer=signer(), resume=resume, parallel=parallel, progress=progress
        )
    print_results(result, write_results(result), console())
    return exit_code(result.scorecards.values(), len(result.pending), min_net)


def _plan(
    tasks: Sequence[str],
    arms: Sequence[str],
    arm_files: Sequence[Path],
    agents: Sequence[str],
    variant: str,
    repeat: int,
    settings: Settings,
) -> Plan:
    loaded = [load_task(name, variant) for name in dict.fromkeys(tasks)]
    cells = [(task, load_arm(arm, task)) for task in loaded for arm in _arm_names(arms, arm_files)]
    return make_plan(cells, [resolve_agent(name) for name in dict.fromkeys(agents)], repeat=repeat, settings=settings)


def _arm_names(arms: Sequence[str], arm_files: Sequence[Path]) -> list[str | Path]:
    named: list[str | Path] = []
    for arm in arms:
        named += [one.name for one in list_arms()] if arm == "all" else [arm]
    return list(dict.fromkeys([*named, *(path.resolve() for path in arm_files)]))


def regrade_command(folder: Path, *, min_net: int | None, task_folder: Path | None = None) -> int:
    """Derive every verdict of a run again from its folder, and say which came out as recorded."""
    paths, out = RunPaths(folder), console()
    load_run(paths)
    engine = DockerEngine.from_env(run=paths.root.resolve().name)
    found: list[str] = []
    with locked(paths):
        before = recorded_run(paths)
        for name in before.planned:
            again = regrade(paths, name, engine, task_folder)
            if again is None:
                out.print(f"{name}: its sessions are not all recorded; not graded", markup=False, soft_wrap=True)
                # A verdict that cannot be made again is none.
                found += ["failed"] if name in before.scorecards and before.scorecards[name].retention else []
                continue
            if again.how == "new":
                key = signer()
                hold_key(paths, key)
                record(paths.trial(name), again.scorecard, key)
            found.append(again.how)
            why = f": {again.scorecard.failure.message}" if again.scorecard.failure else ""
            out.print(f"{name}: {again.how}{why}", markup=False, soft_wrap=True)
        result = recorded_run(paths)
        print_results(result, write_results(result), out)
    if "failed" in found:
        return MACHINERY
    code = exit_code(result.scorecards.values(), len(result.pending), min_net)
    return code if code or "differs" not in found else FELL_SHORT


def grade_workspace_command(
    folder: Path, *, task: str, arm: str, tokens: int | None, json_out: Path | None, min_net: int | None, variant: str
) -> int:
    """Grade a folder that somebody's agent worked in."""
    loaded = load_task(task, variant)
    used = load_arm(arm, loaded)
    with tempfile.TemporaryDirectory(prefix="takeover-") as scratch:
        store = SnapshotStore(Path(scratch))
        start = starting_snapshot(loaded, used, store)
        final = take_in(folder, store, loaded.limits)
        cell = Cell(loaded, used.name, used.sha256, "external")
        grader = Grader(DockerEngine.from_env(), store, {})
        try:
            card = grader.grade(cell, start.manifest, final, tokens=tokens, start_sha256=f"sha256:{start.sha256}")
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


def scaffold_command(task: str, arm: str, dest: Path, variant: str) -> None:
    """Write a starting workspace into `dest`, and the prompts of its sessions beside it."""
    loaded = load_task(task, variant)
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


def show_tasks(task: str | None, variant: str) -> None:
    """List the tasks and arms, or describe one task."""
    out = console()
    if task is None:
        for one in list_tasks():
            out.print(f"{one.id}  tier {one.tier}, {one.title}", markup=False, soft_wrap=True)
        out.print("arms: " + ", ".join(arm.name for arm in list_arms()), markup=False, soft_wrap=True)
        return
    loaded = load_task(task, variant)
    out.print(f"{loaded.id}: {loaded.title} (tier {loaded.tier}, variant {loaded.variant})", markup=False)
    out.print(f"requirements {len(loaded.requirements)}, baseline checks {len(loaded.baseline)}", markup=False)
    out.print(f"token budget {loaded.budget_tokens:,}: {loaded.budget_reason}", markup=False)
    for boundary in loaded.boundaries:
        out.print(f"boundary: {boundary.package} may not import {', '.join(boundary.may_not_import)}", markup=False)
    for step in session_steps(loaded):
        out.print(f"session {step.number}: {step.prompt}, cutoff {step.cutoff}", markup=False)


def doctor_command(image: str, names: Sequence[str], *, listing: bool) -> int:
    """Run the conformance list; 1 if something does not hold."""
    out = console()
    if listing:
        for check in select(names):
            out.print(f"{check.name}: {check.claim}", markup=False, soft_wrap=True)
        return DONE
    engine = DockerEngine.from_env()
    engine.image(image)
    info = engine.info()
    out.print(f"{info.name} {info.version} ({info.origin}), kernel {info.kernel}, cgroup {info.cgroup}", markup=False)
    broken = total = 0
    for result in run_checks(engine, image, names):
        total += 1
        broken += not result.passed
        mark = "ok  " if result.passed else "FAIL"
        line = f"{mark}  {result.name}: {result.claim if result.passed else one_line(result.evidence)}"
        out.print(line, markup=False, soft_wrap=True, style=None if result.passed else "red")
    out.print(f"{total - broken} of {total} hold", markup=False)
    return FELL_SHORT if broken else DONE


def gc_command() -> int:
    """Remove what dead runs left."""
    removed = DockerEngine.from_env().sweep()
    console().print(f"{len(removed)} containers removed")
    return DONE
