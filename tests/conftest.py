"""Fixtures that every room's tests share: a container engine, and the promise that nothing of ours is left on it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

# So that tests of every room can `from fakes import FakeEngine`; tests/ is no package.
sys.path.insert(0, str(Path(__file__).parent))

from takeover.sandbox import labels
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import MachineryError
from takeover.sandbox.store import SnapshotStore

IMAGE = "takeover-sandbox:latest"
# Seconds; far more than the slowest test takes, the runs that several tests share included.
LONGEST = 600


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test that hangs fails by name, instead of holding up all that follow."""

    def over(_number: int, _frame: object) -> None:
        raise TimeoutError(f"{item.nodeid} did not end within {LONGEST} seconds")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(LONGEST)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


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
