"""Guests in real containers, talked to frame by frame."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# forms.py and guest_client.py are shared with the benchmark, which has no package to import them from.
sys.path.insert(0, str(Path(__file__).parent))

from guest_client import Client, opened
from http_kit import KIT, Asker, echo

from takeover.sandbox import labels
from takeover.sandbox.cutoff import CutoffRule
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.limits import Limits
from takeover.sandbox.sandbox import OnRequest, RunResult, Sandbox

Opener = Callable[..., contextlib.AbstractContextManager[tuple[Client, str]]]


@pytest.fixture(scope="session")
def open_guest(engine: DockerEngine, image: str) -> Opener:
    """Opens a container whose guest has not been greeted; keyword arguments change its host config."""

    def opener(**overrides: Any) -> contextlib.AbstractContextManager[tuple[Client, str]]:
        return opened(
            engine._client, overrides.pop("image", image), labels.labels({}, run=f"tests-{os.getpid()}"), **overrides
        )

    return opener


@pytest.fixture
def guest(open_guest: Opener) -> Iterator[Client]:
    """A guest of one's own, greeted."""
    with open_guest() as (client, _):
        assert client.hello()["t"] == "ready", client.ready
        yield client


@pytest.fixture(scope="module")
def shared_guest(open_guest: Opener) -> Iterator[Client]:
    """One guest for a module's tests that leave no trace in it."""
    with open_guest() as (client, _):
        assert client.hello()["t"] == "ready", client.ready
        yield client


@pytest.fixture(scope="module")
def sandbox(engine: DockerEngine, image: str) -> Iterator[Sandbox]:
    """A sandbox for a module's tests, with the host's own end of the wire."""
    with engine.open(image, limits=Limits()) as opened:
        yield opened


@pytest.fixture
def ask(sandbox: Sandbox) -> Asker:
    """Runs a client program; its output is what it found."""

    def run(
        code: str, on_request: OnRequest = echo, *, cutoff: CutoffRule | None = None, wall: float = 60.0
    ) -> RunResult:
        return sandbox.run(["python3", "-c", KIT + code], on_request=on_request, cutoff=cutoff, wall=wall)

    return run
