"""Runs that several tests look at, made once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from trialruns import ARMS, plan_of, run_all

from takeover.sandbox.engine import DockerEngine
from takeover.tiers.cheats import CHEATS
from takeover.trials.running import RunResult
from takeover.trials.signing import Signer, signer


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Signer]:
    """A signing key of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAKEOVER_SIGNING_KEY", str(tmp_path_factory.mktemp("key") / "signing.key"))
        yield signer()


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
