"""The images of real agents, and a key of the tests' own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# tests/ is no package.
sys.path.insert(0, str(Path(__file__).parent))

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import MachineryError
from takeover.trials.signing import Signer, signer


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Signer]:
    """A signing key of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAKEOVER_SIGNING_KEY", str(tmp_path_factory.mktemp("key") / "signing.key"))
        yield signer()


@pytest.fixture(scope="session")
def built(engine: DockerEngine) -> Callable[..., None]:
    """Says that agents are needed: where an image is missing the test is skipped, or fails under `make`."""

    def need(*names: str) -> None:
        for name in names:
            try:
                engine.image(name)
            except MachineryError as error:
                if os.environ.get("TAKEOVER_REQUIRE_ENGINE") == "1":
                    pytest.fail(f"{error} ({error.hint})", pytrace=False)
                pytest.skip(f"{error} ({error.hint})")

    return need
