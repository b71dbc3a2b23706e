"""A run before it starts: the matrix of trials and the identity that freezes it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from .. import __version__
from ..poison.model import Pill
from ..repos.predictions import Predictions, load_predictions
from ..sandbox.cutoff import CutoffRule
from ..sandbox.errors import InputError
from ..tiers.arms import Arm
from ..tiers.trialtask import TrialTask
from .agents import Agent
from .model import ModelSettings
from .toolkit import toolkit_sha256

# A folder's name may have 255 bytes, and an attempt that is set aside has a longer one.
MAX_NAME = 200
MAX_VARIANT = 60


@dataclass(frozen=True, slots=True)
class TrialSpec:
    """One task x arm x agent x repetition."""

    task: TrialTask
    arm: Arm
    agent: Agent
    repetition: int
    poison: Pill | None = None
    receiver: Agent | None = None

    def agent_of(self, session: int) -> Agent:
        """Who works in session number `session`: after the first one the receiver, if another agent takes over."""
        return self.agent if session == 1 or self.receiver is None else self.receiver

    @property
    def agent_name(self) -> str:
        """The agent, or both of them."""
        return self.agent.name if self.receiver is None else f"{self.agent.name}-to-{self.receiver.name}"

    @property
    def name(self) -> str:
        """The trial's folder: task (with its variant when it is not the published one), arm, agent, repetition, poison."""
        chosen = str(self.task.variant)
        if len(chosen) > MAX_VARIANT:
            chosen = f"{chosen[: MAX_VARIANT - 13]}-{hashlib.sha256(chosen.encode()).hexdigest()[:12]}"
        variant = f"@{chosen}" if chosen != "0" else ""
        parts = [f"{self.task.id}{variant}", self.arm.name, self.agent_name, str(self.repetition)]
        parts += [self.poison.name] if self.poison is not None else []
        return ".".join(re.sub(r"[^A-Za-z0-9@_-]+", "-", part) for part in parts)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run fixes beside its matrix. `cutoff` replaces the script's rule for every session that has one."""

    cutoff: CutoffRule | None = None
    wall_seconds: float | None = None
    declared_tokens: int | None = None
    model: ModelSettings | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A frozen set of trials."""

    trials: tuple[TrialSpec, ...]
    settings: Settings
    predictions: Predictions | None = None

    def identity(self, images: Mapping[str, str], guest_sha256: str) -> dict[str, object]:
        """What run.json freezes: a changed source, setting or image gives another identity."""
        return {
            "schema_version": 1,
            "toolkit": __version__,
            "toolkit_sha256": toolkit_sha256(),
            "guest_sha256": guest_sha256,
            "tasks": _unique(_identified(t.task) for t in self.trials),
            "arms": _unique({"name": t.arm.name, "sha256": t.arm.sha256} for t in self.trials),
            "agents": [{"name": name, "sha256": sha256} for name, sha256 in self._agents().items()],
            "images": images,
            "trials": [t.name for t in self.trials],
            "settings": {
                "cutoff": self.settings.cutoff.text if self.settings.cutoff else None,
                "wall_seconds": self.settings.wall_seconds,
                "declared_tokens": self.settings.declared_tokens,
                **({"model": self.settings.model.identity()} if self.settings.model else {}),
            },
            **({} if self.predictions is None else {"predictions": self.predictions.identity()}),
        }

    def _agents(self) -> dict[str, str]:
        """What identifies each agent: its image, command and role, and the files that it is given for each task."""
        pairs = [(agent, t.task) for t in self.trials for agent in (t.agent, t.receiver) if agent is not None]
        given = {(agent.name, task.id, task.variant): (agent, task) for agent, task in pairs}
        digests = {agent.name: hashlib.sha256(agent.sha256.encode()) for agent, _ in pairs}
        for (name, _, _), (agent, task) in sorted(given.items()):
            for path, data in sorted(agent.spec(task).home_files.items()):
                digests[name].update(f"{path}\0{len(data)}\0".encode() + data)
        return {name: digest.hexdigest() for name, digest in digests.items()}


def make_plan(
    cells: Sequence[tuple[TrialTask, Arm]],
    agents: Sequence[Agent],
    *,
    repeat: int = 1,
    settings: Settings | None = None,
    poisons: Sequence[Pill | None] = (None,),
    receivers: Sequence[Agent | None] = (None,),
) -> Plan:
    """The full matrix; InputError if it is empty or two trials would share a name."""
    trials = tuple(
        TrialSpec(task=task, arm=arm, agent=agent, repetition=number, poison=poison, receiver=receiver)
        for (task, arm), agent, receiver, poison, number in product(
            cells, agents, receivers, poisons, range(1, repeat + 1)
        )
    )
    for (task, _), agent in product(cells, [*agents, *filter(None, receivers)]):
        # A scripted agent that does not know the task says so before anything is written.
        agent.spec(task)
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


def predicted(plan: Plan, path: Path) -> Plan:
    """The plan with a predictions file frozen into it; InputError for one that does not fit its cells."""
    cells = {(trial.task.id, trial.arm.name, trial.agent_name) for trial in plan.trials}
    totals = {trial.task.id: len(trial.task.requirements) for trial in plan.trials}
    return replace(plan, predictions=load_predictions(path, cells, totals))


def differences(frozen: object, now: dict[str, object]) -> list[str]:
    """The top-level parts of two identities that are not the same."""
    if not isinstance(frozen, dict):
        return ["run.json"]
    return sorted(key for key in {*frozen, *now} if frozen.get(key) != now.get(key))


def _identified(task: TrialTask) -> dict[str, object]:
    told: dict[str, object] = {"id": task.id, "variant": task.variant, "sha256": task.sha256}
    return {**told, "codebase": True} if task.codebase else told


def _unique(rows: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    seen: list[dict[str, object]] = []
    for row in rows:
        if row not in seen:
            seen.append(row)
    return seen
