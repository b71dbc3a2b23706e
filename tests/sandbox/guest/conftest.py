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

from takeover.sandbox import labels
from takeover.sandbox.engine import DockerEngine

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
