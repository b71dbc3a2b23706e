"""Runs that several tests look at, made once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from takeover.sandbox.engine import DockerEngine
from takeover.tiers.arms import load_arm
from takeover.tiers.cheats import CHEATS
from takeover.tiers.load import load_task
from takeover.trials.agents import resolve_agent
from takeover.trials.plan import Plan, make_plan
from takeover.trials.record import RunPaths
from takeover.trials.running import RunResult, execute
from takeover.trials.signing import Signer, signer
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


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Signer]:
    """A signing key of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAKEOVER_SIGNING_KEY", str(tmp_path_factory.mktemp("key") / "signing.key"))
        yield signer()


def run_all(engine: DockerEngine, folder: Path, plan: Plan, key: Signer, parallel: int = 3) -> RunResult:
    """Carry out a plan in a new folder."""
    return execute(
        plan, engine=engine, paths=RunPaths(folder), signer=key, resume=False, parallel=parallel, progress=Silent()
    )


@pytest.fixture(scope="session")
def honest(engine: DockerEngine, key: Signer, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """The scripted agents whose scores are known beforehand, in the three public arms."""
    agents = ("oracle", "nop", "note-taker", "amnesiac", "liar", "first-only")
    return run_all(engine, tmp_path_factory.mktemp("honest") / "run", plan_of(agents, ARMS), key)


@pytest.fixture(scope="session")
def dishonest(engine: DockerEngine, key: Signer, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """Every cheat and vandal, and their honest twins."""
    agents = ("first-only", "diligent", *CHEATS)
    return run_all(engine, tmp_path_factory.mktemp("cheats") / "run", plan_of(agents), key, parallel=4)
