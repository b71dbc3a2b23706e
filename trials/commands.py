"""What the commands of cli.py do, between the parsed options and an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ..sandbox.cutoff import parse
from ..sandbox.engine import DockerEngine
from ..sandbox.errors import InputError
from ..tiers.arms import list_arms, load_arm
from ..tiers.load import load_task
from ..tiers.task import Task
from .agents import resolve_agent
from .plan import Plan, Settings, make_plan
from .progress import ConsoleProgress
from .record import new_run_id, run_paths
from .results import exit_code, write_results
from .running import execute
from .signing import signer

PUBLIC_ARMS = ("Vanilla", "AGENTS_MD_Only", "State_MD_Only")


def run_command(
    *,
    tasks: Sequence[str],
    arms: Sequence[str],
    arm_files: Sequence[Path],
    agents: Sequence[str],
    variant: str,
    cutoff: str | None,
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
    paths = run_paths(runs, run_id or new_run_id())
    engine = DockerEngine.from_env(run=paths.root.name)
    console = Console(soft_wrap=True)
    with ConsoleProgress(Console(stderr=True), len(plan.trials)) as progress:
        result = execute(
            plan, engine=engine, paths=paths, signer=signer(), resume=resume, parallel=parallel, progress=progress
        )
    write_results(result, console)
    return exit_code(result.outcomes, min_net)


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
