"""The guest ends by killing everything that it can see, so it must be the first process of its own namespace."""

from __future__ import annotations

import pytest

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import MachineryError
from takeover.sandbox.limits import Limits


@pytest.mark.docker
def test_a_guest_that_is_not_pid_1_refuses(engine: DockerEngine, image: str) -> None:
    """Below an init process, as with a PID namespace that is shared, it says so and kills nothing."""
    below = DockerEngine.from_env(run=engine.run, unsafe_overrides={"init": True})

    with pytest.raises(MachineryError, match="not PID 1"), below.open(image, limits=Limits()):
        pass
