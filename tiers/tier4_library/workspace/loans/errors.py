"""What the lending desk refuses."""

from __future__ import annotations


class LoanError(ValueError):
    """Something that the lending desk refuses."""


class TooManyLoans(LoanError):
    """A member who has as many loans as anybody may."""


class NotLent(LoanError):
    """A barcode that nobody has."""


class NotRenewable(LoanError):
    """A loan that cannot be renewed."""
#:if R20


class <<late_error>>(LoanError):
    """A member who keeps too many things too long."""
#:end
