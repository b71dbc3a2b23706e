"""What the register refuses."""

from __future__ import annotations


class MemberError(ValueError):
    """Something that the register refuses."""


class UnknownMember(MemberError):
    """A number that no member has."""
