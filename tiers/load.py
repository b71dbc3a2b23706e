"""Finding and reading task folders. Whatever is wrong in one is an InputError with file, line and field."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..sandbox.cutoff import parse
from ..sandbox.errors import InputError
from ..sandbox.limits import Limits, parse_limits
from .boundaries import load_wiring
from .consistency import check
from .schema import StepForm, TaskForm
from .task import (
    HistoryItem,
    PoisonStep,
    SessionStep,
    Step,
    Task,
    TaskFiles,
    Vandal,
    folder_files,
    folder_sha256,
    stated_names,
)
from .variants import Constraint, Parameter, Values, check_seed, draw_waves
from .waves import first, statements
from .yamlfile import Source, read_yaml

TIERS = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """What `takeover tasks` lists."""

    id: str
    tier: int
    title: str
    requirements: int
    baseline: int
    path: Path


def task_folders() -> dict[str, Path]:
    """The folders of the tasks that ship, by name."""
    return {path.parent.name: path.parent for path in sorted(TIERS.glob("*/task.yaml"))}


def list_tasks() -> list[TaskSummary]:
    """All tasks that ship."""
    found = []
    for name, root in task_folders().items():
        form, _ = read_yaml(root / "task.yaml", TaskForm, f"{name}/task.yaml")
        found.append(TaskSummary(form.id, form.tier, form.title, len(form.requirements), len(form.baseline), root))
    return found


def load_task(ref: str | Path, variant: int | str = 0) -> Task:
    """A task by its name or its folder; InputError lists what exists, or says what is wrong where."""
    seed = check_seed(variant)
    root = _folder(ref)
    label = f"{root.name}/task.yaml"
    form, source = read_yaml(root / "task.yaml", TaskForm, label)
    if form.id != root.name:
        raise source.error(("id",), f"{form.id} is not the name of the folder, {root.name}")
    files = _read_files(root, form, source)
    wiring = load_wiring(root / "workspace" / "wiring.yaml", f"{root.name}/workspace/wiring.yaml")
    steps = _steps(form.steps, files, source)
    definitions, drawn = _values(form, steps, files, seed, source)
    *earlier, parameters = drawn
    task = Task(
        id=form.id,
        tier=form.tier,
        title=form.title,
        variant=seed,
        parameters=parameters,
        earlier=tuple(earlier),
        definitions={parameter.name: parameter for parameter in definitions},
        steps=steps,
        grade=tuple(form.grade),
        requirements=tuple(form.requirements),
        baseline=tuple(form.baseline),
        from_scratch=form.from_scratch,
        visible_tests=tuple(form.visible_tests),
        protected=tuple(form.protected),
        wiring=wiring,
        budget_tokens=form.budget_tokens,
        budget_reason=form.budget_reason,
        limits=_limits(form, source),
        vandal=Vandal(form.vandal.path, form.vandal.text, form.vandal.by) if form.vandal else None,
        marks=tuple(form.marks),
        commits=_commits(form, source),
        files=files,
        sha256=folder_sha256(root, seed),
    )
    check(task, source)
    return task


def _folder(ref: str | Path) -> Path:
    known = task_folders()
    if isinstance(ref, str) and ref in known:
        return known[ref]
    path = Path(ref)
    if (path / "task.yaml").is_file():
        return path.resolve()
    raise InputError(f"no task {str(ref)!r}", hint=f"Known: {', '.join(known)}; or a folder that holds a task.yaml.")


def _read_files(root: Path, form: TaskForm, source: Source) -> TaskFiles:
    def text(path: Path) -> str:
        name = f"{root.name}/{path.relative_to(root).as_posix()}"
        try:
            return path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{name}: not UTF-8 (byte {error.start})") from error
        except OSError as error:
            raise InputError(f"{name}: {error.strerror}") from error

    for folder in ("workspace", "prompts", "checks"):
        if not (root / folder).is_dir():
            raise InputError(f"{root.name}/{folder}: no such folder")
    workspace = {p.relative_to(root / "workspace").as_posix(): text(p) for p in folder_files(root / "workspace")}
    prompts = {p.name: text(p) for p in sorted((root / "prompts").glob("*.md"))}
    if form.notes not in prompts:
        raise source.error(("notes",), f"prompts/{form.notes} does not exist")
    notes = {line.split(" ", 1)[0]: line for line in prompts.pop(form.notes).splitlines() if line.strip()}
    return TaskFiles(root, dict(sorted(workspace.items())), prompts, notes)


def _limits(form: TaskForm, source: Source) -> Limits:
    try:
        return parse_limits(form.limits)
    except InputError as error:
        match = re.fullmatch(r"limits: (?:(\w+): )?(.*)", str(error), re.DOTALL)
        field, what = match.groups() if match else (None, str(error))
        raise source.error(("limits", field) if field else ("limits",), what) from error


def _values(
    form: TaskForm, steps: tuple[Step, ...], files: TaskFiles, seed: str, source: Source
) -> tuple[list[Parameter], tuple[Values, ...]]:
    prompts = [step.prompt for step in steps if isinstance(step, SessionStep)]
    stated = statements(files.prompts, prompts)
    waves = max((one.wave for one in stated), default=1)
    definitions = _parameters(form, waves, source)
    constraints = _constraints(form, waves, source)
    # Whoever remembers the published variant must meet no requirement of another one.
    groups = [[name for name in stated_names(one.text) if name in form.parameters] for one in first(stated).values()]
    return definitions, draw_waves(
        form.id, seed, definitions, constraints, waves=waves, groups=[g for g in groups if g]
    )


def _parameters(form: TaskForm, waves: int, source: Source) -> list[Parameter]:
    for name, given in form.parameters.items():
        for wave in given.amended:
            if wave > waves:
                raise source.error(("parameters", name, "amended"), f"the script has {waves} waves, not {wave}")
    return [
        Parameter(name, one.default, tuple(one.allowed), one.words, one.code, one.vocabulary, one.amended)
        for name, one in form.parameters.items()
    ]


def _constraints(form: TaskForm, waves: int, source: Source) -> list[Constraint]:
    found = []
    for index, constraint in enumerate(form.constraints):
        kind = "distinct" if constraint.distinct is not None else "ascending"
        given = tuple(constraint.distinct or constraint.ascending or ())
        for name in given:
            if name not in form.parameters:
                raise source.error(("constraints", index, kind), f"no parameter {name}")
        rule = Constraint(kind, given)
        for wave in range(1, waves + 1):
            if not rule.holds({name: form.parameters[name].value_at(wave) for name in given}):
                raise source.error(("constraints", index, kind), f"the defaults break it ({rule})")
        found.append(rule)
    return found


def _steps(forms: list[StepForm], files: TaskFiles, source: Source) -> tuple[Step, ...]:
    found: list[Step] = []
    for index, form in enumerate(forms):
        if form.session is None:
            found.append(PoisonStep(str(form.poison)))
            continue
        session = form.session
        if session.prompt not in files.prompts:
            raise source.error(("steps", index, "session", "prompt"), f"prompts/{session.prompt} does not exist")
        try:
            parse(session.cutoff, armed=session.armed)
        except InputError as error:
            raise source.error(("steps", index, "session", "cutoff"), str(error)) from error
        number = 1 + sum(isinstance(step, SessionStep) for step in found)
        found.append(SessionStep(number, session.prompt, session.cutoff, session.armed))
    if not any(isinstance(step, SessionStep) for step in found):
        raise source.error(("steps",), "no session among the steps")
    return tuple(found)


def _commits(form: TaskForm, source: Source) -> tuple[HistoryItem, ...]:
    found = []
    for index, commit in enumerate(form.history):
        for mark in commit.turns_on:
            if mark not in form.marks:
                raise source.error(("history", index, "turns_on"), f"{mark} is not among the marks")
        if index and commit.date < form.history[index - 1].date:
            raise source.error(("history", index, "date"), "before the commit above")
        name, email = commit.author[:-1].split(" <")
        found.append(HistoryItem(name, email, commit.date, commit.message, tuple(commit.adds), tuple(commit.turns_on)))
    return tuple(found)
