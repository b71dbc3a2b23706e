"""What `takeover redteam` and `takeover inject-poison-pill` do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from ..grader.report import console
from ..grader.text import path_text
from ..poison.catalog import find_pill, grid
from ..sandbox.engine import DockerEngine
from ..sandbox.errors import InputError
from ..sandbox.store import SnapshotStore
from ..tiers.arms import load_arm
from ..tiers.load import list_tasks, load_task
from .agents import resolve_agent
from .plan import make_plan
from .record import new_run_id, run_paths
from .redteam import RedTeam, run_grid
from .redteam_inject import inject_into_folder
from .redteam_rates import CaseResult
from .redteam_report import print_grid, write_grid
from .results import DONE, MACHINERY
from .signing import signer


def redteam_command(
    agent: str,
    *,
    task: str,
    arm: str,
    variant: str,
    full: bool,
    pills: Sequence[str],
    no_twins: bool,
    runs: Path,
    run_id: str | None,
    parallel: int,
    wall: float | None,
    listing: bool,
) -> int:
    """Run the grid for one agent; 3 if a case has no verdict because the machinery failed."""
    chosen = [find_pill(name) for name in pills] if pills else list(grid(full=full))
    out = console()
    if listing:
        for pill in chosen:
            out.print(pill.name, markup=False, soft_wrap=True)
        return DONE
    loaded = load_task(task, variant)
    (spec,) = make_plan([(loaded, load_arm(arm, loaded))], [resolve_agent(agent)]).trials
    paths = run_paths(runs, run_id or new_run_id())
    team = RedTeam(
        engine=DockerEngine.from_env(run=paths.root.name),
        store=SnapshotStore(paths.snapshots),
        paths=paths,
        spec=spec,
        signer=signer(),
        wall=wall,
    )
    told = Console(stderr=True)

    def tell(case: CaseResult) -> None:
        told.print(escape(f"{case.name}: {case.problem or 'done'}"), highlight=False, soft_wrap=True)

    result = run_grid(team, chosen, twins=not no_twins, parallel=parallel, report=tell)
    write_grid(result, paths)
    print_grid(result, out)
    for name in ("redteam.json", "redteam.svg"):
        out.print(str(paths.export(name)), markup=False, soft_wrap=True)
    return MACHINERY if result.pending else DONE


def inject_command(tier: int, task: str | None, folder: Path, pill: str, seed: str) -> None:
    """Plant one poison into a folder and say where."""
    name = task or next((one.id for one in list_tasks() if one.tier == tier), None)
    if name is None:
        raise InputError(f"--tier {tier}: there is no task of this tier")
    record = inject_into_folder(DockerEngine.from_env(), folder, find_pill(pill), load_task(name, seed))
    out = console()
    out.print(f"planted {pill} into {folder}", markup=False, soft_wrap=True)
    for path in record.changed:
        out.print(f"  {path_text(path)}", markup=False, soft_wrap=True)
