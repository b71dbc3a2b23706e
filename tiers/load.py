"""Finding and reading task folders. Whatever is wrong in one is an InputError with file, line and field."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..sandbox.cutoff import parse
from ..sandbox.errors import InputError
from ..sandbox.limits import Limits, parse_limits
from .boundaries import load_wiring
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
    matches,
)
from .template import TemplateError, names, sections
from .variants import Constraint, Parameter, check_seed, draw
from .yamlfile import Source, read_yaml

TIERS = Path(__file__).parent
CHECK_NAME = re.compile(r"test_([RB]\d+)(?:_|$)")


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
    definitions = [
        Parameter(name, given.default, tuple(given.allowed), given.words, given.code, given.vocabulary)
        for name, given in form.parameters.items()
    ]
    task = Task(
        id=form.id,
        tier=form.tier,
        title=form.title,
        variant=seed,
        parameters=draw(form.id, seed, definitions, _constraints(form, source)),
        definitions={parameter.name: parameter for parameter in definitions},
        steps=_steps(form.steps, files, source),
        grade=tuple(form.grade),
        requirements=tuple(form.requirements),
        baseline=tuple(form.baseline),
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
    _check_names(task, source)
    _check_requirements(task, source)
    _check_history(task, source)
    _check_vandal(task, source)
    _check_checks(task, source)
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


def _constraints(form: TaskForm, source: Source) -> list[Constraint]:
    found = []
    for index, constraint in enumerate(form.constraints):
        kind = "distinct" if constraint.distinct is not None else "ascending"
        given = tuple(constraint.distinct or constraint.ascending or ())
        for name in given:
            if name not in form.parameters:
                raise source.error(("constraints", index, kind), f"no parameter {name}")
        rule = Constraint(kind, given)
        if not rule.holds({name: form.parameters[name].default for name in given}):
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


def _check_names(task: Task, source: Source) -> None:
    flags = {*task.requirements, *task.marks}
    texts = {f"workspace/{path}": text for path, text in task.files.workspace.items()}
    texts |= {f"prompts/{name}": text for name, text in task.files.prompts.items()}
    texts |= {f"notes of {name}": text for name, text in task.files.notes.items()}
    for file, text in texts.items():
        where = f"{task.id}/{file}"
        try:
            values, used = names(text, where)
        except TemplateError as error:
            raise InputError(str(error)) from error
        for name in sorted((values - set(task.parameters)) | (used - flags)):
            raise InputError(f"{where}:{_line_of(name, text)}: {name}: neither parameter, requirement nor mark")
    stated = {name for requirement in task.requirements for name in _stated(task, requirement)}
    for name in task.parameters:
        if name not in stated:
            raise source.error(("parameters", name), "no requirement states it")


def _stated(task: Task, requirement: str) -> tuple[str, ...]:
    known = {name for text in task.files.prompts.values() for name in sections(text)}
    return task.parameters_of(requirement) if requirement in known else ()


def _check_requirements(task: Task, source: Source) -> None:
    for index, requirement in enumerate(task.requirements):
        if not any(requirement in sections(text) for text in task.files.prompts.values()):
            raise source.error(("requirements", index), f"no prompt has a heading `### {requirement} ...`")
        if not task.files_of(requirement):
            raise source.error(("requirements", index), f"no file of the workspace asks `#:if {requirement}`")
        note = task.files.notes.get(requirement)
        if note is None or names(note)[0] != set(task.parameters_of(requirement)):
            raise source.error(("notes",), f"the line of {requirement} must hold exactly the values that it states")


def _check_history(task: Task, source: Source) -> None:
    globs = tuple(glob for commit in task.commits for glob in commit.adds)
    turned = {mark for commit in task.commits for mark in commit.turns_on}
    for path in task.workspace_files():
        if not matches(path, globs):
            raise source.error(("history",), f"no commit adds {path}")
    for mark in task.marks:
        if mark not in turned:
            raise source.error(("marks",), f"no commit turns on {mark}")
    for index, glob in enumerate(task.protected):
        if not any(matches(path, (glob,)) for path in task.workspace_files()):
            raise source.error(("protected", index), f"no file of the workspace fits {glob}")


def _check_vandal(task: Task, source: Source) -> None:
    if task.vandal is None:
        return
    reference = task.workspace_files(set(task.requirements))
    if reference.get(task.vandal.path, b"").count(task.vandal.text.encode()) != 1:
        raise source.error(("vandal", "text"), f"does not stand exactly once in {task.vandal.path}")


def _check_checks(task: Task, source: Source) -> None:
    found: list[str] = []
    for path in sorted(task.checks_dir.glob("test_*.py")):
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError as error:
            raise InputError(f"{task.id}/checks/{path.name}:{error.lineno}: {error.msg}") from error
        found += [match[1] for name in _functions(tree) if (match := CHECK_NAME.match(name))]
    for field, wanted in (("requirements", task.requirements), ("baseline", task.baseline)):
        for index, check in enumerate(wanted):
            if found.count(check) != 1:
                raise source.error((field, index), f"{found.count(check)} functions test_{check}_... in checks/, not 1")
    if extra := sorted(set(found) - set(task.check_ids)):
        raise source.error(("requirements",), f"checks/ tests {extra[0]}, which is not listed")


def _functions(tree: ast.Module) -> Iterable[str]:
    return (node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def _line_of(name: str, text: str) -> int:
    found = re.search(rf"<<{name}\b|#:if (not )?{name}\b", text)
    return text[: found.start()].count("\n") + 1 if found else 1
