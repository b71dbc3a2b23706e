"""A task folder, loaded and checked: what a workspace starts as, what is asked, what is graded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..sandbox.cutoff import CutoffRule, parse
from ..sandbox.limits import Limits
from ..sandbox.workspace import CommitSpec
from .boundaries import Boundary, Wiring
from .template import FIELD, names, render, strings
from .variants import Parameter, Value
from .waves import Statement, amendments, first, statements

if TYPE_CHECKING:
    from .template import Specs

# The flag under which the templates of a task that is built from scratch have their baseline.
BASE = "BASE"


@dataclass(frozen=True, slots=True)
class SessionStep:
    """A session of the script. `cutoff` and `armed` are what sandbox.cutoff.parse reads."""

    number: int
    prompt: str
    cutoff: str
    armed: str | None = None


@dataclass(frozen=True, slots=True)
class PoisonStep:
    """Something planted between two sessions, by the name of its kind."""

    name: str


Step = SessionStep | PoisonStep


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """One commit of a task's history as its task.yaml describes it."""

    author: str
    email: str
    date: datetime
    message: str
    adds: tuple[str, ...]
    turns_on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vandal:
    """An edit, `text` to `by` in `path`, that hidden checks of the baseline notice and visible tests do not."""

    path: str
    text: str
    by: str


@dataclass(frozen=True)
class TaskFiles:
    """The texts of a task folder, as templates.

    task.yaml                 what `schema.TaskForm` says
    workspace/**              what the agent gets; with every requirement done, the reference solution
    workspace/wiring.yaml     the module boundaries
    prompts/<name>.md         one for each session of the script
    prompts/notes.md          one line for each requirement: notes as a careful agent would take them
    checks/test_*.py          the hidden checks; never rendered, never shown to an agent
    """

    root: Path
    workspace: Mapping[str, str]
    prompts: Mapping[str, str]
    notes: Mapping[str, str]


