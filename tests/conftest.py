"""Fixtures that every room's tests share: a container engine, and the promise that nothing of ours is left on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# So that tests of every room can `from fakes import FakeEngine`; tests/ is no package.
sys.path.insert(0, str(Path(__file__).parent))

from takeover.sandbox import labels
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import MachineryError
from takeover.sandbox.store import SnapshotStore

IMAGE = "takeover-sandbox:latest"


def _unavailable(reason: str) -> None:
    if os.environ.get("TAKEOVER_REQUIRE_ENGINE") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[DockerEngine]:
    """The engine of this machine; what the tests opened on it must be gone at the end."""
    run = f"tests-{os.getpid()}"
    try:
        engine = DockerEngine.from_env(run=run)
    except MachineryError as error:
        _unavailable(f"no container engine: {error}")
    yield engine
    left = engine.sweep(run=run)
    assert left == [], f"{len(left)} containers were left by the tests"


@pytest.fixture(scope="session")
def engine(docker_engine: DockerEngine, image: str) -> DockerEngine:
    """An engine that has the sandbox image."""
    return docker_engine


@pytest.fixture(scope="session")
def image(docker_engine: DockerEngine) -> str:
    """The reference of the sandbox image."""
    try:
        docker_engine.image(IMAGE)
    except MachineryError as error:
        _unavailable(f"{error} ({error.hint})")
    return IMAGE


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    """An empty snapshot store."""
    return SnapshotStore(tmp_path / "snapshots")


@pytest.fixture(scope="session")
def own_label() -> str:
    """The filter that finds our containers."""
    return labels.ours()
