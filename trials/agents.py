"""Who works in a session: the scripted agents that prove the grader, or any image."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..sandbox.errors import InputError
from ..sandbox.session import AgentSpec
from ..tiers.skills import SCRIPTED_ROLES, scripted_command, scripted_home
from ..tiers.task import Task

SANDBOX_IMAGE = "sandbox"


@dataclass(frozen=True, slots=True)
class Agent:
    """A named agent. `role` is set for scripted ones, whose files depend on the task."""

    name: str
    image: str
    role: str | None = None
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """What identifies the agent beside its image: command, environment, role."""
        identity = {"image": self.image, "role": self.role, "command": self.command, "env": dict(self.env)}
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()

    def spec(self, task: Task) -> AgentSpec:
        """What a sandbox needs to run it on this task."""
        if self.role is None:
            return AgentSpec(name=self.name, image=self.image, command=self.command, env=dict(self.env), home_files={})
        return AgentSpec(
            name=self.name,
            image=self.image,
            command=scripted_command(self.role),
            env=dict(self.env),
            home_files=scripted_home(task, self.role),
        )


def resolve_agent(reference: str, env: Mapping[str, str] | None = None) -> Agent:
    """A scripted role by its name, otherwise an image (a recipe's name or any image reference)."""
    if reference in SCRIPTED_ROLES:
        return Agent(name=reference, image=SANDBOX_IMAGE, role=reference, env=env or {})
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*", reference):
        raise InputError(
            f"--agent {reference!r}: neither an image reference nor one of {', '.join(sorted(SCRIPTED_ROLES))}"
        )
    return Agent(name=re.sub(r"[^A-Za-z0-9_-]+", "-", reference.rpartition("/")[2]), image=reference, env=env or {})
