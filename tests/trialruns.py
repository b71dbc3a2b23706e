"""Small runs for tests: a plan of scripted agents, carried out in a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import MachineryError
from takeover.tiers.arms import load_arm
from takeover.tiers.load import load_task
from takeover.trials.agents import resolve_agent
from takeover.trials.plan import Plan, make_plan
from takeover.trials.record import RunPaths
from takeover.trials.running import RunResult, execute
from takeover.trials.signing import Signer
from takeover.trials.trial import Outcome

TASK = "tier2_fintech"
ARMS = ("Vanilla", "AGENTS_MD_Only", "State_MD_Only")


class Silent:
    """Progress that nobody watches; remembers what was finished."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def kept(self, count: int) -> None:
        self.notes.append(f"kept {count}")

    def finished(self, outcome: Outcome) -> None:
        self.names.append(outcome.name)


def plan_of(
    agents: Sequence[str], arms: Sequence[str] = ("State_MD_Only",), task: str = TASK, variant: str = "0"
) -> Plan:
    """The plan of a small run."""
    loaded = load_task(task, variant)
    return make_plan([(loaded, load_arm(arm, loaded)) for arm in arms], [resolve_agent(name) for name in agents])


def absent(reason: str) -> NoReturn:
    """Skip for want of something; a failure where all of it must be there."""
    if os.environ.get("TAKEOVER_REQUIRE_ENGINE") == "1" or os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def need_image(engine: DockerEngine, name: str) -> None:
    """Skip where the image was not built; on CI it must be there."""
    try:
        engine.image(name)
    except MachineryError as error:
        absent(f"{error} ({error.hint})")


def run_all(engine: DockerEngine, folder: Path, plan: Plan, key: Signer, parallel: int = 3) -> RunResult:
    """Carry out a plan in a new folder."""
    return execute(
        plan, engine=engine, paths=RunPaths(folder), signer=key, resume=False, parallel=parallel, progress=Silent()
    )
