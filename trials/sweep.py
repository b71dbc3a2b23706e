"""The same trials cut at the 1st, 2nd, ... n-th edit of session 1: what is kept as a function of when the end came.

Only a deterministic agent's cuts are prefixes of one another, so every cut is a trial of its own with the rule edits:k.
Each k is a run like any other, in a folder below that of the sweep: it can be resumed, opened and graded again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..grader.report import console, number
from ..grader.scorecard import Scorecard
from ..grader.text import one_line
from ..sandbox.cutoff import CutoffRule
from ..sandbox.engine import DockerEngine
from ..sandbox.errors import InputError
from ..sandbox.gateway.budget import Spent
from .agents import Recipe
from .curves import FILE, Curve, Curves, Point, area, by_cell, curves_json, point, whole
from .model import ModelSettings
from .models import Models, OpenModels
from .plan import Plan, Settings, TrialSpec
from .plot import curves_svg
from .poison_steps import condition_of
from .progress import ConsoleProgress
from .record import RunPaths, locked, new_run_id, run_paths, write_bytes
from .results import exit_code, write_results
from .running import RunResult, execute
from .signing import signer
from .walk import session_steps

MAX_CUTS = 999
Carry = Callable[[Plan, RunPaths], RunResult]
Cell = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class SweepPaths:
    """
    runs/<run-id>/
      lock                       held (flock) while a process works on the sweep
      curves.json  curves.svg    the curves so far, written after each cut
      <run-id>.edits-<k>/        the run with the rule edits:k, see RunPaths
    """

    root: Path

    @property
    def curves(self) -> Path:
        return self.root / FILE

    @property
    def picture(self) -> Path:
        return self.root / "curves.svg"

    def cut(self, k: int) -> RunPaths:
        # The name of a run labels its containers, so that of a cut must say whose cut it is.
        return RunPaths(self.root / f"{self.root.name}.edits-{k}")


@dataclass(slots=True)
class Sweep:
    """What a sweep has come to: the points by cell, and everything that was graded."""

    points: dict[Cell, list[Point]] = field(default_factory=dict)
    uncut: dict[Cell, Point] = field(default_factory=dict)
    cards: list[Scorecard] = field(default_factory=list)
    pending: int = 0

    @property
    def curves(self) -> list[Curve]:
        """A curve for each cell."""
        return [
            Curve(
                kind="cutoff",
                task=cell[0],
                variant=cell[1],
                arm=cell[2],
                agent=cell[3],
                points=points,
                uncut=self.uncut.get(cell),
                area=area([one.share for one in points]),
            )
            for cell, points in self.points.items()
        ]


def sweep_plan(cuts: int, base: Settings | None = None) -> list[tuple[int, Settings]]:
    """The settings of each cut, 1 .. `cuts`; InputError for a number that makes no sense or a second rule."""
    if not 1 <= cuts <= MAX_CUTS:
        raise InputError(f"--cutoff-sweep {cuts}: a number from 1 to {MAX_CUTS}")
    settings = base or Settings()
    if settings.cutoff is not None:
        raise InputError(
            "--cutoff and --cutoff-sweep: one of the two", hint="A sweep uses the rules edits:1, edits:2, ..."
        )
    return [(k, replace(settings, cutoff=CutoffRule("edits", k))) for k in range(1, cuts + 1)]


def sweep(plan: Plan, cuts: int, paths: SweepPaths, carry: Carry) -> Sweep:
    """Carry out every cut until session 1 of every cell has come to its own end before it, or the last is reached."""
    steps = sweep_plan(cuts, plan.settings)
    for spec in plan.trials:
        if session_steps(spec.task)[0].cutoff == "none":
            raise InputError(f"--cutoff-sweep: session 1 of {spec.task.id} is not cut off")
    found = Sweep({_cell(spec): [] for spec in plan.trials})
    for k, settings in steps:
        going = tuple(spec for spec in plan.trials if _cell(spec) not in found.uncut)
        if not going:
            break
        run = paths.cut(k)
        result = carry(Plan(going, settings), run)
        _add(found, k, run.root.name, list(result.scorecards.values()))
        found.pending += len(result.pending)
        _write(paths, found)
    return found


def sweep_command(
    plan: Plan,
    *,
    cuts: int,
    runs: Path,
    run_id: str | None,
    resume: bool,
    parallel: int,
    min_net: int | None,
    open_models: OpenModels | None = None,
    retry_machinery: bool = False,
) -> int:
    """Sweep, report; the exit code of a run over all trials of all cuts."""
    if resume and run_id is None:
        raise InputError("--resume: which sweep? name it with --run-id")
    root = run_paths(runs, run_id or new_run_id())
    if root.identity.exists():
        raise InputError(f"{root.root}: this is a run, not a sweep", hint="Name another --run-id.")
    paths = SweepPaths(root.root)
    if paths.root.exists() and not resume:
        raise InputError(f"{paths.root}: exists", hint="Add --resume to go on with it, or name another --run-id.")

    def carry(part: Plan, run: RunPaths) -> RunResult:
        engine = DockerEngine.from_env(run=run.root.name)
        k = part.settings.cutoff.n if part.settings.cutoff else None
        with ConsoleProgress(Console(stderr=True), len(part.trials)) as progress:
            progress.note(f"cut at edit {k}")
            result = execute(
                part,
                engine=engine,
                paths=run,
                signer=signer(),
                resume=run.identity.exists(),
                retry_machinery=retry_machinery,
                parallel=parallel,
                progress=progress,
                open_models=None if open_models is None else _for_cut(open_models, k or 1, resume),
            )
        write_results(result)
        return result

    with locked(root):
        found = sweep(plan, cuts, paths, carry)
    print_curves(found.curves, console())
    console().print(str(paths.picture), markup=False, soft_wrap=True)
    return exit_code(found.cards, found.pending, min_net)


def _for_cut(open_models: OpenModels, k: int, resume: bool) -> OpenModels:
    """The models of one cut: all cuts share a recording, in which each has sessions of its own."""

    def opened(
        settings: ModelSettings, recipes: Mapping[str, Recipe], *, spent: Spent, resumed: bool, prefix: str = ""
    ) -> AbstractContextManager[Models]:
        going_on = resumed or resume or k > 1
        return open_models(settings, recipes, spent=spent, resumed=going_on, prefix=f"{prefix}edits-{k}/")

    return opened


def print_curves(curves: Sequence[Curve], out: Console) -> None:
    """A line for each curve: what is kept at each point, and the area."""
    for curve in curves:
        out.print(Text(curve_line(curve)), soft_wrap=True)


def curve_line(curve: Curve) -> str:
    """A curve in a line of text."""
    total = max((one.total or 0 for one in [*curve.points, *([curve.uncut] if curve.uncut else [])]), default=0)
    points = " ".join(number(one.net) for one in curve.points) or "no point"
    uncut = f", not cut {number(curve.uncut.net)}" if curve.uncut else ""
    shape = "net at cut 1, 2, ..." if curve.kind == "cutoff" else "net of wave 1, 2, ..."
    return one_line(f"{curve.name}: {shape}: {points}{uncut} of {total}; area {number(curve.area)}", 2000)


def _add(found: Sweep, k: int, run: str, cards: Sequence[Scorecard]) -> None:
    for cell, group in by_cell(cards).items():
        ends = [card.sessions[0].exit for card in group if card.sessions]
        cut = ends.count("cutoff")
        one = point(k, group, whole, cut=cut, run=run)
        if ends and not cut:
            found.uncut[cell] = one
        else:
            found.points[cell].append(one)
    found.cards += cards


def _write(paths: SweepPaths, found: Sweep) -> None:
    curves = found.curves
    write_bytes(paths.curves, curves_json(Curves(run=paths.root.name, curves=curves)))
    write_bytes(paths.picture, curves_svg(curves))


def _cell(spec: TrialSpec) -> Cell:
    # As a scorecard writes it: 7 and not 007.
    variant = str(int(spec.task.variant)) if spec.task.variant.isdecimal() else spec.task.variant
    return spec.task.id, variant, condition_of(spec), spec.agent_name
