"""What the cash desk refuses."""

from __future__ import annotations


class FeeError(ValueError):
    """Something that the cash desk refuses."""


class Overpaid(FeeError):
    """A payment of more than is owed."""
