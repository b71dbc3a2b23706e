"""Small trials whose agent is a shell script, and engines that go wrong at a chosen moment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# meddling.py is shared by the modules of this folder; tests/ is no package.
sys.path.insert(0, str(Path(__file__).parent))

from takeover.trials.signing import Signer, signer


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    """A signing key of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAKEOVER_SIGNING_KEY", str(tmp_path_factory.mktemp("key") / "signing.key"))
        return signer()