@dataclass(frozen=True)
class Task:
    """One variant of a task. Everything that depends on the variant is rendered from the same templates.

    `parameters` are the values in force at the end, `earlier` those after each wave before the last.
    """

    id: str
    tier: int
    title: str
    variant: str
    parameters: Mapping[str, Value]
    earlier: tuple[Mapping[str, Value], ...]
    definitions: Mapping[str, Parameter]
    steps: tuple[Step, ...]
    grade: tuple[str, ...]
    requirements: tuple[str, ...]
    baseline: tuple[str, ...]
    from_scratch: bool
    visible_tests: tuple[str, ...]
    protected: tuple[str, ...]
    wiring: Wiring
    budget_tokens: int
    budget_reason: str
    limits: Limits
    vandal: Vandal | None
    marks: tuple[str, ...]
    commits: tuple[HistoryItem, ...]
    files: TaskFiles
    sha256: str

    @cached_property
    def _flags(self) -> Mapping[str, set[str]]:
        return {path: names(text, path)[1] for path, text in self.files.workspace.items()}

    @property
    def guarded(self) -> tuple[str, ...]:
        """The packages that hidden checks import and boundaries bind."""
        return self.wiring.packages

    @property
    def boundaries(self) -> tuple[Boundary, ...]:
        """Which package may not import which."""
        return self.wiring.boundaries

    @property
    def codebase(self) -> bool:
        """Not somebody's real code."""
        return False

    @property
    def images(self) -> tuple[str, ...]:
        """None; its checks ask a plain sandbox."""
        return ()

    @property
    def checks_dir(self) -> Path:
        """The folder of the hidden checks."""
        return self.files.root / "checks"

    @property
    def check_ids(self) -> tuple[str, ...]:
        """The complete set of hidden checks: requirements first."""
        return self.requirements + self.baseline

    @cached_property
    def specs(self) -> Specs:
        """What templates need to know of the parameters; holds no value."""
        return {name: parameter.spec for name, parameter in self.definitions.items()}

    @cached_property
    def history(self) -> tuple[CommitSpec, ...]:
        """The commits that lead to the baseline."""
        return tuple(_history(self))

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Every section that states or amends a requirement, in the order in which the script hands them over."""
        prompts = [step.prompt for step in self.steps if isinstance(step, SessionStep)]
        return statements(self.files.prompts, prompts)

    @property
    def amendments(self) -> tuple[Statement, ...]:
        """The sections by which a later wave changes requirements of earlier ones."""
        return amendments(self.statements)

    @property
    def waves(self) -> tuple[tuple[str, ...], ...]:
        """The requirements by the wave that states them; one wave in most tasks."""
        origin = first(self.statements).values()
        last = max((one.wave for one in self.statements), default=0)
        return tuple(tuple(o.requirement for o in origin if o.wave == wave) for wave in range(1, last + 1))

    def values_at(self, wave: int) -> Mapping[str, Value]:
        """The values in force after a wave; waves count from 1."""
        return (*self.earlier, self.parameters)[wave - 1]

    def workspace_files(
        self, done: frozenset[str] | set[str] = frozenset(), wave: int | None = None
    ) -> dict[str, bytes]:
        """The workspace with these requirements met, in the form that they have after a wave (the last by default).

        None is what the agent starts from, all is the reference solution. Where that start has to be built first,
        `{BASE}` is the built one, and with any requirement it is there.
        """
        if unknown := sorted(set(done) - set(self.requirements) - ({BASE} if self.from_scratch else set())):
            raise ValueError(f"{self.id} has no requirement {unknown[0]}")
        task = self if wave is None else replace(self, parameters=self.values_at(wave))
        return render_workspace(task, done, frozenset(self.marks))

    def cutoff(self, step: SessionStep) -> CutoffRule:
        """When a session of the script ends; a rule that sleeps wakes by a commit that passes the visible tests."""
        rule = parse(step.cutoff, armed=step.armed)
        return replace(rule, armed_test=self.visible_tests) if rule.armed else rule

    @property
    def built(self) -> dict[str, bytes]:
        """The workspace with the baseline and no requirement: the start, unless the agent has to build it."""
        return self.workspace_files({BASE} if self.from_scratch else set())

    def prompt(self, name: str) -> str:
        """A prompt by the name of its file, with the values that it is about."""
        wave = next((one.wave for one in self.statements if one.prompt == name), len(self.earlier) + 1)
        return render(self.files.prompts[name], strings(self.specs, self.values_at(wave)), {}, f"prompts/{name}")

    def requirement_template(self, requirement: str) -> str:
        """The section of the prompt that states a requirement first, as a template."""
        if requirement not in (origin := first(self.statements)):
            raise ValueError(f"{self.id} has no requirement {requirement}")
        return origin[requirement].text

    def parameters_of(self, requirement: str) -> tuple[str, ...]:
        """The parameters that a requirement states, in the order in which it does."""
        return stated_names(self.requirement_template(requirement))

    def files_of(self, requirement: str) -> tuple[str, ...]:
        """The files whose text depends on a requirement."""
        return tuple(path for path, flags in self._flags.items() if requirement in flags)

    def conditional(self, path: str) -> bool:
        """Whether some lines of a file stand there under a condition only."""
        return bool(self._flags[path])

    def with_parameters(self, **values: Value) -> Task:
        """The same variant with some values replaced, whatever their ranges: for mutants and experiments."""
        if unknown := sorted(set(values) - set(self.parameters)):
            raise ValueError(f"{self.id} has no parameter {unknown[0]}")
        return replace(self, parameters={**self.parameters, **values})


def stated_names(text: str) -> tuple[str, ...]:
    """The parameters that a template names, in the order in which it does."""
    return tuple(dict.fromkeys(field.partition(".")[0] for field in FIELD.findall(text)))


def render_workspace(task: Task, done: frozenset[str] | set[str], marks: frozenset[str]) -> dict[str, bytes]:
    """The workspace at some point of its history or of the work on it.

    A file whose conditions leave nothing but blank lines does not exist at that point.
    """
    values = strings(task.specs, task.parameters)
    flags = {name: name in done for name in task.requirements} | {name: name in marks for name in task.marks}
    if task.from_scratch:
        flags[BASE] = bool(done)
    found = {}
    for path, template in task.files.workspace.items():
        text = render(template, values, flags, f"workspace/{path}")
        if text.strip() or not task.conditional(path):
            found[path] = text.encode("utf-8")
    return found


def folder_sha256(root: Path, variant: str) -> str:
    """What identifies a task: the bytes of every file of its folder, and the variant."""
    digest = hashlib.sha256(f"variant {variant}\n".encode())
    for path in sorted(folder_files(root), key=lambda one: one.relative_to(root).as_posix()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{content} {path.relative_to(root).as_posix()}\n".encode())
    return digest.hexdigest()


def folder_files(root: Path) -> list[Path]:
    """Every file of a task folder but what Python leaves behind."""
    return [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def matches(path: str, globs: tuple[str, ...]) -> bool:
    """Whether a path fits one of the globs; `*` does not cross a `/`."""
    parts = path.split("/")
    for glob in globs:
        wanted = glob.split("/")
        if len(wanted) == len(parts) and all(fnmatchcase(a, b) for a, b in zip(parts, wanted, strict=True)):
            return True
    return False


def _history(task: Task) -> list[CommitSpec]:
    marks: frozenset[str] = frozenset()
    globs: tuple[str, ...] = ()
    before: dict[str, bytes] = {}
    commits = []
    for item in task.commits:
        marks |= set(item.turns_on)
        globs += item.adds
        after = {path: text for path, text in render_workspace(task, set(), marks).items() if matches(path, globs)}
        changed = {path: text for path, text in after.items() if before.get(path) != text}
        commits.append(CommitSpec(item.message, item.author, item.email, item.date.isoformat(), changed))
        before = after
    return commits
