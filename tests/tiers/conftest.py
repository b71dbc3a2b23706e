"""Stand-ins for sandboxes: our own rendered code asked in this process, and scripted agents as plain processes.

Never for an agent's code.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from takeover.grader.plain import same
from takeover.tiers.arms import load_arm, starting_files
from takeover.tiers.load import load_task
from takeover.tiers.skills import scripted_home
from takeover.tiers.task import SessionStep, Task


@cache
def compiled(path: str, source: bytes) -> CodeType:
    return compile(source, path, "exec", dont_inherit=True)


class Rendered(MetaPathFinder, Loader):
    """Imports modules from a rendered workspace without touching a disk."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        stem = name.replace(".", "/")
        for file in (f"{stem}/__init__.py", f"{stem}.py"):
            if file in self.files:
                return ModuleSpec(name, self, origin=file, is_package=file.endswith("__init__.py"))
        return None

    def get_code(self, name: str) -> CodeType:
        origin = str(self.find_spec(name).origin)  # type: ignore[union-attr]
        return compiled(origin, self.files[origin])

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(module.__spec__.origin)  # type: ignore[union-attr]
        exec(self.get_code(module.__name__), module.__dict__)


class Answer:
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: object = None, raised: BaseException | None = None) -> None:
        self.value, self.raised = value, raised

    def __eq__(self, expected: object) -> bool:
        return self.raised is None and same(self.value, expected)

    def __repr__(self) -> str:
        return f"<raised {self.raised!r}>" if self.raised else f"<returned {self.value!r}>"


class Refusal:
    def __init__(self, raised: BaseException | None) -> None:
        self.type = type(raised).__name__ if raised else None
        self.message = str(raised)
        self._mro = [f"{base.__module__}.{base.__name__}" for base in type(raised).__mro__] if raised else []

    def is_a(self, name: str) -> bool:
        return any(full == name or full.endswith(f".{name}") for full in self._mro)


class LocalSubject:
    """The part of `grader.subject.Subject` that the checks of our tasks use."""

    def call(self, target: str, *args: object, **kwargs: object) -> Answer:
        name, _, attribute = target.partition(":")
        try:
            return Answer(getattr(importlib.import_module(name), attribute)(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - whatever our own code raises is what a check asks about
            return Answer(raised=error)

    def error(self, target: str, *args: object, **kwargs: object) -> Refusal:
        return Refusal(self.call(target, *args, **kwargs).raised)

    def steps(self) -> LocalSubject:
        return self


@contextmanager
def importable(files: Mapping[str, bytes]) -> Iterator[None]:
    """The modules of a workspace can be imported; afterwards nothing of them is left."""
    finder, before = Rendered(files), set(sys.modules)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for module in set(sys.modules) - before:
            if isinstance(getattr(sys.modules[module], "__loader__", None), Rendered):
                del sys.modules[module]


@cache
def functions(checks: Path) -> Mapping[str, Callable[..., None]]:
    found: dict[str, Callable[..., None]] = {}
    for path in sorted(checks.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"checks_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        found |= {n.split("_")[1]: f for n, f in vars(module).items() if n.startswith("test_")}
    return found


def run_checks(task: Task, files: Mapping[str, bytes], ids: tuple[str, ...] | None = None) -> dict[str, str]:
    """For each check that fails, why."""
    available: dict[str, Any] = {"subject": LocalSubject(), "p": SimpleNamespace(**task.parameters)}
    failed = {}
    with importable(files):
        for check in ids or task.check_ids:
            function = functions(task.checks_dir)[check]
            try:
                function(**{name: available[name] for name in inspect.signature(function).parameters})
            except AssertionError as error:
                failed[check] = f"line {error.__traceback__.tb_next.tb_lineno}: {error}"  # type: ignore[union-attr]
    return failed


# A session ends as soon as it has written a source file, as a sandbox would end it; `armed` by the first commit or at once.
CUT = """\
import os, sys
folder, role, armed = sys.argv[1:]
sys.path.insert(0, folder)
import agent, workshop
write, commit, state = workshop.Workshop.write, workshop.Workshop.commit, {"armed": armed == "at once"}
def cut(shop, name, text):
    write(shop, name, text)
    if state["armed"] and name.endswith(".py"):
        os._exit(99)
def arm(shop, message):
    commit(shop, message)
    state["armed"] = state["armed"] or armed == "first-commit"
workshop.Workshop.write, workshop.Workshop.commit = cut, arm
agent.__file__ = os.path.join(folder, "agent.py")
sys.exit(agent.main(["agent.py", role]))
"""


def lay(files: Mapping[str, bytes], folder: Path) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def gather(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files if ".git" not in path.parts}


class Played(NamedTuple):
    """The workspace after each session of a script, and the sessions' exit codes; 99 is a cutoff."""

    after: list[dict[str, bytes]]
    codes: list[int]

    @property
    def files(self) -> dict[str, bytes]:
        return self.after[-1]


def play(task: Task, role: str, arm: str, folder: Path) -> Played:
    """A scripted agent through all sessions of the task's script."""
    workspace = lay(starting_files(task, load_arm(arm, task)), folder / "workspace")
    played = Played([], [])
    for step in task.steps:
        assert isinstance(step, SessionStep)
        home = lay(scripted_home(task, role), folder / f"home{step.number}")
        (home / "prompt.md").write_text(task.prompt(step.prompt))
        environment = {
            "HOME": str(home),
            "PATH": "/usr/bin:/bin",
            "TAKEOVER_PROMPT_FILE": str(home / "prompt.md"),
            "TAKEOVER_SESSION": str(step.number),
        }
        armed = "never" if step.cutoff == "none" else step.armed or "at once"
        command = [sys.executable, "-B", "-c", CUT, str(home / "agent"), role, armed]
        done = subprocess.run(command, cwd=workspace, env=environment, capture_output=True, check=False)
        played.codes.append(done.returncode)
        played.after.append(gather(workspace))
    return played


@pytest.fixture(name="played", scope="session")
def _played() -> Callable[..., Played]:
    return play


SEEDS = ("0", *(f"seed-{number}" for number in range(20)))


@pytest.fixture(name="checked", scope="session")
def _checked() -> Callable[..., dict[str, str]]:
    return run_checks


@pytest.fixture(name="fintech", scope="session")
def _fintech() -> Task:
    return load_task("tier2_fintech")


@pytest.fixture(name="variants", scope="session")
def _variants() -> list[Task]:
    return [load_task("tier2_fintech", seed) for seed in SEEDS]
