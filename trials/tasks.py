"""Any task by its name or folder: those of the tiers, and real codebases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..repos.load import is_repo_task, load_repo_task, repo_folders
from ..repos.probes import selection
from ..repos.task import RepoTask
from ..sandbox.errors import InputError
from ..tiers.load import load_task, task_folders
from ..tiers.task import Task
from ..tiers.trialtask import TrialTask


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line says of the variant: a seed for tasks of the tiers; bugs and hints for codebases."""

    variant: str = "0"
    bugs: str | None = None
    hints: str | None = None

    def variant_for(self, ref: str | Path) -> str:
        """The variant of one task; InputError where what was said does not fit it."""
        if not is_repo_task(ref):
            return self.variant
        if self.bugs is None and self.hints is None:
            if self.variant != "0" and self.variant.isdecimal():
                raise InputError(
                    f"--variant {self.variant}: {ref} has bugs and no seeds", hint="Choose with --bugs and --hints."
                )
            return self.variant
        if self.variant != "0":
            raise InputError("--variant: says the same as --bugs and --hints", hint="Leave one of them out.")
        return selection(self.bugs or "canonical", self.hints or "none").text

    def must_fit(self, refs: Sequence[str]) -> None:
        """InputError if bugs or hints were chosen and none of the tasks has any."""
        for option, value in (("--bugs", self.bugs), ("--hints", self.hints)):
            if value is not None and not any(is_repo_task(ref) for ref in refs):
                raise InputError(
                    f"{option}: {', '.join(refs)} is no codebase", hint=f"Codebases: {', '.join(codebase_names())}."
                )


def load_any(ref: str | Path, variant: int | str = 0) -> TrialTask:
    """A task of either kind; InputError lists what exists, or says what is wrong where."""
    if is_repo_task(ref):
        return load_repo_task(ref, variant)
    if isinstance(ref, str) and ref not in task_folders() and not Path(ref).exists():
        raise InputError(
            f"no task {ref!r}",
            hint=f"Known: {', '.join((*task_folders(), *codebase_names()))}; or a folder that holds a task.yaml.",
        )
    return load_task(ref, variant)


def load_chosen(ref: str, choice: Choice) -> TrialTask:
    """A task in the variant that the command line says."""
    choice.must_fit([ref])
    return load_any(ref, choice.variant_for(ref))


def codebase_names() -> list[str]:
    """The real codebases that ship, as the command line names them."""
    return [f"repos/{name}" for name in repo_folders()]


def codebase(task: TrialTask) -> RepoTask | None:
    """The task as one on a real codebase; None for any other."""
    return task if isinstance(task, RepoTask) else None


def tier_task(task: TrialTask, what: str) -> Task:
    """The task as one of the tiers; InputError for any other: `what` needs one."""
    if isinstance(task, Task):
        return task
    raise InputError(f"{task.id}: {what} is for tasks of the tiers, not for a real codebase")
