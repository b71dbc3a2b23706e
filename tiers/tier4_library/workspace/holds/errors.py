"""What the hold desk refuses."""

from __future__ import annotations


class HoldError(ValueError):
    """Something that the hold desk refuses."""


class AlreadyWaiting(HoldError):
    """A second hold of one member on one title."""


class NotWaiting(HoldError):
    """A hold that does not exist."""
#:if R23


class <<owe_error>>(HoldError):
    """A member who owes too much to place a hold."""
#:end
#:if R35


class <<wait_error>>(HoldError):
    """A title of which there is nothing to lend."""
#:end
