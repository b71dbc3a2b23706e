"""What trials and arms need to know of a task, whatever kind it is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ..sandbox.cutoff import CutoffRule
from ..sandbox.limits import Limits
from ..sandbox.workspace import CommitSpec
from .boundaries import Boundary, Wiring
from .task import HistoryItem, SessionStep, Step


class GradedTask(Protocol):
    """What a task gives to be graded by."""

    @property
    def id(self) -> str: ...
    @property
    def variant(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, object]: ...
    @property
    def requirements(self) -> tuple[str, ...]: ...
    @property
    def baseline(self) -> tuple[str, ...]: ...
    @property
    def protected(self) -> tuple[str, ...]: ...
    @property
    def guarded(self) -> tuple[str, ...]: ...
    @property
    def boundaries(self) -> tuple[Boundary, ...]: ...
    @property
    def budget_tokens(self) -> int: ...
    @property
    def checks_dir(self) -> Path: ...


class TrialTask(GradedTask, Protocol):
    """A task as a trial walks through it and as an arm is laid over it; `Task` is one, so is a codebase of repos."""

    @property
    def tier(self) -> int: ...
    @property
    def title(self) -> str: ...
    @property
    def wiring(self) -> Wiring: ...
    @property
    def budget_reason(self) -> str: ...
    @property
    def steps(self) -> tuple[Step, ...]: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def commits(self) -> Sequence[HistoryItem]: ...
    @property
    def history(self) -> tuple[CommitSpec, ...]: ...

    @property
    def codebase(self) -> bool:
        """Whether it is somebody's real code, which has neither a TASK.md nor a wiring.yaml."""
        ...

    @property
    def images(self) -> tuple[str, ...]:
        """The images that grading it needs beside the sandbox's."""
        ...

    def prompt(self, name: str) -> str:
        """A prompt by the name of its file."""
        ...

    def workspace_files(self, done: frozenset[str] | set[str] = ...) -> dict[str, bytes]:
        """What an agent starts from; where the task knows how, with these requirements met."""
        ...

    def cutoff(self, step: SessionStep) -> CutoffRule:
        """When a session of the script ends."""
        ...
