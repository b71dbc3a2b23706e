"""A run before it starts: the matrix of trials and the identity that freezes it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from .. import __version__
from ..sandbox.cutoff import CutoffRule
from ..sandbox.errors import InputError
from ..tiers.arms import Arm
from ..tiers.task import Task
from .agents import Agent

# A folder's name may have 255 bytes, and an attempt that is set aside has a longer one.
MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class TrialSpec:
    """One task x arm x agent x repetition."""

    task: Task
    arm: Arm
    agent: Agent
    repetition: int

    @property
    def name(self) -> str:
        """The trial's folder: task (with its variant when it is not the published one), arm, agent, repetition."""
        variant = f"@{self.task.variant}" if str(self.task.variant) != "0" else ""
        parts = (f"{self.task.id}{variant}", self.arm.name, self.agent.name, str(self.repetition))
        return ".".join(re.sub(r"[^A-Za-z0-9@_-]+", "-", part) for part in parts)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run fixes beside its matrix. `cutoff` replaces the script's rule for every session that has one."""

    cutoff: CutoffRule | None = None
    wall_seconds: float | None = None
    declared_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A frozen set of trials."""

    trials: tuple[TrialSpec, ...]
    settings: Settings

    def identity(self, images: Mapping[str, str], guest_sha256: str) -> dict[str, object]:
        """What run.json freezes: a changed source, setting or image gives another identity."""
        return {
            "schema_version": 1,
            "toolkit": __version__,
            "guest_sha256": guest_sha256,
            "tasks": _unique(
                {"id": t.task.id, "variant": t.task.variant, "sha256": t.task.sha256} for t in self.trials
            ),
            "arms": _unique({"name": t.arm.name, "sha256": t.arm.sha256} for t in self.trials),
            "agents": [{"name": name, "sha256": sha256} for name, sha256 in self._agents().items()],
            "images": images,
            "trials": [t.name for t in self.trials],
            "settings": {
                "cutoff": self.settings.cutoff.text if self.settings.cutoff else None,
                "wall_seconds": self.settings.wall_seconds,
                "declared_tokens": self.settings.declared_tokens,
            },
        }

    def _agents(self) -> dict[str, str]:
        """What identifies each agent: its image, command and role, and the files that it is given for each task."""
        given = {(t.agent.name, t.task.id, t.task.variant): t for t in self.trials}
        digests = {t.agent.name: hashlib.sha256(t.agent.sha256.encode()) for t in self.trials}
        for (name, _, _), trial in sorted(given.items()):
            for path, data in sorted(trial.agent.spec(trial.task).home_files.items()):
                digests[name].update(f"{path}\0{len(data)}\0".encode() + data)
        return {name: digest.hexdigest() for name, digest in digests.items()}


def make_plan(
    cells: Sequence[tuple[Task, Arm]], agents: Sequence[Agent], *, repeat: int = 1, settings: Settings | None = None
) -> Plan:
    """The full matrix; InputError if it is empty or two trials would share a name."""
    trials = tuple(
        TrialSpec(task=task, arm=arm, agent=agent, repetition=number)
        for (task, arm), agent, number in product(cells, agents, range(1, repeat + 1))
    )
    names = [trial.name for trial in trials]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two trials would be called {doubled[0]}", hint="Name each task, arm and agent once.")
    if long := next((name for name in names if len(name) > MAX_NAME), None):
        raise InputError(
            f"a trial would be called {long[:60]}...", hint="Give the image a shorter name (`docker tag`)."
        )
    if not trials:
        raise InputError("nothing to run: no task, arm or agent was named")
    return Plan(trials=trials, settings=settings or Settings())


def differences(frozen: object, now: dict[str, object]) -> list[str]:
    """The top-level parts of two identities that are not the same."""
    if not isinstance(frozen, dict):
        return ["run.json"]
    return sorted(key for key in {*frozen, *now} if frozen.get(key) != now.get(key))


def _unique(rows: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    seen: list[dict[str, object]] = []
    for row in rows:
        if row not in seen:
            seen.append(row)
    return seen
