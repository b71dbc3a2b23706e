"""What `takeover repos` does, between the parsed options and an exit code."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..grader.report import console
from ..grader.subject import Subject
from ..repos.add import RUNS, Answer, Wanted, add_task
from ..repos.load import list_repo_tasks, load_repo_task
from ..repos.origin import Release, from_folder, from_git, from_package
from ..repos.task import RepoTask
from ..repos.visible import VisibleVerdict, run_visible
from ..sandbox.engine import DockerEngine, Opener
from ..sandbox.errors import InputError
from ..sandbox.items import plain_tree
from ..sandbox.store import SnapshotStore
from .grading import SUBJECT_LIMITS, questions
from .results import DONE


def list_command(task: str | None) -> int:
    """The codebases that ship, or every bug of one: its id, its area, and whether it is canonical (`*`)."""
    out = console()
    if task is None:
        for one in list_repo_tasks():
            line = f"repos/{one.id}  {one.title}: {one.canonical} canonical of {one.bugs}"
            out.print(line, markup=False, soft_wrap=True)
        return DONE
    for bug in load_repo_task(task, "all").bugs:
        fixed = f"  fixed in {bug.fixed_in}" if bug.fixed_in else ""
        line = f"{'*' if bug.canonical else ' '} {bug.id}  {bug.area}{fixed}"
        out.print(line, markup=False, soft_wrap=True)
    return DONE


def add_command(
    name: str,
    *,
    package: str | None,
    git: str | None,
    folder: Path | None,
    version: str,
    revision: str | None,
    fixed_version: str | None,
    fixed_revision: str | None,
    fixed_folder: Path | None,
    probes: Path,
    into: Path,
) -> int:
    """Measure the probes and write the task."""
    origin = Origin(name, package, git, folder)
    origin.must_fit(revision, fixed_version, fixed_revision, fixed_folder)
    base = origin.release(version, revision, folder)
    fixed = None
    if fixed_version or fixed_revision or fixed_folder:
        fixed = origin.release(fixed_version or fixed_revision or "fixed", fixed_revision, fixed_folder)
    engine = DockerEngine.from_env()

    def ask(files: Mapping[str, bytes], sources: Sequence[str], folders: Sequence[str]) -> list[Answer]:
        return answers(engine, files, sources, folders)

    task = add_task(Wanted(name, base, probes, into, fixed), ask, lambda made: own_tests(engine, made))
    held = f"in each of {RUNS} runs at base" + (f", gone in each of {RUNS} at the fixed release" if fixed else "")
    out = console()
    bugs = "1 bug" if len(task.known.bugs) == 1 else f"{len(task.known.bugs)} bugs"
    out.print(f"{into / name}: {bugs}, seen {held}", markup=False, soft_wrap=True)
    out.print(f"run it: takeover run {into / name} --arm Vanilla --agent IMAGE", markup=False, soft_wrap=True)
    return DONE


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the releases of a task come from: one of a package, a git repository, a folder."""

    name: str
    package: str | None
    git: str | None
    folder: Path | None

    def must_fit(self, revision: str | None, version: str | None, later: str | None, folder: Path | None) -> None:
        """InputError unless there is one origin, and every other option belongs to it."""
        if sum(one is not None for one in (self.package, self.git, self.folder)) != 1:
            raise InputError("name the release once: --package, --git or --folder")
        belongs = {
            "--revision": (revision, self.git),
            "--fixed-version": (version, self.package),
            "--fixed-revision": (later, self.git),
        }
        for option, (value, origin) in belongs.items():
            if value is not None and origin is None:
                raise InputError(f"{option}: goes with {'--package' if option == '--fixed-version' else '--git'}")
        if sum(one is not None for one in (version, later, folder)) > 1:
            raise InputError("name the fixed release once: --fixed-version, --fixed-revision or --fixed-folder")

    def release(self, version: str, revision: str | None, folder: Path | None) -> Release:
        """A release of this origin; of a folder where one is named."""
        if folder is not None:
            return from_folder(folder, self.name, version)
        if self.git is not None:
            return from_git(self.git, revision or version, self.name, version)
        return from_package(self.package or self.name, version)


def answers(engine: Opener, files: Mapping[str, bytes], probes: Sequence[str], folders: Sequence[str]) -> list[Answer]:
    """What each probe comes to over these files, in a fresh sandbox."""
    with questions(engine, plain_tree(files), SUBJECT_LIMITS, {}) as channel:
        return [_answer(Subject(channel), probe, folders) for probe in probes]


def own_tests(engine: Opener, task: RepoTask) -> VisibleVerdict | None:
    """What the release's own tests come to at base."""
    with tempfile.TemporaryDirectory(prefix="takeover-") as scratch:
        store = SnapshotStore(Path(scratch))
        return run_visible(engine, store, task, store.put_files(task.workspace_files()))


def _answer(subject: Subject, probe: str, folders: Sequence[str]) -> Answer:
    seen = subject.probe(probe, *folders).outcome
    return Answer(seen.value) if seen.how == "value" else Answer(why=seen.describe("the probe"))
