"""Roles, from the least to the most powerful."""

from __future__ import annotations

from typing import Dict, List

RANKS: Dict[str, int] = {
    "viewer": 1,
    "clerk": 2,
    "manager": 3,
    "controller": 4,
}


class UnknownRole(KeyError):
    """No role has this name."""


def rank(role: str) -> int:
    """How powerful a role is; a higher rank may do all that a lower one may."""
    if role not in RANKS:
        raise UnknownRole(role)
    return RANKS[role]


def at_least(role: str, other: str) -> bool:
    """Whether a role is as powerful as another."""
    return rank(role) >= rank(other)


def roles_from(role: str) -> List[str]:
    """The role and all above it, weakest first."""
    return sorted((name for name in RANKS if at_least(name, role)), key=rank)
