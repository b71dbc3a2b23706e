"""The key that signs scorecards; it stays on the trusted side."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..sandbox.dsse import SigningKey, load_or_create_key, sign

SCORECARD_TYPE = "application/vnd.takeover.scorecard+json"
KEY_VARIABLE = "TAKEOVER_SIGNING_KEY"


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs the exact bytes of a scorecard."""

    key: SigningKey

    def sign(self, scorecard: bytes) -> bytes:
        return sign(scorecard, SCORECARD_TYPE, self.key)

    @property
    def public_pem(self) -> bytes:
        return self.key.public.pem


def signer() -> Signer:
    """The key named by TAKEOVER_SIGNING_KEY, else the user's own, made at first use with mode 0600."""
    named = os.environ.get(KEY_VARIABLE)
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return Signer(load_or_create_key(Path(named) if named else home / "takeover" / "signing.key"))
