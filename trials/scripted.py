"""The scripted agents on any task: what they are given, and how they start."""

from __future__ import annotations

from collections.abc import Mapping

from ..repos import scripted as on_codebases
from ..sandbox.errors import InputError
from ..tiers.skills import SCRIPTED_ROLES as ON_TIERS
from ..tiers.skills import scripted_command, scripted_home
from ..tiers.trialtask import TrialTask
from .tasks import codebase, tier_task

SCRIPTED_ROLES = ON_TIERS | on_codebases.ROLES.keys()


def scripted(task: TrialTask, role: str) -> tuple[tuple[str, ...], Mapping[str, bytes]]:
    """The command of a role and its files below HOME; InputError where the role does not know such a task."""
    if (code := codebase(task)) is not None:
        if role not in on_codebases.ROLES:
            raise InputError(
                f"--agent {role}: does not know codebases such as {task.id}",
                hint=f"Scripted agents that do: {', '.join(on_codebases.ROLES)}.",
            )
        return on_codebases.command(role), on_codebases.home(code, role)
    if role not in ON_TIERS:
        raise InputError(f"--agent {role}: knows codebases, not {task.id}")
    return scripted_command(role), scripted_home(tier_task(task, role), role)
